"""Other thresholds and costs of decisions."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, f1_score

from sk_anyloss.compare import compare
from sk_anyloss.compare.cli.compare import chosen_metric
from sk_anyloss.compare.cli.main import main
from sk_anyloss.metrics import Savings
from tests.compare.samples import X, Y, mixed


def test_every_threshold_has_the_counts_of_its_decisions():
    found = compare(X, Y, methods=["logistic"], folds=3)
    table = found.thresholds()
    rows = np.concatenate([fold.rows for fold in found.folds])
    scores = np.concatenate([fold.scores for fold in found.folds])
    for row in table.iloc[:: max(len(table) // 20, 1)].to_dict("records"):
        decided = scores >= row["threshold"]
        expected = confusion_matrix(Y[rows], decided, labels=[0, 1]).ravel().tolist()
        assert [row[name] for name in ("tn", "fp", "fn", "tp")] == expected
        f1 = f1_score(Y[rows], decided, zero_division=0)
        assert row["f1"] == pytest.approx(f1, abs=1e-12)
    assert table["threshold"].is_monotonic_increasing
    assert table.iloc[-1][["fp", "tp"]].tolist() == [0, 0]
    assert not table.isna().any(axis=None)
    assert "cost" not in table


def test_costs_are_summed_and_minimised_over_thresholds():
    metric = Savings(fp=1, fn=20)
    found = compare(X, Y, metric, methods=["logistic_threshold"], folds=3)
    table = found.thresholds()
    np.testing.assert_allclose(table["cost"], table["fp"] + 20 * table["fn"])
    (_, fp), (fn, _) = found.confusion_matrix("logistic_threshold").to_numpy()
    assert f"at a cost of {fp + 20 * fn:,}" in str(found.recommendation())
    assert "savings (fp=1, fn=20)" in found.text()


def test_many_scores_are_thinned_and_several_classes_refused():
    many = np.tile(X, (5, 1)) + np.random.default_rng(0).normal(0, 1e-3, (600, 5))
    table = compare(many, np.tile(Y, 5), methods=["logistic"], folds=2).thresholds()
    assert len(table) == 201
    assert table["tp"].iloc[0] + table["fp"].iloc[0] == 600
    kinds = np.where(X[:, 0] > 1, 2, Y)
    several = compare(X, kinds, methods=["logistic"], folds=2)
    with pytest.raises(ValueError, match="data has 3 classes; a threshold is for two"):
        several.thresholds()


@pytest.mark.parametrize("cost", ["fp", "fp=a", "cost=1", "fp=1,fp=2", "fp=1 fn=2"])
def test_costs_that_are_none_are_refused(cost):
    with pytest.raises(ValueError, match=r"--cost must be such as fp=1,fn=20"):
        chosen_metric(None, cost)


def test_the_command_takes_costs(tmp_path, capsys):
    path, output = tmp_path / "shop.csv", tmp_path / "out"
    mixed().to_csv(path, index=False)
    words = ["compare", str(path), "--target", "left", "--methods", "logistic"]
    words += ["--folds", "2", "--jobs", "1", "--quiet", "--no-explain"]
    words += ["--output", str(output)]
    assert main([*words, "--cost", "fp=1,fn=5"]) == 0
    assert "at a cost of" in capsys.readouterr().out
    assert '"cost": [' in (output / "report.html").read_text(encoding="utf-8")
    assert main([*words, "--cost", "fp=1,fn=5", "--metric", "f1"]) == 2
    assert "omit it or --metric" in capsys.readouterr().err
    many = mixed().assign(left=np.resize(["a", "b", "c"], 120))
    many.to_csv(path, index=False)
    assert main([*words, "--cost", "fp=1,fn=5"]) == 2
    assert "--cost is for two classes" in capsys.readouterr().err


def test_a_metric_is_f1_unless_another_one_or_a_cost_is_given():
    assert chosen_metric(None, None) == "f1"
    assert chosen_metric("mcc", None) == "mcc"
    assert chosen_metric(None, "fn=3,fp=2") == Savings(fp=2, fn=3)
