"""Wrong parameters and wild weights end with a sentence that names them, or finite."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from benchmarks import fuzz
from sk_anyloss import AnyLossClassifier, AnyLossClassifierCV, AnyLossNet

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
    ],
)
def test_the_search_names_a_wrong_parameter_and_its_value(name, value):
    model = AnyLossClassifierCV(**{"random_state": 0, name: value})
    with pytest.raises(ValueError, match=name) as caught:
        model.fit(X, Y)
    shown = value[0] if isinstance(value, list) else value
    assert str(shown) in str(caught.value)


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
