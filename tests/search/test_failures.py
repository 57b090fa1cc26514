"""Candidates that fail, and searches that are interrupted."""

from functools import partial

import numpy as np
import pytest
import torch
from sklearn.datasets import make_classification
from skorch.callbacks import Initializer
from torch import nn

from sk_anyloss import AnyLossClassifierCV
from tests.interruptions import InterruptedMetric

X, Y = make_classification(120, 4, weights=[0.7], class_sep=2, random_state=0)

FINE = {"hidden": (), "lr": 0.1}


class Failing(nn.Module):
    """A criterion that cannot be computed."""

    def forward(self, logits, y):
        raise RuntimeError("no such kernel")


class Diverging(nn.Module):
    """A criterion that does not stay finite."""

    def forward(self, logits, y):
        return (logits * torch.inf).sum()


def search(*candidates, **params):
    small = {"cv": 2, "max_epochs": 5, "random_state": 0}
    return AnyLossClassifierCV(candidates=candidates, **{**small, **params})


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        ({**FINE, "loss": Failing()}, "RuntimeError: no such kernel"),
        ({**FINE, "loss": Diverging()}, "became"),
        ({**FINE, "class_weight": {0: -1.0, 1: 1.0}}, "class_weight must be finite"),
        ({**FINE, "lr": -1}, "lr must be"),
    ],
)
def test_a_candidate_that_fails_is_recorded_and_left_out(candidate, reason):
    model = search(FINE, candidate, {**FINE, "L": 5})
    message = f"1 of 3 candidates failed and is left out.*{reason}"
    with pytest.warns(UserWarning, match=message):
        model.fit(X, Y)
    results = model.cv_results_
    assert list(map(bool, results["error"])) == [False, True, False]
    assert reason in results["error"][1]
    for name in ("split0_test_score", "mean_test_score", "pooled_test_score"):
        assert np.isnan(results[name]).tolist() == [False, True, False]
    assert results["rank_test_score"][1] == 3
    assert np.isnan(model.scores_[1]).all()
    assert sorted(model.ensemble_indices_) == [0, 2]
    assert model.score(X, Y) > 0.5


def test_the_other_candidates_are_as_without_the_failure():
    with pytest.warns(UserWarning, match="1 of 2 candidates failed"):
        model = search({**FINE, "loss": Failing()}, FINE).fit(X, Y)
    alone = search(FINE).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), 1e-6)
    assert (alone.cv_results_["error"] == "").all()


def test_a_metric_that_cannot_score_a_candidate_is_recorded():
    def metric(tn, fp, fn, tp):
        # Trained on soft counts, scored on whole ones.
        if isinstance(tp, float) and float(tp).is_integer() and tp + fp > 100:
            raise RuntimeError("too many alarms")
        return tp / (tp + fn + fp)

    start = Initializer("layers.*.bias", fn=partial(nn.init.constant_, val=1e3))
    always = {**FINE, "callbacks": [start], "lr": 1e-9, "loss": "bce"}
    model = search(FINE, always, metric=metric, tune_threshold=False)
    with pytest.warns(UserWarning, match="too many alarms"):
        model.fit(X, Y)
    assert model.best_index_ == 0


def test_a_failed_candidate_is_reported_as_it_goes(capsys):
    with pytest.warns(UserWarning, match="1 of 2 candidates failed"):
        search(FINE, {**FINE, "loss": Failing()}, verbose=1).fit(X, Y)
    assert "no such kernel" in capsys.readouterr().out.splitlines()[1]


def test_if_every_candidate_fails_fit_raises_with_the_reasons():
    model = search({**FINE, "loss": Failing()}, {**FINE, "lr": -1})
    with pytest.raises(ValueError, match=r"all 2 candidates.*no such kernel; lr must"):
        model.fit(X, Y)
    assert not hasattr(model, "cv_results_")


class Interrupted(nn.Module):
    """A criterion during which somebody presses Ctrl-C."""

    def forward(self, logits, y):
        raise KeyboardInterrupt


ONE_FOLD = [(np.arange(80), np.arange(80, 120))]


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize(
    ("cv", "loss", "calls"), [(2, Interrupted(), 0), (ONE_FOLD, Interrupted(), 0),
                              (2, None, 30)],
    ids=["alone", "one fold", "stack"],
)  # fmt: skip
def test_an_interrupted_search_keeps_the_candidates_that_are_finished(
    cv, loss, calls, ensemble
):
    metric = InterruptedMetric(calls)
    late = {"hidden": (2,), "loss": loss, "metric": metric, "max_epochs": 50}
    model = search(FINE, {**FINE, "L": 5}, late, cv=cv, ensemble=ensemble)
    message = "interrupted after 2 of 3 candidates; the best of these are kept"
    with pytest.warns(UserWarning, match=message):
        model.fit(X, Y)
    assert len(model.cv_results_["params"]) == 2
    assert model.score(X, Y) > 0.5
    assert loss is not None or metric.calls == 0


@pytest.mark.parametrize("first", [{}, {"lr": -1}])
def test_an_interruption_before_any_candidate_is_finished_ends_the_fit(first):
    late = {"hidden": (2,), "loss": Interrupted()}
    candidates = [{**FINE, **first}, late] if first else [late, FINE]
    model = search(*candidates)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert not hasattr(model, "cv_results_")
