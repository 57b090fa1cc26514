"""A stack of fits: each member is the estimator fitted alone, to rounding."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold
from skorch.callbacks import EpochScoring
from torch import nn

import sk_anyloss.estimators.stack
import sk_anyloss.training.trainer
from sk_anyloss import AnyLossClassifier, CosineDecay, EarlyStopping, fit_stack
from sk_anyloss.losses import AnyLoss, loss_names
from sk_anyloss.losses.steps import Cosine, Linear, LogitSigmoid, Step, Uniform
from sk_anyloss.metrics import curve_names
from tests.losses.losses_to_test import metric_of
from tests.tolerances import SAME_MODEL

DATA = make_classification(300, 6, weights=[0.8], flip_y=0.1, random_state=0)
FOLDS = [train for train, _ in StratifiedKFold(3).split(*DATA)]


def model(**params):
    return AnyLossClassifier(**{"max_epochs": 8, "random_state": 0, **params})


def assert_each_as_if_alone(
    models, X, y, rows=None, sample_weight=None, close=SAME_MODEL
):
    stacked = fit_stack(
        [clone(m) for m in models], X, y, rows=rows, sample_weight=sample_weight
    )
    for k, (one, other) in enumerate(zip(stacked, models, strict=True)):
        index = np.arange(X.shape[0]) if rows is None or rows[k] is None else rows[k]
        Xk = X.iloc[index] if hasattr(X, "iloc") else X[index]
        weight = None
        if sample_weight is not None:
            weight = np.broadcast_to(sample_weight, (len(models), len(y)))[k][index]
        alone = clone(other).fit(Xk, np.asarray(y)[index], sample_weight=weight)
        np.testing.assert_allclose(
            one.decision_function(X), alone.decision_function(X), **close
        )
        np.testing.assert_allclose(one.loss_curve_, alone.loss_curve_, **close)
        assert one.n_iter_ == alone.n_iter_
        assert (one.validation_scores_ is None) == (alone.validation_scores_ is None)
        np.testing.assert_allclose(
            one.validation_scores_ or 0, alone.validation_scores_ or 0, **close
        )
        assert (one.classes_ == alone.classes_).all()
        assert one.n_features_in_ == alone.n_features_in_
        assert set(one.net_.history[-1]) == set(alone.net_.history[-1])
    return stacked


@pytest.fixture
def stacks(monkeypatch):
    """What was trained together: the number of members of each group of each stack."""
    seen = []
    train = sk_anyloss.training.trainer._train_together

    def note(groups):
        seen.append([len(group) for group in groups])
        train(groups)

    monkeypatch.setattr(sk_anyloss.training.trainer, "_train_together", note)
    return seen


def test_settings_on_the_same_rows_share_one_group(stacks):
    models = [
        model(metric=metric, L=L, lr=lr, threshold=threshold)
        for metric, L, lr, threshold in [
            ("f1", 5, 0.01, 0.5),
            ("jaccard", 73, 0.02, 0.5),
            ("gmean", 20, 0.03, 0.3),
            ("f1", 20, 0.01, 0.5),
        ]
    ]
    assert_each_as_if_alone(models, *DATA)
    assert stacks == [[4]]


def test_the_mcc_of_equal_decisions_has_no_slope_but_rounding(stacks):
    # Which Adam makes larger; so this one is not equal to the last digits.
    models = [model(metric="mcc", L=L) for L in (5, 73)]
    assert_each_as_if_alone(models, *DATA)
    assert stacks == [[2]]


class Own(Step):
    """A step that can only do with plain numbers."""

    def __init__(self, at):
        self.at = at

    def __call__(self, p, threshold=0.5):
        return torch.sigmoid(max(self.at, 1) * (p - threshold))

    def derivative(self, p, threshold=0.5):
        h = self(p, threshold)
        return max(self.at, 1) * h * (1 - h)


def test_steps_of_others_are_stacked_as_kinds_of_their_own(stacks):
    models = [model(step=Own(at), metric=m) for at in (5, 9) for m in ("f1", "f2")]
    assert_each_as_if_alone(models, *DATA)
    assert stacks == [[4]]


KINDS = [
    {"loss": "bce"},
    {"step": "identity"},
    {"L": 5},
    {"loss": "weighted_bce"},
    {"L": 20, "metric": "mcc"},
    {"loss": partial(AnyLoss, threshold=[0.3, 0.6])},
    {"loss": partial(AnyLoss, decay=0.5)},
    {"loss": "hybrid"},
]


@pytest.mark.parametrize("batch_size", ["auto", 300])
def test_losses_of_all_kinds_are_stacked(stacks, batch_size):
    X, y = DATA
    models = [model(batch_size=batch_size, **kind) for kind in KINDS for _ in FOLDS]
    assert_each_as_if_alone(models, X, y, rows=FOLDS * len(KINDS))
    assert stacks == [[8, 8, 8]]


def test_losses_of_all_kinds_in_pieces(stacks, monkeypatch):
    monkeypatch.setattr("sk_anyloss.training.data.stacked_batches.CHUNK_SIZE", 2000)
    X, y = DATA
    kinds = [*KINDS[:3], {"loss": "pairs", "metric": "roc_auc"}]
    models = [model(batch_size=300, **kind) for kind in kinds]
    stacked = assert_each_as_if_alone(models, X, y)
    assert stacks == [[4]]
    monkeypatch.undo()
    for one, whole in zip(stacked, models, strict=True):
        np.testing.assert_allclose(
            one.decision_function(X), whole.fit(X, y).decision_function(X), **SAME_MODEL
        )


def test_folds_times_settings(stacks):
    models = [model(L=L) for L in (5, 73) for _ in FOLDS]
    assert_each_as_if_alone(models, *DATA, rows=FOLDS * 2)
    assert stacks == [[2, 2, 2]]


def test_seeds_have_orders_of_their_own(stacks):
    assert_each_as_if_alone([model(random_state=seed) for seed in range(4)], *DATA)
    assert stacks == [[1, 1, 1, 1]]


def branching(tn, fp, fn, tp):
    return tp / (tp + fn) if tp > 0 else 0 * tp


#: Models that differ in the numbers that one loss or step is made with.
UNLIKE = {
    "sigmoid": [{"L": 5}, {"L": 73, "metric": "gmean"}],
    "linear": [{"step": Linear(0.05)}, {"step": Linear(0.3), "metric": "f2"}],
    "cosine": [{"step": Cosine(0.3)}, {"step": Cosine(0.6), "metric": "accuracy"}],
    "uniform": [{"step": Uniform(0.3)}, {"step": Uniform(0.9), "metric": "jaccard"}],
    "logit": [{"step": LogitSigmoid(1)}, {"step": LogitSigmoid(3, 0.5)}],
    "identity": [{"step": "identity", "metric": metric} for metric in ("f1", "f2")],
    "thresholds": [{"step": "linear", "threshold": t} for t in (0.3, 0.6)],
    "several thresholds": [
        {
            "step": "linear",
            "loss": partial(AnyLoss, threshold=[t, 0.6]),
            "metric": metric,
        }
        for t, metric in ((0.3, "f1"), (0.5, "gmean"))
    ],
    "curve": [{"metric": "average_precision", "L": L} for L in (5, 20)],
    "hybrids": [
        {"loss": "hybrid", "L": L, "metric": metric}
        for L, metric in ((5, "f1"), (9, "f2"))
    ],
    "branch": [{"metric": branching, "L": L, "batch_size": 300} for L in (5, 20)],
    **{
        name: [
            {"loss": name, "metric": metric_of(name), "lr": lr} for lr in (0.01, 0.03)
        ]
        for name in loss_names()
    },
}


@pytest.mark.parametrize("kind", UNLIKE)
def test_members_keep_the_numbers_of_their_own_loss(kind, stacks):
    models = [model(**params) for params in UNLIKE[kind]]
    assert_each_as_if_alone(models, *DATA)
    assert stacks == [[2]]


@pytest.mark.parametrize(
    "params",
    [
        {"hidden": ()},
        {"hidden": (4, 3), "activation": "relu"},
        {"batch_norm": False},
        {"standardize": False},
        {"batch_size": 1.0},
        {"batch_size": 7},
        {"optimizer": "adamw"},
        {"optimizer": "sgd"},
        {"class_weight": "balanced"},
        {"pos_label": 0},
        {"early_stopping": EarlyStopping(patience=3), "max_epochs": 30, "L": 5},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:class_weight.* has no effect on metric='gmean'")
def test_every_shape(params, stacks):
    models = [model(**params, metric=metric) for metric in ("f1", "gmean")]
    models += [model(**params, random_state=seed) for seed in (1, 2)]
    assert_each_as_if_alone(models, *DATA)
    assert sum(sum(groups) for groups in stacks) == 4


@pytest.mark.parametrize(
    "params",
    [
        {"n_init": 3},
        {"n_init": 2, "early_stopping": True},
        {"lr": CosineDecay(0.02)},
    ],
)
def test_several_starts_and_a_falling_rate(params):
    models = [model(L=L, **params) for L in (5, 20) for _ in FOLDS]
    assert_each_as_if_alone(models, *DATA, rows=FOLDS * 2)


@pytest.mark.parametrize("metric", curve_names())
def test_metrics_over_thresholds_are_watched_on_held_out_rows(metric, stacks):
    params = {"metric": metric, "early_stopping": True}
    models = [model(lr=lr, L=20, **params) for lr in (0.01, 0.03) for _ in FOLDS]
    assert_each_as_if_alone(models, *DATA, rows=FOLDS * 2)
    assert stacks == [[2, 2, 2]]


def test_groups_of_unequal_rows_are_filled_up():
    rows = [np.arange(300 - k) for k in range(4)]
    assert_each_as_if_alone([model(batch_size=60) for _ in rows], *DATA, rows=rows)


@pytest.mark.parametrize("loss", [None, "bce"])
@pytest.mark.parametrize("kind", ["of each", "of all", "of the rows of each"])
def test_rows_by_weight(loss, kind):
    weight = np.random.default_rng(0).random((3, 300))
    weight[1, ::3] = 0
    models = [model(loss=loss, max_epochs=4) for _ in weight]
    assert_each_as_if_alone(
        models,
        *DATA,
        rows=FOLDS if kind == "of the rows of each" else None,
        sample_weight=weight[0] if kind == "of all" else weight,
    )


def test_masks_are_rows_too():
    X, y = DATA
    mask = np.arange(300) % 2 == 0
    by_mask, by_index = fit_stack(
        [model(), model()], X, y, rows=[mask, np.flatnonzero(mask)]
    )
    assert (by_mask.predict(X) == by_index.predict(X)).all()


def test_float32_stays_float32():
    X, y = DATA
    models = [model(L=L) for L in (5, 20)]
    close = {"rtol": 1e-3, "atol": 1e-3}
    stacked = assert_each_as_if_alone(models, X.astype(np.float32), y, close=close)
    assert stacked[0].decision_function(X.astype(np.float32)).dtype == np.float32


def test_sparse_rows_and_frames_and_string_labels():
    X, y = DATA
    models = [model(L=L) for L in (5, 20)]
    assert_each_as_if_alone(models, scipy.sparse.csr_array(X), y)
    names = [f"column {i}" for i in range(6)]
    frame, labels = pd.DataFrame(X, columns=names), np.where(y == 1, "yes", "no")
    stacked = assert_each_as_if_alone(models, frame, labels)
    assert [m.feature_names_in_.tolist() for m in stacked] == [names] * 2


def test_what_has_no_like_is_fitted_by_itself(stacks):
    models = [
        model(),
        model(hidden=(3,)),
        model(max_epochs=3),
        model(activation=nn.functional.relu6),
        model(optimizer="rmsprop"),
        model(callbacks=[("own", EpochScoring("accuracy", on_train=True))]),
    ]
    X, y = DATA
    stacked = fit_stack(models, X, y)
    assert stacks == []
    for one in stacked:
        expected = clone(one).fit(X, y).decision_function(X)
        np.testing.assert_array_equal(one.decision_function(X), expected)


def test_a_stack_that_would_take_too_much_memory_is_cut(stacks, monkeypatch):
    monkeypatch.setattr(sk_anyloss.training.trainer, "CHUNK_SIZE", 64 * 6 * 3)
    assert_each_as_if_alone([model(L=L) for L in (2, 5, 10, 20, 73)], *DATA)
    assert [sum(groups) for groups in stacks] == [3, 2]


def test_a_member_goes_on_learning_as_if_it_had_been_alone():
    X, y = DATA
    stacked = fit_stack([model(L=L, warm_start=True) for L in (5, 20)], X, y)
    for one in stacked:
        alone = clone(one).fit(X, y).fit(X, y)
        one.fit(X, y)
        assert one.n_iter_ == alone.n_iter_ == 16
        np.testing.assert_allclose(
            one.decision_function(X), alone.decision_function(X), **SAME_MODEL
        )


def test_a_stack_is_repeatable_bit_by_bit():
    X, y = DATA
    models = [model(L=L, random_state=seed) for L in (5, 20) for seed in (0, 1)]
    first = fit_stack([clone(m) for m in models], X, y)
    again = fit_stack([clone(m) for m in models], X, y)
    for a, b in zip(first, again, strict=True):
        assert (a.decision_function(X) == b.decision_function(X)).all()


def test_clear_errors_and_nothing_lost():
    X, y = DATA
    with pytest.raises(ValueError, match="models is empty"):
        fit_stack([], X, y)
    with pytest.raises(TypeError, match="takes AnyLossClassifier, got Linear"):
        fit_stack([nn.Linear(2, 1)], X, y)
    one = model()
    with pytest.raises(ValueError, match="same estimator twice"):
        fit_stack([one, one], X, y)
    with pytest.raises(ValueError, match="one entry for each of the 2 models, got 1"):
        fit_stack([model(), model()], X, y, rows=[None])
    with pytest.raises(ValueError, match=r"shape \(300,\) or \(2, 300\)"):
        fit_stack([model(), model()], X, y, sample_weight=np.ones((3, 300)))
    for rows in ([[0.5, 1]], [np.arange(301)], [[-1, 0]], [np.ones(299, bool)]):
        with pytest.raises(ValueError, match="positions from 0 to 299 or a mask"):
            fit_stack([model()], X, y, rows=rows)
    fitted, other = model().fit(X, y), model(L=5)
    before = fitted.predict(X)
    with pytest.raises(ValueError, match="only one class"):
        fit_stack([fitted, other], X, y, rows=[None, np.flatnonzero(y == 1)])
    assert (fitted.predict(X) == before).all()
    assert not hasattr(other, "classes_")


def test_a_loss_that_is_lost_is_told_of():
    X, y = DATA
    models = [
        model(lr=lr, loss="bce", optimizer="sgd", hidden=(), standardize=False)
        for lr in (0.1, 1e300)
    ]
    with pytest.raises(ValueError, match=r"values up to .* standardize=True"):
        fit_stack(models, X * 1e10, y)


def test_networks_of_the_same_samples_have_their_labels_in_common(monkeypatch):
    seen = []
    train = sk_anyloss.estimators.stack.train
    monkeypatch.setattr(
        sk_anyloss.estimators.stack,
        "train",
        lambda tasks: [seen.extend(tasks), train(tasks)],
    )
    fit_stack(
        [model(L=5), model(L=20), model()], *DATA, rows=[*FOLDS[:1] * 2, FOLDS[1]]
    )
    assert seen[0].sample.target is seen[1].sample.target
    assert seen[0].sample.target is not seen[2].sample.target
