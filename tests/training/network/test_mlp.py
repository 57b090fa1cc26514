"""The MLP and its weighted batch normalisation."""

import numpy as np
import pytest
import torch
from torch import nn

from sk_anyloss.training.network.mlp import (
    MLP,
    WeightedBatchNorm,
    activation_names,
    check_hidden,
)


def rows(n=20, d=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, d, generator=generator, dtype=torch.float64)


def awake(module, seed=1):
    """Move the last layer, which starts at 0, so that the output shows something."""
    with torch.no_grad():
        generator = torch.Generator().manual_seed(seed)
        module.layers[-1].weight.normal_(generator=generator)
    return module


def test_the_papers_network_is_linear_norm_sigmoid_linear():
    module = awake(MLP(3, hidden=(2,), dtype=torch.float64, random_state=0))
    first, last = module.layers
    norm = nn.BatchNorm1d(2, dtype=torch.float64)
    X = rows()
    expected = last(torch.sigmoid(norm(first(X)))).squeeze(1)
    torch.testing.assert_close(module(X), expected)


def test_no_hidden_layer_is_a_single_layer_perceptron_started_at_zero():
    module = MLP(3, hidden=())
    assert [p.shape for p in module.parameters()] == [(1, 3), (1,)]
    assert all((p == 0).all() for p in module.parameters())


@pytest.mark.parametrize("hidden", [(), (4,), (5, 4, 3)], ids=str)
@pytest.mark.parametrize("batch_norm", [False, True])
def test_one_logit_a_row_at_any_depth(hidden, batch_norm):
    for activation in activation_names():
        module = MLP(3, hidden, activation, batch_norm, dtype=torch.float64)
        assert module(rows()).shape == (20,)
        assert len(module.layers) == len(hidden) + 1
        assert len(module.norms) == (len(hidden) if batch_norm else 0)


def test_the_output_starts_at_its_bias():
    module = MLP(3, hidden=(4,), output_bias=-0.25, random_state=0)
    assert (module(rows().float()) == -0.25).all()


def test_input_is_standardised_by_the_given_figures():
    mean, scale = np.array([1.0, 2.0, 3.0]), np.array([1.0, 10.0, 0.1])
    plain = awake(MLP(3, dtype=torch.float64, random_state=0))
    scaled = awake(MLP(3, mean=mean, scale=scale, dtype=torch.float64, random_state=0))
    X = rows()
    torch.testing.assert_close(
        scaled(X * torch.tensor(scale) + torch.tensor(mean)), plain(X)
    )


def test_the_same_seed_gives_the_same_weights(untouched_generators):
    one, two, other = (MLP(4, (8,), random_state=seed) for seed in (3, 3, 4))
    assert torch.equal(one.layers[0].weight, two.layers[0].weight)
    assert not torch.equal(one.layers[0].weight, other.layers[0].weight)
    assert not torch.equal(MLP(4).layers[0].weight, MLP(4).layers[0].weight)


def test_batch_norm_is_torchs_where_rows_are_equal():
    X = rows()
    ours, theirs = WeightedBatchNorm(3), nn.BatchNorm1d(3)
    ours, theirs = ours.double(), theirs.double()
    torch.testing.assert_close(ours(X), theirs(X))
    torch.testing.assert_close(ours.running_mean, theirs.running_mean)
    var = X.var(0, correction=0)  # Of the batch itself, where torch divides by n - 1.
    torch.testing.assert_close(ours.running_var, 0.9 + 0.1 * var)
    ours.eval()
    expected = (X - ours.running_mean) / (ours.running_var + ours.eps).sqrt()
    torch.testing.assert_close(ours(X), expected)


def test_batch_norm_takes_weight_two_for_the_row_twice():
    X, times = rows(), torch.arange(20) % 3
    weighted, repeated = (WeightedBatchNorm(3, dtype=torch.float64) for _ in range(2))
    out = weighted(X, times.double())
    expected = repeated(X.repeat_interleave(times, dim=0))
    torch.testing.assert_close(out.repeat_interleave(times, dim=0), expected)
    torch.testing.assert_close(weighted.running_var, repeated.running_var)


def test_batch_norm_of_one_row_or_a_constant_column_is_finite():
    norm = WeightedBatchNorm(3, dtype=torch.float64)
    for X in (rows(1), torch.ones(5, 3, dtype=torch.float64)):
        X.requires_grad_()
        out = norm(X)
        out.sum().backward()
        assert torch.isfinite(out).all()
        assert torch.isfinite(X.grad).all()


@pytest.mark.parametrize("hidden", [(0,), (2.0,), (2, -1), "2", None, (True,), 2.5])
def test_hidden_must_be_whole_and_positive(hidden):
    with pytest.raises(ValueError, match="hidden must be a tuple"):
        check_hidden(hidden)


@pytest.mark.parametrize("hidden", [(2,), [2], 2, np.array([2])])
def test_hidden_may_be_given_in_several_ways(hidden):
    assert check_hidden(hidden) == (2,)


def test_unknown_activation():
    with pytest.raises(ValueError, match=r"Did you mean 'tanh'.*gelu"):
        MLP(3, activation="tahn")
