"""The study reproduces published scores, leaks no test fold, and resumes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.utils import Bunch

from benchmarks.study import (
    data,
    learning,
    nested,
    paper,
    published,
    rounding,
    runs,
    steepness,
)
from benchmarks.study.__main__ import (
    main,
    make_parser,
    replace_tables,
    select_sources,
)
from benchmarks.study.scores import (
    METRICS,
    TABLE_METRICS,
    confusion_counts,
    is_collapsed,
    score,
)
from benchmarks.study.tables import aggregate
from sk_anyloss import metric_score

ALL_FOLDS = tuple(range(10))
SOURCES = {source.paper_id: source for source in data.built_in()}
WDBC = {
    "BCE": {"Acc": 0.9807, "F1": 0.9734, "F0.5": 0.9806, "F2": 0.9667, "Gmean": 0.9767,
            "BAcc": 0.9771},
    "L_F1": {"Acc": 0.9789, "F1": 0.9709, "F0.5": 0.9767, "F2": 0.9656,
             "Gmean": 0.9752, "BAcc": 0.9756},
}  # fmt: skip


def mean_scores(source, losses):
    records = published.run(source, ALL_FOLDS, losses=losses)
    return {
        (loss, metric): score([records[k][i]["test"] for k in ALL_FOLDS], metric).mean()
        for i, loss in enumerate(losses)
        for metric in METRICS
    }


def test_published_scores_of_one_of_the_102_data_sets():
    found = mean_scores(SOURCES["33"], ("BCE", "L_F1"))
    for loss, known in WDBC.items():
        for metric, value in known.items():
            assert found[loss, metric] == pytest.approx(value, abs=6e-5)


def test_published_scores_of_an_imbalanced_data_set():
    losses = ("BCE", "L_F1")
    found = mean_scores(SOURCES["four#3"], losses)
    lines = paper.IMBALANCED_SCORES["SLP"]["four#3"]
    for metric, line in zip(TABLE_METRICS, lines, strict=True):
        known = dict(zip(paper.IMBALANCED_LOSSES, line, strict=True))
        for loss in losses:
            assert found[loss, metric] == pytest.approx(known[loss], abs=1e-6)


@pytest.fixture
def source(tmp_path):
    return make_small_dataset(tmp_path, "small")


def make_small_dataset(folder, name, n=120):
    X, y = make_classification(n, 4, weights=[0.8], flip_y=0.1, random_state=len(name))
    path = folder / f"{name}.npz"
    np.savez(path, X=X, y=y)
    return data.Source(name, str(path), "7", "exact", *X.shape)


@pytest.fixture
def few_settings(monkeypatch):
    """Few settings and epochs instead of many."""
    monkeypatch.setattr(nested, "LRS", (0.05,))
    monkeypatch.setattr(nested, "RATIOS", (0.5,))
    monkeypatch.setattr(nested, "EPOCHS", 2)
    monkeypatch.setattr(steepness, "LS", (5, 73))
    monkeypatch.setattr(steepness, "LRS", (0.05,))
    monkeypatch.setattr(steepness, "CURVE_LS", (5, 100))
    monkeypatch.setattr(learning, "ROUNDS", 1)
    monkeypatch.setattr(learning, "MAX_SAMPLE_EPOCHS", 1_000)
    monkeypatch.setattr(rounding, "N_RUNS", 2)
    monkeypatch.setattr(published, "EPOCHS", 6)
    monkeypatch.setattr(learning, "EPOCHS", (2, 4))


@pytest.mark.filterwarnings("ignore:The model predicts")
@pytest.mark.parametrize("network", ["SLP", "MLP"])
def test_labels_of_the_test_fold_do_not_affect_training(
    source, few_settings, network, monkeypatch
):
    X, y = source.load()
    test = data.ten_folds(y)[1][1]
    before = nested.run(source, (1,), network)[1]
    assert {row["method"] for row in before} > {"AnyLoss", "BCE + SMOTE", "SOL"}
    flipped = y.copy()
    flipped[test] = 1 - flipped[test]
    monkeypatch.setattr(data.Source, "load", lambda self: (X, flipped))
    monkeypatch.setattr(nested, "ten_folds", lambda _: data.ten_folds(y))
    after = nested.run(source, (1,), network)[1]
    assert {row["method"] for row in nested.run(source, (1,), network, L=5)[1]} == {
        "AnyLoss, L=5"
    }
    for a, b in zip(before, after, strict=True):
        assert a["inner"] == b["inner"]
        tn, fp, fn, tp = a["test"]
        assert b["test"] == [fn, tp, tn, fp]  # The same predictions, flipped labels.


def test_inner_folds_partition_the_training_fold(source, few_settings):
    X, y = source.load()
    train, _ = data.ten_folds(y)[0]
    stack = nested.Stack(X, y, ())
    for setting in nested.add_models(stack, train):
        held_out = np.concatenate([indices for indices, _ in setting.inner])
        np.testing.assert_array_equal(np.sort(held_out), train)
        for indices, position in setting.inner:
            assert not set(indices) & set(stack.indices[position])
        refit = stack.indices[setting.refit]
        assert set(refit[refit < len(y)]) <= set(train)


def test_resampling_reaches_the_ratio(source):
    X, y = source.load()
    stack = nested.Stack(X, y, ())
    everything = np.arange(len(y))
    over, under = stack.oversample(everything, 0.8), stack.undersample(everything, 0.8)
    labels = np.hstack(stack.y)
    for indices in (over, under):
        ratio = labels[indices].sum() / (labels[indices] == 0).sum()
        assert ratio == pytest.approx(0.8, 0.05)
    new = np.vstack(stack.X)[len(y) :]
    assert np.isfinite(new).all()
    low, high = X[y == 1].min(axis=0), X[y == 1].max(axis=0)
    assert ((new >= low - 1e-9) & (new <= high + 1e-9)).all()


@pytest.mark.parametrize("n", [10, 64, 200, 1_000, 5_000])
def test_inner_and_outer_fits_have_equally_many_batches(n):
    batches = nested.n_batches(n)
    for n_samples in (n, n + 1, n * 3 // 2):
        size = -(-n_samples // batches)
        assert -(-n_samples // size) == batches


def test_scores_equal_those_of_the_package():
    rng = np.random.default_rng(0)
    y, y_pred = rng.integers(0, 2, (2, 50))
    for metric, name in METRICS.items():
        (value,) = score([confusion_counts(y, y_pred)], metric)
        assert value == pytest.approx(metric_score(y, y_pred, metric=name))
    assert is_collapsed([5, 0, 5, 0])
    assert not is_collapsed([5, 1, 5, 0])


def test_settings_are_selected_on_inner_folds_and_scored_on_test_folds():
    rows = [
        ("BCE", None, [8, 2, 0, 2], [9, 1, 1, 1]),
        ("BCE", None, [8, 2, 2, 0], [10, 0, 0, 2]),
        ("AnyLoss", "F1", [9, 1, 1, 1], [10, 0, 0, 2]),
        ("AnyLoss", "Acc", [10, 0, 0, 2], [0, 10, 2, 0]),
    ]
    table = pd.DataFrame(rows, columns=["method", "aim", "inner", "test"])
    table = table.assign(set="a", fold=0)
    scores = aggregate.select_inner_best(table, "F1")
    assert scores.loc["a", "BCE"] == 0.5
    assert scores.loc["a", "AnyLoss"] == 1


def test_ties_go_to_anyloss_then_to_bce():
    scores = pd.DataFrame(
        {"MSE": [1.0, 1, 1, 1], "BCE": [1.0, 1, 0, 0], "AnyLoss": [1.0, 0, 0, 2]}
    )
    assert aggregate.count_wins(scores) == ([1, 1, 2], 2)


def test_imbalance_groups():
    proportions = np.array([0.61, 0.7, 0.701, 0.8, 0.9, 0.901])
    assert aggregate.imbalance_group(proportions).tolist() == [0, 0, 1, 1, 2, 3]


def test_finished_tasks_are_not_run_again(source, tmp_path):
    ran = []

    def run_folds(source, folds):
        ran.append(folds)
        return {fold: [{"test": [1, 2, 3, fold]}] for fold in folds}

    tasks = [runs.Task("part", source, (0, 1)), runs.Task("part", source, (2,))]
    first = runs.run(tasks[:1], run_folds, tmp_path, jobs=1)
    both = runs.run(tasks, run_folds, tmp_path, jobs=1)
    assert ran == [(0, 1), (2,)]
    assert first["fold"].tolist() == [0, 1]
    assert both["fold"].tolist() == [0, 1, 2]
    assert both["test"].tolist()[2] == [1, 2, 3, 2]
    assert not list(tmp_path.glob("**/*.part"))


@pytest.mark.filterwarnings("ignore")
def test_the_whole_study_on_small_data_sets(
    tmp_path, few_settings, capsys, monkeypatch
):
    main_losses = [
        loss for loss in nested.make_losses() if loss[0] in aggregate.MAIN_LOSSES
    ]
    monkeypatch.setattr(nested, "make_losses", lambda: main_losses)
    folder = tmp_path / "data"
    (folder / "paper").mkdir(parents=True)
    lines = ["name,paper_id,n,d,match"]
    for paper_id, name in (("7", "one"), ("8", "other"), ("four#3", "third")):
        make_small_dataset(folder / "paper", name)
        lines.append(f"{name},{paper_id},120,4,{'exact' if len(name) < 6 else 'near'}")
    (folder / "catalog.csv").write_text("\n".join(lines), encoding="utf-8")
    scores = [
        f"{structure},{paper_id},{metric},{loss},0.5"
        for structure in ("SLP", "MLP")
        for paper_id in ("7", "8")
        for metric in METRICS
        for loss in published.LEARNING_RATES
    ]
    header = "structure,paper_id,eval_metric,loss,score"
    (folder / "paper_scores.csv").write_text(
        "\n".join([header, *scores]), encoding="utf-8"
    )
    page = tmp_path / "study.md"
    page.write_text(
        "A\n<!-- begin: table 13 -->\nold\n<!-- end: table 13 -->\nB\n",
        encoding="utf-8",
    )
    output = str(tmp_path / "out")
    arguments = ["--data", str(folder), "--output", output, "--jobs", "1"]
    main([*arguments, "--page", str(page)])
    text = capsys.readouterr().out
    for name in (
        "reproduced",
        "rounding",
        "table 7",
        "table 9",
        "table 17",
        "nested MLP",
    ):
        assert f"## {name}\n" in text
    assert "nan" not in text.lower()
    assert "old" not in page.read_text(encoding="utf-8")
    assert page.read_text(encoding="utf-8").startswith(
        "A\n<!-- begin: table 13 -->\n| metric |"
    )
    assert len(list(tmp_path.glob("study_*.png"))) == 5
    # Everything is finished: nothing is run, and the plots need not be drawn again.
    monkeypatch.setattr(runs, "_run_one", None)
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda *_, **__: None)
    main([*arguments, "--report"])
    again = capsys.readouterr().out
    assert again == text


def test_only_tables_between_markers_are_replaced(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- begin: a -->\n1\n<!-- end: a -->\n<!-- begin: b -->\n2\n",
        encoding="utf-8",
    )
    replace_tables(page, {"a": "new", "c": "nowhere"})
    assert page.read_text(encoding="utf-8") == (
        "<!-- begin: a -->\nnew\n<!-- end: a -->\n<!-- begin: b -->\n2\n"
    )


def test_data_sets_of_openml(monkeypatch):
    frame = pd.DataFrame(
        {"kind": list("aabb") * 10, "size": [1.0, 2.0, None, 4.0] * 10}
    )
    target = pd.Series(["yes", "no", "no", "no"] * 10, name="left")

    def fetch(**_):
        return Bunch(data=frame, target=target, details={"name": "shop"})

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    (source,) = data.from_openml([37])
    X, y = source.load()
    assert (source.name, source.size) == ("openml_37", 80)
    np.testing.assert_array_equal(X[:4], [[0, 1], [0, 2], [1, 2], [1, 4]])
    assert y.sum() == 10


def test_quick_selects_ten_small_data_sets_and_the_small_imbalanced_ones(monkeypatch):
    many = [data.Source(f"s{k}", "", str(k), "exact", 100 + k, 5) for k in range(47)]
    large = data.Source("large", "", "99", "exact", 9_000, 40)
    found = [*many, large, *data.built_in()[1:]]
    monkeypatch.setattr(data, "built_in", lambda: found)
    options = make_parser().parse_args(["--quick"])
    names = [source.name for source in select_sources(options)]
    assert len(names) == 12
    assert {"s0", "s36", "four1_random", "four3_breast_cancer"} <= set(names)
    assert "large" not in names


def test_labels_must_be_0_and_1(tmp_path):
    np.savez(tmp_path / "bad.npz", X=np.zeros((4, 2)), y=[1, 2, 2, 1])
    with pytest.raises(SystemExit, match="must be 0 and 1"):
        main(["--data", str(tmp_path)])


def test_a_folder_without_data_sets_is_rejected(tmp_path):
    with pytest.raises(SystemExit, match=r"neither catalog.csv nor .npz"):
        main(["--data", str(tmp_path)])


def test_loss_curves_equal_those_of_the_equations(monkeypatch):
    monkeypatch.setattr(published, "EPOCHS", 100)
    for (_, dtype, L), (ours, subtracted) in steepness.loss_curves().items():
        if L <= 10:
            rtol = 1e-6 if dtype == "float64" else 1e-3
            np.testing.assert_allclose(ours, subtracted, rtol=rtol, atol=rtol)
