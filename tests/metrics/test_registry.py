"""Metrics by name: lookup, spelling, registration."""

import pytest

from sk_anyloss.metrics import (
    depends_on_prevalence,
    get_metric,
    metric_name,
    metric_names,
    register_metric,
    unregister_metric,
)


def test_error_for_an_unknown_name_lists_the_nearest_and_all_names():
    with pytest.raises(ValueError, match="Did you mean 'gmean'") as error:
        get_metric("gmaen")
    assert all(name in str(error.value) for name in metric_names())


def test_names_of_functions_of_scikit_learn_have_a_hint():
    for name, meant in (("f1_score", "f1"), ("accuracy_score", "accuracy")):
        with pytest.raises(ValueError, match=f"Did you mean '{meant}'"):
            get_metric(name)


def test_metric_must_be_a_name_or_a_callable():
    with pytest.raises(TypeError, match="name or a callable"):
        get_metric(3)


def test_a_callable_is_returned_unchanged():
    def own(tn, fp, fn, tp):
        return tp

    assert get_metric(own) is own
    assert metric_name(own) == "own"


def test_register_overwrite_and_unregister():
    @register_metric("true_positives")
    def true_positives(tn, fp, fn, tp):
        return tp

    try:
        assert get_metric("true_positives") is true_positives
        assert "true_positives" in metric_names()
        with pytest.raises(ValueError, match="is taken"):
            register_metric("true_positives")
        register_metric("true_positives", overwrite=True)(max)
        assert get_metric("true_positives") is max
    finally:
        unregister_metric("true_positives")
    assert "true_positives" not in metric_names()


@pytest.mark.parametrize("name", ["", "f3", 7])
def test_names_that_cannot_be_registered(name):
    with pytest.raises(ValueError, match="name"):
        register_metric(name)


@pytest.mark.parametrize("name", ["roc_auc", "ROC_AUC", "MCC", "Balanced_Accuracy"])
def test_a_registered_name_is_taken_in_upper_and_lower_case(name):
    before = get_metric(name)
    with pytest.raises(ValueError, match="is taken"):
        register_metric(name)
    assert get_metric(name) == before


def test_only_callables_can_be_registered():
    with pytest.raises(TypeError, match="must be callable"):
        register_metric("three")(3)


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
