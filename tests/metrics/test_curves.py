"""Metrics over thresholds: against scikit-learn, autograd and brute force."""

import numpy as np
import pytest
import sklearn.metrics
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from sk_anyloss import (
    AnyLossClassifier,
    AnyLossNet,
    EarlyStopping,
    metric_score,
    metric_scorer,
)
from sk_anyloss.estimators.fitting.plan import make_plan
from sk_anyloss.losses import AnyLoss, Pairs
from sk_anyloss.losses.steps import get_step
from sk_anyloss.metrics import AtLeast, curve_names, get_metric
from sk_anyloss.metrics.curves import counts_at_every_score
from sk_anyloss.training.network.mlp import MLP

every_curve = pytest.mark.parametrize("name", curve_names())
REFERENCE = {
    "roc_auc": sklearn.metrics.roc_auc_score,
    "average_precision": sklearn.metrics.average_precision_score,
}


def make_samples(seed, n=40):
    """Scores with ties, labels of both classes, sample weights."""
    rng = np.random.default_rng(seed)
    y = np.append(rng.integers(0, 2, n - 2), [0, 1])
    return rng.integers(0, 12, n) / 4 - 1, y, rng.integers(1, 4, n).astype(float)


@every_curve
@given(seed=st.integers(0, 2**16))
def test_equal_to_scikit_learn(name, seed):
    scores, y, w = make_samples(seed)
    for weight in (None, w):
        expected = REFERENCE[name](y, scores, sample_weight=weight)
        found = metric_score(y, scores, metric=name, sample_weight=weight)
        assert found == pytest.approx(expected, abs=1e-12)


@every_curve
@given(seed=st.integers(0, 2**16))
def test_derivatives_equal_autograd(name, seed):
    curve = get_metric(name)
    counts = np.stack(counts_at_every_score(*make_samples(seed)))[:, :-1]
    tensors = torch.from_numpy(counts).requires_grad_()
    value = curve(*tensors)
    value.backward()
    tn, fp, fn, tp = tensors.grad.numpy()
    found, positives, negatives = curve.value_and_derivatives(*counts)
    assert found == pytest.approx(value.item())
    np.testing.assert_allclose(positives, tp - fn, atol=1e-12)
    np.testing.assert_allclose(negatives, fp - tn, atol=1e-12)


@pytest.mark.parametrize("step", ["sigmoid", "linear"])
def test_soft_curve_equals_its_formula(step):
    scores, y, w = make_samples(3)
    thresholds = np.linspace(0.1, 0.9, 9)
    p = 1 / (1 + np.exp(-scores))
    fpr, tpr, precision = [0.0], [0.0], [1.0]
    for t in thresholds[::-1]:
        h = get_step(step)(torch.from_numpy(p), t).numpy()
        tpr.append(np.average(h[y == 1], weights=w[y == 1]))
        fpr.append(np.average(h[y == 0], weights=w[y == 0]))
        precision.append((w * h)[y == 1].sum() / (w * h).sum() if h.any() else 0.0)
    fpr, tpr = np.append(fpr, 1.0), np.append(tpr, 1.0)
    precision = np.append(precision, w[y == 1].sum() / w.sum())
    tensors = [torch.from_numpy(array) for array in (scores, y, w)]
    area = trapezoid(tpr, fpr)
    assert AnyLoss("roc_auc", step)(*tensors).item() == pytest.approx(1 - area)
    average = (np.diff(tpr) * precision[1:]).sum()
    loss = AnyLoss("average_precision", step)(*tensors).item()
    assert loss == pytest.approx(1 - average)


def brute_force_loss(name, z, y, w, steepness):
    """One minus the mean of the metric at the score of each positive."""
    total = 0.0
    for i in np.flatnonzero(y):
        h = 1 / (1 + np.exp(-steepness * (z - z[i])))
        fp, tp = (w * h)[y == 0].sum(), (w * h)[y == 1].sum()
        value = tp / (tp + fp)
        if name == "roc_auc":
            value = 1 - fp / w[y == 0].sum()
        total += w[i] * value
    return 1 - total / w[y == 1].sum()


@every_curve
@pytest.mark.parametrize(("steepness", "at_once"), [(0.5, 100), (2.0, 1), (2.0, 2**16)])
def test_pairs_equal_brute_force(name, steepness, at_once, monkeypatch):
    monkeypatch.setattr("sk_anyloss.losses.pairwise.PAIRS_AT_ONCE", at_once)
    z, y, w = make_samples(5)
    tensors = [torch.from_numpy(array) for array in (z, y, w)]
    found = Pairs(name, steepness)(*tensors).item()
    assert found == pytest.approx(brute_force_loss(name, z, y, w, steepness))


@given(seed=st.integers(0, 2**16))
def test_steep_pairs_are_the_wilcoxon_mann_whitney_statistic(seed):
    z, y, w = make_samples(seed)
    tensors = [torch.from_numpy(array) for array in (z, y, w)]
    expected = sklearn.metrics.roc_auc_score(y, z, sample_weight=w)
    assert 1 - Pairs("roc_auc", 1e4)(*tensors).item() == pytest.approx(expected)


def test_pairs_and_constraints_check_the_kind_of_metric():
    with pytest.raises(ValueError, match=r"'roc_auc' and 'average_precision', but.*f1"):
        AnyLossClassifier("f1", loss="pairs").fit(*training_set())
    with pytest.raises(ValueError, match="steepness must be positive"):
        Pairs(steepness=0)
    with pytest.raises(ValueError, match="is a metric over thresholds"):
        AtLeast("roc_auc", "recall")


def test_area_is_undefined_for_one_class():
    with pytest.warns(UndefinedMetricWarning, match="samples of one class"):
        assert np.isnan(metric_score([1, 1], [0.1, 0.2], metric="roc_auc"))


@pytest.mark.parametrize("scores", [[0.1, np.nan], ["a", "b"]])
def test_scores_must_be_numbers(scores):
    with pytest.raises(ValueError, match=r"NaN|strings"):
        metric_score([0, 1], scores, metric="roc_auc")


def training_set():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.15).astype(int)
    X = rng.normal(size=(300, 4))
    X[y == 1, 0] += 1.5
    return X, y


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("roc_auc", None),
        ("average_precision", None),
        ("average_precision", "pairs"),
        ("roc_auc", "hybrid"),
        ("average_precision", "bce"),
    ],
)
def test_estimator_trains_and_scores(name, loss):
    X, y = training_set()
    model = AnyLossClassifier(name, loss=loss, random_state=0, max_epochs=40)
    model.fit(X, y)
    scores = model.predict_proba(X)[:, 1]
    assert model.score(X, y) == pytest.approx(REFERENCE[name](y, scores))
    chance = 0.5 if name == "roc_auc" else y.mean()
    assert model.score(X, y) > chance + 0.25
    assert cross_val_score(model, X, y, cv=3).min() > chance
    if loss != "bce":  # As many positive decisions as there are positives.
        assert model.predict(X).sum() == y.sum()


@every_curve
def test_positive_class_may_be_the_first(name):
    X, y = training_set()
    labels = np.array(["b", "a"])[y]
    model = AnyLossClassifier(name, pos_label="a", random_state=0, max_epochs=30)
    model.fit(X, labels)
    expected = REFERENCE[name](y, model.predict_proba(X)[:, 0])
    assert model.score(X, labels) == pytest.approx(expected)
    w = np.arange(300.0)
    expected = REFERENCE[name](y, model.predict_proba(X)[:, 0], sample_weight=w)
    assert model.score(X, labels, w) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "weighted"), [("roc_auc", False), ("average_precision", True)]
)
def test_early_stopping_monitors_the_area_of_all_held_out_samples(
    name, weighted, monkeypatch
):
    monkeypatch.setattr("sk_anyloss.training.data.sparse.CHUNK_SAMPLES", 7)
    X, y = training_set()
    w = np.random.default_rng(1).random(300) if weighted else None
    model = AnyLossClassifier(
        name, loss="pairs", random_state=0,
        early_stopping=EarlyStopping(validation_fraction=0.3, patience=3),
    )  # fmt: skip
    model.fit(X, y, w)
    held_out = make_plan(model, y, w, X.dtype).held_out
    index, weight = held_out.index, held_out.weight
    best = max(model.validation_scores_)
    score = metric_score(
        y[index], model.decision_function(X[index]), metric=name, sample_weight=weight
    )
    assert score == pytest.approx(best)


@every_curve
def test_net_score(name):
    X, y = training_set()
    module = MLP(4, random_state=0, dtype=torch.float64)
    net = AnyLossNet(module, metric=name, random_state=0, max_epochs=20).fit(X, y)
    assert net.score(X, y) == pytest.approx(REFERENCE[name](y, net.logits(X)))


@every_curve
def test_scorer_for_other_estimators(name):
    X, y = training_set()
    model = LogisticRegression()
    found = cross_val_score(model, X, y, scoring=metric_scorer(name))
    np.testing.assert_allclose(found, cross_val_score(model, X, y, scoring=name))
    labels = np.array(["b", "a"])[y]
    model.fit(X, labels)
    expected = REFERENCE[name](y, model.predict_proba(X)[:, 0])
    scorer = metric_scorer(name, pos_label="a")
    assert scorer(model, X, labels) == pytest.approx(expected)
