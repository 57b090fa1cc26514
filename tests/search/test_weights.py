"""Weights by scores and their standard errors."""

from operator import itemgetter

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sk_anyloss import AnyLossClassifierCV
from sk_anyloss.estimators.tuning.out_of_fold import OutOfFold
from sk_anyloss.search.weights import bootstrap_scores, trust
from sk_anyloss.training.targets import Multiclass, Multilabel

RNG = np.random.default_rng(0)
Y = (RNG.random(300) < 0.3).astype(float)
GOOD, FAIR = Y - 0.5 + RNG.normal(size=(2, 300)) * [[0.4], [0.9]]


def pooled(metric="f1", weight=None, target=Y, kind=None):
    rows = np.arange(len(target))
    options = {} if kind is None else {"target_type": kind}
    return OutOfFold(rows, target, weight, [len(target)], metric, **options)


def by_samples(margins, score, weight=None, n_bootstrap=1000):
    """The bootstrap with samples drawn one by one, each class by itself."""
    rng = np.random.default_rng(1)
    kept = np.ones(300) if weight is None else weight
    groups = [np.flatnonzero((label == Y) & (kept > 0)) for label in (0, 1)]
    found = []
    for _ in range(n_bootstrap):
        rows = np.concatenate([rng.choice(group, len(group)) for group in groups])
        found.append([score(Y[rows], z[rows], kept[rows]) for z in margins])
    return np.array(found).T


def f1(y, z, w):
    tp, wrong = w[(z > 0) & (y == 1)].sum(), w[(z > 0) != (y == 1)].sum()
    return 2 * tp / (2 * tp + wrong)


def roc_auc(y, z, w):
    return roc_auc_score(y, z, sample_weight=w)


@pytest.mark.parametrize(
    ("score", "weighted"), [(f1, False), (f1, True), (roc_auc, False)]
)
def test_groups_of_samples_are_drawn_as_single_samples_are(score, weighted):
    weight = RNG.choice([0.0, 1.0, 3.0], 300) if weighted else None
    samples = pooled(score.__name__, weight)
    drawn = bootstrap_scores([GOOD, FAIR], samples, n_bootstrap=1000)
    expected = by_samples([GOOD, FAIR], score, weight)
    for moment in (np.mean, np.std):
        np.testing.assert_allclose(
            moment(drawn, axis=1), moment(expected, axis=1), rtol=0.15, atol=5e-3
        )
    difference = [np.std(found[0] - found[1]) for found in (drawn, expected)]
    assert difference[0] == pytest.approx(difference[1], rel=0.15)


def test_the_weights_are_those_of_the_formula():
    found = trust([FAIR, GOOD, FAIR], pooled(), sharpness=0.5, prior=[2, 1, 1])
    scores = [f1_score(Y, z > 0) for z in (FAIR, GOOD, FAIR)]
    np.testing.assert_allclose(found.differences, np.array(scores) - scores[0])
    spread = np.diff(by_samples([FAIR, GOOD], f1), axis=0).std()
    assert found.errors[1] == pytest.approx(spread, rel=0.25)
    ratio = 0.5 * found.differences[1] / found.errors[1]
    expected = np.array([2, np.exp(ratio), 1])
    np.testing.assert_allclose(found.weights, expected / expected.sum())


def test_a_score_is_trusted_the_more_the_more_samples_it_has():
    few = trust([FAIR, GOOD], pooled())
    margins = [np.tile(FAIR, 16), np.tile(GOOD, 16)]
    many = trust(margins, pooled(target=np.tile(Y, 16)))
    np.testing.assert_allclose(many.differences, few.differences)
    assert many.errors[1] == pytest.approx(few.errors[1] / 4, rel=0.3)
    assert 0.5 < few.weights[1] < 0.99 < many.weights[1]


def test_members_that_decide_alike_have_equal_weights():
    found = trust([GOOD, 2 * GOOD, GOOD], pooled())
    np.testing.assert_allclose(found.weights, 1 / 3)
    assert (found.errors == 0).all()


def test_a_metric_that_is_not_defined_leaves_the_prior():
    def metric(tn, fp, fn, tp):
        return tp * np.nan

    found = trust([GOOD, FAIR], pooled(metric), prior=[3, 1])
    np.testing.assert_allclose(found.weights, [0.75, 0.25])


def test_several_classes_and_labels():
    target = np.arange(300) % 3
    margins = [np.eye(3)[target] + RNG.normal(size=(300, 3)) * s for s in (0.9, 0.3)]
    found = trust(margins, pooled("f1_macro", None, target * 1.0, Multiclass(3)))
    assert found.weights[1] > 0.95
    labels = (RNG.random((300, 2)) < 0.4) * 1.0
    margins = [labels - 0.5 + RNG.normal(size=(300, 2)) * s for s in (0.9, 0.3)]
    found = trust(margins, pooled("f1_macro", None, labels, Multilabel(2)))
    assert found.weights[1] > 0.95


@pytest.fixture(scope="module")
def searched():
    X, y = make_classification(
        400, 6, n_informative=4, weights=[0.8], flip_y=0.05, random_state=0
    )
    noise = GaussianNB(var_smoothing=1e9)  # It predicts the share of positives.
    candidates = [{"hidden": ()}, {"hidden": (), "L": 5}, ExtraTreesClassifier(30)]
    model = AnyLossClassifierCV(
        candidates=[*candidates, noise], cv=3, max_epochs=20, random_state=0
    )
    return model.fit(X, y), X, y


def test_networks_share_one_weight_and_others_have_their_own(searched):
    model, _, _ = searched
    results = model.cv_results_
    weight = results["weight"]
    assert weight.sum() == pytest.approx(1)
    assert weight[0] == weight[1] > 0
    assert weight[2] > weight[0]
    assert weight[3] == 0  # Far behind, so it does not decide.
    assert sorted(model.ensemble_indices_) == [0, 1, 2]
    assert len(model.estimators_) == 9
    np.testing.assert_allclose(
        model.estimator_weights_.reshape(3, 3).sum(axis=1),
        weight[model.ensemble_indices_],
    )
    assert model.threshold_ == 0.5  # Each member has its own threshold already.


def test_scores_have_standard_errors(searched):
    model, _, _ = searched
    errors = model.cv_results_["pooled_test_error"]
    assert ((errors[:3] > 0.01) & (errors[:3] < 0.1)).all()


def test_an_ensemble_that_is_worse_than_its_best_member_does_not_decide():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 3)), np.zeros(900, dtype=int)
    y[:60] = 1
    for k in range(3):  # Each feature shows other positives, so members never agree.
        X[20 * k : 20 * k + 20, k] += 7
    candidates = [
        make_pipeline(FunctionTransformer(itemgetter((slice(None), [k]))), GaussianNB())
        for k in range(3)
    ]
    model = AnyLossClassifierCV(candidates=candidates, random_state=0).fit(X, y)
    results = model.cv_results_
    assert (results["pooled_test_score"] > 0.4).all()
    decided = f1_score(model.oof_target_, model.oof_proba_ > model.threshold_)
    assert decided >= model.best_score_ - results["pooled_test_error"].max()
    assert f1_score(y, model.predict(X)) > 0.4
    # What the search says of it agrees.
    best = model.best_index_
    np.testing.assert_array_equal(results["weight"], np.arange(3) == best)
    assert model.ensemble_indices_ == [best]
    assert len(model.estimators_) == 5
    assert [reason for _, reason in model.dropped_] == ["others are better"] * 2


def test_very_rare_positives_are_predicted_as_often_as_out_of_fold():
    rng = np.random.default_rng(0)
    X, X_new = rng.normal(size=(5000, 8)), rng.normal(size=(20_000, 8))
    y = (rng.random(5000) < 0.012 * np.exp(1.2 * X[:, 0] - 0.72)).astype(int)
    trees = HistGradientBoostingClassifier(max_iter=30)
    model = AnyLossClassifierCV(candidates=[trees], random_state=0).fit(X, y)
    decided = model.oof_proba_ > model.threshold_
    assert f1_score(model.oof_target_, decided) == pytest.approx(model.best_score_)
    # The mean of five models exceeds 0.5 a third as often as each of them.
    assert 0.6 < model.predict(X_new).mean() / decided.mean() < 1.6
