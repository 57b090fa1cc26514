from functools import partial

import pytest
from torch import nn

from sk_anyloss.losses import BCE, AnyLoss, Focal, Hybrid, get_loss, loss_names
from sk_anyloss.losses.registry import trains_on_metric


@pytest.mark.parametrize("name", loss_names())
def test_a_name_and_its_class_make_the_same_loss(name):
    metric = "average_precision" if name == "pairs" else "f2"
    by_name = get_loss(name, metric, "linear", 0.3)
    assert repr(get_loss(type(by_name), metric, "linear", 0.3)) == repr(by_name)


@pytest.mark.parametrize("name", loss_names())
def test_names_are_found_in_upper_and_lower_case(name):
    metric = "average_precision" if name == "pairs" else "f2"
    assert repr(get_loss(name.upper(), metric)) == repr(get_loss(name, metric))


def test_an_instance_is_returned_unchanged():
    for criterion in (BCE(), nn.BCEWithLogitsLoss()):
        assert get_loss(criterion) is criterion


def test_a_partial_sets_options_and_leaves_the_others_to_the_estimator():
    loss = get_loss(partial(AnyLoss, decay=0.5), "f2", "linear", 0.3)
    assert (loss.decay, loss.name, loss.threshold) == (0.5, "f2", 0.3)
    assert get_loss(partial(AnyLoss, threshold=0.1), threshold=0.3).threshold == 0.1
    assert get_loss(partial(Focal, gamma=5), "f2").gamma == 5
    assert isinstance(get_loss(partial(Hybrid), "f2"), Hybrid)


def test_a_class_of_torch_is_made_without_arguments():
    assert isinstance(get_loss(nn.SoftMarginLoss), nn.SoftMarginLoss)


def test_a_name_with_a_slip_gets_a_suggestion():
    with pytest.raises(ValueError, match=r"'focl'\. Did you mean 'focal'"):
        get_loss("focl")


def test_the_surrogate_of_f_beta_refuses_other_metrics():
    assert get_loss("surrogate_fbeta", metric="f0.5").beta == 0.5
    with pytest.raises(ValueError, match="F-beta scores only, but metric='gmean'"):
        get_loss("surrogate_fbeta", metric="gmean")


class Gentle(AnyLoss):
    """A subclass."""


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (None, True),
        (AnyLoss, True),
        (AnyLoss("mcc"), True),
        (partial(AnyLoss, decay=0.9), True),
        (Gentle, True),
        (Gentle(), True),
        (partial(Gentle), True),
        ("hybrid", True),
        (Hybrid("f1"), True),
        ("bce", False),
        ("Focal", False),
        (BCE(), False),
        (partial(Focal, gamma=1), False),
        (nn.BCEWithLogitsLoss(), False),
    ],
    ids=repr,
)
def test_losses_on_the_metric_are_told_from_others(loss, expected):
    assert trains_on_metric(loss) is expected
