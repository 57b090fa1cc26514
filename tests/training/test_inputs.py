"""The skorch net: kinds of inputs, modules, labels and criteria that it takes."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from sklearn.metrics import f1_score
from skorch.dataset import ValidSplit
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from sk_anyloss import AnyLossNet
from sk_anyloss.losses import BCE, AnyLoss
from sk_anyloss.losses.steps import Sigmoid
from sk_anyloss.training.network.mlp import MLP
from tests.tolerances import SAME_MODEL
from tests.training.modules import mlp


class Column(nn.Module):
    """A module as people write them: float32, output of shape (n, 1)."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 1)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, rows):
        return self.linear(rows)


def test_any_module_with_a_column_of_logits(imbalanced):
    X, y = imbalanced
    net = AnyLossNet(Column, metric="gmean", lr=0.05, random_state=0).fit(X, y)
    assert net.score(X, y) > 0.8


def test_pandas_rows_labels_and_weights(imbalanced):
    X, y = imbalanced
    frame, labels, weight = pd.DataFrame(X), pd.Series(y), pd.Series(np.ones(300))
    net = AnyLossNet(mlp(), max_epochs=2, random_state=0).fit(frame, labels, weight)
    expected = AnyLossNet(mlp(), max_epochs=2, random_state=0).fit(X, y)
    np.testing.assert_allclose(net.logits(frame), expected.logits(X), **SAME_MODEL)


@pytest.mark.parametrize(
    ("n_outputs", "y"), [(1, [0, 1] * 5), (3, [0, 1] * 4 + [2, 2]), (2, np.eye(10, 2))]
)
def test_no_samples_have_predictions_of_the_right_shape(n_outputs, y):
    X, y = np.zeros((10, 4), dtype="float32"), np.array(y, dtype=int)
    net = AnyLossNet(nn.Linear(4, n_outputs), warm_up=0, max_epochs=1)
    with pytest.warns() if y.ndim == 1 else nullcontext():  # One class for all.
        net.fit(X, y)
    for method in (net.predict, net.predict_proba):
        assert method(X[:0]).shape == (0, *method(X).shape[1:])


@pytest.mark.parametrize("threshold", [0, 1.5, "half"])
def test_a_threshold_outside_of_0_to_1_is_refused_whatever_the_criterion(threshold):
    for criterion in (AnyLoss, nn.BCEWithLogitsLoss):
        net = AnyLossNet(nn.Linear(4, 1), threshold=threshold, criterion=criterion)
        with pytest.raises(ValueError, match="threshold must be a number strictly"):
            net.fit(np.zeros((10, 4), dtype="float32"), np.arange(10) % 2)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(10), "sample_weight is zero for every sample"),
        (-np.ones(10), "Negative values in sample_weight"),
        (np.full(10, np.nan), "sample_weight contains NaN"),
        (np.ones(9), "inconsistent|different|length"),
    ],
)
def test_weights_that_are_refused(weight, message):
    X, y = np.zeros((10, 4), dtype="float32"), np.arange(10) % 2
    with pytest.raises(ValueError, match=message):
        AnyLossNet(nn.Linear(4, 1)).fit(X, y, weight)


def test_weights_out_of_the_range_of_the_module_are_named():
    X, y = np.zeros((10, 4), dtype="float32"), np.arange(10) % 2
    with pytest.raises(ValueError, match=r"sample_weight has values .* torch\.float32"):
        AnyLossNet(nn.Linear(4, 1)).fit(X, y, np.full(10, 1e300))


@pytest.mark.parametrize(("n_outputs", "target"), [(1, "two"), (3, "many"), (3, "Y")])
def test_a_factor_on_all_weights_changes_nothing(n_outputs, target):
    X, y = several()
    y = {"two": y > 0, "many": y, "Y": np.column_stack([y > 0, y > 1, y == 1])}[target]
    weight = np.random.default_rng(0).uniform(0.5, 2, 300).astype("float32")
    module = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, n_outputs))
    net = AnyLossNet(module, max_epochs=4, random_state=0)
    expected = net.fit(X, y.astype(int), weight).logits(X)
    for power in (-100, 100):  # A power of two has no rounding.
        found = net.fit(X, y.astype(int), weight * 2.0**power).logits(X)
        np.testing.assert_array_equal(found, expected)


def test_a_module_without_a_parameter_to_train_is_refused():
    module = nn.Linear(4, 1).requires_grad_(False)
    with pytest.raises(ValueError, match="No parameter of the module is trained"):
        AnyLossNet(module).fit(np.zeros((10, 4), dtype="float32"), np.arange(10) % 2)


def test_labels_are_no_classes():
    X, y = several()
    net = AnyLossNet(nn.Linear(6, 3), max_epochs=1).fit(X, y)
    with pytest.raises(ValueError, match="one of several labels, target_type="):
        net.score(X, np.eye(3, dtype=int)[y])


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


def test_rows_in_reverse_are_rows(imbalanced):
    X, y = imbalanced
    net = AnyLossNet(mlp(), max_epochs=2, random_state=0).fit(X[::-1], y[::-1])
    other = AnyLossNet(mlp(), max_epochs=2, random_state=0)
    other.fit(X[::-1].copy(), y[::-1].copy())
    assert (net.logits(X) == other.logits(X)).all()


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
