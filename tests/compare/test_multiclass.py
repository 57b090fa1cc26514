"""Tables with more than two classes, from the target to the stored model."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax, softmax
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    confusion_matrix,
    f1_score,
    precision_recall_fscore_support,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_anyloss import TunedDecisionClassifier
from sk_anyloss.__main__ import main
from sk_anyloss.baselines import SmallClassesSMOTE, get_baseline
from sk_anyloss.compare import (
    TableError,
    compare,
    compare_tables,
    default_methods,
    make_table,
    register_method,
    unregister_method,
)
from sk_anyloss.compare.folds.outer import make_splits
from sk_anyloss.compare.metrics import metric_for_classes
from sk_anyloss.compare.model_file.archive import pack, unpack
from sk_anyloss.compare.model_file.loading import predict
from sk_anyloss.metrics import FBeta, metric_name
from sk_anyloss.plain import PlainClassifier

X, CODES = make_classification(
    150, 5, n_informative=4, n_redundant=0, n_classes=3, weights=[0.6, 0.25],
    random_state=0,
)  # fmt: skip
LABELS = np.array(["fine", "late", "lost"])
Y = LABELS[CODES]
FAST = ["logistic", "histgb_balanced"]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    output = tmp_path_factory.mktemp("results")
    return compare(X, Y, methods=FAST, folds=3, output=output)


def test_scores_and_classes_are_those_of_the_predictions(found):
    (fold,) = (f for f in found.folds if (f.method, f.fold) == ("logistic", 1))
    y_true, y_pred = CODES[fold.rows], fold.scores.argmax(axis=1)
    expected = f1_score(y_true, y_pred, average="macro")
    assert found.scores()["logistic"].iloc[1] == pytest.approx(expected)
    own = [f for f in found.folds if f.method == "logistic"]
    y_true = np.concatenate([CODES[f.rows] for f in own])
    y_pred = np.concatenate([f.scores.argmax(axis=1) for f in own])
    report = found.class_report("logistic")
    expected = precision_recall_fscore_support(y_true, y_pred)
    np.testing.assert_allclose(report.to_numpy().T, expected)
    assert list(report.index) == LABELS.tolist()
    assert found.confusion_matrix("logistic").loc["fine", "fine"] == np.sum(
        (y_true == 0) & (y_pred == 0)
    )


def test_finished_folds_are_found_again(found, tmp_path, monkeypatch):
    call = {"methods": FAST[:1], "folds": 3, "output": tmp_path}
    first = compare(X, Y, **call)
    monkeypatch.setattr("sk_anyloss.compare.run.execution.fit_fold", None)
    again = compare(X, Y, **call)
    for a, b in zip(first.folds, again.folds, strict=True):
        assert a.counts == b.counts
        np.testing.assert_array_equal(a.scores, b.scores)


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        ("F1", "f1_macro"),
        (FBeta(2), "f2_macro"),
        (lambda tn, fp, fn, tp: tp, "<lambda>_macro"),
        ("mcc", "mcc"),
        ("f1_weighted", "f1_weighted"),
        ("kappa_quadratic", "kappa_quadratic"),
        ("precision@recall>=0.8", "precision_macro@recall_macro>=0.8"),
        ("recall[late]", "recall[late]"),
    ],
)
def test_a_metric_of_two_classes_means_its_macro_average(metric, name):
    assert metric_name(metric_for_classes(metric, 3)) == name
    assert metric_for_classes(metric, 2) is metric


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("recall[early]", "names the class 'early', but the classes are fine, late"),
        ("roc_auc", "is a metric over all thresholds"),
        ("f1_makro", "Unknown metric"),
    ],
)
def test_metrics_that_these_classes_do_not_have_are_refused(metric, message):
    with pytest.raises(ValueError, match=message):
        compare(X, Y, metric, methods=FAST)
    if metric == "roc_auc":
        with pytest.raises(ValueError, match="over thresholds of two classes"):
            compare(X, Y, methods=FAST, also=[metric])


def test_a_class_is_named_by_its_label_and_methods_get_its_code():
    given = []

    def build(metric, seed):
        given.append(metric)
        return DummyClassifier(strategy="constant", constant=1)

    register_method("own", build)
    try:
        found = compare(X, Y, "recall['late']", methods=["own"], folds=2)
        assert found.table.loc["own", "mean"] == 1
    finally:
        unregister_method("own")
    assert set(given) == {"recall[1]"}


def test_tables_of_two_and_more_classes_are_compared_by_one_metric():
    tables = [make_table(X, Y, name="three"), make_table(X, CODES > 0, name="two")]
    both = compare_tables(tables, methods=["logistic"], folds=2)
    assert both.settings["metric"] == "f1_macro"
    (fold, *_) = (f for f in both.folds if f.data == "two")
    y_true, y_pred = (CODES > 0)[fold.rows], fold.scores > 0.5
    rare = make_table(X, CODES > 0).positive
    expected = f1_score(y_true == rare, y_pred, average="macro")
    assert both.scores("two").iloc[0, 0] == pytest.approx(expected)
    assert "All 2 data sets" in both.text()


def test_one_class_against_the_rest(tmp_path):
    table = make_table(X, Y, positive="late")
    assert list(table.classes) == ["others", "late"]
    assert table.y.sum() == (Y == "late").sum()
    named = np.where(Y == "late", "others", Y)
    assert make_table(X, named, positive="others").negative == "all others"


@pytest.mark.parametrize(
    ("sizes", "folds", "message"),
    [
        ([9, 40, 3, 98], 10, r"has fewer of 'c' \(3\), 'a' \(9\); use --folds 3 or"),
        ([1, 51, 98], 2, r"has fewer of 'a' \(1\); merge these classes .* leave"),
    ],
)
def test_classes_with_fewer_samples_than_folds_are_named(sizes, folds, message):
    labels = np.repeat(list("abcd")[: len(sizes)], sizes)
    with pytest.raises(TableError, match=message):
        compare(X, labels, methods=FAST, folds=folds)


def test_continuous_targets_are_refused_and_whole_numbers_are_in_their_order():
    with pytest.raises(TableError, match="continuous: 150 distinct numbers"):
        compare(X, X[:, 0])
    assert list(make_table(X, CODES + 9).classes) == [9, 10, 11]
    with pytest.raises(TableError, match="same text: 1, '1'"):
        make_table(X, np.array([1, "1", "b"], dtype=object)[CODES])


def test_of_more_classes_offsets_are_tuned_in_place_of_a_threshold():
    assert "histgb_threshold" in default_methods()
    assert "histgb_threshold" not in default_methods(3)
    assert "histgb_offsets" in default_methods(3)
    assert "histgb_offsets" not in default_methods()
    found = compare(X, Y, methods=["logistic_threshold"], folds=3)
    reference = TunedDecisionClassifier(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
        "f1_macro", random_state=0,
    )  # fmt: skip
    (table,) = found.tables
    fold = next(f for f in found.folds if f.method == "logistic_offsets")
    train = np.setdiff1d(np.arange(150), fold.rows)
    reference.fit(X[train], table.y[train])
    expected = confusion_matrix(table.y[fold.rows], reference.predict(X[fold.rows]))
    np.testing.assert_array_equal(np.reshape(fold.counts, (3, 3)), expected)
    with pytest.raises(ValueError, match="'logistic_offsets' is for more than two"):
        compare(X, CODES > 0, methods=["logistic_offsets"])


def test_methods_for_two_classes_are_refused_by_name():
    with pytest.raises(ValueError, match="'surrogate_fbeta' is for two classes"):
        compare(X, Y, methods=["surrogate_fbeta"])


@pytest.mark.parametrize(
    "sampler",
    [
        SmallClassesSMOTE(random_state=0),
        *(
            get_baseline(f"bce_{name}", random_state=0).named_steps["resample"]
            for name in ("borderline_smote", "adasyn", "smote_enn")
        ),
    ],
)
def test_over_sampling_with_classes_of_few_samples(sampler):
    y = np.repeat([0, 1, 2, 3], [97, 49, 3, 1])
    before = sampler.get_params()
    _, resampled = sampler.fit_resample(X + 0.7 * y[:, None], y)
    counts = np.bincount(resampled, minlength=4)
    assert counts[2] > 3
    assert counts[3] <= 1
    assert sampler.get_params() == before


def test_folds_of_groups_and_of_time_train_on_every_class():
    for more in ({"groups": np.arange(150) // 5}, {"time": np.arange(150)}):
        table = make_table(X, Y, **more)
        for train, _ in make_splits(table, 3):
            assert set(table.y[train]) == {0, 1, 2}
    with pytest.raises(TableError, match="in which a class is new; no number of folds"):
        make_splits(make_table(X, np.sort(Y), time=np.arange(150)), 3)


def test_the_command_its_report_and_its_model(tmp_path, capsys):
    path, output = tmp_path / "data.csv", tmp_path / "out"
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame.assign(y=Y).to_csv(path, index=False)
    words = f"compare {path} --target y --metric f1 --methods logistic,logistic_smote "
    words += f"--folds 3 --jobs 1 --quiet --no-explain --output {output} --save model"
    assert main(words.split()) == 0
    printed = capsys.readouterr().out
    assert "data: 150 samples, 5 columns, 3 classes of" in printed
    for text in ("f1_macro", "mistaken for", "Confusion matrix, true classes in rows"):
        assert text in printed
    page = (output / "report.html").read_text(encoding="utf-8")
    assert page.count('<table class="sortable"') == 2
    assert page.count("<picture>") == 3
    assert '<th scope="row">lost</th>' in page
    assert "tp" not in pd.read_csv(output / "results.csv").columns
    card = (output / "model.md").read_text(encoding="utf-8")
    assert "Classifies 3 classes: `fine`, `late`, `lost`." in card
    predicted = predict(output / "model", frame)
    assert list(predicted) == ["label", *(f"score[{label}]" for label in LABELS)]
    scores = predicted.iloc[:, 1:].to_numpy()
    assert predicted["label"].tolist() == LABELS[scores.argmax(axis=1)].tolist()
    assert predict(output / "model", frame[:0]).columns.equals(predicted.columns)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("logistic", "cannot be applied"),
        ("anyloss", "cannot be applied"),
        ("histgb", "indices in a HistGradientBoostingClassifier are out of bounds"),
        ("balanced_forest", "out of bounds"),
        ("rusboost", "out of bounds"),
    ],
)
def test_a_model_file_with_another_number_of_classes_is_refused(
    method, message, tmp_path
):
    path = compare(X, Y, methods=[method], folds=2).save(tmp_path / "model")
    members = unpack(path.read_bytes())
    facts = json.loads(members["facts.json"])
    members["facts.json"] = json.dumps({**facts, "classes": ["a", "b"]}).encode()
    path.write_bytes(pack(members))
    with pytest.raises(TableError, match=message):
        predict(path, pd.DataFrame(X, columns=[f"x{i}" for i in range(5)]))


def test_of_many_classes_the_most_frequent_ones_are_shown(tmp_path):
    sizes = np.repeat(np.arange(40), 6)
    labels = np.append(sizes, np.repeat(np.arange(20, 40), 4))
    features = np.random.default_rng(0).normal(size=(len(labels), 3)) + labels[:, None]
    register_method("dummy", lambda metric, seed: DummyClassifier())
    try:
        found = compare(features, labels, methods=["dummy"], folds=3, order="ascending")
        text = found.text()
        page = found.report(tmp_path).read_text(encoding="utf-8")
    finally:
        unregister_method("dummy")
    for shown in (text, page):
        assert "The 20 most frequent of 40 classes are shown." in shown
    assert '<th scope="row">39</th>' in page
    assert '<th scope="row">19</th>' not in page


@pytest.mark.parametrize("n_networks", [1, 2])
def test_networks_with_an_output_for_each_class_are_applied_without_torch(n_networks):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(n_networks, 3, 5))
    plain = PlainClassifier("f1_macro")
    plain.classes_, plain.target_type_, plain.n_features_in_ = LABELS, "multiclass", 5
    plain.networks_ = [
        {
            "activation": "relu", "bin_features": None, "mean": None, "scale": None,
            "weights": [weight], "biases": [np.arange(3.0)], "norms": [],
        }
        for weight in weights
    ]  # fmt: skip
    offsets = rng.normal(size=(n_networks, 3))
    plain.logit_thresholds_ = offsets
    plain.network_weights_ = {1: np.ones(1), 2: np.array([0.3, 0.7])}[n_networks]
    plain.logit_threshold_ = np.array([0.5, -0.5, 0.0])
    members = [
        softmax(log_softmax(X @ w.T + np.arange(3.0), axis=1) - offset, axis=1)
        for w, offset in zip(weights, offsets, strict=True)
    ]
    proba = np.average(members, axis=0, weights=plain.network_weights_)
    np.testing.assert_allclose(plain.predict_proba(X), proba, rtol=1e-9, atol=1e-12)
    decided = LABELS[(np.log(proba) - plain.logit_threshold_).argmax(axis=1)]
    np.testing.assert_array_equal(plain.predict(X), decided)
    expected = f1_score(Y, decided, average="macro")
    assert plain.score(X, Y) == pytest.approx(expected)


def test_methods_that_tune_offsets_are_named_on_the_command_line(tmp_path, capsys):
    pd.DataFrame(X, columns=list("abcde")).assign(kind=Y).to_csv(tmp_path / "set.csv")
    words = ["compare", str(tmp_path / "set.csv"), "--target", "kind", "--folds", "2"]
    words += ["--jobs", "1", "--quiet", "--no-explain", "--output", str(tmp_path)]
    assert main([*words, "--methods", "logistic,logistic_offsets"]) == 0
    summary = json.loads((tmp_path / "summary.json").read_text())
    names = {row["method"] for row in summary["data"][0]["ranking"]}
    assert names == {"logistic", "logistic_offsets"}
    capsys.readouterr()
    words += ["--positive", "late", "--output", str(tmp_path / "other")]
    assert main([*words, "--methods", "logistic_offsets"]) == 2
    assert "is for more than two classes, and the target has 2" in (
        capsys.readouterr().err
    )
