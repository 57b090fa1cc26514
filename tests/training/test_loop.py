import numpy as np
import pytest
import torch
from skorch.callbacks import Callback

from sk_anyloss import AnyLossNet
from sk_anyloss.training.loop import Run, StepByStep, run_epochs
from sk_anyloss.training.network.mlp import MLP

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] > 0.5).astype(int)


class Recorder(Callback):
    """Records the events of a training, and stops it after some epochs."""

    def __init__(self, stop_after=None):
        self.stop_after, self.events = stop_after, []

    def on_epoch_begin(self, net, **kwargs):
        self.events.append("begin")

    def on_epoch_end(self, net, **kwargs):
        self.events.append("end")
        if self.events.count("end") == self.stop_after:
            raise KeyboardInterrupt


def make_run(stop_after=None, seed=0):
    recorder = Recorder(stop_after)
    module = MLP(3, dtype=torch.float64, random_state=seed)
    net = AnyLossNet(module, callbacks=[recorder], random_state=seed).initialize()
    net.stopped_ = net.interrupted_ = False
    return Run(net, net.get_dataset(X, Y), None), recorder


class Counting:
    """A way to a gradient that adds 1 to a bias in each epoch."""

    def __init__(self, runs):
        self.runs, self.epochs = runs, 0

    def train_epoch(self):
        self.epochs += 1
        for run in self.runs:
            run.net.module_.layers[0].bias.data.fill_(self.epochs)

    def release(self):
        """Nothing to give back."""


def test_every_net_is_notified_around_every_epoch():
    run, recorder = make_run()
    run_epochs([run], Counting([run]), 3)
    assert recorder.events == ["begin", "end"] * 3


def test_a_stopped_net_has_the_weights_of_its_last_epoch():
    pairs = [make_run(stop_after=2), make_run(stop_after=4, seed=1)]
    runs = [run for run, _ in pairs]
    gradients = Counting(runs)
    run_epochs(runs, gradients, 10)
    assert gradients.epochs == 4  # No further than the last net that trains.
    biases = [run.net.module_.layers[0].bias[0].item() for run in runs]
    assert biases == [2, 4]
    assert [recorder.events.count("end") for _, recorder in pairs] == [2, 4]


def test_an_interruption_by_the_user_ends_the_loop():
    run, _ = make_run()

    class Interrupted(Counting):
        def train_epoch(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_epochs([run], Interrupted([run]), 3)


def test_a_layer_frozen_between_epochs_stays_and_can_be_trained_again():
    run, _ = make_run()
    module, gradients = run.net.module_, StepByStep(run)
    first, last = module.layers[0].weight, module.layers[-1].weight
    for epoch, is_frozen in enumerate((False, False, True, False)):
        first.requires_grad_(not is_frozen)
        before = first.detach().clone(), last.detach().clone()
        run.begin_epoch()
        gradients.train_epoch()
        run.end_epoch()
        if epoch > 0:  # The output layer starts at 0, so the first one has no gradient.
            assert torch.equal(first, before[0]) == is_frozen
        assert not torch.equal(last, before[1])
    gradients.release()
