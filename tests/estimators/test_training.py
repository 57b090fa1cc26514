"""AnyLossClassifier: early stopping, warm starts, callbacks, and fits that fail."""

import copy
import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight
from skorch.callbacks import Callback, LRScheduler

from sk_anyloss import (
    AnyLossClassifier,
    CosineDecay,
    EarlyStopping,
)
from sk_anyloss.losses import AnyLoss
from sk_anyloss.losses.steps import Sigmoid
from tests.estimators.fits import fit
from tests.interruptions import InterruptedMetric
from tests.tolerances import SAME_MODEL


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


NAMES = np.array(["no", "yes"])


@pytest.mark.parametrize(
    "classes",
    [
        ["a", "b"],
        ["no", "Yes"],
        ["no"],
        [],
        [0, 1],
        ["no", "yes", "yes"],
        ["no", "yes", 3],
        [["no", "yes"]],
        "noyes",
        "yes",
        {"no": 0, "yes": 1},
        pytest.param({"no", "yes"}, id="set"),
        [0, 1, None],
        [0, 1, np.nan],
        [0.5, 1.5],
        [b"no", b"yes"],
    ],
    ids=str,
)
@pytest.mark.parametrize("is_first", [True, False])
def test_partial_fit_refuses_classes_that_are_not_those_of_y(
    imbalanced, classes, is_first
):
    X, y = imbalanced
    model = AnyLossClassifier(random_state=0)
    if not is_first:
        model.partial_fit(X, NAMES[y], classes=["yes", "no"])
    with pytest.raises((ValueError, TypeError), match=r"classes|[Ll]abel|NaN"):
        model.partial_fit(X, NAMES[y], classes=classes)


def test_partial_fit_keeps_the_classes_of_the_first_call(imbalanced):
    X, y = imbalanced
    model = AnyLossClassifier(random_state=0)
    model.partial_fit(X, NAMES[y], classes=["yes", "no", "perhaps"])
    assert model.classes_.tolist() == ["no", "perhaps", "yes"]
    model.partial_fit(X, NAMES[y], classes=["perhaps", "no", "yes"])
    with pytest.raises(ValueError, match="not the same as the classes of the model"):
        model.partial_fit(X, NAMES[y], classes=["no", "yes", "perhaps", "never"])
    with pytest.raises(ValueError, match="must hold all classes"):
        model.partial_fit(X, NAMES[y], classes=["no", "yes"])


@pytest.mark.parametrize("classes", [["a", "b"], [0, 1, 2], [0]])
def test_partial_fit_refuses_classes_of_other_labels(imbalanced, classes):
    X, y = imbalanced
    labels = np.column_stack([y, 1 - y])
    AnyLossClassifier().partial_fit(X, labels, classes=[0, 1])
    with pytest.raises(ValueError, match=r"classes|Mix of label"):
        AnyLossClassifier().partial_fit(X, labels, classes=classes)


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


def test_the_positive_class_stays_under_warm_start(imbalanced):
    X, y = imbalanced
    model = fit(X, y, warm_start=True, hidden=(2,), max_epochs=2)
    with pytest.raises(ValueError, match="cannot continue with pos_label=0"):
        model.set_params(pos_label=0).fit(X, y)
    model.set_params(pos_label=1, hidden=[2]).fit(X, y)


@pytest.mark.parametrize(
    "hidden", [np.array([4, 4]), [4, np.int64(4)], (4, 4)], ids=["array", "list", ""]
)
def test_hidden_is_any_sequence_of_whole_numbers(imbalanced, hidden):
    X, y = imbalanced
    plain = fit(X, y, hidden=(4, 4), max_epochs=2)
    model = fit(X, y, hidden=hidden, warm_start=True, max_epochs=2)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert model.fit(X, y).n_iter_ == 4
    clone(model).partial_fit(X, y).partial_fit(X, y)
    for same in ([4, 4], np.array([4, 4], dtype=np.int32)):
        model.set_params(hidden=same).fit(X, y)
    with pytest.raises(
        ValueError, match=r"hidden=\(4, 4\) cannot continue with hidden=\(4,\)"
    ):
        model.set_params(hidden=np.array([4])).fit(X, y)


def test_balanced_class_weights_are_refused_by_partial_fit(imbalanced):
    X, y = imbalanced
    model = AnyLossClassifier(class_weight="balanced", random_state=0)
    with pytest.raises(ValueError, match=r"compute_class_weight\('balanced'.*dict"):
        model.partial_fit(X, y, classes=[0, 1])
    assert not hasattr(model, "net_")
    weights = compute_class_weight("balanced", classes=np.unique(y), y=y)
    model.set_params(class_weight=dict(enumerate(weights)))
    model.partial_fit(X, y, classes=[0, 1])


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
