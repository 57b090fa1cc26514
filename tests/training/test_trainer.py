import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score

from sk_anyloss import AnyLossClassifier, CosineDecay, EarlyStopping
from sk_anyloss.losses import BCE, AnyLoss
from sk_anyloss.training.callbacks import SetLearningRate, StopOnScore
from sk_anyloss.training.data.dataset import Subset
from sk_anyloss.training.data.source import as_source
from sk_anyloss.training.net import AnyLossNet
from sk_anyloss.training.network.mlp import MLP
from sk_anyloss.training.trainer import Task, train
from tests.tolerances import SAME_MODEL

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = (X[:, 0] + 0.5 * RNG.normal(size=120) > 0.7).astype(int)
TRAIN, VALID = np.arange(90), np.arange(90, 120)


def make_task(loss=None, seed=0, held_out=False, hidden=(2,), **options):
    criterion = AnyLoss("f1") if loss is None else loss
    net = AnyLossNet(
        MLP(3, hidden=hidden, dtype=torch.float64, random_state=seed),
        criterion=criterion,
        callbacks=[
            ("early_stopping", StopOnScore()),
            ("learning_rate", SetLearningRate()),
        ],
        random_state=seed,
    ).initialize()
    defaults = {
        "criterion": criterion,
        "metric": "f1",
        "threshold": 0.5,
        "epochs": 6,
        "lr": 0.05,
        "batch_size": 30,
        "early_stopping": EarlyStopping(),
        "seed": seed,
    }
    sample = Subset(TRAIN, Y[TRAIN], None)
    valid = Subset(VALID, Y[VALID], None) if held_out else None
    return Task(net, as_source(X), sample, valid, **{**defaults, **options})


def weights(task):
    parameters = task.net.module_.parameters()
    return torch.nn.utils.parameters_to_vector(parameters).detach().numpy()


@pytest.mark.parametrize("held_out", [False, True], ids=["all", "held out"])
def test_nets_that_train_together_become_what_each_becomes_alone(held_out):
    def tasks():
        return [
            make_task(held_out=held_out),
            make_task(BCE(), held_out=held_out),
            make_task(seed=1, held_out=held_out, lr=0.01),
            make_task(hidden=(4,), held_out=held_out),
            make_task(epochs=3, lr=CosineDecay(0.1), held_out=held_out),
        ]

    together, alone = tasks(), tasks()
    train(together)
    for task in alone:
        train([task])
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(weights(one), weights(other), **SAME_MODEL)
        for name in ("train_loss", *(["valid_score"] if held_out else [])):
            np.testing.assert_allclose(
                one.net.history[:, name], other.net.history[:, name], **SAME_MODEL
            )


def test_the_outcome_is_the_best_validation_score_or_the_last_loss():
    scored, unscored = make_task(held_out=True), make_task()
    train([scored, unscored])
    assert scored.outcome == max(scored.net.history[:, "valid_score"])
    decided = scored.net.predict(X[VALID])
    # The weights of the best epoch are those that are kept.
    assert f1_score(Y[VALID], decided) == pytest.approx(scored.outcome, abs=1e-12)
    assert unscored.outcome == -unscored.net.history[-1, "train_loss"]


def test_a_net_that_stops_early_keeps_its_weights_while_others_train_on():
    patient = make_task(held_out=True, epochs=40, lr=0.2)
    hasty = make_task(
        seed=1, held_out=True, epochs=40, lr=0.2, early_stopping=EarlyStopping(0.1, 1)
    )
    train([patient, hasty])
    alone = make_task(
        seed=1, held_out=True, epochs=40, lr=0.2, early_stopping=EarlyStopping(0.1, 1)
    )
    train([alone])
    assert len(hasty.net.history) == len(alone.net.history) < len(patient.net.history)
    np.testing.assert_allclose(weights(hasty), weights(alone), **SAME_MODEL)


def test_a_schedule_at_which_training_diverges_is_named():
    model = AnyLossClassifier(loss="bce", lr=CosineDecay(1e300), random_state=0)
    message = r"lower the learning rate \(lr=CosineDecay\(1e\+300\)\)"
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
