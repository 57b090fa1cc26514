"""Modules that the tests of the net train."""

import torch

from sk_anyloss.training.network.mlp import MLP


def mlp(d=6, **params):
    return MLP(d, **{"dtype": torch.float64, "random_state": 0, **params})
