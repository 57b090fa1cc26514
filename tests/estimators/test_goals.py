"""AnyLossClassifier: weights, losses, own metrics, constraints, costs, L."""

import pickle

import numpy as np
import pytest
import sklearn.metrics
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import (
    FixedThresholdClassifier,
    cross_val_score,
    train_test_split,
)
from skorch.callbacks import Initializer
from torch import nn

from sk_anyloss import (
    AnyLossClassifier,
    fit_stack,
    metric_score,
)
from sk_anyloss.losses import AnyLoss, Pairs, SurrogateFBeta, loss_names
from sk_anyloss.losses.steepness import auto_L
from sk_anyloss.losses.steps import Sigmoid
from sk_anyloss.metrics import AtLeast, Savings, get_metric
from tests.estimators.fits import fit
from tests.losses.losses_to_test import metric_of
from tests.tolerances import SAME_MODEL


def at_zero():
    """A callback that starts training at a logit of 0 instead of the prior."""
    return Initializer("layers.*.bias", fn=nn.init.zeros_)


@pytest.mark.parametrize(
    "params", [{}, {"loss": "bce"}, {"hidden": (), "metric": "gmean"}]
)
def test_in_a_full_batch_weight_two_is_the_row_twice(params, imbalanced):
    X, y = imbalanced
    times = np.arange(300) % 3
    params = {"batch_size": 1.0, **params}
    weighted = fit(X, y, sample_weight=times, **params)
    repeated = fit(X.repeat(times, axis=0), y.repeat(times), **params)
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), **SAME_MODEL
    )
    scaled = fit(X, y, sample_weight=times * 1e-3, **params)
    np.testing.assert_allclose(
        weighted.decision_function(X), scaled.decision_function(X), **SAME_MODEL
    )


def test_class_weights_multiply_sample_weights(imbalanced):
    X, y = imbalanced
    by_class = fit(X, y, class_weight={0: 1.0, 1: 3.0})
    by_row = fit(X, y, sample_weight=np.where(y, 3.0, 1.0))
    assert (by_class.decision_function(X) == by_row.decision_function(X)).all()


def test_balanced_class_weights_are_balanced_cross_entropy(imbalanced):
    X, y = imbalanced
    # Weights also enter the normalisation, so there is none here.
    plain = {
        "hidden": (),
        "standardize": False,
        "batch_size": 1.0,
        "callbacks": [at_zero()],
    }
    one = fit(X, y, class_weight="balanced", loss="bce", **plain)
    two = fit(X, y, loss="weighted_bce", **plain)
    np.testing.assert_allclose(
        one.decision_function(X), two.decision_function(X), **SAME_MODEL
    )


@pytest.mark.parametrize("weight", [1e-300, 1e-9, 1e9, 1e300])
@pytest.mark.parametrize(
    ("dtype", "metric"),
    [(np.float32, "f1"), (np.float32, "mcc"), (np.float64, "gmean")],
)
def test_extreme_weights_never_give_nan(weight, dtype, metric, imbalanced):
    X, y = imbalanced
    for w in (np.full(300, weight), np.where(np.arange(300) % 7, 1.0, weight)):
        model = fit(X.astype(dtype), y, metric=metric, sample_weight=w, max_epochs=3)
        assert np.isfinite(model.decision_function(X)).all()
        assert np.isfinite(model.loss_curve_).all()


def test_trains_for_what_it_is_told(imbalanced):
    X, y = imbalanced
    rng = np.random.default_rng(1)
    y = np.where(rng.random(300) < 0.1, 1 - y, y)
    X_train, X_test, y_train, _ = train_test_split(X, y, random_state=0, stratify=y)
    found = [
        fit(X_train, y_train, metric=f"f{beta}", max_epochs=100).predict(X_test).sum()
        for beta in (0.25, 1, 4)
    ]
    assert found[0] < found[1] < found[2]  # The more recall counts, the more alarms.


def test_a_metric_of_torch_functions_trains_and_scores(imbalanced):
    X, y = imbalanced

    def own(tn, fp, fn, tp):
        return torch.sqrt(tp / (tp + fn) * tn / (tn + fp))

    for early_stopping in (False, True):
        model = fit(X, y, metric=own, early_stopping=early_stopping, max_epochs=100)
        assert model.score(X, y) == pytest.approx(
            metric_score(y, model.predict(X), metric="gmean")
        )
        assert model.score(X, y) > 0.7


@pytest.mark.parametrize(
    "metric",
    [
        lambda tn, fp, fn, tp: tp / (tp + fn),
        lambda tn, fp, fn, tp: (tp * tn) ** 0.5 / 300,
    ],
    ids=["ratio", "root"],
)
def test_a_metric_that_divides_by_zero_is_told_of_ratio_and_root(metric, imbalanced):
    X, y = imbalanced
    with pytest.raises(ValueError, match=r"is not finite at .*ratio and root"):
        fit(X, y, metric=metric, batch_size=4)


def test_a_metric_that_is_nan_on_held_out_rows_is_named(imbalanced):
    X, y = imbalanced
    with pytest.raises(ValueError, match="is not finite at"):
        fit(X, y, metric=lambda tn, fp, fn, tp: tp / (tp + fp), early_stopping=True)


def test_a_guarded_metric_trains(imbalanced):
    X, y = imbalanced

    def guarded(tn, fp, fn, tp):
        return 2 * tp / (2 * tp + fp + fn) if tp + fn > 0 else 0.0

    assert fit(X, y, metric=guarded, batch_size=4, max_epochs=5).score(X, y) > 0.7


@pytest.mark.parametrize("loss", loss_names())
def test_learns_with_every_loss_in_closed_form(loss, imbalanced):
    X, y = imbalanced
    model = fit(X, y, metric=metric_of(loss), loss=loss, lr=0.05, max_epochs=60)
    assert model.net_.has_closed_form()
    assert sklearn.metrics.balanced_accuracy_score(y, model.predict(X)) > 0.75
    assert model.score(X, y) == metric_score(
        y,
        model.predict_proba(X)[:, 1] if loss == "pairs" else model.predict(X),
        metric=metric_of(loss),
    )


def test_a_loss_over_several_thresholds_predicts_at_that_of_the_estimator(imbalanced):
    X, y = imbalanced
    loss = AnyLoss("f1", "linear", threshold=[0.3, 0.5, 0.7])
    several = fit(X, y, loss=loss)
    p = several.predict_proba(X)[:, 1]
    assert (several.predict(X) == (p > 0.5)).all()
    moved = fit(X, y, loss=loss, threshold=0.2)
    np.testing.assert_allclose(moved.predict_proba(X)[:, 1], p)
    assert (moved.predict(X) == (p > 0.2)).all()
    fixed = FixedThresholdClassifier(fit(X, y, threshold=0.4), threshold=0.6).fit(X, y)
    assert (fixed.predict(X) == (fixed.predict_proba(X)[:, 1] > 0.6)).all()


def test_the_surrogate_finds_its_rate_in_labels_and_weights(imbalanced):
    X, y = imbalanced
    model = fit(X, y, loss="surrogate_fbeta", class_weight={0: 1, 1: 3})
    expected = 3 * y.sum() / (300 - y.sum())
    assert model.net_.criterion_.rate == pytest.approx(expected)
    mine = SurrogateFBeta()
    fit(X, y, loss=mine)
    assert mine.rate is None
    with pytest.raises(ValueError, match="F-beta scores only"):
        fit(X, y, metric="mcc", loss="surrogate_fbeta")


GOALS = ["precision@recall>=0.8", "recall@precision>=0.7", "specificity@recall>=0.95"]


@pytest.mark.parametrize(
    ("goal", "weighted"), [*((goal, True) for goal in GOALS), (GOALS[0], False)]
)
def test_constraints_are_met_on_the_training_rows(goal, weighted, imbalanced):
    X, y = imbalanced
    weight = np.random.default_rng(0).random(300) if weighted else None
    model = fit(X, y, metric=goal, max_epochs=60, sample_weight=weight)
    metric = get_metric(goal)
    decided = model.predict(X)
    counts = sklearn.metrics.confusion_matrix(y, decided, sample_weight=weight).ravel()
    reached, held = metric.both(*counts)
    assert held >= metric.floor
    assert model.score(X, y, weight) == pytest.approx(reached)
    assert reached > 0.5
    assert ((model.predict_proba(X)[:, 1] > 0.5) == decided).all()


def test_a_constraint_in_a_stack_is_the_same(imbalanced):
    X, y = imbalanced
    models = [AnyLossClassifier(goal, random_state=0, max_epochs=20) for goal in GOALS]
    for model in fit_stack(models, X, y):
        alone = clone(model).fit(X, y)
        assert (model.predict(X) == alone.predict(X)).all()


def test_a_constraint_that_cannot_be_met_says_how_far_it_is():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 1)).round(), np.arange(200) % 10 == 0
    with pytest.warns(ConvergenceWarning, match=r"best precision is .* short of 0.99"):
        model = fit(X, y, metric="recall@precision>=0.99")
    assert model.score(X, y) < 0


def test_costs(imbalanced):
    X, y = imbalanced
    dear = fit(X, y, metric=Savings(fp=1, fn=50), max_epochs=60).predict(X)
    cheap = fit(X, y, metric=Savings(fp=50, fn=1), max_epochs=60).predict(X)
    assert dear.sum() > y.sum() > cheap.sum()


def test_L_by_itself(imbalanced):
    X, y = imbalanced
    model = fit(X, y, L="auto", lr=0.01, max_epochs=100)
    assert auto_L(0.01, 500) == model.L_
    assert model.net_.criterion_.step.L == model.L_
    wide = fit(X, y, L="auto", lr=0.05, hidden=(32,), max_epochs=100)
    assert 5 == wide.L_ < model.L_
    assert fit(X, y).L_ == 73
    assert fit(X.astype("float32"), y, L="auto", lr=1e-4).L_ < 33.3
    first, second = fit_stack([clone(model), clone(wide)], X, y)
    assert (first.L_, second.L_) == (model.L_, wide.L_)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_L_out_of_range_is_told_of(dtype, imbalanced):
    X, y = imbalanced
    X = X.astype(dtype)
    fit(X, y, L=40, max_epochs=1, loss="bce")
    with pytest.warns(UserWarning, match=f"above the valid range for {dtype}"):
        fit(X, y, L=100, batch_size=30)


def test_a_moving_average_helps_where_batches_hold_a_positive_or_none():
    rng = np.random.default_rng(0)
    y = rng.random(20_000) < 0.003
    X = rng.normal(size=(20_000, 4)) + 2.0 * y[:, None]
    settings = {"L": 10, "batch_size": 100, "max_epochs": 5}
    without = fit(X, y, **settings).score(X, y)
    averaged = AnyLoss("f1", Sigmoid(10), decay=0.9)
    assert fit(X, y, loss=averaged, **settings).score(X, y) > without + 0.1


def test_a_constrained_score_shows_both_numbers(imbalanced):
    X, y = imbalanced
    model = fit(X, y, metric="precision@recall>=0.8")
    score = model.score(X, y)
    y_pred = model.predict(X)
    assert score.goal == sklearn.metrics.precision_score(y, y_pred)
    assert score.constraint == sklearn.metrics.recall_score(y, y_pred)
    assert f"precision {score.goal:.3f} at recall {score.constraint:.3f}" in str(score)
    assert "which meets 0.8" in repr(score)
    assert score == score.goal
    assert pickle.loads(pickle.dumps(score)).constraint == score.constraint
    missed = metric_score([1, 1, 0], [1, 0, 0], metric="precision@recall>=0.8")
    assert "misses 0.8" in str(missed)
    assert missed == pytest.approx(-0.3)
    assert cross_val_score(model, X, y, cv=3).dtype == float


def test_class_weights_do_not_move_a_constraint(imbalanced):
    X, y = imbalanced
    y = np.where(np.arange(300) % 12 == 0, 1 - y, y)
    params = {"class_weight": "balanced", "max_epochs": 30}
    model = fit(X, y, metric="recall@precision>=0.9", **params)
    assert model.score(X, y).constraint >= 0.9
    # But they say how many should be positive, where nothing else does.
    found = [
        fit(X, y, metric="roc_auc", max_epochs=30, class_weight={0: 1, 1: w})
        for w in (1, 10)
    ]
    assert found[0].predict(X).sum() == y.sum()
    assert found[1].predict(X).sum() > y.sum()


@pytest.mark.parametrize(
    "loss", [Pairs("roc_auc", 2.0), AnyLoss("roc_auc"), Pairs, AnyLoss]
)
def test_a_loss_that_is_handed_over_is_placed_too(loss, imbalanced):
    X, y = imbalanced
    model = fit(X, y, metric="roc_auc", loss=loss, max_epochs=8)
    assert model.predict(X).sum() == y.sum()


def test_a_class_of_losses_is_told_of_the_metric(imbalanced):
    model = fit(*imbalanced, metric="gmean", loss=AnyLoss, max_epochs=3)
    assert model.net_.criterion_.name == "gmean"
    with pytest.raises(ValueError, match="metrics over thresholds"):
        fit(*imbalanced, metric="f1", loss=Pairs)


def test_a_floor_that_is_reached_but_for_rounding_is_met(imbalanced):
    y_true, y_pred = [0] * 3 + [1] * 10, [0] * 3 + [1] * 8 + [0] * 2
    score = metric_score(
        y_true, y_pred, metric="precision@recall>=0.8", sample_weight=[0.1] * 13
    )
    assert "meets" in str(score)
    assert score == 1
    X, y = imbalanced
    model = AnyLossClassifier("precision@recall>=0.8", max_epochs=5, random_state=0)
    weight = np.full(300, 0.1)
    assert model.fit(X, y, weight).score(X, y, weight) >= 0


def test_a_constraint_on_metrics_of_torch(imbalanced):
    X, y = imbalanced
    goal = AtLeast(lambda tn, fp, fn, tp: torch.sqrt(tp / (tp + fp + 1)), "recall", 0.8)
    model = fit(X, y, metric=goal, max_epochs=5)
    assert model.score(X, y).constraint >= 0.8


def test_a_constrained_model_of_one_class_says_so(imbalanced):
    X, y = imbalanced
    with pytest.warns(ConvergenceWarning, match="for every training sample"):
        fit(np.ones_like(X), y, metric="precision@recall>=0.8", max_epochs=2)


def test_rows_of_one_class_have_no_rate(imbalanced):
    X, y = imbalanced
    model = AnyLossClassifier("f1", loss="surrogate_fbeta")
    with pytest.raises(ValueError, match="among samples of both classes"):
        model.partial_fit(X[y == 1], y[y == 1], classes=[0, 1])
