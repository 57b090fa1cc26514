"""AnyLossClassifier: what it learns, predicts, scores, repeats and keeps."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn.metrics
import torch
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import (
    FixedThresholdClassifier,
    cross_val_score,
    train_test_split,
)
from skorch.callbacks import Callback, Initializer, LRScheduler
from torch import nn

from sk_anyloss import (
    AnyLossClassifier,
    CosineDecay,
    EarlyStopping,
    fit_stack,
    metric_score,
)
from sk_anyloss.losses import AnyLoss, Pairs, SurrogateFBeta, loss_names
from sk_anyloss.losses.steepness import auto_L
from sk_anyloss.losses.steps import Linear, Sigmoid, step_names
from sk_anyloss.metrics import AtLeast, Savings, get_metric, metric_names
from tests.interruptions import InterruptedMetric
from tests.losses.losses_to_test import metric_of
from tests.tolerances import SAME_MODEL


def fit(X, y, **params):
    sample_weight = params.pop("sample_weight", None)
    params = {"random_state": 0, "max_epochs": 20, **params}
    return AnyLossClassifier(**params).fit(X, y, sample_weight)


def at_zero():
    """A callback that starts training at a logit of 0 instead of the prior."""
    return Initializer("layers.*.bias", fn=nn.init.zeros_)


@pytest.mark.parametrize("metric", sorted(set(metric_names()) - {"precision"}))
def test_learns_for_every_metric(metric, imbalanced):
    X, y = imbalanced
    model = fit(X, y, metric=metric, max_epochs=100)
    prior = 1 - y.mean()
    if metric not in {"recall", "specificity"}:  # One class alone is best for these.
        assert sklearn.metrics.balanced_accuracy_score(y, model.predict(X)) > 0.75
    assert model.score(X, y) == metric_score(y, model.predict(X), metric=metric)
    assert model.score(X, y) > (prior if metric == "accuracy" else 0.5)


def test_precision_alone_leads_to_no_decisions_and_the_user_is_told(imbalanced):
    with pytest.warns(ConvergenceWarning, match="for every training sample"):
        fit(*imbalanced, metric="precision", max_epochs=100)


@pytest.mark.parametrize(
    ("step", "hidden"),
    [
        *((step, (2,)) for step in [*step_names(), Linear(delta=0.2)]),
        *(("sigmoid", hidden) for hidden in [(), (8, 4)]),
    ],
    ids=str,
)
def test_learns_with_every_step_and_depth(step, hidden, imbalanced):
    X, y = imbalanced
    assert fit(X, y, step=step, hidden=hidden, max_epochs=100).score(X, y) > 0.7


def test_trains_the_same_network_on_a_loss_of_torch(imbalanced):
    X, y = imbalanced
    loss = torch.nn.BCEWithLogitsLoss()
    model = fit(X, y, loss=loss, lr=0.05, max_epochs=100)
    assert model.score(X, y) == sklearn.metrics.f1_score(y, model.predict(X)) > 0.7


def test_the_first_three_parameters_are_metric_hidden_and_L():
    model = AnyLossClassifier("gmean", (4,), 10)
    assert (model.metric, model.hidden, model.L) == ("gmean", (4,), 10)
    default = AnyLossClassifier()
    assert (default.metric, default.hidden, default.L) == ("f1", (2,), 73)


def test_fitted_attributes(imbalanced):
    X, y = imbalanced
    model = fit(X, y)
    assert model.classes_.tolist() == [0, 1]
    assert model.n_features_in_ == 6
    assert model.n_iter_ == len(model.loss_curve_) == 20
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    assert model.validation_scores_ is None


@pytest.mark.parametrize(
    ("threshold", "pos_label"), [(0.1, None), (0.5, 0), (0.9, None), (0.9, 0)]
)
def test_predictions_of_all_kinds_agree_at_any_threshold(
    threshold, pos_label, imbalanced
):
    X, y = imbalanced
    model = fit(X, y, threshold=threshold, pos_label=pos_label, max_epochs=60)
    decision, proba = model.decision_function(X), model.predict_proba(X)
    predicted = model.predict(X)
    assert decision.shape == (300,)
    assert proba.shape == (300, 2)
    np.testing.assert_allclose(proba.sum(1), 1)
    assert ((decision > 0) == (predicted == 1)).all()
    positive = 1 if pos_label is None else 0
    above = proba[:, positive] > threshold
    assert (above == (predicted == positive)).all()
    assert 0 < above.sum() < 300
    assert model.score(X, y) > 0.7


def test_the_rare_class_may_be_the_first_label(imbalanced):
    X, y = imbalanced
    names = np.array(["ok", "fraud"])[y]  # Sorted, fraud comes first.
    model = fit(X, names, pos_label="fraud", max_epochs=100)
    expected = fit(X, y, max_epochs=100)
    assert model.classes_.tolist() == ["fraud", "ok"]
    assert ((model.predict(X) == "fraud") == expected.predict(X)).all()
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 0], expected.predict_proba(X)[:, 1], **SAME_MODEL
    )
    np.testing.assert_allclose(
        model.decision_function(X), -expected.decision_function(X), **SAME_MODEL
    )
    assert model.score(X, names) == expected.score(X, y)
    predicted = model.predict(X)
    f1 = sklearn.metrics.f1_score(names, predicted, pos_label="fraud")
    assert model.score(X, names) == pytest.approx(f1)


@pytest.mark.parametrize(
    "labels",
    [[False, True], ["a", "b"], [-1, 1], [3, 7], [0.0, 1.0]],
    ids=str,
)
def test_any_type_of_label(labels, imbalanced):
    X, y = imbalanced
    names = np.array(labels)[y]
    model = fit(X, names)
    assert set(model.predict(X)) <= set(names)
    assert (model.predict(X) == np.array(labels)[fit(X, y).predict(X)]).all()


def test_labels_of_pandas_kinds(imbalanced):
    X, y = imbalanced
    names = pd.Series(np.array(["n", "y"])[y])
    expected = fit(X, y).predict(X)
    for kind in ("object", "category", "string"):
        assert ((fit(X, names.astype(kind)).predict(X) == "y") == expected).all()


def test_pandas_rows_and_their_names_are_remembered(imbalanced):
    X, y = imbalanced
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert (model.predict(frame) == fit(X, y).predict(X)).all()
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[list("bacdef")])


def test_kinds_of_arrays(imbalanced):
    X, y = imbalanced
    expected = fit(X, y).decision_function(X)
    frozen = X.copy()
    frozen.flags.writeable = False
    for other in (np.asfortranarray(X), frozen, X.tolist(), np.repeat(X, 2, 1)[:, ::2]):
        assert (fit(other, y).decision_function(X) == expected).all()


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_sparse_rows_give_what_dense_rows_give(kind, imbalanced):
    X, y = imbalanced
    X[X < 0] = 0
    sparse = getattr(scipy.sparse, f"{kind}_array")(X)
    model, expected = fit(sparse, y), fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(sparse), expected.decision_function(X), **SAME_MODEL
    )


def test_columns_need_no_scaling_by_the_user(imbalanced):
    X, y = imbalanced
    wild = X * np.logspace(-3, 3, 6) + np.logspace(3, -3, 6)
    assert fit(wild, y, max_epochs=100).score(wild, y) > 0.75
    np.testing.assert_allclose(
        fit(wild, y).decision_function(wild), fit(X, y).decision_function(X), atol=1e-3
    )


def test_standardisation_can_be_switched_off(imbalanced):
    X, y = imbalanced
    model = fit(X, y, standardize=False)
    assert model.net_.module_.mean is model.net_.module_.scale is None
    assert fit(X, y).net_.module_.mean is not None


def test_a_constant_column_changes_nothing(imbalanced):
    X, y = imbalanced
    wider = np.column_stack([X, np.full(300, 7.0)])
    decision = fit(wider, y, hidden=()).decision_function(wider)
    expected = fit(X, y, hidden=()).decision_function(X)
    np.testing.assert_allclose(decision, expected, **SAME_MODEL)


def test_float32_stays_float32_and_small_sets_are_computed_in_float64(imbalanced):
    X, y = imbalanced
    thin = X.astype(np.float32)
    model = fit(thin, y, max_epochs=50)
    assert {p.dtype for p in model.net_.module_.parameters()} == {torch.float32}
    assert model.decision_function(thin).dtype == np.float32
    assert model.score(X, y) > 0.7
    small = fit(thin[:64], y[:64])
    assert {p.dtype for p in small.net_.module_.parameters()} == {torch.float64}
    whole = fit(X, y)
    assert {p.dtype for p in whole.net_.module_.parameters()} == {torch.float64}


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


def test_the_same_seed_gives_the_same_model_bit_by_bit(imbalanced):
    X, y = imbalanced
    one = fit(X, y, early_stopping=True).predict_proba(X)
    torch.manual_seed(0)  # The global generators are not read.
    np.random.seed(0)  # noqa: NPY002
    two = fit(X, y, early_stopping=True).predict_proba(X)
    assert (one == two).all()
    assert (fit(X, y, random_state=1).predict_proba(X) != one).any()


@pytest.mark.parametrize("seed", [0, None])
def test_global_generators_are_not_moved(seed, imbalanced, untouched_generators):
    X, y = imbalanced
    fit(X, y, early_stopping=True, random_state=seed, max_epochs=2).predict(X)


def test_random_state_instances_move_on(imbalanced):
    X, y = imbalanced
    shared = np.random.RandomState(0)
    first, second = (fit(X, y, random_state=shared).decision_function(X) for _ in "ab")
    assert (first != second).any()
    again = fit(X, y, random_state=np.random.RandomState(0)).decision_function(X)
    assert (first == again).all()


def test_threads_do_not_change_the_model():
    X = np.random.default_rng(0).normal(size=(20_000, 10))
    y = X[:, 0] + X[:, 1] > 2
    threads = torch.get_num_threads()
    models = []
    try:
        for n in (1, 2):
            torch.set_num_threads(n)
            models.append(fit(X, y, max_epochs=2, hidden=(16,)).decision_function(X))
    finally:
        torch.set_num_threads(threads)
    assert (models[0] == models[1]).all()


def test_early_stopping_goes_back_to_the_best_epoch(imbalanced):
    X, y = imbalanced
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(300) < 0.15, 1 - y, y)
    model = fit(
        X, noisy, early_stopping=EarlyStopping(patience=5), max_epochs=200, lr=0.05
    )
    assert model.n_iter_ < 200
    assert len(model.validation_scores_) == model.n_iter_
    stopper = dict(model.net_.callbacks_)["early_stopping"]
    assert stopper.best_score_ == max(model.validation_scores_)
    assert model.n_iter_ == stopper.best_epoch_ + 5
    # Training up to the best epoch gives the weights that were put back.
    shorter = fit(
        X, noisy, early_stopping=True, max_epochs=stopper.best_epoch_, lr=0.05
    )
    assert (shorter.decision_function(X) == model.decision_function(X)).all()


def test_early_stopping_asks_for_a_rise_above_the_tolerance(imbalanced):
    X, y = imbalanced
    model = fit(X, y, early_stopping=EarlyStopping(patience=4, tol=10), lr=0.05)
    assert model.n_iter_ == 5  # The first is the best, whatever comes after it.
    scores = model.validation_scores_
    assert max(scores) > scores[0]
    stopping = EarlyStopping(patience=4, tol=0)
    assert fit(X, y, early_stopping=stopping, lr=0.05).n_iter_ > 5


def test_early_stopping_holds_out_the_share_it_is_told(imbalanced):
    X, y = imbalanced
    seen = []

    class Look(Callback):
        def on_epoch_begin(self, net, dataset_train, dataset_valid, **kwargs):
            seen.append((len(dataset_train), len(dataset_valid)))

    fit(
        X,
        y,
        early_stopping=EarlyStopping(validation_fraction=0.2),
        max_epochs=1,
        callbacks=[Look()],
    )
    assert seen == [(240, 60)]


def test_warm_start_goes_on(imbalanced):
    X, y = imbalanced
    whole = fit(X, y, max_epochs=20)
    model = AnyLossClassifier(warm_start=True, max_epochs=10, random_state=0)
    model.fit(X, y)
    half = model.decision_function(X)
    model.fit(X, y)
    assert model.n_iter_ == 20
    assert (model.decision_function(X) != half).any()
    np.testing.assert_allclose(
        model.decision_function(X), whole.decision_function(X), **SAME_MODEL
    )
    assert AnyLossClassifier(max_epochs=5).fit(X, y).fit(X, y).n_iter_ == 5


def test_partial_fit_learns_from_a_stream(imbalanced):
    X, y = imbalanced
    model = AnyLossClassifier(random_state=0, lr=0.02)
    for _ in range(30):
        for i in range(0, 300, 60):
            rows = slice(i, i + 60)
            model.partial_fit(X[rows], y[rows], classes=[0, 1])
    assert model.n_iter_ == 150
    assert model.score(X, y) > 0.7


def test_partial_fit_keeps_the_moving_average_of_the_loss(imbalanced):
    X, y = imbalanced
    params = {"loss": AnyLoss("f1", Sigmoid(5), decay=0.9), "max_epochs": 3}
    params["batch_size"] = 1.0
    model = AnyLossClassifier(random_state=0, **params)
    for _ in range(3):
        model.partial_fit(X, y)
        with pytest.raises(ValueError, match="of the class 2"):
            model.partial_fit(X, y + 1)
        model = pickle.loads(pickle.dumps(model))
    whole = AnyLossClassifier(random_state=0, **params).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
    # Another loss has another average, and a fit starts anew.
    model.set_params(loss=AnyLoss("gmean", Sigmoid(5), decay=0.9)).partial_fit(X, y)
    again = model.set_params(loss=params["loss"]).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), whole.predict_proba(X))


def test_partial_fit_knows_the_classes_from_the_first_call(imbalanced):
    X, y = imbalanced
    negatives = np.flatnonzero(y == 0)[:20]
    model = AnyLossClassifier(random_state=0)
    model.partial_fit(X[negatives], y[negatives], classes=[0, 1])
    model.partial_fit(X, y)
    with pytest.raises(ValueError, match="cannot continue with"):
        model.partial_fit(X, y + 5)
    with pytest.raises(ValueError, match="only one class"):
        AnyLossClassifier().partial_fit(X[negatives], y[negatives])


def test_verbose_prints_a_line_an_epoch(imbalanced, capsys):
    X, y = imbalanced
    fit(X, y, verbose=1, max_epochs=3, early_stopping=True)
    out = capsys.readouterr().out
    assert "train_loss" in out
    assert "valid_score" in out
    assert len(out.strip().splitlines()) == 5
    fit(X, y, max_epochs=3)
    assert capsys.readouterr().out == ""


def test_skorch_callbacks_reach_the_net(imbalanced):
    X, y = imbalanced
    scheduler = LRScheduler("StepLR", step_size=5, gamma=0.1)
    model = fit(X, y, callbacks=[("schedule", scheduler)])
    assert model.net_.optimizer_.param_groups[0]["lr"] == pytest.approx(0.01 * 0.1**4)


@pytest.mark.parametrize(
    "optimizer", ["adam", "adamw", "rmsprop", "sgd", torch.optim.NAdam]
)
def test_optimizers(optimizer, imbalanced):
    X, y = imbalanced
    model = fit(X, y, optimizer=optimizer, lr=0.05)
    assert model.loss_curve_[-1] < model.loss_curve_[0]


def test_a_collapsed_model_warns_and_says_what_to_try():
    X = np.zeros((50, 2))
    y = np.arange(50) % 5 == 0
    with pytest.warns(
        ConvergenceWarning, match=r"predicts .* for every training sample.*lr=0"
    ):
        fit(X, y)


def test_a_fit_that_fails_leaves_the_model_as_it_was(imbalanced):
    X, y = imbalanced
    for warm_start in (False, True):
        model = fit(X, y, warm_start=warm_start)
        before, epochs = model.decision_function(X), model.n_iter_
        with pytest.raises(ValueError, match="class"):
            model.fit(X[:, :3] if not warm_start else X, np.zeros(300))
        assert (model.decision_function(X) == before).all()
        assert model.n_features_in_ == 6
        assert model.n_iter_ == epochs


class Breaking:
    """A metric that turns NaN after some calls."""

    def __init__(self, calls):
        self.calls = calls

    def __call__(self, tn, fp, fn, tp):
        self.calls -= 1
        return tp / (tp + fn) * (1.0 if self.calls > 0 else float("nan"))


def test_training_that_breaks_midway_leaves_the_model_as_it_was(imbalanced):
    X, y = imbalanced
    metric = Breaking(10**9)
    model = fit(X, y, metric=metric, warm_start=True)
    before = model.decision_function(X)
    weights = copy.deepcopy(model.net_.optimizer_.state_dict())
    for train in (model.fit, model.partial_fit):
        metric.calls = 8  # Some are used up by looking at the metric first.
        with pytest.raises(ValueError, match="not finite"):
            train(X, y)
        metric.calls = 10**9
        assert (model.decision_function(X) == before).all()
        assert len(model.net_.history) == model.n_iter_ == 20
        after = model.net_.optimizer_.state_dict()
        assert torch.equal(after["state"][0]["step"], weights["state"][0]["step"])


def test_a_callback_may_end_the_training(imbalanced):
    X, y = imbalanced

    class Enough(Callback):
        def on_epoch_end(self, net, **kwargs):
            if len(net.history) == 7:
                raise KeyboardInterrupt

    assert fit(X, y, callbacks=[Enough()]).n_iter_ == 7


def test_an_interruption_keeps_what_was_learned_and_says_so(imbalanced):
    X, y = imbalanced
    with pytest.warns(UserWarning, match="interrupted in epoch 4; the model keeps"):
        model = fit(X, y, metric=InterruptedMetric(25))  # 6 calls an epoch, 3 before.
    assert model.n_iter_ == len(model.loss_curve_) == 3
    assert model.predict(X).shape == (300,)


def test_clone_and_set_params_do_not_share_state(imbalanced):
    X, y = imbalanced
    model = fit(X, y)
    copy = clone(model)
    assert not hasattr(copy, "net_")
    assert copy.get_params() == model.get_params()


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


def test_early_stopping_and_lr_may_be_changed_on_the_way(imbalanced):
    X, y = imbalanced
    model = fit(X, y, warm_start=True, max_epochs=3)
    model.set_params(early_stopping=EarlyStopping(patience=2), max_epochs=50)
    model.set_params(lr=1e-6, metric="recall", L=10, threshold=0.4, batch_size=50)
    model.fit(X, y)
    assert 3 < model.n_iter_ < 53
    assert len(model.validation_scores_) == model.n_iter_ - 3
    assert model.net_.optimizer_.param_groups[0]["lr"] == 1e-6
    assert model.net_.batch_size == 50
    criterion = model.net_.criterion_
    assert (criterion.name, criterion.step.L, criterion.threshold) == (
        "recall",
        10,
        0.4,
    )
    with pytest.raises(
        ValueError, match=r"hidden=\(2,\) cannot continue with hidden=\(8,\)"
    ):
        clone(model).fit(X, y).set_params(hidden=(8,)).fit(X, y)
    assert model.set_params(early_stopping=False).fit(X, y).validation_scores_ is None


def test_the_positive_class_is_the_one_of_the_fit(imbalanced):
    X, y = imbalanced
    model = fit(X, y)
    before = model.predict(X)
    assert model.pos_label_ == 1
    model.set_params(pos_label=0)
    assert (model.predict(X) == before).all()


def test_early_stopping_watches_both_classes_however_rare(imbalanced):
    X, _ = imbalanced
    y = np.zeros(300, dtype=int)
    y[:3] = 1
    X[:3] += 6
    seen = []

    class Look(Callback):
        def on_epoch_begin(self, net, dataset_valid, **kwargs):
            seen.append(dataset_valid.y.sum().item())

    model = fit(X, y, early_stopping=True, max_epochs=200, callbacks=[Look()])
    assert seen[0] == 1
    assert model.score(X, y) == 1


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


def test_single_rows_do_not_ruin_the_normalisation(imbalanced):
    X, y = imbalanced
    model = fit(X, y, max_epochs=100)
    before = model.score(X, y)
    model.set_params(lr=1e-9)
    for i in range(50):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert model.score(X, y) == pytest.approx(before, abs=0.02)


class Threads(Callback):
    """Notes on how many threads an epoch ran."""

    def initialize(self):
        self.seen_ = set()
        return self

    def on_epoch_end(self, net, **kwargs):
        self.seen_.add(torch.get_num_threads())


def threads_of_a_fit(seed):
    """During a fit, and behind it, where there were two before."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        X, y = make_classification(200, 5, random_state=seed)
        model = fit(X, y, max_epochs=2, callbacks=[("threads", Threads())])
        return dict(model.net_.callbacks_)["threads"].seen_, torch.get_num_threads()
    finally:
        torch.set_num_threads(before)


def test_a_fit_runs_on_one_thread_and_gives_the_others_back():
    assert threads_of_a_fit(0) == ({1}, 2)
    jobs = Parallel(n_jobs=2)(delayed(threads_of_a_fit)(seed) for seed in range(2))
    assert jobs == [({1}, 2)] * 2


@pytest.mark.parametrize("params", [{}, {"batch_norm": False}, {"hidden": (3, 2)}])
def test_a_full_batch_in_pieces_is_the_same_model(params, imbalanced, monkeypatch):
    X, y = imbalanced
    weight = np.random.default_rng(0).random(300)
    settings = {"batch_size": 1.0, "max_epochs": 30, "lr": 0.05, **params}
    whole = fit(X, y, sample_weight=weight, **settings)
    monkeypatch.setattr("sk_anyloss.training.data.stacked_batches.CHUNK_SIZE", 100)
    pieces = fit(X, y, sample_weight=weight, **settings)
    np.testing.assert_allclose(
        whole.decision_function(X), pieces.decision_function(X), **SAME_MODEL
    )


def test_the_fast_way_and_autograd_give_one_model_after_a_full_fit(imbalanced):
    X, y = imbalanced
    fast = fit(X, y, random_state=0)
    slow = clone(fast)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "sk_anyloss.training.net.supports", lambda module, criterion: False
        )
        patch.setattr("sk_anyloss.training.batch_steps.supports", lambda *parts: False)
        slow.fit(X, y)
    assert fast.net_.has_closed_form()
    assert not slow.net_.has_closed_form()
    np.testing.assert_allclose(
        fast.decision_function(X), slow.decision_function(X), **SAME_MODEL
    )


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


def test_a_warm_up_on_cross_entropy_is_a_warm_start(imbalanced):
    X, y = imbalanced
    model = fit(X, y, loss="bce", warm_start=True, max_epochs=4)
    alone = fit(X, y, loss="bce", max_epochs=4)
    assert model.loss_curve_ == alone.loss_curve_
    model.set_params(loss=None, L=20, max_epochs=6).fit(X, y)
    assert model.n_iter_ == 10
    assert model.net_.criterion_.name == "f1"
    assert model.loss_curve_[-1] < model.loss_curve_[4]


@pytest.mark.parametrize("hidden", [(), (3,)])
@pytest.mark.parametrize("early_stopping", [False, True])
def test_several_starts_of_which_the_best_is_kept(hidden, early_stopping, imbalanced):
    X, y = imbalanced
    params = {"hidden": hidden, "early_stopping": early_stopping, "L": 20}
    one, four = (fit(X, y, n_init=n, **params) for n in (1, 4))
    if early_stopping:
        assert max(four.validation_scores_) >= max(one.validation_scores_)
    else:
        assert four.loss_curve_[-1] <= one.loss_curve_[-1]
    again = fit(X, y, n_init=4, **params)
    np.testing.assert_array_equal(four.predict_proba(X), again.predict_proba(X))
    others = [fit(X, y, n_init=4, random_state=seed, **params) for seed in (1, 2)]
    losses = {model.loss_curve_[-1] for model in (four, *others)}
    assert len(losses) == 3


def test_of_several_starts_only_the_one_that_is_kept_is_warned_of(imbalanced):
    with pytest.warns(ConvergenceWarning, match="for every training sample") as found:
        fit(*imbalanced, n_init=5, lr=1e-9, max_epochs=1)
    assert len(found) == 1


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


def test_the_positive_class_stays_under_warm_start(imbalanced):
    X, y = imbalanced
    model = fit(X, y, warm_start=True, hidden=(2,), max_epochs=2)
    with pytest.raises(ValueError, match="cannot continue with pos_label=0"):
        model.set_params(pos_label=0).fit(X, y)
    model.set_params(pos_label=1, hidden=[2]).fit(X, y)


def test_a_warm_start_that_fails_leaves_the_net_as_it_was(imbalanced, monkeypatch):
    X, y = imbalanced
    model = fit(X, y, warm_start=True, max_epochs=2)
    before = model.predict_proba(X)

    def fail(*args, **kwargs):
        raise ValueError("no memory left")

    monkeypatch.setattr(model.net_, "record_epoch", fail)
    with pytest.raises(ValueError, match="no memory left"):
        model.set_params(metric="mcc", lr=0.5, threshold=0.3).fit(X, y)
    net = model.net_
    assert (net.metric, net.lr, net.threshold) == ("f1", 0.01, 0.5)
    assert net.criterion_.name == "f1"
    np.testing.assert_allclose(net.predict_proba(torch.from_numpy(X)), before)


def test_a_falling_rate_is_skorchs_own_schedule(imbalanced):
    X, y = imbalanced
    ours = fit(X, y, lr=CosineDecay(0.01), max_epochs=6)
    rates = []

    class Set(Callback):
        def on_epoch_begin(self, net, **kwargs):
            share = (len(net.history) - 0.5) / 6
            rates.append(0.01 * (1 + np.cos(np.pi * share)) / 2)
            net.optimizer_.param_groups[0]["lr"] = rates[-1]

    other = fit(X, y, max_epochs=6, callbacks=[Set()])
    np.testing.assert_array_equal(ours.decision_function(X), other.decision_function(X))
    assert rates[0] > 0.0095
    assert rates[-1] < 0.0005
    # Afterwards the rate is what it was.
    assert ours.net_.optimizer_.param_groups[0]["lr"] == 0.01


@pytest.mark.parametrize(
    ("written", "registered"),
    [
        ({"metric": "F1"}, {"metric": "f1"}),
        ({"step": "Sigmoid", "L": 5}, {"step": "sigmoid", "L": 5}),
        ({"step": "LINEAR"}, {"step": "linear"}),
        ({"loss": "BCE"}, {"loss": "bce"}),
        ({"activation": "ReLU"}, {"activation": "relu"}),
        ({"optimizer": "SGD", "lr": 0.1}, {"optimizer": "sgd", "lr": 0.1}),
    ],
)
def test_names_are_found_in_upper_and_lower_case(written, registered, imbalanced):
    X, y = imbalanced
    models = [
        AnyLossClassifier(max_epochs=20, hidden=(4,), random_state=0, **params)
        for params in (written, registered)
    ]
    first, second = (model.fit(X, y).decision_function(X) for model in models)
    np.testing.assert_array_equal(first, second)
