"""The metrics of one confusion matrix, against scikit-learn and imbalanced-learn."""

import imblearn.metrics
import numpy as np
import pytest
import sklearn.metrics
import torch
from hypothesis import given
from hypothesis import strategies as st

from sk_anyloss.metrics import FBeta, get_metric, metric_names, ratio, root

REFERENCE = {
    "accuracy": sklearn.metrics.accuracy_score,
    "balanced_accuracy": sklearn.metrics.balanced_accuracy_score,
    "cohen_kappa": sklearn.metrics.cohen_kappa_score,
    "f0.5": lambda y, p: sklearn.metrics.fbeta_score(y, p, beta=0.5),
    "f1": sklearn.metrics.f1_score,
    "f2": lambda y, p: sklearn.metrics.fbeta_score(y, p, beta=2),
    "fowlkes_mallows": lambda y, p: np.sqrt(
        sklearn.metrics.precision_score(y, p) * sklearn.metrics.recall_score(y, p)
    ),
    "gmean": imblearn.metrics.geometric_mean_score,
    "jaccard": sklearn.metrics.jaccard_score,
    "mcc": sklearn.metrics.matthews_corrcoef,
    "precision": sklearn.metrics.precision_score,
    "recall": sklearn.metrics.recall_score,
    "specificity": imblearn.metrics.specificity_score,
    "youden_j": lambda y, p: sklearn.metrics.balanced_accuracy_score(
        y, p, adjusted=True
    ),
}

confusion_matrices = st.tuples(*[st.integers(0, 60)] * 4).filter(lambda m: sum(m) > 0)


def make_labels(tn, fp, fn, tp):
    y = np.repeat([0, 0, 1, 1], [tn, fp, fn, tp])
    predicted = np.repeat([0, 1, 0, 1], [tn, fp, fn, tp])
    return y, predicted


def test_every_metric_has_a_reference():
    assert set(metric_names()) == set(REFERENCE)


@pytest.mark.parametrize("name", metric_names())
def test_equals_its_reference_on_hard_labels(name):
    rng = np.random.default_rng(0)
    for _ in range(50):
        matrix = rng.integers(1, 100, size=4)
        expected = REFERENCE[name](*make_labels(*matrix))
        assert get_metric(name)(*matrix) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("f1", 0.0),
        ("precision", 0.0),
        ("recall", 0.0),
        ("jaccard", 0.0),
        ("mcc", 0.0),
        ("gmean", 0.0),
        ("balanced_accuracy", 1.0),  # As scikit-learn: the mean of the classes present.
        ("accuracy", 1.0),
    ],
)
def test_value_is_defined_without_positives(name, value):
    assert get_metric(name)(10, 0, 0, 0) == value


@given(matrix=confusion_matrices)
def test_floats_arrays_and_tensors_agree(matrix):
    for name in metric_names():
        metric = get_metric(name)
        expected = metric(*map(float, matrix))
        array = metric(*np.array(matrix, dtype=float)[:, None, None])
        tensor = metric(*torch.tensor(matrix, dtype=torch.float64)[:, None, None])
        assert array.shape == tensor.shape == (1, 1), name
        assert array.item() == pytest.approx(expected, abs=1e-14), name
        assert tensor.item() == pytest.approx(expected, abs=1e-14), name


@given(matrix=confusion_matrices)
def test_values_are_in_range_and_gradients_finite_even_with_empty_classes(matrix):
    for name in metric_names():
        tensor = torch.tensor(matrix, dtype=torch.float64, requires_grad=True)
        value = get_metric(name)(*tensor)
        value.backward()
        assert -1 - 1e-12 <= value.item() <= 1 + 1e-12, name
        assert torch.isfinite(tensor.grad).all(), name


@given(matrix=confusion_matrices, factor=st.sampled_from([1e-12, 0.5, 3.0, 1e12]))
def test_metrics_do_not_depend_on_the_scale_of_the_counts(matrix, factor):
    for name in metric_names():
        metric = get_metric(name)
        scaled = metric(*(count * factor for count in matrix))
        assert scaled == pytest.approx(metric(*matrix), abs=1e-9), name


def test_metrics_never_fall_as_true_positives_rise_and_reach_one():
    for name in metric_names():
        metric = get_metric(name)
        scores = [metric(50.0, 10.0, 20.0 - tp, tp) for tp in np.linspace(1, 19, 10)]
        assert (np.diff(scores) >= 0).all(), name
        assert metric(30, 0, 0, 10) == pytest.approx(1), name


@pytest.mark.parametrize("name", ["mcc", "cohen_kappa"])
def test_huge_counts_do_not_overflow(name):
    small = get_metric(name)(90.0, 2.0, 3.0, 5.0)
    huge = torch.tensor([90.0, 2.0, 3.0, 5.0], dtype=torch.float32) * 1e30
    assert get_metric(name)(*huge).item() == pytest.approx(small, rel=1e-5, abs=1e-6)
    integers = np.array([90, 2, 3, 5], dtype=np.int64) * 10**15
    assert get_metric(name)(*integers) == pytest.approx(small)


@pytest.mark.parametrize("beta", [0, 0.3, 1, 1.5, 7])
def test_f_beta_by_name_and_by_object(beta):
    y, predicted = make_labels(80, 6, 4, 10)
    expected = sklearn.metrics.fbeta_score(y, predicted, beta=beta)
    assert get_metric(f"f{beta}")(80, 6, 4, 10) == pytest.approx(expected)
    assert FBeta(beta)(80, 6, 4, 10) == pytest.approx(expected)
    assert get_metric(f"f{beta}").beta == beta


def test_beta_must_not_be_negative():
    with pytest.raises(ValueError, match="beta must be at least 0"):
        FBeta(-1)


def test_ratio_and_root_have_value_and_gradient_zero_at_zero():
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    root(x).sum().backward()
    assert x.grad.tolist() == [0.0, 0.25]
    a = torch.zeros(1, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    ratio(a, b).backward()
    assert ratio(a, b).item() == a.grad.item() == b.grad.item() == 0
