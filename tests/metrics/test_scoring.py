"""Scores of hard labels, and scikit-learn scorers."""

import numpy as np
import pytest
import sklearn.metrics
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TunedThresholdClassifierCV, cross_val_score

from sk_anyloss import metric_score, metric_scorer
from sk_anyloss.metrics import Average
from sk_anyloss.metrics.multilabel import LabelAverage

rng = np.random.default_rng(0)
Y, PREDICTED = rng.integers(0, 2, (2, 80))


def test_the_greater_label_is_positive_by_default():
    names = np.array(["no", "yes"])
    expected = sklearn.metrics.f1_score(Y, PREDICTED)
    assert metric_score(Y, PREDICTED) == pytest.approx(expected)
    assert metric_score(names[Y], names[PREDICTED]) == pytest.approx(expected)
    assert metric_score(Y == 1, PREDICTED == 1) == pytest.approx(expected)


def test_pos_label():
    expected = sklearn.metrics.f1_score(Y, PREDICTED, pos_label=0)
    assert metric_score(Y, PREDICTED, pos_label=0) == pytest.approx(expected)


def test_sample_weight():
    w = rng.random(80)
    expected = sklearn.metrics.matthews_corrcoef(Y, PREDICTED, sample_weight=w)
    score = metric_score(Y, PREDICTED, metric="mcc", sample_weight=w)
    assert score == pytest.approx(expected)


def test_a_single_label_needs_pos_label_unless_0_or_1():
    assert metric_score([0, 0], [0, 0], metric="accuracy") == 1
    assert metric_score([1, 1], [1, 1], metric="recall") == 1
    with pytest.raises(ValueError, match="pos_label"):
        metric_score(["no"], ["no"])
    assert metric_score(["no"], ["no"], pos_label="yes", metric="accuracy") == 1


@pytest.mark.parametrize(
    ("name", "sklearn_name"),
    [("f1", "f1"), ("mcc", "matthews_corrcoef"), ("jaccard", "jaccard")],
)
def test_scorer_equals_scikit_learns(name, sklearn_name, imbalanced):
    model = LogisticRegression()
    scores = cross_val_score(model, *imbalanced, cv=3, scoring=metric_scorer(name))
    expected = cross_val_score(model, *imbalanced, cv=3, scoring=sklearn_name)
    np.testing.assert_allclose(scores, expected)


def test_scorer_from_a_callable(imbalanced):
    X, y = imbalanced
    model = LogisticRegression().fit(X, y)
    scorer = metric_scorer(lambda tn, fp, fn, tp: -(fp + 10 * fn))
    _, fp, fn, _ = sklearn.metrics.confusion_matrix(y, model.predict(X)).ravel()
    assert scorer(model, X, y) == -(fp + 10 * fn)


def test_scorer_tunes_thresholds(imbalanced):
    X, y = imbalanced
    tuned = TunedThresholdClassifierCV(
        LogisticRegression(), scoring=metric_scorer("f2")
    )
    plain = LogisticRegression().fit(X, y)
    scorer = metric_scorer("f2")
    assert scorer(tuned.fit(X, y), X, y) > scorer(plain, X, y)


def test_scorer_with_string_labels(imbalanced):
    X, y = imbalanced
    names = np.array(["fraud", "ok"])[1 - y]
    model = LogisticRegression().fit(X, names)
    expected = sklearn.metrics.recall_score(names, model.predict(X), pos_label="fraud")
    scorer = metric_scorer("recall", pos_label="fraud")
    assert scorer(model, X, names) == pytest.approx(expected)


def test_scorer_refuses_an_unknown_metric_at_once():
    with pytest.raises(ValueError, match="Unknown metric"):
        metric_scorer("f one")


def test_labels_must_hold_all_classes():
    assert metric_score([0, 1], [0, 1], metric="accuracy", labels=[0, 1, 2]) == 1
    with pytest.raises(ValueError, match=r"must hold all classes, but .* has .*3"):
        metric_score([0, 1, 2], [0, 1, 3], metric="accuracy", labels=[0, 1, 2])


NO_YES = (["no", "yes"], ["no", "no"])


@pytest.mark.parametrize("metric", ["accuracy", "f1", "f1_macro"])
@pytest.mark.parametrize(
    ("y", "given"),
    [
        (NO_YES, {"pos_label": "Yes"}),
        (NO_YES, {"pos_label": ""}),
        (NO_YES, {"pos_label": 1}),
        (NO_YES, {"pos_label": b"yes"}),
        (([0, 1], [0, 0]), {"pos_label": "1"}),
        (([0, 1], [0, 0]), {"pos_label": 2}),
        (([0, 1], [0, 0]), {"pos_label": 0.5}),
        (([0, 1], [0, 0]), {"pos_label": np.nan}),
        (([0, 1], [0, 0]), {"pos_label": [1]}),
        (([0, 1], [0, 0]), {"pos_label": np.array([0, 1])}),
        (([0, 1, 2], [0, 1, 2]), {"pos_label": 7}),
        ((["no", "no"], ["no", "no"]), {"pos_label": 1}),
        (([[1, 0], [0, 1]], [[1, 0], [1, 1]]), {"pos_label": 7}),
        (([[1, 0], [0, 1]], [[1, 0], [1, 1]]), {"labels": [0, 1]}),
        (([0, 1], [0, 1]), {"labels": [3, 4]}),
        (([0, 1], [0, 1]), {"labels": [1]}),
        (([0, 1], [0, 1]), {"labels": [0, 1, 1]}),
        (([0, 1], [0, 1]), {"labels": ["0", "1"]}),
        (([0, 1], [0, 1]), {"labels": [[0, 1]]}),
        (([0, 1], [0, 1]), {"labels": 1}),
        (([0, 1], [0, 1]), {"labels": []}),
        (([0, 1], [0, 1]), {"labels": [0, 1, 2], "pos_label": 3}),
        (([], []), {"pos_label": 1}),
        (([0, 1], [0, 1]), {"sample_weight": ["1", "2"]}),
    ],
    ids=str,
)
def test_what_cannot_be_scored_is_an_error(y, given, metric):
    with pytest.raises(ValueError, match=r"pos_label|label|empty|strings"):
        metric_score(*y, metric=metric, **given)


def test_the_positive_class_of_a_curve_is_one_of_the_labels_and_scores_are_numbers():
    with pytest.raises(ValueError, match="pos_label=5 is not a valid label"):
        metric_score([0, 1], [0.2, 0.3], metric="roc_auc", pos_label=5)
    with pytest.raises(ValueError, match="strings"):
        metric_score([0, 1], ["0.2", "0.3"], metric="roc_auc")
    counts = np.array([3, 250], dtype=np.uint8)
    assert metric_score([0, 1], counts, metric="roc_auc") == 1


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        metric_score([0, 1], [0, 1, 1])


METRICS_OF_SINGLE_NUMBERS = {
    "branches": lambda tn, fp, fn, tp: tp / (tp + fp + fn) if tp > 1 else 0 * tp,
    "torch functions": lambda tn, fp, fn, tp: torch.sqrt(tp),
    "a constant": lambda tn, fp, fn, tp: 0.5,
}


@pytest.mark.parametrize("name", METRICS_OF_SINGLE_NUMBERS)
@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
def test_averages_of_a_metric_that_takes_no_arrays(name, average):
    metric = METRICS_OF_SINGLE_NUMBERS[name]
    y, decided = rng.integers(0, 3, (2, 60))
    own = [
        metric_score(y == c, decided == c, metric=metric, pos_label=True)
        for c in range(3)
    ]
    classes = np.eye(3)[y], np.eye(3)[decided]
    expected = {
        "macro": np.mean(own),
        "weighted": np.average(own, weights=np.bincount(y)),
        "micro": metric_score(*(labels.ravel() for labels in classes), metric=metric),
    }[average]
    found = metric_score(y, decided, metric=Average(metric, average))
    assert found == pytest.approx(expected)
    of_labels = metric_score(*classes, metric=LabelAverage(metric, average))
    assert of_labels == pytest.approx(expected)


@pytest.mark.parametrize("name", METRICS_OF_SINGLE_NUMBERS)
def test_the_mean_over_samples_of_a_metric_that_takes_no_arrays(name):
    metric = METRICS_OF_SINGLE_NUMBERS[name]
    y, decided = rng.integers(0, 2, (2, 20, 4))
    own = [
        metric_score(a, b, metric=metric, pos_label=1)
        for a, b in zip(y, decided, strict=True)
    ]
    found = metric_score(y, decided, metric=LabelAverage(metric, "samples"))
    assert found == pytest.approx(np.mean(own))
