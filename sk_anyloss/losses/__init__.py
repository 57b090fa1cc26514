"""Losses on logits, all with one signature: ``loss(logits, y, sample_weight=None)``."""

from sk_anyloss.losses.metric import (
    BCE,
    MSE,
    AnyLoss,
    Focal,
    Hybrid,
    Pairs,
    SurrogateFBeta,
    WeightedBCE,
    get_loss,
    loss_names,
)

__all__ = [
    "BCE",
    "MSE",
    "AnyLoss",
    "Focal",
    "Hybrid",
    "Pairs",
    "SurrogateFBeta",
    "WeightedBCE",
    "get_loss",
    "loss_names",
]
