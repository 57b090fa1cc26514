"""Wrong parameters and wild weights end with a sentence that names them, or finite."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from benchmarks import fuzz
from sk_anyloss import (
    AnyLossClassifier,
    AnyLossClassifierCV,
    AnyLossNet,
    CosineDecay,
    EarlyStopping,
)
from sk_anyloss.losses import Hybrid, WeightedBCE
from sk_anyloss.metrics.tuning import (
    best_label_thresholds,
    best_offsets,
    best_threshold,
)

X, Y = make_classification(120, 4, weights=[0.8], random_state=0)
QUICK = {"max_epochs": 5, "random_state": 0}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pos_label", [1]),
        ("random_state", -1),
        ("random_state", 0.5),
        ("callbacks", 3),
        ("callbacks", ["early_stopping"]),
        ("callbacks", "early_stopping"),
        ("device", "gpu"),
        ("hidden", b"f1"),
        ("hidden", bytearray(b"f")),
        ("L", True),
        ("lr", True),
        ("lr", CosineDecay(True)),
        ("max_epochs", True),
        ("n_init", True),
        ("n_bins", True),
        ("random_state", True),
        ("verbose", "no"),
        ("verbose", None),
        ("verbose", -1),
        ("verbose", 0.5),
        ("verbose", np.nan),
        ("verbose", b"1"),
    ],
)
def test_the_classifier_names_a_wrong_parameter_and_its_value(name, value):
    model = AnyLossClassifier(**{**QUICK, name: value})
    with pytest.raises(ValueError, match=name) as caught:
        model.fit(X, Y)
    shown = value[0] if isinstance(value, list) else value
    assert str(shown) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hidden", 5),
        ("hidden", (32, 32)),
        ("candidates", {"L": 5}),
        ("candidates", [5]),
        ("candidates", 5),
        ("ensemble", "False"),
        ("tune_threshold", "yes"),
        ("n_best", 0),
        ("n_best", True),
        ("time_budget", np.nan),
        ("random_state", -1),
        ("pos_label", [1]),
        ("device", "gpu"),
        ("hidden", [b"f1"]),
        ("max_epochs", True),
        ("time_budget", True),
        ("random_state", True),
        ("verbose", "no"),
        ("verbose", None),
    ],
)
def test_the_search_names_a_wrong_parameter_and_its_value(name, value):
    model = AnyLossClassifierCV(**{"random_state": 0, name: value})
    with pytest.raises(ValueError, match=name) as caught:
        model.fit(X, Y)
    shown = value[0] if isinstance(value, list) else value
    assert str(shown) in str(caught.value)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sharded", "False"),
        ("sharded", None),
        ("sharded", 1),
        ("sharded", np.nan),
        ("max_epochs", -1),
        ("max_epochs", True),
        ("verbose", "no"),
        ("verbose", -1),
        ("accumulate", True),
        ("L", True),
    ],
)
def test_the_net_names_a_wrong_parameter_and_its_value(name, value, method):
    net = AnyLossNet(torch.nn.Linear(4, 1), **{**QUICK, name: value})
    with pytest.raises(ValueError, match=rf"{name} must be.*{value}"):
        getattr(net, method)(X.astype(np.float32), Y)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EarlyStopping(patience=True), "patience must be .*True"),
        (lambda: EarlyStopping(tol=np.inf), "tol must be .*inf"),
        (lambda: EarlyStopping(tol=True), "tol must be .*True"),
        (lambda: WeightedBCE(b"ab"), "class_weight must be .*b'ab'"),
        (lambda: Hybrid(class_weight=b"ab"), "class_weight must be .*b'ab'"),
    ],
)
def test_parts_name_a_wrong_parameter_and_its_value(make, message):
    with pytest.raises(ValueError, match=message):
        make()


LOG_P = np.log(np.random.default_rng(0).dirichlet(np.ones(3), len(Y)))
TUNE = {
    "threshold": lambda **given: best_threshold("f1", X[:, 0], Y, **given),
    "offsets": lambda **given: best_offsets("f1", LOG_P, Y, **given),
    "labels": lambda **given: best_label_thresholds(
        "f1_micro", X[:, :2], np.column_stack([Y, 1 - Y]), **given
    ),
}


@pytest.mark.parametrize("tune", TUNE)
@pytest.mark.parametrize("wrong", [-1.0, np.nan])
def test_tuning_refuses_weights_that_are_none(tune, wrong):
    weight = np.where(np.arange(len(Y)) == 3, wrong, 1.0)
    with pytest.raises(ValueError, match="sample_weight must not be negative or NaN"):
        TUNE[tune](sample_weight=weight)


@pytest.mark.parametrize("tune", ["offsets", "labels"])
@pytest.mark.parametrize("max_sweeps", [0, -1, True, 1.5, "3", None])
def test_tuning_refuses_numbers_of_sweeps_that_tune_nothing(tune, max_sweeps):
    with pytest.raises(ValueError, match="max_sweeps must be a whole number"):
        TUNE[tune](max_sweeps=max_sweeps)


@pytest.mark.parametrize(
    "model",
    [
        AnyLossClassifier(max_epochs=2, random_state=0),
        AnyLossClassifierCV(candidates=[{"max_epochs": 2}], random_state=0),
    ],
)
def test_numbers_that_are_strings_are_refused_in_fit_and_in_predict(model):
    words = X.astype(str)
    for samples in (words, words.tolist(), words.astype("S")):
        with pytest.raises(ValueError, match="strings"):
            clone(model).fit(samples, Y)
    model.fit(X, Y)
    for method in (model.predict, model.predict_proba, model.decision_function):
        for samples in (words[:5], words[:5].tolist(), words[:5].astype("S")):
            with pytest.raises(ValueError, match="strings"):
                method(samples)


@pytest.mark.parametrize("dtype", [np.int8, bool, np.float16, np.float32, object])
def test_numbers_of_other_types_are_computed_as_before(dtype):
    whole = np.rint(X).clip(0, 1)
    model = AnyLossClassifier(**QUICK).fit(whole, Y)
    other = clone(model).fit(whole.astype(dtype), Y)
    is_single = dtype == np.float32
    assert other.net_.module_.layers[0].weight.dtype == (
        torch.float32 if is_single else torch.float64
    )
    np.testing.assert_allclose(
        other.decision_function(whole.astype(dtype)),
        model.decision_function(whole),
        atol=1e-4 if is_single else 0,
    )


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
@pytest.mark.parametrize("kind", [AnyLossClassifier, AnyLossClassifierCV])
def test_a_device_that_is_not_there(kind):
    with pytest.raises(ValueError, match=r"device='cuda' cannot be used.*device='cpu'"):
        kind(device="cuda", random_state=0).fit(X, Y)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "weights",
    [
        {"class_weight": {0: 1e-12, 1: 1e12}},
        {"class_weight": {0: 1e-12, 1: 1e12}, "loss": "hybrid"},
        {"class_weight": {0: 1e-30, 1: 1e30}, "loss": "weighted_bce"},
        {"class_weight": {0: 1e300, 1: 1e-300}, "loss": "bce"},
    ],
)
def test_extreme_class_weights_stay_finite(weights, dtype):
    model = AnyLossClassifier(batch_size=3, step="uniform", **QUICK, **weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        scores = model.fit(X.astype(dtype), Y).predict_proba(X.astype(dtype))
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("loss", [None, "mse", "focal"])
def test_extreme_sample_weights_stay_finite(loss, dtype):
    weight = 10.0 ** np.random.default_rng(0).uniform(-30, 30, len(Y))
    model = AnyLossClassifier(loss=loss, batch_size=3, **QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        scores = model.fit(X.astype(dtype), Y, weight).predict_proba(X.astype(dtype))
    assert np.isfinite(scores).all()


def test_a_batch_without_any_weight_trains_a_net():
    weight = np.where(np.arange(len(Y)) < 100, 0.0, 1.0).astype(np.float32)
    net = AnyLossNet(torch.nn.Linear(4, 1), batch_size=10, max_epochs=3)
    net.fit(X.astype(np.float32), Y, sample_weight=weight)
    assert np.isfinite(net.predict_proba(X.astype(np.float32))).all()


def test_a_steep_step_in_small_batches_of_float32():
    model = AnyLossClassifier("precision", L=2000, batch_size=4, **QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = model.fit(X.astype(np.float32), Y).predict_proba(X)
    assert np.isfinite(scores).all()


def diverged(samples=X, weight=None, **params):
    params = {"optimizer": "sgd", "batch_norm": False, "activation": "relu", **params}
    model = AnyLossClassifier(loss="bce", **QUICK, **params)
    with pytest.raises(ValueError, match=r"finite|became") as caught:
        model.fit(samples, Y, weight)
    return str(caught.value)


def test_a_diverged_training_names_the_learning_rate():
    assert "lr=1e+300" in diverged(hidden=(8, 8), lr=1e300)


def test_a_diverged_training_names_the_values_of_x():
    text = diverged(X * 1e200, standardize=False, hidden=(4,))
    assert "standardize=True" in text
    assert "learning rate" not in text


@pytest.mark.parametrize("metric", ["gmean", "balanced_accuracy", "youden_j"])
def test_class_weights_that_cannot_matter_are_said(metric):
    model = AnyLossClassifier(metric, class_weight="balanced", **QUICK)
    with pytest.warns(UserWarning, match=f"class_weight='balanced' .*{metric}"):
        model.fit(X, Y)


@pytest.mark.parametrize("params", [{}, {"metric": "gmean", "loss": "bce"}])
def test_class_weights_that_matter_are_not_warned_of(params):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        AnyLossClassifier(class_weight="balanced", **QUICK, **params).fit(X, Y)


@pytest.mark.parametrize("attempt", [fuzz.try_loss, fuzz.try_fit])
def test_random_losses_and_fits_are_finite_or_a_sentence(attempt):
    n = 300 if attempt is fuzz.try_loss else 60
    ends, _, bad = fuzz.run(attempt, n, seed=1, progress=False)
    assert bad == []
    assert ends["finite"] > 0.9 * n
