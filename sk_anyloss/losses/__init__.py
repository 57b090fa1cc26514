"""Losses on logits, all with one signature: ``loss(logits, y, sample_weight=None)``."""

from sk_anyloss.losses.anyloss import AnyLoss
from sk_anyloss.losses.cross_entropy import (
    CrossEntropy,
    MulticlassFocal,
    MulticlassMSE,
    WeightedCrossEntropy,
)
from sk_anyloss.losses.hybrid import Hybrid, MulticlassHybrid
from sk_anyloss.losses.multiclass import MulticlassAnyLoss, OneAgainstRest
from sk_anyloss.losses.multilabel import OverLabels
from sk_anyloss.losses.pairwise import Pairs
from sk_anyloss.losses.pointwise import BCE, MSE, Focal, SurrogateFBeta, WeightedBCE
from sk_anyloss.losses.registry import get_loss, loss_names

__all__ = [
    "BCE",
    "MSE",
    "AnyLoss",
    "CrossEntropy",
    "Focal",
    "Hybrid",
    "MulticlassAnyLoss",
    "MulticlassFocal",
    "MulticlassHybrid",
    "MulticlassMSE",
    "OneAgainstRest",
    "OverLabels",
    "Pairs",
    "SurrogateFBeta",
    "WeightedBCE",
    "WeightedCrossEntropy",
    "get_loss",
    "loss_names",
]
