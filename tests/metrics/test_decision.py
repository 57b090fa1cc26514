import numpy as np
import pytest

from sk_anyloss.metrics.decision import Decision, log_odds

P = np.linspace(0.001, 0.999, 51)


@pytest.mark.parametrize("threshold", [1e-6, 0.2, 0.5, 0.9])
def test_a_decision_at_a_threshold_compares_probabilities(threshold):
    decision = Decision.at(threshold)
    z = np.log(P / (1 - P))
    np.testing.assert_array_equal(decision.is_positive(z), threshold < P)
    np.testing.assert_array_equal(decision.margin(z) > 0, threshold < P)
    assert decision.threshold == pytest.approx(threshold, rel=1e-12, abs=1e-15)


def test_the_threshold_itself_is_decided_as_negative():
    assert not Decision.at(0.5).is_positive(np.zeros(1))[0]
    assert not Decision(1.5).is_positive(np.array([1.5]))[0]


def test_an_infinite_offset_decides_all_samples_alike():
    assert Decision(-np.inf).is_positive(np.array([-1e300, 1e300])).all()
    assert not Decision(np.inf).is_positive(np.array([-1e300, 1e300])).any()


def test_log_odds_invert_the_sigmoid_and_stay_finite():
    z = log_odds(P)
    np.testing.assert_allclose(1 / (1 + np.exp(-z)), P, rtol=1e-12, atol=1e-15)
    assert np.isfinite(log_odds(np.array([0.0, 1.0]))).all()
    assert log_odds(np.array([0.0]))[0] == pytest.approx(-36, abs=0.1)
