"""Metrics of C x C matrices equal those of scikit-learn and imbalanced-learn."""

import warnings

import numpy as np
import pytest
import torch
from imblearn.metrics import geometric_mean_score, specificity_score
from sklearn import metrics as reference
from sklearn.metrics import confusion_matrix

from sk_anyloss.metrics.multiclass.gradients import differentiate_matrix
from sk_anyloss.metrics.multiclass.lookup import matrix_metric

AVERAGES = ("macro", "weighted", "micro")
#: For each metric, half of them with weights.
MATRICES = 200


def of_averages(name, function, **options):
    return {
        f"{name}_{average}": lambda y, p, w, a=average: function(
            y, p, sample_weight=w, average=a, **options
        )
        for average in AVERAGES
    }


def kappa(weights):
    def score(y, p, w):
        return reference.cohen_kappa_score(y, p, weights=weights, sample_weight=w)

    return score


REFERENCES = {
    **of_averages("f1", reference.f1_score, zero_division=0),
    **of_averages("f2", reference.fbeta_score, beta=2, zero_division=0),
    **of_averages("precision", reference.precision_score, zero_division=0),
    **of_averages("recall", reference.recall_score, zero_division=0),
    **of_averages("jaccard", reference.jaccard_score, zero_division=0),
    **of_averages("specificity", specificity_score),
    "accuracy": lambda y, p, w: reference.accuracy_score(y, p, sample_weight=w),
    "balanced_accuracy": lambda y, p, w: reference.balanced_accuracy_score(
        y, p, sample_weight=w
    ),
    "gmean": lambda y, p, w: geometric_mean_score(
        y, p, average="multiclass", sample_weight=w
    ),
    "mcc": lambda y, p, w: reference.matthews_corrcoef(y, p, sample_weight=w),
    "cohen_kappa": kappa(None),
    "kappa_linear": kappa("linear"),
    "kappa_quadratic": kappa("quadratic"),
}


def samples(seed):
    """Labels of 2 to 9 classes, each of them present, decisions and weights."""
    rng = np.random.default_rng(seed)
    C = 2 + seed % 8
    y = np.r_[np.arange(C), rng.choice(C, 60, p=rng.dirichlet(np.ones(C)))]
    guessed = rng.choice(C, len(y), p=rng.dirichlet(np.ones(C)))
    decided = np.where(rng.uniform(size=len(y)) < 0.6, y, guessed)
    weight = rng.uniform(0.1, 3, len(y)) if seed % 2 else None
    return C, y, decided, weight


#: imbalanced-learn's specificity is off where samples have weights.
WITHOUT_WEIGHTS = {f"specificity_{average}" for average in AVERAGES}


def values(name, n_matrices):
    """What is found of random matrices, half of them with weights, and expected."""
    expected, found = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Classes that are never predicted.
        for seed in range(n_matrices):
            C, y, decided, weight = samples(seed)
            weight = None if name in WITHOUT_WEIGHTS else weight
            M = confusion_matrix(y, decided, sample_weight=weight).astype(float)
            expected.append(REFERENCES[name](y, decided, weight))
            found.append(matrix_metric(name, range(C))(M))
    return np.array(found), np.array(expected)


@pytest.mark.parametrize("name", REFERENCES)
def test_random_matrices(name):
    found, expected = values(name, MATRICES)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("factor", [1e-300, 1e-100, 1e100, 1e300])
def test_a_factor_on_all_weights_changes_nothing(name, factor):
    M = np.random.default_rng(0).uniform(0, 5, (4, 4))
    metric = matrix_metric(name, range(4))
    assert metric(factor * M) == pytest.approx(metric(M), rel=1e-12, abs=1e-12)
    value, G = differentiate_matrix(metric)(M[None])
    scaled, scaled_G = differentiate_matrix(metric)(factor * M[None])
    assert scaled == pytest.approx(value, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(scaled_G * factor, G, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", REFERENCES)
def test_tensors_in_stacks_give_what_single_arrays_give(name):
    # A third is no number of single precision.
    metric = matrix_metric(name, range(3))
    M = np.random.default_rng(0).uniform(0, 5, (3, 2, 3, 3))
    single = [[metric(M[i, j]) for j in range(2)] for i in range(3)]
    tensor = torch.from_numpy(M).requires_grad_()
    values = metric(tensor)
    np.testing.assert_allclose(metric(M), single, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(values.detach(), single, rtol=1e-12, atol=1e-13)
    values.sum().backward()
    assert torch.isfinite(tensor.grad).all()
    assert (tensor.grad != 0).any()


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("kind", ["empty", "absent", "one class", "all wrong"])
def test_values_and_gradients_of_degenerate_matrices_are_finite(name, kind):
    M = {
        "empty": np.zeros((3, 3)),
        "absent": np.array([[4.0, 1.0, 2.0], [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]),
        "one class": np.diag([5.0, 0.0, 0.0]),
        "all wrong": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    }[kind]
    tensor = torch.from_numpy(M).requires_grad_()
    value = matrix_metric(name, range(3))(tensor)
    value.backward()
    assert torch.isfinite(value)
    assert torch.isfinite(tensor.grad).all()
