"""Networks as numpy arrays make the same predictions, without torch."""

import pickle
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse
import skops.io
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import Bunch

from sk_anyloss import (
    AnyLossClassifier,
    AnyLossClassifierCV,
    TunedDecisionClassifier,
)
from sk_anyloss.baselines import get_baseline
from sk_anyloss.metrics import CostMatrix
from sk_anyloss.plain import PlainClassifier, replace_parts, to_plain
from sk_anyloss.search.candidates import candidate_grid
from sk_anyloss.training.network.mlp import activation_names

X, Y = make_classification(200, 5, weights=[0.8], flip_y=0.1, random_state=0)
LABELS = np.array(["no", "yes"])[Y]


def assert_same_predictions(model, X=X, rtol=1e-9):
    plain = to_plain(model)
    np.testing.assert_array_equal(plain.predict(X), model.predict(X))
    np.testing.assert_allclose(
        plain.predict_proba(X), model.predict_proba(X), rtol, atol=rtol / 100
    )
    return plain


@pytest.mark.parametrize(
    ("activation", "batch_norm"),
    [*((name, True) for name in activation_names()), ("tanh", False)],
)
def test_every_activation_predicts_the_same(activation, batch_norm):
    model = AnyLossClassifier(
        hidden=(4, 3), activation=activation, batch_norm=batch_norm, max_epochs=5,
        random_state=0,
    )  # fmt: skip
    plain = assert_same_predictions(model.fit(X, LABELS), rtol=1e-6)
    assert plain.score(X, LABELS) == model.score(X, LABELS)


@pytest.mark.parametrize("ensemble", [True, False])
def test_networks_inside_a_calibrated_classifier_are_replaced(ensemble):
    network = AnyLossClassifier(hidden=(), max_epochs=5, random_state=0)
    model = CalibratedClassifierCV(network, cv=2, ensemble=ensemble).fit(X, LABELS)
    plain = assert_same_predictions(model)
    assert b"torch" not in pickle.dumps(plain)
    assert b"torch" in pickle.dumps(model)  # Which is unchanged.


class Pair(NamedTuple):
    first: object
    second: object


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({0: "old", "b": 1}, {0: "new", "b": 1}),
        (Bunch(a="old"), Bunch(a="new")),
        (Pair("old", 2), Pair("new", 2)),
        ([("a", ["old"])], [("a", ["new"])]),
    ],
    ids=["dict", "bunch", "named tuple", "nested"],
)
def test_parts_of_collections_are_replaced_in_a_copy(value, expected):
    found = replace_parts(value, lambda part: "new" if part == "old" else part)
    assert found == expected != value
    assert type(found) is type(value)
    assert replace_parts(value, lambda part: part) is value


@pytest.mark.parametrize(
    "params",
    [
        {"hidden": ()},
        {"standardize": False},
        {"n_bins": 4},
        {"threshold": 0.3},
        {"pos_label": "no"},
        {"metric": "precision@recall>=0.8"},
    ],
)
def test_every_kind_of_network_predicts_the_same(params):
    model = AnyLossClassifier(max_epochs=5, random_state=0, **params).fit(X, LABELS)
    plain = assert_same_predictions(model)
    sparse = scipy.sparse.csr_array(X)
    np.testing.assert_array_equal(plain.predict(sparse), model.predict(X))


THREE = np.array(["no", "yes", "perhaps"])[(Y + (X[:, 0] > 1)).astype(int)]
SEVERAL = np.stack((Y, X[:, 0] > 0, X[:, 1] > 1), axis=1).astype(int)


@pytest.mark.parametrize("labels", [THREE, SEVERAL], ids=["classes", "labels"])
@pytest.mark.parametrize(
    "model",
    [
        AnyLossClassifier("f1_macro", n_bins=3),
        AnyLossClassifierCV("f1_macro", hidden=[(), (3,)], cv=3),
        AnyLossClassifierCV("f1_macro", hidden=[()], cv=3, ensemble=False),
    ],
    ids=["network", "ensemble", "best"],
)
def test_networks_with_several_outputs_predict_the_same(model, labels):
    model.set_params(max_epochs=5, random_state=0)
    plain = assert_same_predictions(model.fit(X, labels), rtol=1e-8)
    if labels is THREE:
        assert plain.score(X, labels) == model.score(X, labels)


ORDERED = np.digitize(X[:, 0] + X[:, 1], [-1, 0, 1])
COSTS = CostMatrix([[0, 1, 2], [3, 0, 1], [9, 4, 0]])


def tuned(metric, estimator):
    if estimator is None:
        params = {"hidden": [()], "cv": 2, "max_epochs": 3, "tune_threshold": True}
        return AnyLossClassifierCV(metric, random_state=0, **params)
    if estimator == "network":
        estimator = AnyLossClassifier(loss="bce", max_epochs=3, random_state=0)
    return TunedDecisionClassifier(estimator, metric, cv=2, random_state=0)


@pytest.mark.parametrize(
    ("labels", "metric", "estimator"),
    [
        (THREE, "f1_macro", None),
        (THREE, COSTS, None),
        (THREE, "f1_macro@recall[yes]>=0.5", None),
        (ORDERED, "kappa_quadratic", None),
        (SEVERAL, "f1_micro", None),
        (LABELS, "precision@recall>=0.8", "network"),
        (ORDERED, "kappa_quadratic", "network"),
        (SEVERAL, "f1_macro", "network"),
        (THREE, COSTS, HistGradientBoostingClassifier(max_iter=5)),
        (THREE, "f1_macro@recall[yes]>=0.5", make_pipeline(LogisticRegression())),
    ],
)  # fmt: skip
def test_tuned_decisions_are_converted_and_stored(labels, metric, estimator):
    model = tuned(metric, estimator).fit(X, labels)
    assert np.size(model.decision_.offset) == (1 if labels is LABELS else _n(labels))
    plain = assert_same_predictions(model, rtol=1e-8)
    assert isinstance(plain, PlainClassifier)
    assert plain.score(X, labels) == model.score(X, labels)
    stored = pickle.loads(pickle.dumps(plain))
    np.testing.assert_array_equal(stored.predict(X), model.predict(X))


def _n(labels):
    return labels.shape[1] if labels.ndim == 2 else len(np.unique(labels))


class Sure(ClassifierMixin, BaseEstimator):
    """Scores where probabilities round to 1."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return 60 + X[:, 0]


def test_a_tuned_decision_leaves_samples_and_scores_to_its_estimator():
    words = np.where(X[:, :1] > 0.5, "high", "low").astype(object)
    coded = make_pipeline(OneHotEncoder(), LogisticRegression())
    model = TunedDecisionClassifier(coded, random_state=0).fit(words, LABELS)
    assert (to_plain(model).predict(words) == model.predict(words)).all()
    model = TunedDecisionClassifier(Sure(), random_state=0).fit(X, LABELS)
    plain = to_plain(model)
    assert set(plain.predict(X)) == {"no", "yes"}
    np.testing.assert_array_equal(plain.predict(X), model.predict(X))


def test_members_of_an_ensemble_that_contain_networks_are_converted():
    inner = AnyLossClassifier(max_epochs=3, random_state=0)
    candidates = [make_pipeline(StandardScaler(), inner)]
    model = AnyLossClassifierCV(candidates=candidates, cv=2, random_state=0)
    plain = assert_same_predictions(model.fit(X, LABELS))
    assert b"torch" not in pickle.dumps(plain)


TREES = HistGradientBoostingClassifier(max_iter=5), ExtraTreesClassifier(5)


@pytest.mark.parametrize(
    "labels", [LABELS, THREE, SEVERAL], ids=["two classes", "classes", "labels"]
)
@pytest.mark.parametrize(
    "candidates",
    [[{"hidden": ()}, *TREES], [TREES[1]], [{"hidden": ()}, TREES[1]]],
    ids=["mixed", "trees only", "networks and trees"],
)
@pytest.mark.filterwarnings("ignore:1 of 3 candidates failed")
def test_other_members_of_an_ensemble_are_kept_as_they_are(candidates, labels):
    model = AnyLossClassifierCV(
        "f1_macro", candidates=candidates, cv=2, max_epochs=5, random_state=0
    )
    if labels is LABELS:
        model.set_params(metric="f1", pos_label=min(LABELS))
    plain = assert_same_predictions(model.fit(X, labels), rtol=1e-8)
    n_trees = sum(not isinstance(m, AnyLossClassifier) for m in model.estimators_)
    assert len(plain.others_) == n_trees > 0


def test_float32_stays_float32():
    model = AnyLossClassifier(max_epochs=5, random_state=0)
    plain = assert_same_predictions(
        model.fit(X.astype(np.float32), Y), X.astype(np.float32), 1e-4
    )
    assert plain.networks_[0]["weights"][0].dtype == np.float32


@pytest.mark.parametrize("params", [{}, {"ensemble": False}, {"tune_threshold": True}])
def test_the_search_predicts_the_same(params):
    grid = candidate_grid([(), (3,)])
    model = AnyLossClassifierCV(
        candidates=grid, cv=3, max_epochs=5, random_state=0, **params
    )
    assert_same_predictions(model.fit(X, LABELS), rtol=1e-8)


@pytest.mark.parametrize("name", ["bce_smote", "bce_threshold"])
def test_networks_inside_other_estimators_are_converted_and_stored(name):
    inner = get_baseline(name, "f1", max_epochs=5, random_state=0)
    model = make_pipeline(StandardScaler(), inner).fit(X, Y)
    plain = assert_same_predictions(model)
    data = skops.io.dumps(plain)
    kinds = skops.io.get_untrusted_types(data=data)
    assert not [kind for kind in kinds if "torch" in kind or "skorch" in kind]
    again = skops.io.loads(data, trusted=kinds)
    np.testing.assert_array_equal(again.predict_proba(X), plain.predict_proba(X))


def test_a_voting_classifier_is_converted_with_its_named_estimators():
    one = AnyLossClassifier(max_epochs=5, random_state=0)
    vote = VotingClassifier([("net", one), ("line", LogisticRegression())])
    plain = to_plain(vote.fit(X, Y))
    np.testing.assert_array_equal(plain.predict(X), vote.predict(X))
    kinds = skops.io.get_untrusted_types(data=skops.io.dumps(plain))
    assert not [kind for kind in kinds if "torch" in kind or "skorch" in kind]


def test_a_model_without_a_network_is_returned_unchanged():
    model = LogisticRegression().fit(X, Y)
    assert to_plain(model) is model


def test_fits_and_functions_as_activations_are_refused():
    with pytest.raises(ValueError, match="cannot be fitted"):
        PlainClassifier().fit(X, Y)
    model = AnyLossClassifier(activation=torch.square, max_epochs=1)
    with pytest.raises(ValueError, match=r"activation=.*cannot be stored as arrays"):
        to_plain(model.fit(X, Y))


WITHOUT_TORCH = """
import pickle, sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

sys.meta_path.insert(0, NoTorch())
for model, X, y, expected, score in pickle.load(open(sys.argv[1], "rb")):
    assert (model.predict(X) == expected).all()
    assert model.score(X, y) == score
from sk_anyloss import metric_score, metric_scorer
from sk_anyloss.plain import PlainClassifier
assert not {"torch", "skorch"} & set(sys.modules)
"""


def test_stored_models_predict_where_torch_cannot_be_imported(tmp_path):
    contents = []
    for model, labels in [
        (AnyLossClassifier("f1", max_epochs=5), LABELS),
        (AnyLossClassifier("precision@recall>=0.8", max_epochs=5), LABELS),
        (AnyLossClassifier("roc_auc", max_epochs=5), LABELS),
        (tuned("f1_macro", None), THREE),
        (tuned("kappa_quadratic", LogisticRegression()), ORDERED),
    ]:
        plain = make_pipeline(StandardScaler(), to_plain(model.fit(X, labels)))
        plain.steps[0][1].fit(X)
        content = plain, X, labels, plain.predict(X), plain.score(X, labels)
        contents.append(content)
    path = tmp_path / "models.pickle"
    path.write_bytes(pickle.dumps(contents))
    subprocess.run([sys.executable, "-c", WITHOUT_TORCH, path], check=True)
