"""The skorch net: any module, weights, callbacks, figures from sums, both gradients."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score
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
from torch.utils.data import DataLoader, TensorDataset

from sk_anyloss import AnyLossClassifier, AnyLossNet, metric_score
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
from sk_anyloss.training.network.mlp import MLP
from tests.tolerances import SAME_MODEL


def mlp(d=6, **params):
    return MLP(d, **{"dtype": torch.float64, "random_state": 0, **params})


class Column(nn.Module):
    """A module as people write them: float32, output of shape (n, 1)."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 1)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, rows):
        return self.linear(rows)


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


def test_any_module_with_a_column_of_logits(imbalanced):
    X, y = imbalanced
    net = AnyLossNet(Column, metric="gmean", lr=0.05, random_state=0).fit(X, y)
    assert net.score(X, y) > 0.8


def test_a_module_given_ready_made_is_copied_so_every_fit_starts_alike(imbalanced):
    X, y = imbalanced
    module = mlp()
    net = AnyLossNet(module, max_epochs=5, random_state=0)
    before = module.layers[-1].weight.clone()
    first = net.fit(X, y).logits(X)
    assert (net.fit(X, y).logits(X) == first).all()
    assert torch.equal(module.layers[-1].weight, before)
    assert (clone(net).fit(X, y).logits(X) == first).all()


def test_pandas_rows_labels_and_weights(imbalanced):
    X, y = imbalanced
    frame, labels, weight = pd.DataFrame(X), pd.Series(y), pd.Series(np.ones(300))
    net = AnyLossNet(mlp(), max_epochs=2, random_state=0).fit(frame, labels, weight)
    expected = AnyLossNet(mlp(), max_epochs=2, random_state=0).fit(X, y)
    np.testing.assert_allclose(net.logits(frame), expected.logits(X), **SAME_MODEL)


def test_inputs_of_more_dimensions():
    images = np.random.default_rng(0).normal(size=(80, 1, 4, 4)).astype("float32")
    y = (images.mean((1, 2, 3)) > 0.1).astype(int)
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 1))
    net = AnyLossNet(module, max_epochs=5).fit(images, y)
    assert net.predict(images).shape == (80,)


def test_several_inputs_by_name(imbalanced):
    X, y = imbalanced

    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(6, 1, dtype=torch.float64)

        def forward(self, left, right):
            return self.linear(torch.cat((left, right), dim=1))

    inputs = {"left": X[:, :2], "right": X[:, 2:]}
    net = AnyLossNet(Two, max_epochs=3).fit(inputs, y, sample_weight=np.ones(300))
    assert net.predict(inputs).shape == (300,)


def test_the_module_must_give_logits_of_one_or_two_dimensions(imbalanced):
    X, y = imbalanced
    with pytest.raises(ValueError, match="one logit for each sample"):
        AnyLossNet(nn.Sequential(nn.Linear(6, 4), nn.Unflatten(1, (2, 2)))).fit(X, y)


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


def test_a_foreign_criterion(imbalanced):
    X, y = imbalanced
    settings = {"max_epochs": 10, "random_state": 0}
    foreign = AnyLossNet(mlp(), criterion=nn.BCEWithLogitsLoss, **settings).fit(X, y)
    own = AnyLossNet(mlp(), criterion=BCE, **settings).fit(X, y)
    np.testing.assert_allclose(foreign.logits(X), own.logits(X), **SAME_MODEL)
    np.testing.assert_allclose(
        foreign.history[:, "train_loss"], own.history[:, "train_loss"], **SAME_MODEL
    )
    with pytest.raises(ValueError, match="does not take sample_weight"):
        foreign.fit(X, y, sample_weight=np.ones(300))


def test_a_foreign_iterator_and_dataset(imbalanced):
    X, y = imbalanced
    net = AnyLossNet(mlp(), iterator_train=DataLoader, iterator_valid=DataLoader)
    assert net.set_params(max_epochs=2).fit(X, y).predict(X).shape == (300,)
    data = TensorDataset(torch.tensor(X), torch.tensor(y))
    net = AnyLossNet(mlp(), max_epochs=2, random_state=0).fit(data)
    assert net.predict(data).shape == (300,)
    with pytest.raises(ValueError, match="cannot be added to a dataset"):
        net.fit(data, sample_weight=np.ones(300))


def test_sparse_rows(imbalanced):
    X, y = imbalanced
    sparse = scipy.sparse.csr_array(X)
    nets = [AnyLossNet(mlp(), random_state=0, max_epochs=5) for _ in range(2)]
    dense, thin = nets[0].fit(X, y), nets[1].fit(sparse, y)
    np.testing.assert_allclose(dense.logits(X), thin.logits(sparse), **SAME_MODEL)


@pytest.mark.parametrize("y", [[1, 2, 3], [-1, 1, 1], [[0], [1], [0]]])
def test_labels_must_be_0_and_1(y):
    with pytest.raises(ValueError, match="labels 0 and 1"):
        AnyLossNet(mlp(1)).fit(np.zeros((3, 1)), np.array(y))


def test_partial_fit_goes_on(imbalanced):
    X, y = imbalanced
    net = AnyLossNet(mlp(), max_epochs=4, random_state=0).fit(X, y)
    net.partial_fit(X, y)
    whole = AnyLossNet(mlp(), max_epochs=8, random_state=0).fit(X, y)
    assert (net.logits(X) == whole.logits(X)).all()


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


def test_rows_in_reverse_are_rows(imbalanced):
    X, y = imbalanced
    net = AnyLossNet(mlp(), max_epochs=2, random_state=0).fit(X[::-1], y[::-1])
    other = AnyLossNet(mlp(), max_epochs=2, random_state=0)
    other.fit(X[::-1].copy(), y[::-1].copy())
    assert (net.logits(X) == other.logits(X)).all()


def constant_logit(bias):
    """A module that starts with one decision, and cannot leave it."""
    module = nn.Linear(6, 1)
    nn.init.zeros_(module.weight)
    nn.init.constant_(module.bias, bias)
    return module


@pytest.mark.parametrize(("bias", "label"), [(9.0, 1), (-9.0, 0)])
def test_a_collapsed_model_is_warned_of_with_the_way_out(bias, label, imbalanced):
    X, y = imbalanced
    settings = {"warm_up": 0, "criterion__step": Sigmoid(73)}
    net = AnyLossNet(constant_logit(bias), max_epochs=2, lr=1e-3, **settings)
    message = (
        rf"predicts {label} for every training sample.*warm_up=0.75"
        r".*Sigmoid\(L=10\).*lr=0.001"
    )
    with pytest.warns(ConvergenceWarning, match=message):
        net.fit(X.astype("float32"), y)
    net.partial_fit(X.astype("float32"), y)  # It may go on to learn.


def test_no_warning_of_a_collapse_where_there_is_one_class(imbalanced):
    X, y = imbalanced
    AnyLossNet(constant_logit(-9.0), max_epochs=2).fit(
        X.astype("float32"), np.zeros_like(y)
    )


def test_the_classifier_warns_of_a_collapse_once(imbalanced):
    with pytest.warns(ConvergenceWarning) as found:
        AnyLossClassifier("precision", max_epochs=100, random_state=0).fit(*imbalanced)
    assert len(found) == 1


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


def several(n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 6)).astype("float32")
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1], np.linspace(-1, 1, n_classes - 1))
    return X, y


def test_a_module_with_an_output_for_each_class():
    X, y = several()
    torch.manual_seed(0)
    net = AnyLossNet(
        nn.Linear(6, 3),
        metric="f1",
        criterion__step=Sigmoid(L=10),
        lr=0.05,
        max_epochs=60,
        train_split=ValidSplit(5, stratified=True),
        random_state=0,
    ).fit(X, y)
    proba = net.predict_proba(X)
    assert proba.shape == (300, 3)
    assert net.classes_.tolist() == [0, 1, 2]
    assert (net.predict(X) == proba.argmax(axis=1)).all()
    expected = f1_score(y, net.predict(X), average="macro")
    assert net.score(X, y) == pytest.approx(expected)
    assert net.history[-1, "valid_score"] > 0.7
    same = AnyLossNet(MLP(6, (), n_outputs=3), metric="f1", lr=0.05, max_epochs=60)
    assert same.fit(X, y).score(X, y) > 0.7


def test_a_module_with_an_output_for_each_label():
    X, y = several()
    Y = np.column_stack([y > 0, y > 1, X[:, 2] > 0]).astype(int)
    for module in (nn.Linear(6, 3), MLP(6, (), n_outputs=3)):
        for metric in ("f1_micro", "f1_samples"):
            net = AnyLossNet(module, metric=metric, lr=0.1, max_epochs=40)
            net.fit(X, Y)
            assert net.predict(X).shape == net.predict_proba(X).shape == (300, 3)
            average = metric.removeprefix("f1_")
            expected = f1_score(Y, net.predict(X), average=average, zero_division=0)
            assert net.score(X, Y) == pytest.approx(expected)
            assert expected > 0.8


def test_metrics_of_several_classes_and_torch_criteria():
    X, y = several(5)
    kappa = AnyLossNet(
        nn.Linear(6, 5), metric="kappa_quadratic", lr=0.05, max_epochs=60
    )
    assert kappa.fit(X, y).score(X, y) > 0.7
    torchs = AnyLossNet(
        nn.Linear(6, 5), metric="mcc", criterion=nn.CrossEntropyLoss, lr=0.05
    )
    assert torchs.fit(X, y).score(X, y) > 0.5
    with pytest.raises(ValueError, match="one of several classes or labels"):
        AnyLossNet(nn.Linear(6, 1), metric="kappa_quadratic").fit(X, y > 1)


def test_no_samples_are_refused():
    net = AnyLossNet(nn.Linear(3, 1))
    with pytest.raises(ValueError, match="There are no samples to train on"):
        net.fit(np.zeros((0, 3), dtype="float32"), np.zeros(0, dtype=int))
