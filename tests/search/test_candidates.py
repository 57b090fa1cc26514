from itertools import pairwise

import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_anyloss import AnyLossClassifier, CosineDecay
from sk_anyloss.losses.steps import Linear
from sk_anyloss.search.candidates import (
    candidate_grid,
    check_candidates,
    default_candidates,
    describe,
)


def test_the_defaults_pair_metric_and_cross_entropy_for_each_network_and_encoding():
    found = default_candidates([(), (8,)], n_features=4)
    assert len(found) == 8
    for hidden in ((), (8,)):
        for bins in (None, 8):
            same = [
                candidate.get("loss")
                for candidate in found
                if candidate["hidden"] == hidden and candidate.get("n_bins") == bins
            ]
            assert same == [None, "bce"]


def test_many_features_are_not_split_into_bins():
    assert any("n_bins" in c for c in default_candidates([()], n_features=128))
    assert not any("n_bins" in c for c in default_candidates([()], n_features=129))


def test_every_candidate_of_a_grid_is_a_set_of_parameters_of_the_estimator():
    grid = candidate_grid([(2,)], ["identity", "Sigmoid", Linear(0.2)], [5, "auto"])
    assert len(grid) == 2 * (1 + 2 + 1 + 1)
    for candidate in grid:
        AnyLossClassifier().set_params(**candidate)
    assert check_candidates(grid) == grid


def test_candidates_of_one_shape_follow_each_other():
    grid = candidate_grid([(2,), (4,)], lrs=[0.1, CosineDecay(0.1)])
    shapes = [(candidate["hidden"], candidate.get("n_bins")) for candidate in grid]
    changes = sum(a != b for a, b in pairwise(shapes))
    assert changes == len(set(shapes)) - 1


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ([], "There is no candidate to try"),
        ([{"hidden": (2,)}, {"Lr": 0.1}], "Unknown parameter 'Lr'.*'lr'"),
    ],
)
def test_unusable_candidates_are_refused(candidates, message):
    with pytest.raises(ValueError, match=message):
        check_candidates(candidates)


def test_a_description_has_every_parameter():
    assert describe({"hidden": (8,), "L": 5}) == "hidden=(8,), L=5"


def is_tree(candidate):
    return isinstance(candidate.get("estimator"), HistGradientBoostingClassifier)


def test_trees_are_tried_from_100_samples_on():
    def kinds(*args, **options):
        found = default_candidates([(), (8,)], 4, *args, **options)
        n_bins = sum("n_bins" in candidate for candidate in found)
        return sum(map(is_tree, found)), n_bins, len(found)

    assert kinds(n_samples=99) == (0, 4, 8)
    assert kinds(n_samples=100) == (1, 0, 5)
    assert kinds(n_samples=100, is_sparse=True) == (0, 4, 8)
    assert kinds("multiclass", n_samples=99) == (0, 4, 8)
    assert kinds("multiclass", n_samples=100) == (1, 2, 7)
    assert kinds("multiclass", n_samples=100, is_sparse=True) == (0, 4, 8)
    assert kinds("multilabel-indicator", n_samples=100) == (0, 4, 8)
    assert default_candidates([], 4, n_samples=100) == []


def test_candidates_are_dicts_in_the_end():
    forest = HistGradientBoostingClassifier()
    assert check_candidates([forest]) == check_candidates([{"estimator": forest}])
    described = describe({"estimator": make_pipeline(StandardScaler(), forest)})
    assert described.startswith("Pipeline(steps=[('standardscaler'")
    assert "\n" not in described
