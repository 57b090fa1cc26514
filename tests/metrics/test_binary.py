"""Every metric in the registry, against scikit-learn and imbalanced-learn."""

import imblearn.metrics
import numpy as np
import pytest
import sklearn.metrics
import torch
from hypothesis import given
from hypothesis import strategies as st

from sk_anyloss.metrics import (
    AtLeast,
    FBeta,
    Savings,
    depends_on_prevalence,
    get_metric,
    metric_name,
    metric_names,
    ratio,
    register_metric,
    root,
    unregister_metric,
)

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

counts = st.tuples(*[st.integers(0, 60)] * 4).filter(lambda c: sum(c) > 0)


def labels_of(tn, fp, fn, tp):
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
        expected = REFERENCE[name](*labels_of(*matrix))
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
def test_without_any_positive_the_value_is_defined(name, value):
    assert get_metric(name)(10, 0, 0, 0) == value


@given(matrix=counts)
def test_floats_arrays_and_tensors_agree(matrix):
    for name in metric_names():
        metric = get_metric(name)
        expected = metric(*map(float, matrix))
        array = metric(*np.array(matrix, dtype=float)[:, None, None])
        tensor = metric(*torch.tensor(matrix, dtype=torch.float64)[:, None, None])
        assert array.shape == tensor.shape == (1, 1), name
        assert array.item() == pytest.approx(expected, abs=1e-14), name
        assert tensor.item() == pytest.approx(expected, abs=1e-14), name


@given(matrix=counts)
def test_values_are_in_range_and_gradients_finite_even_with_empty_classes(matrix):
    for name in metric_names():
        tensor = torch.tensor(matrix, dtype=torch.float64, requires_grad=True)
        value = get_metric(name)(*tensor)
        value.backward()
        assert -1 - 1e-12 <= value.item() <= 1 + 1e-12, name
        assert torch.isfinite(tensor.grad).all(), name


@given(matrix=counts, factor=st.sampled_from([1e-12, 0.5, 3.0, 1e12]))
def test_the_scale_of_the_counts_does_not_matter(matrix, factor):
    for name in metric_names():
        metric = get_metric(name)
        scaled = metric(*(count * factor for count in matrix))
        assert scaled == pytest.approx(metric(*matrix), abs=1e-9), name


def test_more_hits_at_the_cost_of_misses_never_hurt_and_none_missed_scores_one():
    for name in metric_names():
        metric = get_metric(name)
        scores = [metric(50.0, 10.0, 20.0 - tp, tp) for tp in np.linspace(1, 19, 10)]
        assert (np.diff(scores) >= 0).all(), name
        assert metric(30, 0, 0, 10) == pytest.approx(1), name


@pytest.mark.parametrize("name", ["mcc", "cohen_kappa"])
def test_huge_counts_do_not_overflow(name):
    small = get_metric(name)(90.0, 2.0, 3.0, 5.0)
    huge = torch.tensor([90.0, 2.0, 3.0, 5.0], dtype=torch.float32) * 1e30
    assert get_metric(name)(*huge).item() == pytest.approx(small, rel=1e-5)
    integers = np.array([90, 2, 3, 5], dtype=np.int64) * 10**15
    assert get_metric(name)(*integers) == pytest.approx(small)


@pytest.mark.parametrize("beta", [0, 0.3, 1, 1.5, 7])
def test_any_beta_by_name_or_object(beta):
    y, predicted = labels_of(80, 6, 4, 10)
    expected = sklearn.metrics.fbeta_score(y, predicted, beta=beta)
    assert get_metric(f"f{beta}")(80, 6, 4, 10) == pytest.approx(expected)
    assert FBeta(beta)(80, 6, 4, 10) == pytest.approx(expected)
    assert get_metric(f"f{beta}").beta == beta


def test_beta_must_be_a_size():
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


def test_an_unknown_name_is_answered_with_the_nearest_and_all_names():
    with pytest.raises(ValueError, match="Did you mean 'gmean'") as error:
        get_metric("gmaen")
    assert all(name in str(error.value) for name in metric_names())


def test_neither_name_nor_callable():
    with pytest.raises(TypeError, match="name or a callable"):
        get_metric(3)


def test_a_callable_is_accepted_where_a_name_is():
    def own(tn, fp, fn, tp):
        return tp

    assert get_metric(own) is own
    assert metric_name(own) == "own"


def test_registering_ones_own():
    @register_metric("hits")
    def hits(tn, fp, fn, tp):
        return tp

    try:
        assert get_metric("hits") is hits
        assert "hits" in metric_names()
        with pytest.raises(ValueError, match="is taken"):
            register_metric("hits")
        register_metric("hits", overwrite=True)(max)
        assert get_metric("hits") is max
    finally:
        unregister_metric("hits")
    assert "hits" not in metric_names()


@pytest.mark.parametrize("name", ["", "f3", 7])
def test_names_that_cannot_be_registered(name):
    with pytest.raises(ValueError, match="name"):
        register_metric(name)


def test_only_callables_can_be_registered():
    with pytest.raises(TypeError, match="must be callable"):
        register_metric("three")(3)


@given(st.tuples(*[st.integers(0, 50)] * 4))
def test_a_floor_under_another_metric(counts):
    metric = get_metric("precision @ recall >= 0.75")
    assert metric == AtLeast("precision", "recall", 0.75)
    value, recall = metric(*counts), get_metric("recall")(*counts)
    if recall >= 0.75:
        assert value == get_metric("precision")(*counts)
    else:
        assert value == pytest.approx(recall - 0.75)
        assert value < 0
    arrays = metric(*(np.array([count, count]) for count in counts))
    tensors = metric(*(torch.tensor([float(count)]) for count in counts))
    assert arrays == pytest.approx([value, value])
    assert tensors.item() == pytest.approx(value, abs=1e-6)


@given(st.tuples(*[st.integers(0, 50)] * 4), st.tuples(*[st.integers(-5, 5)] * 4))
def test_savings_by_brute_force(counts, costs):
    c_tn, c_fp, c_fn, c_tp = costs
    if c_tn == c_fp and c_fn == c_tp:
        return
    tn, fp, fn, tp = counts
    cost = c_tn * tn + c_fp * fp + c_fn * fn + c_tp * tp
    high = max(c_tn, c_fp) * (tn + fp) + max(c_fn, c_tp) * (fn + tp)
    low = min(c_tn, c_fp) * (tn + fp) + min(c_fn, c_tp) * (fn + tp)
    value = Savings(fp=c_fp, fn=c_fn, tn=c_tn, tp=c_tp)(*counts)
    assert value == pytest.approx((high - cost) / (high - low) if high > low else 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AtLeast(floor=1.0), r"must lie in \(0, 1\), got 1.0"),
        (lambda: get_metric("precision@recall>=1.5"), "must lie in"),
        (lambda: get_metric("precision@recal>=0.5"), "recal"),
        (lambda: AtLeast("precison"), "precison"),
        (lambda: Savings(fp=0, fn=0), "the same whatever is decided"),
        (lambda: Savings(fp=float("nan")), "finite"),
    ],
)
def test_goals_that_make_no_sense(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("written", "registered"),
    [
        ("F1", "f1"),
        ("F1.5", "f1.5"),
        ("MCC", "mcc"),
        ("ROC_AUC", "roc_auc"),
        ("Precision@Recall>=0.8", "precision@recall>=0.8"),
    ],
)
def test_names_are_found_in_upper_and_lower_case(written, registered):
    assert get_metric(written) == get_metric(registered)
    assert metric_name(written) == registered
    assert depends_on_prevalence(written) == depends_on_prevalence(registered)


def test_a_registered_name_keeps_its_case():
    register_metric("NPV")(lambda tn, fp, fn, tp: tn)
    try:
        assert get_metric("npv") is get_metric("NPV")
        assert metric_name("npv") == "NPV"
    finally:
        unregister_metric("NPV")
    with pytest.raises(ValueError, match="reserved for the F-beta score"):
        register_metric("F3")
