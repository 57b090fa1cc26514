"""The warning of a net that predicts one class for all samples."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from torch import nn

from sk_anyloss import AnyLossClassifier, AnyLossNet
from sk_anyloss.losses.steps import Sigmoid


def constant_logit(bias):
    """A module that starts with one decision, and cannot leave it."""
    module = nn.Linear(6, 1)
    nn.init.zeros_(module.weight)
    nn.init.constant_(module.bias, bias)
    return module


@pytest.mark.parametrize(("bias", "label"), [(9.0, 1), (-9.0, 0)])
def test_a_collapsed_model_is_warned_of_with_the_way_out(bias, label, imbalanced):
    X, y = imbalanced
    settings = {"warm_up": 0, "criterion__step": Sigmoid(73)}
    net = AnyLossNet(constant_logit(bias), max_epochs=2, lr=1e-3, **settings)
    message = (
        rf"predicts {label} for every training sample.*warm_up=0.75"
        r".*Sigmoid\(L=10\).*lr=0.001"
    )
    with pytest.warns(ConvergenceWarning, match=message):
        net.fit(X.astype("float32"), y)
    net.partial_fit(X.astype("float32"), y)  # It may go on to learn.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"L": 73}, r"a smaller L \(L=10\)"),
        ({}, r"a smaller L \(L=5\)"),
        ({"criterion__step": "identity"}, "gentler criterion__step"),
    ],
)
def test_the_way_out_fits_the_parameters_that_were_given(options, message, imbalanced):
    X, y = imbalanced
    net = AnyLossNet(constant_logit(9.0), max_epochs=1, lr=1e-3, **options)
    with pytest.warns(ConvergenceWarning, match=message):
        net.fit(X.astype("float32"), y)


def test_one_decision_on_several_labels_is_warned_of(imbalanced):
    X, y = imbalanced
    Y = np.column_stack([y, 1 - y])
    module = nn.Linear(6, 2)
    nn.init.zeros_(module.weight)
    net = AnyLossNet(module, L=73, warm_up=0, max_epochs=1, lr=1e-9)
    with pytest.warns(ConvergenceWarning, match=r"predicts \([01], [01]\) for every"):
        net.fit(X.astype("float32"), Y)


def test_no_warning_of_a_collapse_where_there_is_one_class(imbalanced):
    X, y = imbalanced
    AnyLossNet(constant_logit(-9.0), max_epochs=2).fit(
        X.astype("float32"), np.zeros_like(y)
    )


def test_the_classifier_warns_of_a_collapse_once(imbalanced):
    with pytest.warns(ConvergenceWarning) as found:
        AnyLossClassifier("precision", max_epochs=100, random_state=0).fit(*imbalanced)
    assert len(found) == 1
