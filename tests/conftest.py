"""Settings and fixtures of all tests."""

import os

# Set before scipy is imported, as scikit-learn's check of array API input requires.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# Set before OpenMP is loaded. Idle threads of gradient boosting would otherwise spin on
# the cores that the other processes of pytest need.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# Set before onnxruntime is imported, which otherwise looks a telemetry host up.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import numpy as np
import pytest
from hypothesis import settings
from sklearn.datasets import make_classification

from sk_anyloss.compare import method_names, unregister_method

# Deterministic, and few examples, since many tests are parametrised over registries.
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, max_examples=20
)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def only_known_methods():
    """Take out the methods of compare that a test has added."""
    before = set(method_names())
    yield
    for name in set(method_names()) - before:
        unregister_method(name)


@pytest.fixture
def imbalanced():
    """300 samples with 6 features, a seventh of them positive, fairly separable."""
    return make_classification(
        300, 6, n_informative=4, weights=[0.86], class_sep=2, random_state=0
    )


@pytest.fixture
def untouched_generators():
    """Fail if a test changes the global random state of numpy or torch."""
    import torch

    def states():
        return torch.random.get_rng_state(), np.random.get_state()  # noqa: NPY002

    torch_before, numpy_before = states()
    yield
    torch_after, numpy_after = states()
    assert torch.equal(torch_before, torch_after)
    assert (numpy_before[1] == numpy_after[1]).all()
    assert numpy_before[2] == numpy_after[2]
