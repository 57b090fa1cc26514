"""Pictures of a search: what they show is what was found."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB

from sk_anyloss import AnyLossClassifierCV, metric_score
from sk_anyloss.search.candidates import candidate_grid
from sk_anyloss.search.displays import (
    SettingsDisplay,
    ThresholdDisplay,
    WeightsDisplay,
)

mpl.use("Agg")
X, Y = make_classification(200, 5, weights=[0.8], random_state=0)


@pytest.fixture(scope="module")
def search():
    grid = candidate_grid([(), (3,)])
    model = AnyLossClassifierCV(
        candidates=grid, cv=3, max_epochs=15, tune_threshold=True, random_state=0
    )
    return model.fit(X, Y)


def test_settings(search):
    display = SettingsDisplay.from_estimator(search)
    assert display.labels == ["L=5", "bce"]
    assert display.networks == [
        "hidden=(), lr=CosineDecay(0.03)",
        "hidden=(), n_bins=8, lr=CosineDecay(0.03)",
        "hidden=(3,), lr=CosineDecay(0.03)",
        "hidden=(3,), n_bins=8, lr=CosineDecay(0.03)",
    ]
    scores = search.cv_results_["pooled_test_score"]
    np.testing.assert_array_equal(display.scores.ravel(), scores)
    lines = display.ax_.get_legend().get_texts()
    assert [line.get_text() for line in lines] == display.networks
    assert "f1" in display.ax_.get_ylabel()


def test_what_was_not_tried_is_left_out():
    candidates = [{"hidden": (), "L": 5}, {"hidden": (3,), "step": "identity"}]
    model = AnyLossClassifierCV(candidates=candidates, cv=3, max_epochs=5).fit(X, Y)
    display = SettingsDisplay.from_estimator(model)
    assert np.isnan(display.scores).sum() == 2


def test_weights():
    candidates = [GaussianNB(), {"hidden": ()}, {"hidden": (), "lr": -1}]
    model = AnyLossClassifierCV(candidates=candidates, cv=3, max_epochs=5)
    with pytest.warns(UserWarning, match="1 of 3 candidates failed"):
        model.fit(X, Y)
    display = WeightsDisplay.from_estimator(model)
    assert display.labels[-1] == "hidden=(), lr=-1"
    assert set(display.labels[:2]) == {"hidden=()", "GaussianNB()"}
    place = display.labels.index("GaussianNB()")
    results = model.cv_results_
    assert display.weights[place] == results["weight"][0]
    assert display.errors[place] == results["pooled_test_error"][0]
    texts = [text.get_text() for text in display.ax_.texts]
    assert f"{results['weight'][0]:.2f}" in texts
    assert any(text.startswith("lr must be") for text in texts)  # Why it has no score.
    assert model.dropped_ == [("hidden=(), lr=-1", results["error"][2])]
    # Only networks have a step and a width.
    assert SettingsDisplay.from_estimator(model).scores.size == 2


def test_threshold(search):
    display = ThresholdDisplay.from_estimator(search)
    assert display.threshold == search.threshold_
    at = display.thresholds[len(display.thresholds) // 2]
    expected = metric_score(search.oof_target_, search.oof_proba_ >= at)
    place = np.flatnonzero(display.thresholds == at)
    assert display.values[place] == pytest.approx(expected)
    # The one that is used is among the best.
    decided = search.oof_proba_ > search.threshold_
    best = metric_score(search.oof_target_, decided)
    assert best == pytest.approx(display.values.max())
    assert display.ax_.get_xlabel() == "threshold"


def test_axes_of_ones_own(search):
    figure = mpl.figure.Figure()
    ax = figure.subplots()
    for display in (SettingsDisplay, ThresholdDisplay):
        assert display.from_estimator(search, ax=ax).ax_ is ax


def test_what_cannot_be_drawn():
    with pytest.raises(NotFittedError):
        SettingsDisplay.from_estimator(AnyLossClassifierCV())
    with pytest.raises(ValueError, match="looks at all thresholds at once"):
        ThresholdDisplay.from_predictions([0, 1], [0.1, 0.9], metric="roc_auc")
