"""The projection of an epoch on many nodes is the sum of its terms."""

import pytest

from benchmarks.scale import terms_of_epoch


def test_one_node_sends_nothing():
    terms = terms_of_epoch(1e6, 1, 5000, 2e-6, 4000, hop=1e-4, bandwidth=1e8)
    assert terms == pytest.approx((2.0, 200, 0, 0))


def test_messages_go_round_a_ring():
    terms = terms_of_epoch(1e6, 5, 5000, 2e-6, 10**6, hop=1e-4, bandwidth=1e8)
    # Four rounds, then twice four with a fifth of the bytes each.
    assert terms == pytest.approx((2.0, 200, 4e-4, 8e-4 + 8 * 2e5 / 1e8))
