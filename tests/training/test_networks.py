"""Any module in the net: images, datasets, a start on cross-entropy, bad input."""

import copy
import warnings

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning
from skorch.callbacks import Callback, Checkpoint, LRScheduler
from skorch.dataset import ValidSplit
from skorch.helper import predefined_split
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from sk_anyloss import AnyLossNet
from sk_anyloss.losses import BCE, AnyLoss, MulticlassAnyLoss
from sk_anyloss.losses.steepness import auto_L
from sk_anyloss.losses.steps import Sigmoid
from sk_anyloss.metrics.derivatives.differentiable import NotFiniteError
from sk_anyloss.training.callbacks import StopOnScore
from sk_anyloss.training.distributed.checkpoint import ResumableCheckpoint


def blobs(n=400, rate=0.1, seed=0, n_classes=2):
    """Images of noise, with a bright corner in those of a class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1, 8, 8)).astype("float32")
    if n_classes > 2:
        y = np.arange(n) % n_classes
        for label in range(n_classes):
            X[y == label, :, 2 * label : 2 * label + 2] += 1.5
        return X, y
    y = (np.arange(n) < rate * n).astype(int)
    X[y == 1, :, :4, :4] += 1.2
    order = rng.permutation(n)
    return X[order], y[order]


def cnn(n_outputs=1, seed=0, dropout=0.0):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Flatten(),
        nn.Linear(8 * 16, 16),
        nn.ReLU(),
        nn.Linear(16, n_outputs),
    )


def test_a_network_does_not_collapse_by_default():
    X, y = blobs()
    settings = {"max_epochs": 6, "batch_size": 40, "random_state": 0, "lr": 0.01}
    for seed in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            net = AnyLossNet(cnn(seed=seed), **settings).fit(X, y)
        assert net.score(*blobs(seed=1)) > 0.6
    steep = {"warm_up": 0, "criterion__step": Sigmoid(73), "lr": 0.05}
    with pytest.warns(ConvergenceWarning, match="warm_up=0.75"):
        AnyLossNet(cnn(), **(settings | steep)).fit(X, y)


def test_the_metric_starts_at_the_best_threshold_of_cross_entropy():
    X, y = blobs(rate=0.02)
    net = AnyLossNet(
        cnn(),
        warm_up=0.5,
        max_epochs=2,
        batch_size=1.0,
        lr=1e-3,
        random_state=0,
        callbacks=[("valid", StopOnScore())],
        train_split=predefined_split(TensorDataset(torch.tensor(X), torch.tensor(y))),
    ).fit(X, y)
    # Cross-entropy alone predicts no positives after one small step.
    assert net.history[0, "valid_score"] > 0
    assert net.warm_up_ is None
    loss = net.history[:, "train_loss"]  # One minus the metric, in all epochs.
    assert all(0 <= value <= 1 for value in loss)


def test_a_start_for_classes_and_for_labels():
    X, y = blobs(n_classes=4)
    net = AnyLossNet(cnn(4), max_epochs=6, batch_size=40, random_state=0).fit(X, y)
    assert net.score(X, y) > 0.8
    Y = np.column_stack([y == 0, y == 1, y < 2]).astype(int)
    net = AnyLossNet(cnn(3), max_epochs=6, batch_size=40, random_state=0).fit(X, Y)
    assert net.score(X, Y) > 0.8


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 0.001),
        ({"metric_lr": 0.02}, 0.02),
        ({"warm_up": 0}, 0.01),
        ({"callbacks": [LRScheduler("StepLR", step_size=9)]}, 0.01),
    ],
)
def test_the_learning_rate_after_a_start_on_cross_entropy(options, expected):
    X, y = blobs(80, 0.3)
    net = AnyLossNet(cnn(), lr=0.01, max_epochs=2, **options).fit(X, y)
    assert net.optimizer_.param_groups[0]["lr"] == pytest.approx(expected)


class Trained(Callback):
    """Record the learning rate of each epoch, and whether it is on cross-entropy."""

    def on_train_begin(self, net, **kwargs):
        self.epochs = []

    def on_batch_end(self, net, batch, training, loss=None, y_pred=None, **kwargs):
        if training:
            on_metric = AnyLoss("f1")(y_pred.detach(), torch.as_tensor(batch[1]))
            is_metric = bool(torch.isclose(loss.detach(), on_metric))
            rate = net.optimizer_.param_groups[0]["lr"]
            self.epochs.append((rate, "metric" if is_metric else "cross-entropy"))


def test_continuing_stays_on_the_metric_at_its_learning_rate():
    X, y = blobs()
    trained, fits, scores = Trained(), [], []
    net = AnyLossNet(
        cnn(),
        batch_size=1.0,
        max_epochs=8,
        warm_start=True,
        callbacks=[trained],
        random_state=0,
    )
    for n_epochs in (8, 8, 40, 100):
        net.set_params(max_epochs=n_epochs).fit(X, y)
        fits.append(trained.epochs)
        scores.append(net.score(X, y))
    net.partial_fit(X, y)
    first, *others = [*fits, trained.epochs]
    assert first[:6] == [(0.01, "cross-entropy")] * 6
    assert first[6:] == [(pytest.approx(0.001), "metric")] * 2
    for n_epochs, epochs in zip((8, 40, 100, 100), others, strict=True):
        assert epochs == [(pytest.approx(0.001), "metric")] * n_epochs
    assert (np.diff(scores) > -0.05).all(), scores


@pytest.mark.parametrize("n_before", [3, 6])
def test_an_interrupted_start_goes_on_to_its_end(n_before):
    X, y = blobs()
    trained = Trained()

    class Interrupted(AnyLossNet):
        def run_single_epoch(self, iterator, training, *args, **kwargs):
            super().run_single_epoch(iterator, training, *args, **kwargs)
            if len(self.history) == n_before and not self.seen:
                self.seen = True
                raise KeyboardInterrupt

    options = {"batch_size": 1.0, "max_epochs": 8, "warm_start": True}
    net = Interrupted(cnn(), callbacks=[trained], **options)
    net.seen = False
    with pytest.warns(UserWarning, match="interrupted"):
        net.fit(X, y)
    net.fit(X, y)
    # An epoch that is not over counts as none, after the last one of the start.
    left = max(6 - n_before, 1)
    assert trained.epochs[:left] == [(0.01, "cross-entropy")] * left
    assert trained.epochs[left:] == [(pytest.approx(0.001), "metric")] * (8 - left)


def test_invalid_rates_and_steepness():
    X, y = blobs(40)
    for value in (0, -1.0, "half", True):
        with pytest.raises(ValueError, match="metric_lr must be"):
            AnyLossNet(cnn(), metric_lr=value).fit(X, y)
    with pytest.raises(ValueError, match="L must be positive"):
        AnyLossNet(cnn(), L=-1).fit(X, y)
    for options in ({"criterion": BCE}, {"criterion__step": "identity"}):
        with pytest.raises(ValueError, match="give one of the two"):
            AnyLossNet(cnn(), L="auto", **options).fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_steepness_follows_from_the_training(n_classes):
    X, y = blobs(100, 0.3, n_classes=n_classes)
    n_outputs = 1 if n_classes == 2 else n_classes
    options = {"max_epochs": 4, "batch_size": 25, "lr": 0.02}
    net = AnyLossNet(cnn(n_outputs), L="auto", **options).fit(X, y)
    # One epoch of four batches on the metric; the widest layer has 16 units.
    expected = auto_L(0.002, 4, 16, "float32", n_classes)
    assert pytest.approx(expected) == net.criterion_.step.L
    whole = AnyLossNet(cnn(n_outputs), L="auto", warm_up=0, **options).fit(X, y)
    assert (
        pytest.approx(auto_L(0.02, 16, 16, "float32", n_classes))
        == whole.criterion_.step.L
    )
    assert AnyLossNet(cnn(), L=7).initialize().criterion_.step == Sigmoid(7)


def test_a_start_on_cross_entropy_needs_a_loss_of_this_package():
    X, y = blobs(40)
    with pytest.raises(ValueError, match="use warm_up=0"):
        AnyLossNet(cnn(), criterion=nn.BCEWithLogitsLoss, warm_up=0.5).fit(X, y)
    for value in (1.0, -0.1, "half", True):
        with pytest.raises(ValueError, match="warm_up must be"):
            AnyLossNet(cnn(), warm_up=value).fit(X, y)


def test_a_start_resumes_from_a_checkpoint(tmp_path):
    X, y = blobs()
    settings = {"batch_size": 100, "random_state": 0}
    whole = AnyLossNet(cnn(), max_epochs=4, **settings).fit(X, y)
    saved = ResumableCheckpoint(tmp_path / "net.pt")

    class Interrupted(AnyLossNet):
        def notify(self, name, **kwargs):
            super().notify(name, **kwargs)
            if name == "on_epoch_end" and len(self.history) == 2:
                raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        Interrupted(cnn(), max_epochs=4, callbacks=[saved], **settings).fit(X, y)
    again = AnyLossNet(cnn(), max_epochs=4, callbacks=[saved], **settings).fit(X, y)
    np.testing.assert_allclose(again.logits(X), whole.logits(X), atol=1e-6)


class Images(Dataset):
    """A dataset that gives one image at a time."""

    def __init__(self, X, y):
        self.X, self.y = X, y

    def __len__(self):
        return len(self.X)

    def __getitem__(self, index):
        return self.X[index], int(self.y[index])


def test_a_dataset_with_workers_schedules_and_early_stopping():
    X, y = blobs(120, 0.3)
    net = AnyLossNet(
        cnn(),
        max_epochs=4,
        batch_size=60,
        lr=0.05,
        iterator_train__num_workers=1,
        train_split=predefined_split(Images(X, y)),
        callbacks=[
            LRScheduler("StepLR", step_size=1, gamma=0.1),
            StopOnScore(patience=1),
        ],
        random_state=0,
    ).fit(Images(X, y))
    assert net.optimizer_.param_groups[0]["lr"] < 0.05
    assert net.predict(Images(X, y)).shape == (120,)
    loaders = {"iterator_train": DataLoader, "iterator_train__shuffle": True}
    AnyLossNet(cnn(), max_epochs=2, **loaders).fit(Images(X, y))


def test_bfloat16_autocast_keeps_sums_in_single_precision():
    X, y = blobs()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        net = AnyLossNet(cnn(), max_epochs=4, batch_size=40, random_state=0).fit(X, y)
        assert net.module_(torch.tensor(X)).dtype == torch.bfloat16
    assert net.module_[0].weight.dtype == torch.float32
    assert net.score(X, y) > 0.6


def test_a_data_loader_and_an_iterable_dataset_are_refused_with_the_way_out():
    X, y = blobs(40)
    with pytest.raises(ValueError, match=r"pass its dataset.*=DataLoader"):
        AnyLossNet(cnn()).fit(DataLoader(Images(X, y), batch_size=20))

    class Stream(IterableDataset):
        def __iter__(self):
            return zip(X, y, strict=True)

    with pytest.raises(ValueError, match=r"IterableDataset \(Stream\).*partial_fit"):
        AnyLossNet(cnn()).fit(Stream())


def test_labels_from_a_list_and_from_the_dataset():
    X, y = blobs(80, 0.3)
    settings = {"max_epochs": 2, "random_state": 0}
    net = AnyLossNet(cnn(), **settings).fit(X, y.tolist())
    assert net.score(X, y.tolist()) == net.score(X, y) == net.score(Images(X, y))
    with pytest.raises(ValueError, match="needs y"):
        net.score(X)


def test_checkpoints_by_the_best_loss_and_the_best_score(tmp_path):
    X, y = blobs(200, 0.3)
    best = [
        Checkpoint(monitor=f"valid_{name}_best", dirname=str(tmp_path / name))
        for name in ("loss", "score")
    ]
    net = AnyLossNet(
        cnn(),
        max_epochs=6,
        batch_size=50,
        train_split=ValidSplit(4, stratified=True),
        callbacks=best,
        random_state=0,
    ).fit(X, y)
    for name, sign in (("loss", -1), ("score", 1)):
        values = net.history[:, f"valid_{name}"]
        running = np.maximum.accumulate(sign * np.array(values))
        expected = np.diff(running, prepend=-np.inf) > 0
        assert net.history[:, f"valid_{name}_best"] == expected.tolist()


class Normed(nn.Module):
    """Batch norm after the body, and a layer norm with a bias of its own at the end."""

    def __init__(self, n_outputs):
        super().__init__()
        self.body, self.norm = cnn(n_outputs), nn.BatchNorm2d(1)
        self.last, self.largest = nn.LayerNorm(n_outputs), 0

    def forward(self, X):
        self.largest = max(self.largest, len(X))
        return self.last(self.body(self.norm(X)))


@pytest.mark.parametrize("accumulate", [None, 16])
def test_the_output_bias_is_placed_without_another_pass(accumulate):
    X, y = blobs(80, n_classes=4)
    settings = {"max_epochs": 2, "batch_size": 40, "lr": 1e-9, "random_state": 0}
    y = np.where(y > 1, 0, y)  # Of classes 0 to 3, the last two are not there.
    biases = []

    class Watch(Callback):
        def on_batch_end(self, net, **kwargs):
            biases.append(net.module_.last.bias.tolist())

    settings |= {"accumulate": accumulate, "callbacks": [Watch()]}
    net = AnyLossNet(Normed(4), warm_up=0.5, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        net.fit(X, y)
    assert net.module_.largest == (accumulate or 40)
    assert biases[0][0] > biases[0][1] > biases[0][2]
    if accumulate is None:
        assert net.module_.norm.num_batches_tracked == 4


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_accumulation_is_the_gradient_of_the_whole_batch(dropout, n_classes):
    X, y = blobs(100, 0.3, n_classes=n_classes)
    n_outputs = 1 if n_classes == 2 else n_classes
    nets = []
    for parts in (None, 30):
        torch.manual_seed(1)
        net = AnyLossNet(
            cnn(n_outputs, dropout=dropout),
            accumulate=parts,
            max_epochs=4,
            batch_size=1.0,
            random_state=0,
        )
        nets.append(net.fit(X, y, sample_weight=np.linspace(0.5, 2, 100)))
    if dropout:  # Other masks; but it learns, and both passes have the same ones.
        assert nets[1].history[-1, "train_loss"] < nets[1].history[0, "train_loss"]
    else:
        np.testing.assert_allclose(nets[1].logits(X), nets[0].logits(X), atol=1e-4)
    for value in (0, 2.5, True):
        with pytest.raises(ValueError, match="accumulate must be"):
            AnyLossNet(cnn(), accumulate=value).fit(X, y)
    net = AnyLossNet(cnn(), criterion=nn.BCEWithLogitsLoss, accumulate=30)
    with pytest.raises(ValueError, match="accumulate=30 needs a loss"):
        net.fit(*blobs(100))


# Of torch's own while it traces, which it hides from users but not from pytest.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_compiled_criterion_is_the_criterion(backend):
    torch._dynamo.reset()
    y = torch.arange(20) % 2
    for criterion, logits, target in (
        (AnyLoss("f1"), torch.randn(20), y),
        (MulticlassAnyLoss(), torch.randn(20, 3), torch.arange(20) % 3),
    ):
        compiled = torch.compile(copy.deepcopy(criterion), backend=backend)
        ours, theirs = (logits.clone().requires_grad_() for _ in range(2))
        expected = criterion(ours, target)
        found = compiled(theirs, target)
        expected.backward()
        found.backward()
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(theirs.grad, ours.grad)


class Wrong(nn.Module):
    """Gives something else than logits."""

    def __init__(self, change):
        super().__init__()
        self.body, self.change = cnn(), change

    def forward(self, X):
        return self.change(self.body(X))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda z: z.reshape(-1, 2, 1, 1), r"logits of shape \(n,\) or \(n, 1\)"),
        (lambda z: z.reshape(-1, 2), "for a batch of 40 samples"),
        (lambda z: z.mean(), "one row for each"),
        (lambda z: {"logits": z}, "one tensor of logits.*got dict"),
        (lambda z: (z > 0).long(), "torch.int64"),
        (torch.sigmoid, "ends in a sigmoid, but losses take logits"),
        (lambda z: torch.sigmoid(z).squeeze(1), "ends in a sigmoid"),
        (lambda z: torch.softmax(torch.cat((z, -z), 1), 1), "ends in a softmax"),
    ],
)
def test_what_is_not_logits_is_refused(change, message):
    X, y = blobs(40)
    with pytest.raises(ValueError, match=message):
        AnyLossNet(Wrong(change), max_epochs=2).fit(X, y)


def test_probabilities_that_sum_to_one_are_refused():
    X, y = blobs(40, n_classes=4)
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 4), Normalised())
    with pytest.raises(ValueError, match=r"rows .* are probabilities"):
        AnyLossNet(module).fit(X, y)


def test_probabilities_that_cannot_be_told_from_logits_are_suspected():
    X, y = blobs(40)
    module = Wrong(lambda z: 1 / (1 + torch.exp(-z)))
    with pytest.warns(ConvergenceWarning, match=r"predicts 1 .* if they are probabil"):
        AnyLossNet(module, max_epochs=2).fit(X, y)


class Normalised(nn.Module):
    """A softmax without its name."""

    def forward(self, z):
        return z.exp() / z.exp().sum(1, keepdim=True)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.array(["a", "b"] * 20), "labels 0 and 1"),
        (np.arange(40) % 2 + 0.5, "labels 0 and 1"),
        (np.full(40, np.nan), "labels 0 and 1"),
        (np.array([0, "one"] * 20, dtype=object), "'one'.* of dtype object"),
    ],
)
def test_labels_of_another_kind_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        AnyLossNet(cnn()).fit(blobs(40)[0], labels)


def test_labels_out_of_range_in_a_dataset_are_refused():
    X, y = blobs(40)
    with pytest.raises(ValueError, match=r"0 or 1.*output for each"):
        AnyLossNet(cnn(), max_epochs=2).fit(Images(X, y + 1))
    with pytest.raises(ValueError, match="from 0 to 2"):
        AnyLossNet(cnn(3), max_epochs=2).fit(Images(X, y + 2))


@pytest.mark.parametrize("label", [0, 1])
def test_a_batch_without_a_class_trains_on(label):
    X, y = blobs(80, 0.5)
    order = np.argsort(y, kind="stable")  # In this order, batches have one class.
    net = AnyLossNet(cnn(), batch_size=10, max_epochs=2, iterator_train=DataLoader).fit(
        X[order], np.where(y[order] == 0, label, 1 - label)
    )
    assert np.isfinite(net.logits(X)).all()


class Diverges(nn.Linear):
    """Gives NaN from its 13th batch on."""

    def forward(self, X):
        self.calls = getattr(self, "calls", 0) + self.training
        z = super().forward(X.flatten(1))
        return z * float("nan") if self.calls > 13 else z


@pytest.mark.parametrize("criterion", [AnyLoss, BCE])
def test_outputs_that_are_not_numbers_stop_the_training(criterion):
    X, y = blobs(100)
    net = AnyLossNet(
        Diverges(64, 1),
        criterion=criterion,
        batch_size=20,
        max_epochs=9,
        warm_up=0,
        lr=0.1,
        random_state=0,
    )
    with pytest.raises(NotFiniteError, match=r"epoch 3, batch 4.*before this epoch"):
        net.fit(X, y)
    assert len(net.history) == 2
    assert all(torch.isfinite(value).all() for value in net.module_.parameters())
    X[7, 0, 0, 0] = np.nan
    with pytest.raises(NotFiniteError, match="X has values that are not finite"):
        AnyLossNet(cnn(), max_epochs=3, batch_size=20).fit(X, y)


def test_early_stopping_waits_for_the_metric():
    X, y = blobs()
    net = AnyLossNet(
        cnn(),
        max_epochs=8,
        lr=1e-9,
        batch_size=1.0,
        callbacks=[StopOnScore(patience=1)],
        train_split=ValidSplit(4, stratified=True),
    ).fit(X, y)
    assert len(net.history) >= 4
