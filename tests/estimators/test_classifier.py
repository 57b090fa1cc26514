"""AnyLossClassifier: what it learns, predicts, scores, repeats and keeps."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn.metrics
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sk_anyloss import (
    AnyLossClassifier,
    metric_score,
)
from sk_anyloss.losses.steps import Linear, step_names
from sk_anyloss.metrics import metric_names
from tests.estimators.fits import fit
from tests.tolerances import SAME_MODEL


@pytest.mark.parametrize("metric", sorted(set(metric_names()) - {"precision"}))
def test_learns_for_every_metric(metric, imbalanced):
    X, y = imbalanced
    model = fit(X, y, metric=metric, max_epochs=100)
    prior = 1 - y.mean()
    if metric not in {"recall", "specificity"}:  # One class alone is best for these.
        assert sklearn.metrics.balanced_accuracy_score(y, model.predict(X)) > 0.75
    assert model.score(X, y) == metric_score(y, model.predict(X), metric=metric)
    assert model.score(X, y) > (prior if metric == "accuracy" else 0.5)


def test_precision_alone_leads_to_no_decisions_and_the_user_is_told(imbalanced):
    with pytest.warns(ConvergenceWarning, match="for every training sample"):
        fit(*imbalanced, metric="precision", max_epochs=100)


@pytest.mark.parametrize(
    ("step", "hidden"),
    [
        *((step, (2,)) for step in [*step_names(), Linear(delta=0.2)]),
        *(("sigmoid", hidden) for hidden in [(), (8, 4)]),
    ],
    ids=str,
)
def test_learns_with_every_step_and_depth(step, hidden, imbalanced):
    X, y = imbalanced
    assert fit(X, y, step=step, hidden=hidden, max_epochs=100).score(X, y) > 0.7


def test_trains_the_same_network_on_a_loss_of_torch(imbalanced):
    X, y = imbalanced
    loss = torch.nn.BCEWithLogitsLoss()
    model = fit(X, y, loss=loss, lr=0.05, max_epochs=100)
    assert model.score(X, y) == sklearn.metrics.f1_score(y, model.predict(X)) > 0.7


def test_the_first_three_parameters_are_metric_hidden_and_L():
    model = AnyLossClassifier("gmean", (4,), 10)
    assert (model.metric, model.hidden, model.L) == ("gmean", (4,), 10)
    default = AnyLossClassifier()
    assert (default.metric, default.hidden, default.L) == ("f1", (2,), 73)


def test_fitted_attributes(imbalanced):
    X, y = imbalanced
    model = fit(X, y)
    assert model.classes_.tolist() == [0, 1]
    assert model.n_features_in_ == 6
    assert model.n_iter_ == len(model.loss_curve_) == 20
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    assert model.validation_scores_ is None


@pytest.mark.parametrize(
    ("threshold", "pos_label"), [(0.1, None), (0.5, 0), (0.9, None), (0.9, 0)]
)
def test_predictions_of_all_kinds_agree_at_any_threshold(
    threshold, pos_label, imbalanced
):
    X, y = imbalanced
    model = fit(X, y, threshold=threshold, pos_label=pos_label, max_epochs=60)
    decision, proba = model.decision_function(X), model.predict_proba(X)
    predicted = model.predict(X)
    assert decision.shape == (300,)
    assert proba.shape == (300, 2)
    np.testing.assert_allclose(proba.sum(1), 1)
    assert ((decision > 0) == (predicted == 1)).all()
    positive = 1 if pos_label is None else 0
    above = proba[:, positive] > threshold
    assert (above == (predicted == positive)).all()
    assert 0 < above.sum() < 300
    assert model.score(X, y) > 0.7


def test_the_rare_class_may_be_the_first_label(imbalanced):
    X, y = imbalanced
    names = np.array(["ok", "fraud"])[y]  # Sorted, fraud comes first.
    model = fit(X, names, pos_label="fraud", max_epochs=100)
    expected = fit(X, y, max_epochs=100)
    assert model.classes_.tolist() == ["fraud", "ok"]
    assert ((model.predict(X) == "fraud") == expected.predict(X)).all()
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 0], expected.predict_proba(X)[:, 1], **SAME_MODEL
    )
    np.testing.assert_allclose(
        model.decision_function(X), -expected.decision_function(X), **SAME_MODEL
    )
    assert model.score(X, names) == expected.score(X, y)
    predicted = model.predict(X)
    f1 = sklearn.metrics.f1_score(names, predicted, pos_label="fraud")
    assert model.score(X, names) == pytest.approx(f1)


@pytest.mark.parametrize(
    "labels",
    [[False, True], ["a", "b"], [-1, 1], [3, 7], [0.0, 1.0]],
    ids=str,
)
def test_any_type_of_label(labels, imbalanced):
    X, y = imbalanced
    names = np.array(labels)[y]
    model = fit(X, names)
    assert set(model.predict(X)) <= set(names)
    assert (model.predict(X) == np.array(labels)[fit(X, y).predict(X)]).all()


def test_labels_of_pandas_kinds(imbalanced):
    X, y = imbalanced
    names = pd.Series(np.array(["n", "y"])[y])
    expected = fit(X, y).predict(X)
    for kind in ("object", "category", "string"):
        assert ((fit(X, names.astype(kind)).predict(X) == "y") == expected).all()


def test_pandas_rows_and_their_names_are_remembered(imbalanced):
    X, y = imbalanced
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert (model.predict(frame) == fit(X, y).predict(X)).all()
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[list("bacdef")])


def test_kinds_of_arrays(imbalanced):
    X, y = imbalanced
    expected = fit(X, y).decision_function(X)
    frozen = X.copy()
    frozen.flags.writeable = False
    for other in (np.asfortranarray(X), frozen, X.tolist(), np.repeat(X, 2, 1)[:, ::2]):
        assert (fit(other, y).decision_function(X) == expected).all()


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_sparse_rows_give_what_dense_rows_give(kind, imbalanced):
    X, y = imbalanced
    X[X < 0] = 0
    sparse = getattr(scipy.sparse, f"{kind}_array")(X)
    model, expected = fit(sparse, y), fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(sparse), expected.decision_function(X), **SAME_MODEL
    )


def test_columns_need_no_scaling_by_the_user(imbalanced):
    X, y = imbalanced
    wild = X * np.logspace(-3, 3, 6) + np.logspace(3, -3, 6)
    assert fit(wild, y, max_epochs=100).score(wild, y) > 0.75
    np.testing.assert_allclose(
        fit(wild, y).decision_function(wild), fit(X, y).decision_function(X), atol=1e-3
    )


def test_standardisation_can_be_switched_off(imbalanced):
    X, y = imbalanced
    model = fit(X, y, standardize=False)
    assert model.net_.module_.mean is model.net_.module_.scale is None
    assert fit(X, y).net_.module_.mean is not None


def test_a_constant_column_changes_nothing(imbalanced):
    X, y = imbalanced
    wider = np.column_stack([X, np.full(300, 7.0)])
    decision = fit(wider, y, hidden=()).decision_function(wider)
    expected = fit(X, y, hidden=()).decision_function(X)
    np.testing.assert_allclose(decision, expected, **SAME_MODEL)


def test_float32_stays_float32_and_small_sets_are_computed_in_float64(imbalanced):
    X, y = imbalanced
    thin = X.astype(np.float32)
    model = fit(thin, y, max_epochs=50)
    assert {p.dtype for p in model.net_.module_.parameters()} == {torch.float32}
    assert model.decision_function(thin).dtype == np.float32
    assert model.score(X, y) > 0.7
    small = fit(thin[:64], y[:64])
    assert {p.dtype for p in small.net_.module_.parameters()} == {torch.float64}
    whole = fit(X, y)
    assert {p.dtype for p in whole.net_.module_.parameters()} == {torch.float64}


def test_clone_and_set_params_do_not_share_state(imbalanced):
    X, y = imbalanced
    model = fit(X, y)
    copy = clone(model)
    assert not hasattr(copy, "net_")
    assert copy.get_params() == model.get_params()


def test_the_positive_class_is_the_one_of_the_fit(imbalanced):
    X, y = imbalanced
    model = fit(X, y)
    before = model.predict(X)
    assert model.pos_label_ == 1
    model.set_params(pos_label=0)
    assert (model.predict(X) == before).all()


def test_single_rows_do_not_ruin_the_normalisation(imbalanced):
    X, y = imbalanced
    model = fit(X, y, max_epochs=100)
    before = model.score(X, y)
    model.set_params(lr=1e-9)
    for i in range(50):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert model.score(X, y) == pytest.approx(before, abs=0.02)


@pytest.mark.parametrize(
    ("written", "registered"),
    [
        ({"metric": "F1"}, {"metric": "f1"}),
        ({"step": "Sigmoid", "L": 5}, {"step": "sigmoid", "L": 5}),
        ({"step": "LINEAR"}, {"step": "linear"}),
        ({"loss": "BCE"}, {"loss": "bce"}),
        ({"activation": "ReLU"}, {"activation": "relu"}),
        ({"optimizer": "SGD", "lr": 0.1}, {"optimizer": "sgd", "lr": 0.1}),
    ],
)
def test_names_are_found_in_upper_and_lower_case(written, registered, imbalanced):
    X, y = imbalanced
    models = [
        AnyLossClassifier(max_epochs=20, hidden=(4,), random_state=0, **params)
        for params in (written, registered)
    ]
    first, second = (model.fit(X, y).decision_function(X) for model in models)
    np.testing.assert_array_equal(first, second)
