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
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch

from sk_anyloss import AnyLossClassifier, AnyLossClassifierCV
from sk_anyloss.baselines import get_baseline
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
model, X, y, expected, score = pickle.load(open(sys.argv[1], "rb"))
assert (model.predict(X) == expected).all()
assert model.score(X, y) == score
from sk_anyloss import metric_score, metric_scorer
from sk_anyloss.plain import PlainClassifier
assert not {"torch", "skorch"} & set(sys.modules)
"""


@pytest.mark.parametrize("metric", ["f1", "precision@recall>=0.8", "roc_auc"])
def test_a_stored_model_predicts_where_torch_cannot_be_imported(metric, tmp_path):
    model = AnyLossClassifier(metric, max_epochs=5, random_state=0).fit(X, LABELS)
    plain = make_pipeline(StandardScaler(), to_plain(model))
    plain.steps[0][1].fit(X)
    content = plain, X, LABELS, plain.predict(X), plain.score(X, LABELS)
    path = tmp_path / "model.pickle"
    path.write_bytes(pickle.dumps(content))
    subprocess.run([sys.executable, "-c", WITHOUT_TORCH, path], check=True)
