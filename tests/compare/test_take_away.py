"""What a comparison leaves behind: estimators, model files and their evaluation."""

import html
import json
import re
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier as ExtraTrees
from sklearn.metrics import (
    cohen_kappa_score,
    confusion_matrix,
    f1_score,
    get_scorer,
    matthews_corrcoef,
    recall_score,
    roc_auc_score,
)
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.validation import check_is_fitted

from sk_anyloss.compare import (
    compare,
    compare_tables,
    load_model,
    make_table,
    unregister_method,
)
from sk_anyloss.compare.cli.main import main
from sk_anyloss.compare.run.models import fit_method
from sk_anyloss.metrics import Savings
from tests.compare.samples import X, Y, mixed

LABELS = np.where(Y == 1, "left", "stayed")


@pytest.fixture(scope="module")
def found():
    frame = mixed().drop(columns=["left", "bought"])
    return compare(frame, mixed()["left"], methods=["logistic_balanced"], folds=2)


@pytest.fixture(scope="module")
def stored(found, tmp_path_factory):
    return found.save(tmp_path_factory.mktemp("stored") / "model")


def test_the_best_estimator_is_fitted_on_all_samples_and_predicts_labels(found):
    model = found.best_estimator()
    check_is_fitted(model)
    (table,) = found.tables
    reference = fit_method(table, "logistic_balanced", "f1", 0)
    codes = reference.predict(table.X)
    assert model.predict(table.X).tolist() == [table.classes[code] for code in codes]
    np.testing.assert_allclose(
        model.predict_proba(table.X), reference.predict_proba(table.X), atol=1e-12
    )
    assert model.classes_.tolist() == ["no", "yes"]
    # Columns are found by their names, others are ignored.
    shuffled = table.X.assign(other=1)[["gaps", "other", "colour", "size"]]
    assert model.predict(shuffled).tolist() == model.predict(table.X).tolist()
    with pytest.raises(ValueError, match="lacks columns that the model needs: gaps"):
        model.predict(table.X.drop(columns="gaps"))


def test_the_best_estimator_can_be_cloned_and_cross_validated(found):
    (table,) = found.tables
    model = clone(found.best_estimator())
    scores = cross_val_score(model, table.X, mixed()["left"], cv=3)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()
    with pytest.raises(ValueError, match="y holds 'maybe', which is none of"):
        model.fit(table.X, ["maybe"] * len(table.X))


def test_scorers_of_scikit_learn_take_labels_in_any_order(tmp_path):
    # The positive label comes first in the alphabet.
    labels = np.where(Y == 1, "bad", "good")
    found = compare(X, labels, methods=["logistic"], folds=3)
    model = found.best_estimator()
    assert found.tables[0].positive == "bad"
    assert model.classes_.tolist() == ["bad", "good"]
    loaded = load_model(found.save(tmp_path / "model", calibrate=True))
    for one in (model, loaded):
        area = roc_auc_score(Y, one.predict_proba(X)[:, 0])
        assert area > 0.8
        scorer = get_scorer("roc_auc")
        assert scorer(one, X, labels) == pytest.approx(area, abs=1e-12)
        assert get_scorer("neg_log_loss")(one, X, labels) > -0.6
    three = np.array(["c", "a", "b"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    several = compare(X, three, methods=["logistic"], folds=2).best_estimator()
    picked = several.classes_[several.predict_proba(X).argmax(axis=1)]
    assert picked.tolist() == several.predict(X).tolist()


def test_new_categories_are_named_with_their_column(found, stored, tmp_path, capsys):
    frame = mixed(30).assign(colour=["mauve"] + ["red"] * 29)
    with pytest.warns(
        UserWarning, match="column 'colour' holds 'mauve', which no"
    ) as w:
        found.best_estimator().predict(frame)
    assert len(w) == 1
    frame.to_csv(tmp_path / "new.csv", index=False)
    assert main(["predict", str(stored), str(tmp_path / "new.csv")]) == 0
    error = capsys.readouterr().err
    assert "column 'colour' holds 'mauve'" in error
    assert "columns [0]" not in error


def test_no_category_of_the_training_samples_is_new(tmp_path, capsys):
    rng = np.random.default_rng(0)
    words = {
        "stay": ["none", "one", "two"],
        "plan": ["N/A", "?", "low ", " "],
        "code": [1, 2, "3"],
        "flag": [True, False, None],
    }
    frame = pd.DataFrame({name: rng.choice(w, 90) for name, w in words.items()})
    frame = frame.assign(size=rng.normal(size=90), left=rng.choice(["yes", "no"], 90))
    frame["kind"] = pd.Categorical(rng.choice([1, 2, 3], 90))
    path = tmp_path / "set.csv"
    frame.to_csv(path, index=False)
    found = compare(frame.drop(columns="left"), frame["left"], methods=["logistic"],
                    folds=2)  # fmt: skip
    words = ["compare", str(path), "--target", "left", "--methods", "logistic"]
    words += ["--folds", "2", "--jobs", "1", "--quiet", "--no-explain", "--save", "m"]
    assert main([*words, "--output", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.best_estimator().predict(frame)
    model = str(tmp_path / "out" / "m")
    assert main(["predict", model, str(path)]) == 0
    assert main(["evaluate", model, str(path), "--target", "left"]) == 0
    assert "no sample had" not in capsys.readouterr().err
    frame.loc[3, "stay"] = "three"
    frame.to_csv(path, index=False)
    assert main(["predict", model, str(path)]) == 0
    assert "'stay' holds 'three', which no sample had" in capsys.readouterr().err


def test_arrays_and_several_classes_have_a_best_estimator():
    kinds = np.where(X[:, 0] > 1, 7, np.where(Y == 1, 5, 3))
    model = compare(X, kinds, methods=["logistic"], folds=2).best_estimator()
    assert set(model.predict(X)) <= {3, 5, 7}
    assert model.predict_proba(X).shape == (len(X), 3)


def test_a_method_and_a_data_set_are_named_where_there_are_several():
    tables = [make_table(X + i, LABELS, name=f"set {i}") for i in range(2)]
    both = compare_tables(tables, methods=["logistic", "histgb"], folds=2)
    with pytest.raises(ValueError, match="name it with data=, one of set 0, set 1"):
        both.best_estimator()
    model = both.best_estimator("histgb", data="set 1")
    assert "HistGradientBoosting" in repr(model.model.named_steps["classifier"])
    with pytest.raises(ValueError, match="method='bce' was not compared"):
        both.best_estimator("bce", data="set 1")


def test_a_stored_model_is_loaded_in_one_line(found, stored):
    (table,) = found.tables
    model = load_model(stored)
    fitted = found.best_estimator()
    assert model.predict(table.X).tolist() == fitted.predict(table.X).tolist()
    np.testing.assert_allclose(
        model.predict_proba(table.X), fitted.predict_proba(table.X), atol=1e-12
    )


WITHOUT_TORCH = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

sys.meta_path.insert(0, NoTorch())
import pandas as pd
from sk_anyloss.compare import load_model
samples = pd.read_csv(sys.argv[1])
for path in sys.argv[2:]:
    print(*load_model(path).predict(samples))
assert not {"torch", "skorch"} & set(sys.modules)
"""


def test_stored_models_are_loaded_where_torch_cannot_be_imported(tmp_path):
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    frame.to_csv(tmp_path / "new.csv", index=False)
    several = np.digitize(X[:, 0] + X[:, 1], [-0.5, 1])
    paths, expected = [], []
    # A metric that is a function is not stored.
    for y, metric, methods in (
        (Y, Savings(fp=1, fn=4), ["anyloss", "bce_threshold", "logistic_threshold"]),
        (several, "f1", ["logistic_offsets", "bce_smote"]),
    ):
        found = compare(frame, y, metric, methods=methods, folds=2)
        for name in methods:
            paths.append(found.save(tmp_path / name, name))
            predicted = found.best_estimator(name).predict(frame)
            expected.append(" ".join(map(str, predicted)))
    words = [sys.executable, "-c", WITHOUT_TORCH, tmp_path / "new.csv", *paths]
    ended = subprocess.run(words, capture_output=True, text=True)
    assert ended.stderr == ""
    assert ended.stdout.splitlines() == expected


def test_evaluate_scores_new_samples(found, stored, tmp_path, capsys):
    new = mixed(60)
    new.loc[7, "left"] = None
    new.to_csv(tmp_path / "new.csv", index=False)
    words = ["evaluate", str(stored), str(tmp_path / "new.csv"), "--target", "left"]
    output = tmp_path / "scores.json"
    assert main([*words, "--metric", "specificity", "--output", str(output)]) == 0
    printed = capsys.readouterr().out
    known = new.dropna(subset="left")
    predicted = found.best_estimator().predict(known)
    M = confusion_matrix(known["left"], predicted, labels=["no", "yes"])
    assert (
        f"Of {M[1].sum()} samples labelled yes it finds {M[1, 1]}, with {M[0, 1]} false"
        in printed
    )
    assert "1 samples without a label are left out." in printed
    result = json.loads(output.read_text())
    assert result["confusion_matrix"] == M.tolist()
    expected = f1_score(known["left"], predicted, pos_label="yes")
    assert result["scores"]["f1"] == pytest.approx(expected, abs=1e-12)
    assert result["scores"]["mcc"] == pytest.approx(
        matthews_corrcoef(known["left"], predicted), abs=1e-12
    )
    # The metric that the model was chosen by, and those that were asked for.
    assert list(result["scores"])[:2] == ["f1", "specificity"]


def evaluated(found, folder, capsys, *more):
    """What evaluate prints of a stored method on the samples that it was fitted on."""
    (table,) = found.tables
    labels = [table.classes[code] for code in table.y]
    data = folder / "new.csv"
    pd.DataFrame(np.asarray(table.X), columns=table.X.columns).assign(
        kind=labels
    ).to_csv(data, index=False)
    path = found.save(folder / "model")
    words = ["evaluate", str(path), str(data), "--target", "kind", *more]
    code, printed = main(words), capsys.readouterr()
    lines = [line.strip() for line in printed.out.splitlines() if line[:2] == "  "]
    return code, lines, printed.err


FIVE = pd.DataFrame(X, columns=list("vwxyz"))


def test_evaluate_prints_the_metric_that_the_model_was_chosen_by(tmp_path, capsys):
    grades = np.digitize(X[:, 0], [-0.5, 0.5])
    found = compare(FIVE, grades, "kappa_quadratic", methods=["logistic"], folds=2)
    _, lines, _ = evaluated(found, tmp_path, capsys, "--metric", "accuracy")
    expected = cohen_kappa_score(
        grades, found.best_estimator().predict(FIVE), weights="quadratic"
    )
    assert lines[0].split() == ["kappa", "quadratic", f"{expected:.3f}"]
    assert lines[1].startswith("accuracy ")
    code, _, error = evaluated(found, tmp_path, capsys, "--cost", "fp=1,fn=5")
    assert code == 2
    assert "--cost is for two classes" in error
    cost = Savings(fp=1, fn=5.5)
    found = compare(FIVE, Y, cost, methods=["logistic"], folds=2)
    code, lines, _ = evaluated(found, tmp_path, capsys, "--cost", "fp=2,fn=3")
    tn, fp, fn, tp = confusion_matrix(Y, found.best_estimator().predict(FIVE)).ravel()
    assert lines[0].startswith("savings (fp=1, fn=5.5)")
    assert float(lines[0].split()[-1]) == pytest.approx(cost(tn, fp, fn, tp), abs=1e-3)
    assert float(lines[1].split()[-1]) == fp + 5.5 * fn
    assert float(lines[3].split()[-1]) == 2 * fp + 3 * fn

    def custom(tn, fp, fn, tp):
        return tp / (tp + fn + fp)

    found = compare(FIVE, Y, custom, methods=["logistic"], folds=2)
    code, lines, error = evaluated(found, tmp_path, capsys)
    assert code == 0
    assert lines[0].startswith("F1 ")
    assert "was chosen by 'custom', a function that its file does not hold" in error


def test_a_constraint_that_is_missed_is_said_in_words(tmp_path, capsys):
    metric, also = "precision@recall>=0.97", ["specificity@recall>=0.9"]
    found = compare(FIVE, Y, metric, methods=["logistic"], folds=3, also=also)
    short = found.scores()["logistic"]
    assert short.max() < 0
    words = (
        f"recall {0.97 + short.mean():.3f} misses 0.97 by {-short.mean():.3f} on "
        "average."
    )
    sentence = f"In 3 of 3 folds the constraint is missed: there {words}"
    assert sentence in " ".join(found.text().split())
    page = found.report(tmp_path).read_text(encoding="utf-8")
    assert sentence in html.unescape(page)
    _, lines, _ = evaluated(found, tmp_path, capsys)
    recall = recall_score(Y, found.best_estimator().predict(FIVE))
    assert (
        lines[0] == f"{metric}  recall {recall:.3f} misses 0.97 by {0.97 - recall:.3f}"
    )
    card = (tmp_path / "model.md").read_text(encoding="utf-8")
    # No shortfall stands where a score is expected.
    shown = re.sub("<script.*?</script>", "", page, flags=re.DOTALL)
    table = shown[shown.index("<thead>") : shown.index("</tbody>")]
    for text in (found.text(), card, re.sub("<[^>]*>", " ", table)):
        assert not re.search(r"(?<![\w.])-0\.[1-9]", text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"left": "perhaps"}, "holds 'perhaps', which the model does not know"),
        ({"left": None}, "no sample with a label"),
    ],
    ids=["unknown", "missing"],
)
def test_labels_that_cannot_be_evaluated_are_refused(
    stored, tmp_path, capsys, change, message
):
    mixed(30).assign(**change).to_csv(tmp_path / "new.csv", index=False)
    words = ["evaluate", str(stored), str(tmp_path / "new.csv"), "--target", "left"]
    assert main(words) == 2
    assert message in capsys.readouterr().err


def test_evaluate_takes_other_labels_as_the_negative_class(tmp_path, capsys):
    kinds = np.where(X[:, 0] > 1, "c", np.where(Y == 1, "a", "b"))
    frame = pd.DataFrame(X, columns=list("vwxyz"))
    found = compare(frame, kinds, methods=["logistic"], folds=2, positive="a")
    path = found.save(tmp_path / "model")
    frame.assign(kind=kinds).to_csv(tmp_path / "new.csv", index=False)
    assert (
        main(["evaluate", str(path), str(tmp_path / "new.csv"), "--target", "kind"])
        == 0
    )
    n = int((kinds == "a").sum())
    assert f"Of {n} samples labelled a it finds" in capsys.readouterr().out


def test_predictions_can_carry_columns_of_the_input(stored, tmp_path, capsys):
    new, output = tmp_path / "new.csv", tmp_path / "labelled.csv"
    frame = mixed(30).assign(key=[f"k{i}" for i in range(30)])
    frame.to_csv(new, index=False)
    words = ["predict", str(stored), str(new), "--output", str(output)]
    assert main([*words, "--keep", "key,size"]) == 0
    labelled = pd.read_csv(output)
    assert list(labelled.columns) == ["key", "size", "label", "score", "threshold"]
    assert labelled["key"].tolist() == frame["key"].tolist()
    np.testing.assert_allclose(labelled["size"], frame["size"])
    assert main([*words, "--keep", "keys"]) == 2
    assert "did you mean 'key'?" in capsys.readouterr().err
    frame.head(0).to_csv(new, index=False)
    assert main([*words, "--keep", "key"]) == 0
    empty = pd.read_csv(output)
    assert empty.empty
    assert list(empty.columns) == ["key", "label", "score", "threshold"]


def test_own_estimators_are_compared_under_their_names(tmp_path):
    mine = [GaussianNB(), GaussianNB(var_smoothing=0.1), ("trees", ExtraTrees(5))]
    found = compare(X, Y, methods=["logistic", *mine], folds=2, output=tmp_path)
    titles = ["logistic", "GaussianNB()", "GaussianNB(var_smoothing=0.1)", "trees"]
    assert [found.table.loc[name, "title"] for name in found.methods] == titles
    # Other parameters are another method, whose folds are not those of the first.
    again = compare(X, Y, methods=[GaussianNB()], folds=2, output=tmp_path)
    assert again.methods[0] == found.methods[1]
    # Estimators without a seed get that of the comparison.
    trees = found.methods[3]
    assert found.best_estimator(trees).predict(X).tolist() == (
        found.best_estimator(trees).predict(X).tolist()
    )
    with pytest.raises(ValueError, match="names, classifiers or"):
        compare(X, Y, methods=[GaussianNB], folds=2)
    for name in found.methods[1:]:
        unregister_method(name)


def test_the_recommended_method_is_saved_although_another_one_leads(tmp_path, capsys):
    X, y = make_classification(
        200, 6, weights=[0.8], flip_y=0.05, class_sep=0.8, random_state=25
    )
    frame = pd.DataFrame(X, columns=list("uvwxyz"))
    frame.assign(target=y).to_csv(tmp_path / "set.csv", index=False)
    words = ["compare", str(tmp_path / "set.csv"), "--target", "target", "--folds", "3"]
    words += ["--methods", "logistic_balanced,histgb", "--jobs", "1"]
    words += ["--output", str(tmp_path), "--quiet", "--no-explain", "--save", "model"]
    assert main(words) == 0
    summary = json.loads((tmp_path / "summary.json").read_text())["recommendation"]
    assert summary["leader"] == "histgb"
    assert summary["method"] == "logistic_balanced"
    assert "Fitting logistic, balanced on all 200 samples" in capsys.readouterr().out
    model = load_model(tmp_path / "model")
    table = make_table(frame, y, name="set")
    recommended = fit_method(table, summary["method"], "f1")
    expected = recommended.predict_proba(table.X.to_numpy())
    np.testing.assert_allclose(
        model.predict_proba(frame), expected, rtol=1e-9, atol=1e-12
    )
    assert model.predict(frame).tolist() == [
        str(code) for code in recommended.predict(table.X.to_numpy())
    ]
    leader = fit_method(table, summary["leader"], "f1").predict_proba(X)
    assert np.abs(leader - expected).max() > 0.1


def test_another_method_is_saved_from_a_finished_comparison(
    tmp_path, capsys, monkeypatch
):
    frame = pd.DataFrame(X, columns=list("vwxyz")).assign(target=Y)
    frame.to_csv(tmp_path / "set.csv", index=False)
    words = ["compare", str(tmp_path / "set.csv"), "--target", "target", "--folds", "3"]
    words += ["--methods", "logistic,bce", "--jobs", "1"]
    words += ["--output", str(tmp_path / "out"), "--quiet", "--no-explain"]
    assert main(words) == 0
    before = pd.read_csv(tmp_path / "out" / "results.csv")
    monkeypatch.setattr("sk_anyloss.compare.run.execution.fit_fold", None)
    assert main([*words, "--save", "net", "--save-method", "bce"]) == 0
    assert "Fitting BCE on all 120" in capsys.readouterr().out
    card = (tmp_path / "out" / "net.md").read_text()
    assert card.startswith("# Model card: BCE\n")
    after = pd.read_csv(tmp_path / "out" / "results.csv")
    pd.testing.assert_frame_equal(before, after)
    assert main([*words, "--save", "m", "--save-method", "histgb"]) == 2
    assert "name one of logistic, bce," in capsys.readouterr().err
    assert main([*words, "--save-method", "histgb"]) == 2
    assert "name the model with --save" in capsys.readouterr().err
    assert not (tmp_path / "out" / "m.skops").exists()
