"""A training that was interrupted ends where it would have ended."""

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback, EarlyStopping, LRScheduler

from sk_anyloss.losses import AnyLoss
from sk_anyloss.training.callbacks import SetLearningRate, StopOnScore
from sk_anyloss.training.distributed.checkpoint import ResumableCheckpoint
from sk_anyloss.training.schedules import CosineDecay
from tests.training.distributed import cases


class Failing(Callback):
    """Fail at the end of an epoch, before it is saved."""

    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch_end(self, net, **kwargs):
        if len(net.history) == self.epoch:
            raise OSError("no space left")


def options_of(name):
    own = cases.CASES[name][2].get("callbacks", [])
    return [StopOnScore(callback.patience) for callback in own]


@pytest.mark.parametrize(
    "name", ["closed form", "autograd, classes", "moving average", "early stopping"]
)
def test_a_resumed_training_is_the_same(tmp_path, name):
    expected = cases.trained(name)
    saved = ResumableCheckpoint(tmp_path / "new folder" / "net.pt")
    with pytest.raises(OSError, match="no space"):
        cases.trained(name, callbacks=[*options_of(name), Failing(3), saved])
    for _ in range(2):  # The second time, nothing is left to be trained.
        found = cases.trained(name, callbacks=[*options_of(name), saved])
        for own, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-12, atol=1e-12)
    assert [path.name for path in saved.path.parent.iterdir()] == ["net.pt"]


@pytest.mark.parametrize("step", ["sigmoid", "linear"])
@pytest.mark.parametrize("name", ["autograd, classes", "autograd, labels"])
def test_the_moving_average_of_classes_and_labels_is_resumed(tmp_path, name, step):
    options = {"criterion": AnyLoss("f1", step, decay=0.9), "max_epochs": 3}
    expected = cases.trained(name, **options)
    saved = ResumableCheckpoint(tmp_path / "net.pt")
    with pytest.raises(OSError, match="no space"):
        cases.trained(name, callbacks=[Failing(2), saved], **options)
    found = cases.trained(name, callbacks=[saved], **options)
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
    with pytest.raises(OSError, match="no space"):
        trained(Failing(3), saved)
    for own, other in zip(trained(saved), expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-12, atol=1e-12)


def test_checkpoints_may_be_some_epochs_apart(tmp_path):
    saved = ResumableCheckpoint(tmp_path / "net.pt", every=2)
    with pytest.raises(OSError, match="no space"):
        cases.trained("autograd", callbacks=[Failing(4), saved])
    assert torch.load(saved.path, weights_only=True)["epoch"] == 2


class Recording(Callback):
    """Record a number of numpy that is no number of Python's."""

    def on_epoch_end(self, net, **kwargs):
        net.history.record("own", np.float32(0.5))


def test_numbers_of_numpy_in_the_history_are_saved(tmp_path):
    saved = ResumableCheckpoint(tmp_path / "net.pt")
    cases.trained("autograd", callbacks=[Recording(), saved])
    history = torch.load(saved.path, weights_only=True)["history"]
    assert '"own": 0.5' in history


def test_a_full_disk_keeps_the_checkpoint_before(tmp_path, monkeypatch):
    saved = ResumableCheckpoint(tmp_path / "net.pt")
    cases.trained("autograd", callbacks=[saved], max_epochs=2)
    before = saved.path.read_bytes()

    def fail(state, path):
        path.write_bytes(b"half of it")
        raise OSError("no space left")

    monkeypatch.setattr(torch, "save", fail)
    with pytest.raises(OSError, match="no space"):
        cases.trained("autograd", callbacks=[saved], max_epochs=3)
    assert saved.path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["net.pt"]


def test_a_file_that_does_not_fit_is_an_error_that_names_it(tmp_path):
    saved = ResumableCheckpoint(tmp_path / "net.pt")
    saved.path.write_bytes(b"something else")
    with pytest.raises(ValueError, match=r"net\.pt is no checkpoint.*remove it"):
        cases.trained("closed form", callbacks=[saved])
    saved.path.unlink()
    cases.trained("closed form", callbacks=[saved])
    with pytest.raises(ValueError, match=r"net\.pt is one of another net"):
        cases.trained("autograd", callbacks=[saved])
