import numpy as np
import pytest
import torch
from skorch.callbacks import Callback
from skorch.helper import predefined_split

from sk_anyloss import AnyLossNet, EarlyStopping
from sk_anyloss.training.callbacks import QuietPrintLog, SetLearningRate, StopOnScore
from sk_anyloss.training.network.mlp import MLP
from sk_anyloss.training.schedules import CosineDecay


def epochs_until_stop(callback, scores, losses):
    """Number of epochs that a callback lets a training of given results run."""
    net = AnyLossNet(MLP(2, random_state=0)).initialize()
    callback.on_train_begin(net)
    for i, (score, loss) in enumerate(zip(scores, losses, strict=True), start=1):
        net.history.new_epoch()
        net.history.record("epoch", i)
        net.history.record("valid_score", score)
        net.history.record("valid_loss", loss)
        with torch.no_grad():
            net.module_.layers[0].bias.fill_(i)
        try:
            callback.on_epoch_end(net, dataset_valid=object())
        except KeyboardInterrupt:
            break
    callback.on_train_end(net)
    return i, net.module_.layers[0].bias[0].item()


@pytest.mark.parametrize(
    ("scores", "losses", "epochs", "best"),
    [
        # The metric rises, then falls.
        ([0.5, 0.6, 0.5, 0.5, 0.5], [1, 1, 1, 1, 1], 4, 2),
        # The metric stays, while the loss falls.
        ([0.5] * 5, [5, 4, 3, 2, 1], 5, 5),
        # A loss that falls keeps the training going, but is not better by itself.
        ([0.5, 0.4, 0.4, 0.4, 0.4], [5, 4, 3, 2, 1], 5, 1),
        # A rise within the tolerance is none, and neither is a fall within it.
        ([0.5, 0.50005, 0.50009, 0.5, 0.5], [1, 0.99995, 0.99991, 1, 1], 3, 1),
        # The metric rises at the price of the loss.
        ([0.1, 0.2, 0.3, 0.4, 0.5], [1, 2, 3, 4, 5], 5, 5),
    ],
)
def test_training_stops_after_two_epochs_without_an_improvement(
    scores, losses, epochs, best
):
    callback = StopOnScore(patience=2, tol=1e-4)
    assert epochs_until_stop(callback, scores, losses) == (epochs, best)
    assert callback.best_epoch_ == best
    assert callback.best_score_ == scores[best - 1]


def test_the_best_weights_are_restored_also_when_no_epoch_stopped_the_training():
    callback = StopOnScore(patience=10)
    assert epochs_until_stop(callback, [0.1, 0.9, 0.2], [1, 1, 1]) == (3, 2)


def test_each_training_starts_with_a_new_count():
    callback = StopOnScore(patience=2)
    epochs_until_stop(callback, [0.9, 0.1], [1, 1])
    assert epochs_until_stop(callback, [0.5, 0.4, 0.6], [1, 1, 1]) == (3, 3)


class Rates(Callback):
    """Records the learning rate of each epoch."""

    def __init__(self):
        self.seen = []

    def on_epoch_end(self, net, **kwargs):
        self.seen.append(net.optimizer_.param_groups[0]["lr"])


def test_the_rate_falls_over_the_epochs_and_is_restored_for_the_next_training():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    decay, rates = CosineDecay(0.03), Rates()
    callbacks = [("rate", SetLearningRate(decay, total=4)), ("rates", rates)]
    net = AnyLossNet(MLP(2, random_state=0), lr=0.03, max_epochs=4, callbacks=callbacks)
    net.fit(X, y)
    expected = [0.03 * decay.factor((epoch + 0.5) / 4) for epoch in range(4)]
    assert rates.seen == pytest.approx(expected, abs=1e-12)
    assert net.optimizer_.param_groups[0]["lr"] == 0.03
    net.partial_fit(X, y)
    assert rates.seen[4:] == rates.seen[:4]


def test_the_log_prints_only_for_a_verbose_net(capsys):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    for verbose in (0, 1):
        net = AnyLossNet(MLP(2, random_state=0), max_epochs=2, verbose=verbose)
        net.set_params(callbacks__print_log=QuietPrintLog())
        net.fit(X, y)
        assert ("train_loss" in capsys.readouterr().out) == bool(verbose)


def test_without_held_out_samples_nothing_stops():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    callbacks = [StopOnScore(patience=1)]
    net = AnyLossNet(MLP(2, random_state=0), max_epochs=20, callbacks=callbacks)
    assert len(net.fit(X, y).history) == 20
    valid = net.get_dataset(X, y)
    net.set_params(train_split=predefined_split(valid), callbacks=callbacks, lr=0.0)
    # Weights that stay: only the first epoch is an improvement.
    assert len(net.fit(X, y).history) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"validation_fraction": 1}, "validation_fraction must be .* got 1"),
        ({"validation_fraction": "a"}, "validation_fraction must be .* got 'a'"),
        ({"patience": 0}, "patience must be a whole number of at least 1, got 0"),
        ({"patience": 2.5}, "patience must be a whole number of at least 1, got 2.5"),
        ({"tol": float("nan")}, "tol must be a finite number of at least 0, got nan"),
    ],
)
def test_options_out_of_range_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        EarlyStopping(**options)
