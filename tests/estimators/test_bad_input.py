"""Bad input: an error that names the parameter, the value and the way out."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from sklearn.exceptions import NotFittedError

from sk_anyloss import (
    AnyLossClassifier,
    AnyLossClassifierCV,
    CosineDecay,
    TunedDecisionClassifier,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = (X[:, 0] > 0.5).astype(int)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"metric": "f-one"},
            r"Unknown metric 'f-one'.*accuracy, average_precision",
        ),
        ({"metric": "gmaen"}, r"Did you mean 'gmean'"),
        ({"L": "atuo"}, r"takes L='auto'"),
        ({"metric": "precision@recall=0.8"}, r"'<goal>@<metric>>=<floor>' such as"),
        ({"lr": CosineDecay(-1)}, r"lr must be .* CosineDecay\(-1\)"),
        ({"n_bins": 0}, r"n_bins must be a whole number of at least 1 or None, got 0"),
        ({"n_bins": 2.5}, r"n_bins must be"),
        ({"n_init": 0}, r"n_init must be a whole number of at least 1"),
        ({"metric": 3}, r"name or a callable"),
        (
            {"step": "sigmoyd"},
            r"Unknown step 'sigmoyd'. Did you mean 'sigmoid'.*cosine",
        ),
        ({"L": 0}, r"L must be positive and finite, got 0"),
        ({"L": -5, "step": "identity"}, r"L must be positive and finite, got -5"),
        ({"L": np.nan}, r"L must be positive"),
        ({"threshold": 0}, r"threshold must be .*between 0 and 1, got 0"),
        ({"threshold": 1.2}, r"threshold must be .*got 1.2"),
        ({"hidden": (4, 0)}, r"hidden must be a tuple of positive whole.*got \(4, 0\)"),
        ({"hidden": (2.5,)}, r"hidden must be .*got \(2.5,\)"),
        ({"loss": "cross-entropy"}, r"Unknown loss 'cross-entropy'.*bce"),
        ({"loss": "bce", "metric": "f-one"}, r"Unknown metric"),
        ({"activation": "step"}, r"Unknown activation 'step'.*relu"),
        ({"optimizer": "adamm"}, r"Unknown optimizer 'adamm'. Did you mean 'adam'"),
        ({"lr": 0}, r"lr must be a number above 0.*got 0"),
        ({"lr": "fast"}, r"lr must be a number"),
        ({"max_epochs": 0}, r"max_epochs must be a whole number of at least 1, got 0"),
        ({"max_epochs": 1.5}, r"max_epochs must be a whole number"),
        ({"batch_size": 0}, r"batch_size must be 'auto'.*got 0"),
        ({"batch_size": 1.5}, r"batch_size must be.*got 1.5"),
        (
            {"early_stopping": "yes"},
            r"early_stopping must be True or False or an Early",
        ),
        ({"pos_label": "yes"}, r"pos_label='yes' is not one of the classes \[0, 1\]"),
        ({"class_weight": "even"}, r"class_weight"),
        ({"class_weight": {0: 1, 7: 1}}, r"classes, \[1\], are not in class_weight"),
        (
            {"class_weight": {0: 1, 1: -1}},
            r"class_weight must be finite and not negative",
        ),
        ({"class_weight": {0: 0, 1: 0}}, r"leaves no sample any weight"),
        ({"L": None}, r"L must be positive and finite, got None"),
        ({"optimizer": 5}, r"Unknown optimizer 5\. Known: adam"),
        ({"step": None}, r"Unknown step None\. Known: cosine"),
        ({"standardize": "no"}, r"standardize must be True or False, got 'no'"),
        ({"early_stopping": "yes"}, r"early_stopping must be True or False"),
        ({"random_state": -1}, r"non-negative|must be"),
    ],
    ids=str,
)
def test_parameters(params, message):
    with pytest.raises((ValueError, TypeError), match=message):
        AnyLossClassifier(**params).fit(X, Y)


def returns_nan(tn, fp, fn, tp):
    return tp * float("nan")


def returns_two(tn, fp, fn, tp):
    return torch.stack((tp, tn))


def returns_float(tn, fp, fn, tp):
    return float(tp)


@pytest.mark.parametrize(
    ("metric", "loss"),
    [(returns_nan, None), (returns_two, "bce"), (returns_float, None)],
)
def test_a_metric_that_cannot_be_used_is_named(metric, loss):
    with pytest.raises(ValueError, match=f"The metric '{metric.__name__}'"):
        AnyLossClassifier(metric, loss=loss).fit(X, Y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(40), r"only one class"),
        (np.linspace(0, 1, 40), r"Unknown label type: continuous"),
        (Y[:30], r"inconsistent numbers of samples"),
        (np.column_stack([Y, Y + 2]), r"must be a matrix of 0 and 1.*\[0, 1, 2, 3\]"),
        (np.zeros((40, 2, 2)), r"dim|1d array"),
        (np.where(np.arange(40) == 0, np.nan, Y), r"NaN"),
    ],
    ids=["one class", "continuous", "too short", "two columns", "three axes", "nan"],
)
def test_labels(y, message):
    with pytest.raises(ValueError, match=message):
        AnyLossClassifier().fit(X, y)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, "b"], "labels of several types, int and str"),
        (["a", None], "labels of several types, NoneType and str"),
        ([False, True], r"the dtype object .*convert them by y.astype\(bool\)"),
        (np.array([b"a", b"b"]), r"labels of the type bytes.*y.astype\(str\)"),
    ],
)
@pytest.mark.parametrize("model", [AnyLossClassifier(), TunedDecisionClassifier()])
def test_objects_that_are_no_labels(model, labels, message):
    labels = labels if isinstance(labels, np.ndarray) else np.array(labels, object)
    with pytest.raises(TypeError, match=message):
        model.fit(X, labels[Y])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_rows_must_be_finite(value):
    bad = X.copy()
    bad[3, 1] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        AnyLossClassifier().fit(bad, Y)
    model = AnyLossClassifier(max_epochs=2).fit(X, Y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.predict(bad)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.where(Y, 1.0, -1.0), r"[Nn]egative values"),
        (np.zeros(40), r"zero|0 for every row"),
        (np.ones(39), r"sample_weight.shape"),
        (np.ones((40, 2)), r"1D array"),
        (np.full(40, np.nan), r"NaN"),
        (Y.astype(float), r"only one class among the samples of positive weight"),
    ],
    ids=["negative", "zero", "short", "two columns", "nan", "one class left"],
)
def test_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        AnyLossClassifier().fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_predicting_before_fitting_and_with_other_columns(method):
    model = AnyLossClassifier(max_epochs=2)
    with pytest.raises(NotFittedError):
        getattr(model, method)(X)
    model.fit(X, Y)
    with pytest.raises(ValueError, match=r"2 features.*expecting 3 features"):
        getattr(model, method)(X[:, :2])


@pytest.mark.parametrize("n_bins", [None, 4])
@pytest.mark.parametrize("to_samples", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("least", [5e-324, 1e-310])
def test_a_feature_of_0_and_the_least_of_all_numbers(least, to_samples, n_bins):
    samples = to_samples(np.column_stack([X, (X[:, 1] > 0) * least]))
    model = AnyLossClassifier(n_bins=n_bins, max_epochs=3, random_state=0)
    assert np.isfinite(model.fit(samples, Y).predict_proba(samples)).all()


def test_values_too_large_to_standardise():
    with pytest.raises(ValueError, match="too large to be standardised"):
        AnyLossClassifier().fit(X / np.abs(X).max() * 1.7e308, Y)


def test_scoring_other_labels_or_bad_weights():
    model = AnyLossClassifier(max_epochs=2).fit(X, Y)
    with pytest.raises((ValueError, TypeError), match="Mix of label input types"):
        model.score(X, Y.astype(str))
    with pytest.raises(ValueError, match="Negative values"):
        model.score(X, Y, sample_weight=-np.ones(40))


def test_scoring_before_fitting():
    with pytest.raises(NotFittedError):
        AnyLossClassifier().score(X, Y)


def test_early_stopping_needs_two_samples_of_each_class():
    y = (np.arange(40) == 0).astype(int)
    with pytest.raises(
        ValueError, match=r"two samples of each class.*early_stopping=False"
    ):
        AnyLossClassifier(early_stopping=True).fit(X, y)


def test_a_learning_rate_that_explodes_says_so():
    with pytest.raises(ValueError, match="lower the learning rate"):
        AnyLossClassifier(lr=1e300, optimizer="sgd", loss="bce").fit(X, Y)


@pytest.mark.parametrize("make", [AnyLossClassifier, AnyLossClassifierCV])
@pytest.mark.parametrize(
    "column",
    [
        np.where(np.arange(40) == 0, np.nan, 1.0),
        np.repeat(["red", "blue"], 20),
        np.datetime64("2026-01-01", "ns") + np.arange(40).astype("timedelta64[D]"),
    ],
    ids=["missing", "words", "dates"],
)
def test_columns_that_need_an_encoder_name_one(make, column):
    X = pd.DataFrame({"number": np.arange(40.0), "other": column})
    model = make().__class__.__name__
    with pytest.raises((ValueError, TypeError), match=rf"skrub.*{model}\(\)"):
        make().fit(X, np.tile([0, 1], 20))
