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


@pytest.mark.parametrize("several", [False, True])
def test_every_run_of_samples_has_its_proportion_of_each_class(several):
    rng = np.random.default_rng(0)
    y = rng.choice(4, 1000, p=[0.5, 0.3, 0.15, 0.05])
    target = y
    if several:  # Of each sample the rarest label is the class.
        target = np.column_stack([y >= 0, y >= 1, y >= 2, y >= 3]).astype(int)
    order = stratified_order(target, rng)
    assert sorted(order) == list(range(1000))
    assert (order != stratified_order(target, rng)).any()
    for batch in np.split(y[order], 10):
        shares = np.bincount(batch, minlength=4) - np.bincount(y) / 10
        assert np.abs(shares).max() <= 2
