"""The skorch net: any module, weights, callbacks, figures from sums, both gradients."""

import copy
import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from skorch import NeuralNet
from skorch.callbacks import (
    BatchScoring,
    Callback,
    Checkpoint,
    EpochScoring,
    Freezer,
)
from skorch.dataset import ValidSplit
from torch import nn
from torch.utils.data import TensorDataset

from sk_anyloss import AnyLossNet, metric_score
from sk_anyloss.losses import (
    BCE,
    MSE,
    AnyLoss,
    Focal,
    Hybrid,
    SurrogateFBeta,
    WeightedBCE,
)
from sk_anyloss.losses.steps import Sigmoid
from tests.tolerances import SAME_MODEL
from tests.training.modules import mlp


def test_is_a_skorch_net_that_learns(imbalanced):
    X, y = imbalanced
    net = AnyLossNet(mlp(), random_state=0).fit(X, y)
    assert isinstance(net, NeuralNet)
    assert net.score(X, y) > 0.75
    assert net.score(X, y) == metric_score(y, net.predict(X))
    assert len(net.history) == 100
    proba = net.predict_proba(X)
    assert proba.shape == (300, 2)
    np.testing.assert_allclose(proba.sum(1), 1)
    assert ((proba[:, 1] > 0.5) == net.predict(X)).all()


def test_a_module_given_ready_made_is_copied_so_every_fit_starts_alike(imbalanced):
    X, y = imbalanced
    module = mlp()
    net = AnyLossNet(module, max_epochs=5, random_state=0)
    before = module.layers[-1].weight.clone()
    first = net.fit(X, y).logits(X)
    assert (net.fit(X, y).logits(X) == first).all()
    assert torch.equal(module.layers[-1].weight, before)
    assert (clone(net).fit(X, y).logits(X) == first).all()


def test_weight_two_is_the_row_twice(imbalanced):
    X, y = imbalanced
    times = np.arange(300) % 3
    weighted = AnyLossNet(mlp(), batch_size=1.0, max_epochs=20)
    repeated = AnyLossNet(mlp(), batch_size=1.0, max_epochs=20)
    weighted.fit(X, y, sample_weight=times)
    repeated.fit(X.repeat(times, axis=0), y.repeat(times))
    np.testing.assert_allclose(weighted.logits(X), repeated.logits(X), **SAME_MODEL)


class Watcher(Callback):
    """Asks for batches, so that the net takes skorch's ordinary way."""

    def on_train_begin(self, net, **kwargs):
        self.batches = 0

    def on_batch_end(self, net, training, loss, y_pred, **kwargs):
        assert np.isfinite(loss.item())
        self.batches += training


@pytest.mark.parametrize("criterion", [AnyLoss("f1"), BCE(), MSE()], ids=str)
def test_closed_form_observed_and_autograd_give_one_model(criterion, imbalanced):
    X, y = imbalanced
    w = np.random.default_rng(0).random(300)
    watcher = Watcher()
    settings = {"criterion": criterion, "random_state": 0, "max_epochs": 25}
    closed_form = AnyLossNet(mlp(), **settings).fit(X, y, sample_weight=w)
    observed = AnyLossNet(mlp(), callbacks=[watcher], **settings)
    observed.fit(X, y, sample_weight=w)
    by_autograd = AnyLossNet(mlp(), **settings).initialize()
    by_autograd.closed_form_supported_ = False
    by_autograd.partial_fit(X, y, sample_weight=w)
    assert closed_form.has_closed_form()
    assert watcher.batches == 125
    for other in (observed, by_autograd):
        np.testing.assert_allclose(closed_form.logits(X), other.logits(X), **SAME_MODEL)
    losses = [
        net.history[:, "train_loss"] for net in (closed_form, observed, by_autograd)
    ]
    np.testing.assert_allclose(losses[1], losses[0], **SAME_MODEL)
    np.testing.assert_allclose(losses[2], losses[0], **SAME_MODEL)


def test_equals_a_plain_torch_loop(imbalanced):
    X, y = imbalanced
    net = AnyLossNet(mlp(), batch_size=1.0, max_epochs=30, lr=0.02).fit(X, y)
    module, loss = mlp(), AnyLoss("f1")
    optimizer = torch.optim.Adam(module.parameters(), lr=0.02)
    rows, labels = torch.tensor(X), torch.tensor(y)
    for _ in range(30):
        optimizer.zero_grad()
        loss(module(rows), labels).backward()
        optimizer.step()
    module.eval()
    expected = module(rows).detach().numpy()
    np.testing.assert_allclose(net.logits(X), expected, **SAME_MODEL)


def awake(module):
    """Move the last layer, which starts at 0, so that logits differ."""
    with torch.no_grad():
        generator = torch.Generator().manual_seed(0)
        module.layers[-1].weight.normal_(generator=generator)
    return module


# Not of pairs: those in different batches are not seen.
@pytest.mark.parametrize(
    "criterion",
    [
        AnyLoss("f1"),
        AnyLoss("mcc", "linear", [0.3, 0.6]),
        AnyLoss("average_precision", "logit"),
        Hybrid("gmean", share=0.3),
        BCE(),
        WeightedBCE((1, 4)),
        WeightedBCE(),
        Focal(),
        SurrogateFBeta(rate=0.2),
    ],
    ids=str,
)
def test_losses_of_an_epoch_come_from_sums_not_averages(criterion, imbalanced):
    X, y = imbalanced
    w = np.random.default_rng(0).random(300)
    split = ValidSplit(0.5, stratified=True, random_state=0)
    net = AnyLossNet(
        awake(mlp(batch_norm=False)),
        criterion=criterion,
        lr=1e-12,
        max_epochs=1,
        batch_size=40,
        train_split=split,
        iterator_valid__batch_size=7,
        random_state=0,
    ).fit(X, y, sample_weight=w)
    parts = split(TensorDataset(torch.tensor(X)), y)
    row = net.history[-1]
    for name, part in zip(("train_loss", "valid_loss"), parts, strict=True):
        rows = part.indices
        logits = torch.from_numpy(net.logits(X[rows]))
        expected = criterion(logits, torch.tensor(y[rows]), torch.tensor(w[rows]))
        assert row[name] == pytest.approx(expected.item(), rel=1e-6, abs=1e-6), name
    score = metric_score(y[rows], net.predict(X[rows]), sample_weight=w[rows])
    assert row["valid_score"] == pytest.approx(score)
    assert "train_score" not in row


def test_skorch_callbacks_work(imbalanced):
    X, y = imbalanced
    net = AnyLossNet(
        mlp(),
        max_epochs=3,
        random_state=0,
        train_split=ValidSplit(5, stratified=True),
        callbacks=[
            EpochScoring("roc_auc", lower_is_better=False, name="auc"),
            BatchScoring("accuracy", lower_is_better=False, name="acc"),
        ],
    ).fit(X, y)
    assert 0 <= net.history[-1, "auc"] <= 1
    assert 0 <= net.history[-1, "acc"] <= 1


def test_any_optimizer_even_one_with_a_closure(imbalanced):
    X, y = imbalanced
    net = AnyLossNet(
        mlp(hidden=()),
        criterion=AnyLoss("f1", Sigmoid(10)),
        optimizer=torch.optim.LBFGS,
        batch_size=1.0,
        max_epochs=5,
        lr=0.5,
    ).fit(X, y)
    assert net.score(X, y) > 0.6
    assert net.history[-1, "train_loss"] < net.history[0, "train_loss"]


def test_partial_fit_goes_on(imbalanced):
    X, y = imbalanced
    net = AnyLossNet(mlp(), max_epochs=4, random_state=0).fit(X, y)
    net.partial_fit(X, y)
    whole = AnyLossNet(mlp(), max_epochs=8, random_state=0).fit(X, y)
    assert (net.logits(X) == whole.logits(X)).all()


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_parameters_set_later_change_the_loss_that_is_trained(n_outputs, imbalanced):
    X, y = imbalanced[0], imbalanced[1] + (n_outputs > 1) * (imbalanced[0][:, 1] > 1)
    nets = []
    for metric in ("f1", "balanced_accuracy"):
        torch.manual_seed(0)
        module = torch.nn.Linear(X.shape[1], n_outputs).to(torch.float64)
        net = AnyLossNet(module, metric=metric, max_epochs=2, random_state=0)
        nets.append(net.initialize())
    changed, fresh = nets
    changed.partial_fit(X, y).set_params(metric="balanced_accuracy", L=20)
    fresh.set_params(L=20)
    logits, target = changed.forward(X), torch.from_numpy(y)
    losses = [float(net.get_loss(logits, target, X=X)) for net in nets]
    assert losses[0] == pytest.approx(losses[1], abs=1e-12)
    changed.set_params(criterion__decay=0.5).partial_fit(X, y)
    assert changed.criterion_.decay == 0.5
    assert changed.criterion_.processes is changed.processes_


def test_the_threshold_belongs_to_loss_and_decision(imbalanced):
    X, y = imbalanced
    module = mlp(output_bias=np.log(0.3 / 0.7))
    net = AnyLossNet(module, threshold=0.3, random_state=0).fit(X, y)
    assert net.criterion_.threshold == 0.3
    assert ((net.predict_proba(X)[:, 1] > 0.3) == net.predict(X)).all()
    assert net.score(X, y) > 0.75


def test_threads_and_generators_are_left_as_they_were(imbalanced, untouched_generators):
    X, y = imbalanced
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        net = AnyLossNet(mlp(), max_epochs=2, random_state=0).fit(X, y)
        net.predict(X)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


def test_pickles(imbalanced):
    X, y = imbalanced
    net = AnyLossNet(mlp(), max_epochs=3, random_state=0).fit(X, y)
    copy = pickle.loads(pickle.dumps(net))
    assert (copy.logits(X) == net.logits(X)).all()
    net.partial_fit(X, y)
    copy.partial_fit(X, y)
    assert (copy.logits(X) == net.logits(X)).all()


@pytest.mark.parametrize("decay", [0.0, 0.9])
def test_a_moving_average_in_closed_form_and_by_autograd(decay, imbalanced):
    X, y = imbalanced
    settings = {
        "criterion": AnyLoss("f1", Sigmoid(5), decay=decay),
        "random_state": 0,
    }
    settings |= {"batch_size": 20, "max_epochs": 5}
    closed_form = AnyLossNet(mlp(), **settings).fit(X, y)
    by_autograd = AnyLossNet(mlp(), **settings).initialize()
    by_autograd.closed_form_supported_ = False
    by_autograd.partial_fit(X, y)
    np.testing.assert_allclose(
        closed_form.logits(X), by_autograd.logits(X), **SAME_MODEL
    )
    # The end of a training is the end of the average.
    z, labels = (
        torch.from_numpy(closed_form.logits(X)).requires_grad_(),
        torch.tensor(y),
    )
    expected = AnyLoss("f1", Sigmoid(5))(z, labels)
    torch.testing.assert_close(closed_form.criterion_(z, labels), expected)
    pickle.dumps(closed_form)


@pytest.mark.parametrize("callbacks", [[], [Watcher]])
def test_frozen_layers_stay_as_they_are_and_the_rest_learns(callbacks, imbalanced):
    X, y = imbalanced
    callbacks = [Freezer("layers.0.*", at=3), *(make() for make in callbacks)]
    net = AnyLossNet(mlp(), callbacks=callbacks, max_epochs=2, random_state=0)
    net.fit(X, y)
    before = {name: p.clone() for name, p in net.module_.named_parameters()}
    net.partial_fit(X, y)
    for name, parameter in net.module_.named_parameters():
        assert torch.equal(parameter, before[name]) == name.startswith("layers.0")


def test_an_optimiser_saved_on_the_way_can_be_gone_on_with(imbalanced, tmp_path):
    X, y = imbalanced
    checkpoint = Checkpoint(monitor=None, dirname=str(tmp_path), f_pickle=None)
    settings = {"max_epochs": 4, "random_state": 0, "batch_size": 1.0}
    first = AnyLossNet(mlp(), callbacks=[checkpoint], **settings).fit(X, y)
    again = AnyLossNet(mlp(), **settings).initialize()
    again.load_params(checkpoint=checkpoint)
    steps = {float(state["step"]) for state in again.optimizer_.state.values()}
    assert steps == {4.0}
    again.partial_fit(X, y)
    first.partial_fit(X, y)
    np.testing.assert_allclose(again.logits(X), first.logits(X), **SAME_MODEL)


def test_an_optimiser_loaded_between_epochs_is_the_one_that_goes_on(imbalanced):
    X, y = imbalanced

    class Reset(Callback):
        def on_epoch_end(self, net, **kwargs):
            net.optimizer_.load_state_dict(self.state)

        def on_train_begin(self, net, **kwargs):
            self.state = copy.deepcopy(net.optimizer_.state_dict())

    settings = {"max_epochs": 3, "random_state": 0, "batch_size": 1.0}
    fast = AnyLossNet(mlp(), callbacks=[Reset()], **settings).fit(X, y)
    slow = AnyLossNet(mlp(), callbacks=[Reset()], **settings).initialize()
    slow.closed_form_supported_ = False
    slow.partial_fit(X, y)
    np.testing.assert_allclose(fast.logits(X), slow.logits(X), **SAME_MODEL)


@pytest.mark.parametrize("method", ["get_loss", "train_step_single"])
def test_a_subclass_with_a_step_of_its_own_is_asked(method, imbalanced):
    X, y = imbalanced
    calls = []

    class Own(AnyLossNet):
        pass

    def own(self, *args, **kwargs):
        calls.append(method)
        return getattr(AnyLossNet, method)(self, *args, **kwargs)

    setattr(Own, method, own)
    Own(mlp(), max_epochs=2, random_state=0).fit(X, y)
    assert len(calls) == 10  # Five batches an epoch.


class Watching(Callback):
    """Asks about every batch."""

    def on_batch_end(self, net, **kwargs):
        pass


@pytest.mark.parametrize("callbacks", [[], [Watching()]])
def test_partial_fit_keeps_the_moving_average_of_the_loss(callbacks, imbalanced):
    X, y = imbalanced
    settings = {
        "criterion": AnyLoss("f1", Sigmoid(5), decay=0.9),
        "batch_size": 1.0,
        "callbacks": callbacks,
        "random_state": 0,
    }
    whole = AnyLossNet(mlp(), max_epochs=4, **settings).initialize()
    whole.partial_fit(X, y)
    parts = AnyLossNet(mlp(), max_epochs=2, **settings).initialize()
    parts.partial_fit(X, y)
    parts = pickle.loads(pickle.dumps(parts))
    parts.partial_fit(X, y)
    np.testing.assert_array_equal(parts.logits(X), whole.logits(X))
    again, anew = parts.fit(X, y), AnyLossNet(mlp(), max_epochs=2, **settings)
    np.testing.assert_array_equal(again.logits(X), anew.fit(X, y).logits(X))


class Threads(nn.Linear):
    """Notes the number of threads that it runs on."""

    def forward(self, X):
        self.seen.add(torch.get_num_threads())
        return super().forward(X)


def test_a_network_of_ones_own_runs_on_all_threads(imbalanced):
    X, y = imbalanced
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        module = Threads(6, 1)
        module.seen = set()
        net = AnyLossNet(module, max_epochs=2, random_state=0)
        net.initialize().partial_fit(X.astype("float32"), y)
        net.predict(X.astype("float32"))
        assert net.module_.seen == {3}
    finally:
        torch.set_num_threads(before)
