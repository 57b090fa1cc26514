"""Sizes and order of batches."""

import numpy as np
import pytest

from sk_anyloss.training.data.batches import resolve_batch_size, stratified_order


@pytest.mark.parametrize("size", [0, -1, 0.0, 1.5, True, "all", None])
def test_sizes_that_make_no_sense(size):
    with pytest.raises(ValueError, match="batch_size must be 'auto'"):
        resolve_batch_size(size, 100)


def test_stratified_order_with_one_class():
    order = stratified_order(np.zeros(5), np.random.default_rng(0))
    assert sorted(order.tolist()) == list(range(5))
