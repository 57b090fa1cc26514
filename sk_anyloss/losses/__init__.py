"""Losses on logits, all with one signature: ``loss(logits, y, sample_weight=None)``."""

from sk_anyloss.losses.anyloss import AnyLoss
from sk_anyloss.losses.hybrid import Hybrid
from sk_anyloss.losses.multiclass import MulticlassAnyLoss
from sk_anyloss.losses.pairwise import Pairs
from sk_anyloss.losses.pointwise import BCE, MSE, Focal, SurrogateFBeta, WeightedBCE
from sk_anyloss.losses.registry import get_loss, loss_names

__all__ = [
    "BCE",
    "MSE",
    "AnyLoss",
    "Focal",
    "Hybrid",
    "MulticlassAnyLoss",
    "Pairs",
    "SurrogateFBeta",
    "WeightedBCE",
    "get_loss",
    "loss_names",
]
