"""Scores of labels of several classes, and training on averages of two classes."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import cohen_kappa_score, f1_score, recall_score
from sklearn.model_selection import cross_val_score

from sk_anyloss import AnyLossClassifier, metric_score, metric_scorer
from sk_anyloss.metrics import CostMatrix

RNG = np.random.default_rng(0)
Y = RNG.choice(["fine", "fraud", "late"], 200, p=[0.7, 0.1, 0.2])
DECIDED = np.where(RNG.uniform(size=200) < 0.7, Y, RNG.permutation(Y))


def test_scores_of_three_classes_are_scikit_learns():
    weight = RNG.uniform(0.1, 2, 200)
    expected = f1_score(Y, DECIDED, average="macro", sample_weight=weight)
    for metric in ("f1", "f1_macro"):
        found = metric_score(Y, DECIDED, metric=metric, sample_weight=weight)
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)
    found = metric_score(Y, DECIDED, metric="recall[fraud]")
    expected = recall_score(Y, DECIDED, labels=["fraud"], average="macro")
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_the_order_of_the_classes_matters_for_weighted_kappa():
    order = ["late", "fine", "fraud"]
    expected = cohen_kappa_score(Y, DECIDED, labels=order, weights="quadratic")
    found = metric_score(Y, DECIDED, metric="kappa_quadratic", labels=order)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert found != metric_score(Y, DECIDED, metric="kappa_quadratic")


def test_functions_of_the_matrix_and_costs():
    def first_recall(M):
        return M[0, 0] / M[0].sum()

    expected = recall_score(Y, DECIDED, labels=["fine"], average="macro")
    found = metric_score(Y, DECIDED, metric=first_recall)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert metric_score(Y, Y, metric=CostMatrix(1 - np.eye(3))) == 1
    with pytest.raises(ValueError, match=r"2 rows .* 3 classes"):
        metric_score(Y, Y, metric=CostMatrix(1 - np.eye(2)))


def test_a_scorer_of_three_classes_in_cross_validation():
    X, y = make_classification(150, n_informative=3, n_classes=3, random_state=0)
    model = LogisticRegression()
    found = cross_val_score(model, X, y, scoring=metric_scorer("f1_macro"))
    expected = cross_val_score(model, X, y, scoring="f1_macro")
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="Unknown metric 'f1_makro'"):
        metric_scorer("f1_makro")


@pytest.mark.parametrize("metric", ["f1_macro", "precision_weighted", "jaccard_micro"])
def test_the_classifier_trains_on_averages_of_two_classes(metric):
    X, y = make_classification(300, weights=[0.8], class_sep=1.5, random_state=0)
    labels = np.array(["no", "yes"])[y]
    model = AnyLossClassifier(metric=metric, L=10, random_state=0).fit(X, labels)
    expected = metric_score(labels, model.predict(X), metric=metric)
    assert model.score(X, labels) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert expected > 0.8
    assert model.loss_curve_[-1] < model.loss_curve_[0]
