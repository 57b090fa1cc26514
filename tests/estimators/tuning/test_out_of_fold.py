import numpy as np
import pytest
from sklearn.metrics import f1_score

from sk_anyloss.estimators.tuning.out_of_fold import OutOfFold

SIZES = [40, 30, 50]
N = sum(SIZES)


@pytest.fixture(params=[False, True], ids=["even", "weighted"])
def pooled(request):
    rng = np.random.default_rng(0)
    target = (rng.uniform(size=N) < 0.3).astype(int)
    weight = rng.uniform(0.5, 2, N) if request.param else None
    log_odds = rng.normal(size=N) + target
    return OutOfFold(np.arange(N), target, weight, SIZES, "f1"), log_odds


def f1_at(pooled, decided, part=slice(None)):
    weight = None if pooled.weight is None else pooled.weight[part]
    return f1_score(pooled.target[part], decided[part], sample_weight=weight)


def test_scores_are_those_of_scikit_learn(pooled):
    pooled, log_odds = pooled
    decided = log_odds > 0
    expected = f1_at(pooled, decided)
    assert pooled.score(log_odds) == pytest.approx(expected, abs=1e-12)
    ends = np.cumsum(SIZES)
    parts = [slice(end - size, end) for end, size in zip(ends, SIZES, strict=True)]
    np.testing.assert_allclose(
        pooled.score_folds(log_odds),
        [f1_at(pooled, decided, part) for part in parts],
        rtol=1e-12,
        atol=1e-12,
    )


def test_no_threshold_scores_higher_than_the_best_decision(pooled):
    pooled, log_odds = pooled
    best = pooled.tune(log_odds)[0]
    highest = max(f1_at(pooled, log_odds > z) for z in log_odds)
    found = f1_at(pooled, best.is_positive(log_odds))
    assert found == pytest.approx(highest, abs=1e-12)


def test_the_labels_of_a_fold_do_not_move_its_own_threshold(pooled):
    pooled, log_odds = pooled
    before = pooled.nested_margin(log_odds)
    first, others = slice(0, SIZES[0]), slice(SIZES[0], N)
    pooled.target = pooled.target.copy()
    pooled.target[first] = 1 - pooled.target[first]
    after = pooled.nested_margin(log_odds)
    np.testing.assert_array_equal(after[first], before[first])
    assert (after[others] != before[others]).any()


def test_one_fold_tunes_its_threshold_on_itself(pooled):
    pooled, log_odds = pooled
    pooled.sizes = [N]
    best = pooled.tune(log_odds)[0]
    np.testing.assert_allclose(
        pooled.nested_margin(log_odds), best.margin(log_odds), rtol=0, atol=1e-12
    )


def test_a_fold_without_the_rare_class_has_no_warning_and_the_others_their_score():
    target = np.r_[np.zeros(5), np.ones(2), np.zeros(3)].astype(int)
    pooled = OutOfFold(np.arange(10), target, None, [5, 5], "recall")
    first, second = pooled.score_folds(np.where(target == 1, 1.0, -1.0))
    assert second == 1
    assert np.isnan(first) or first in (0, 1)
