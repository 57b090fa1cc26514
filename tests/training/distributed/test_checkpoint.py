"""A training that was interrupted ends where it would have ended."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from sklearn.model_selection import cross_val_score
from skorch.callbacks import Callback, EarlyStopping, EpochTimer, LRScheduler
from skorch.dataset import ValidSplit

from sk_anyloss import AnyLossClassifier
from sk_anyloss.losses import BCE, AnyLoss
from sk_anyloss.training.callbacks import SetLearningRate, StopOnScore
from sk_anyloss.training.data.dataset import SubsetDataset
from sk_anyloss.training.data.parquet import ParquetSource
from sk_anyloss.training.distributed.checkpoint import ResumableCheckpoint
from sk_anyloss.training.schedules import CosineDecay
from tests.training.distributed import cases


class Failing(Callback):
    """Fail at the end of an epoch, before it is saved; not if the file exists."""

    def __init__(self, epoch, flag):
        self.epoch, self.flag = epoch, flag

    def on_epoch_end(self, net, **kwargs):
        if len(net.history) == self.epoch and not self.flag.exists():
            self.flag.touch()
            raise OSError("no space left")


class Started(Callback):
    """Note how many epochs lie behind at the start of an epoch."""

    def on_train_begin(self, net, **kwargs):
        self.epochs = []

    def on_epoch_begin(self, net, **kwargs):
        self.epochs.append(len(net.history) - 1)


def files_in(folder):
    return sorted(folder.glob("net-*.pt"))


def options_of(name):
    own = cases.CASES[name][2].get("callbacks", [])
    return [StopOnScore(callback.patience) for callback in own]


@pytest.mark.parametrize(
    "name", ["closed form", "autograd, classes", "moving average", "early stopping"]
)
def test_a_resumed_training_is_the_same(tmp_path, name):
    expected = cases.trained(name)
    saved = ResumableCheckpoint(tmp_path / "new folder" / "net.pt")
    started = Started()
    callbacks = [*options_of(name), Failing(3, tmp_path / "failed"), started, saved]
    with pytest.raises(OSError, match="no space"):
        cases.trained(name, callbacks=callbacks)
    for first in (2, None):  # The second time, nothing is left to be trained.
        found = cases.trained(name, callbacks=callbacks)
        assert started.epochs[:1] == ([] if first is None else [first])
        for own, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-12, atol=1e-12)
    assert len(files_in(saved.path.parent)) == 1
    assert len(list(saved.path.parent.iterdir())) == 1


@pytest.mark.parametrize("step", ["sigmoid", "linear"])
@pytest.mark.parametrize("name", ["autograd, classes", "autograd, labels"])
def test_the_moving_average_of_classes_and_labels_is_resumed(tmp_path, name, step):
    options = {"criterion": AnyLoss("f1", step, decay=0.9), "max_epochs": 3}
    expected = cases.trained(name, **options)
    failing = Failing(2, tmp_path / "failed")
    options["callbacks"] = [failing, ResumableCheckpoint(tmp_path / "net.pt")]
    with pytest.raises(OSError, match="no space"):
        cases.trained(name, **options)
    found = cases.trained(name, **options)
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-12, atol=1e-12)


def _dropout():
    layers = torch.nn.Linear(6, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1)
    return torch.nn.Sequential(*layers).double()


@pytest.mark.parametrize(
    ("options", "callbacks"),
    [
        ({"module": _dropout}, list),
        ({}, lambda: [LRScheduler("StepLR", step_size=4)]),
        ({}, lambda: [LRScheduler("MultiStepLR", milestones=[4])]),
        ({}, lambda: [LRScheduler("ReduceLROnPlateau", patience=3, threshold=1.0)]),
        ({}, lambda: [SetLearningRate(CosineDecay(0.1), 6)]),
        ({}, lambda: [EarlyStopping("train_loss", 4, threshold=1.0, load_best=True)]),
    ],
    ids=["dropout", "steps", "milestones", "plateau", "cosine", "skorch's stopping"],
)
def test_random_numbers_and_callbacks_resume(tmp_path, options, callbacks):
    def trained(*more):
        torch.manual_seed(0)
        own = {name: make() for name, make in options.items()}
        own |= {"callbacks": [*callbacks(), *more], "max_epochs": 6}
        return cases.trained("autograd", **own)

    expected, saved = trained(), ResumableCheckpoint(tmp_path / "net.pt")
    failing = Failing(3, tmp_path / "failed")
    with pytest.raises(OSError, match="no space"):
        trained(failing, saved)
    for own, other in zip(trained(failing, saved), expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-12, atol=1e-12)


def test_checkpoints_may_be_some_epochsapart(tmp_path):
    saved = ResumableCheckpoint(tmp_path / "net.pt", every=2)
    with pytest.raises(OSError, match="no space"):
        cases.trained("autograd", callbacks=[Failing(4, tmp_path / "failed"), saved])
    (path,) = files_in(tmp_path)
    assert torch.load(path, weights_only=True)["epoch"] == 2


class Recording(Callback):
    """Record a number of numpy that is no number of Python's."""

    def on_epoch_end(self, net, **kwargs):
        net.history.record("own", np.float32(0.5))


def test_numbers_of_numpy_in_the_history_are_saved(tmp_path):
    saved = ResumableCheckpoint(tmp_path / "net.pt")
    cases.trained("autograd", callbacks=[Recording(), saved])
    (path,) = files_in(tmp_path)
    history = torch.load(path, weights_only=True)["history"]
    assert '"own": 0.5' in history


def test_a_full_disk_keeps_the_checkpoint_before(tmp_path, monkeypatch):
    saved, save = ResumableCheckpoint(tmp_path / "net.pt"), torch.save

    def fail(state, path):
        if state["epoch"] == 3:
            path.write_bytes(b"half of it")
            raise OSError("no space left")
        save(state, path)

    monkeypatch.setattr(torch, "save", fail)
    with pytest.raises(OSError, match="no space"):
        cases.trained("autograd", callbacks=[saved])
    (path,) = tmp_path.iterdir()
    assert torch.load(path, weights_only=True)["epoch"] == 2


def test_a_damaged_file_is_an_error_that_names_it(tmp_path):
    saved = ResumableCheckpoint(tmp_path / "net.pt")
    cases.trained("closed form", callbacks=[saved])
    (path,) = files_in(tmp_path)
    path.write_bytes(b"something else")
    with pytest.raises(ValueError, match=rf"{path.name} is no checkpoint.*remove it"):
        cases.trained("closed form", callbacks=[saved])


def test_folds_do_not_know_of_each_other(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), np.arange(60) % 2  # Noise.
    saved = ResumableCheckpoint(tmp_path / "net.pt")
    torch.manual_seed(0)
    layers = torch.nn.Linear(5, 20), torch.nn.Tanh(), torch.nn.Linear(20, 1)
    module = torch.nn.Sequential(*layers).double()
    net = cases.build("autograd", module=module, metric="accuracy", max_epochs=30)
    expected = cross_val_score(net, X, y)
    assert expected.mean() < 0.7
    net.set_params(callbacks=[saved])
    for _ in range(2):
        np.testing.assert_allclose(cross_val_score(net, X, y), expected, atol=1e-9)
        assert len(files_in(tmp_path)) == 5


def _scaled(factor):
    return lambda tn, fp, fn, tp: factor * tp / (tp + fp + fn)


X, Y, WEIGHT = cases.samples()
CHANGED = {
    "X": {"X": X + 1e-6},
    "fewer": {"X": X[1:], "y": Y[1:], "weight": WEIGHT[1:]},
    "labels": {"y": np.roll(Y, 1)},
    "weights": {"weight": WEIGHT[::-1].copy()},
    "no weights": {"weight": None},
    "metric": {"metric": "mcc"},
    "own metric": {"metric": _scaled(0.5)},
    "another of the same name": {"metric": _scaled(0.25)},
    "lr": {"lr": 0.02},
    "batches": {"batch_size": 41},
    "seed": {"random_state": 4},
    "epochs": {"max_epochs": 5},
    "step": {"criterion__step": "linear"},
    "loss": {"criterion": BCE},
    "positive weight": {"criterion": torch.nn.BCEWithLogitsLoss(torch.tensor(2.0))},
    "another": {"criterion": torch.nn.BCEWithLogitsLoss(torch.tensor(3.0))},
    "optimiser": {"optimizer": torch.optim.SGD},
    "momentum": {"optimizer": torch.optim.SGD, "optimizer__momentum": 0.5},
    "module": {"module": cases.small_net(1).append(torch.nn.Identity())},
    "split": {"train_split": ValidSplit(4, stratified=True)},
    "other split": {"train_split": ValidSplit(5, stratified=True)},
    "schedule": {"callbacks": [LRScheduler("StepLR", step_size=4)]},
    "other schedule": {"callbacks": [LRScheduler("StepLR", step_size=3)]},
    "stopping": {"callbacks": [StopOnScore(3)]},
}


def test_another_training_does_not_resume(tmp_path):
    started, saved = Started(), ResumableCheckpoint(tmp_path / "net.pt")

    def train(X=X, y=Y, weight=WEIGHT, callbacks=(), max_epochs=2, **params):
        params |= {"warm_up": 0, "max_epochs": max_epochs}
        net = cases.build("autograd", callbacks=[*callbacks, started, saved], **params)
        if "BCEWith" in str(params.get("criterion")):
            weight, y = None, y.astype(float)
        net.fit(X, y, sample_weight=weight)
        return started.epochs

    assert train() == [0, 1]
    for number, (name, changed) in enumerate(CHANGED.items(), start=2):
        assert train(**changed) == list(range(changed.get("max_epochs", 2))), name
        assert len(files_in(tmp_path)) == number
    for changed in ({}, *CHANGED.values()):
        assert train(**changed) == []  # Each has its own.
    # Neither where it is computed nor what is printed makes another training.
    assert train(callbacks=[EpochTimer()], verbose=0, device="cpu") == []


def test_files_that_are_replaced_are_other_samples(tmp_path):
    path = tmp_path / "data.parquet"
    started, saved = Started(), ResumableCheckpoint(tmp_path / "net.pt")

    def train(X):
        pq.write_table(pa.table({f"x{j}": x for j, x in enumerate(X.T)}), path)
        os.utime(path, ns=(0, int(X[0, 0] * 1e9) ** 2))
        data = SubsetDataset(ParquetSource(path), Y)
        net = cases.build("closed form", callbacks=[started, saved])
        for _ in range(2):
            net.fit(data)
            yield len(started.epochs)

    assert [*train(X), *train(X), *train(X + 1)] == [4, 0, 0, 0, 4, 0]


def test_each_part_of_a_training_that_continues_has_its_own_file(tmp_path):
    X, y, _ = cases.samples()
    saved, started = ResumableCheckpoint(tmp_path / "net.pt"), Started()
    whole = cases.build("autograd", warm_up=0)
    whole.fit(X, y)
    whole.partial_fit(X, y)
    for n_before in (4, 0):  # Epochs that are trained again in each part.
        net = cases.build("autograd", warm_up=0, callbacks=[started, saved])
        net.fit(X, y)
        assert len(started.epochs) == n_before
        net.partial_fit(X, y)
        assert len(started.epochs) == n_before
        assert len(net.history) == 8
        np.testing.assert_allclose(net.logits(X), whole.logits(X), atol=1e-9)


def test_an_estimator_with_a_start_on_cross_entropy(tmp_path):
    X, y, _ = cases.samples("classes")
    settings = {"max_epochs": 6, "random_state": 0}
    expected = AnyLossClassifier(**settings).fit(X, y)
    saved = ResumableCheckpoint(tmp_path / "net.pt")
    for _ in range(2):
        found = AnyLossClassifier(callbacks=[saved], **settings).fit(X, y)
        assert found.n_iter_ == 6
        np.testing.assert_allclose(
            found.predict_proba(X), expected.predict_proba(X), atol=1e-9
        )
