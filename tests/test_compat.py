"""The package works without the private functions of other libraries."""

import ast
from pathlib import Path

import numpy as np
import pytest
import sklearn
import torch
from torch import nn

from sk_anyloss import AnyLossClassifier, AnyLossClassifierCV, AnyLossNet, metric_score
from sk_anyloss._compat import fused_adam, shuffled_group_folds
from sk_anyloss.compare.folds.inner import GroupFolds
from tests.tolerances import SAME_MODEL

PACKAGE = Path(__file__).parent.parent / "sk_anyloss"
LIBRARIES = {"imblearn", "numpy", "np", "pandas", "pd", "scipy", "sklearn", "skorch"}
LIBRARIES |= {"torch", "threadpoolctl", "joblib", "skrub", "skops", "matplotlib"}


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def private_names(path):
    """Private names of other libraries that a module imports or accesses."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            module = getattr(node, "module", None) or ""
            names = [module + "." + alias.name for alias in node.names]
            for parts in (name.strip(".").split(".") for name in names):
                if parts[0] in LIBRARIES and any(map(is_private, parts)):
                    yield ".".join(parts)
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            owner = node.value
            while isinstance(owner, ast.Attribute):
                owner = owner.value
            if isinstance(owner, ast.Name) and owner.id in LIBRARIES:
                yield ast.unparse(node)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.name)
def test_no_module_uses_a_private_function_of_another_library(path):
    assert list(private_names(path)) == []


@pytest.fixture
def no_fused_adam(monkeypatch):
    for name in ("_fused_adam_", "_fused_adamw_"):
        monkeypatch.delattr(torch, name)


@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
def test_training_works_without_the_fused_step_of_adam(imbalanced, optimizer, request):
    X, y = imbalanced
    model = AnyLossClassifier(optimizer=optimizer, max_epochs=20, random_state=0)
    fused = model.fit(X, y).decision_function(X)
    request.getfixturevalue("no_fused_adam")
    assert fused_adam(True) is fused_adam(False) is None
    np.testing.assert_allclose(
        model.fit(X, y).decision_function(X), fused, **SAME_MODEL
    )


class RecordsMode(nn.Module):
    """Records whether it is called in training mode."""

    def __init__(self):
        super().__init__()
        self.linear, self.modes = nn.Linear(6, 1), []

    def forward(self, X):
        self.modes.append(self.training)
        return self.linear(X)


def test_the_net_trains_in_training_mode_and_predicts_in_evaluation_mode(imbalanced):
    X, y = imbalanced
    module = RecordsMode().eval()
    net = AnyLossNet(module, max_epochs=1, batch_size=len(y)).fit(X.astype("f4"), y)
    assert net.module_.modes[0] is True
    net.predict(X.astype("f4"))
    assert net.module_.modes[-1] is False
    assert not module.training


def test_the_net_has_its_own_default_callbacks(imbalanced):
    net = AnyLossNet(nn.Linear(6, 1)).initialize()
    assert [name for name, _ in net.callbacks_] == ["epoch_timer", "print_log"]


@pytest.mark.parametrize(
    ("sample_weight", "message"),
    [
        (np.zeros(300), "zero for every sample"),
        (np.full(300, -1.0), "Negative values in sample_weight"),
        (np.ones((300, 2)), r"sample_weight.shape is \(300, 2\)"),
        (np.full(300, np.nan), "sample_weight contains NaN"),
    ],
)
def test_invalid_sample_weights_are_refused_everywhere(
    imbalanced, sample_weight, message
):
    X, y = imbalanced
    for fit in (AnyLossClassifier().fit, AnyLossClassifierCV().fit):
        with pytest.raises(ValueError, match=message):
            fit(X, y, sample_weight=sample_weight)
    with pytest.raises(ValueError, match=message):
        metric_score(y, y, sample_weight=sample_weight)


def test_a_scalar_weight_applies_to_all_samples(imbalanced):
    X, y = imbalanced
    model = AnyLossClassifier(max_epochs=2, random_state=0)
    decision = model.fit(X, y, sample_weight=np.ones(300)).decision_function(X)
    one = model.fit(X, y, sample_weight=1).decision_function(X)
    np.testing.assert_array_equal(one, decision)


def test_groups_need_metadata_routing(imbalanced):
    X, y = imbalanced
    with (
        sklearn.config_context(enable_metadata_routing=False),
        pytest.raises(ValueError, match="got groups, which it routes only after"),
    ):
        AnyLossClassifierCV().fit(X, y, groups=np.arange(300))


@pytest.mark.parametrize("seed", range(5))
def test_groups_with_positives_are_distributed_over_the_folds(seed):
    groups = np.random.default_rng(seed).permutation(np.repeat(np.arange(20), 5))
    y = np.isin(groups, [1, 7, 11, 18]).astype(int)
    for train, test in shuffled_group_folds(4, y, groups, seed):
        assert not set(groups[train]) & set(groups[test])
        assert len(np.unique(groups[test][y[test] == 1])) == 1


def test_there_are_at_most_as_many_inner_folds_as_groups():
    groups, y = np.repeat(np.arange(3), 8), np.tile([0, 1], 12)
    assert len(list(GroupFolds(5).split(None, y, groups))) == 3


def test_several_classes_work_without_the_backward_of_softmax(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=150), [-0.5, 1.0])
    model = AnyLossClassifier("f1", hidden=(4,), max_epochs=10, random_state=0)
    fused = model.fit(X, y).decision_function(X)
    monkeypatch.delattr(torch, "_softmax_backward_data")
    np.testing.assert_allclose(
        model.fit(X, y).decision_function(X), fused, **SAME_MODEL
    )
