"""Kinds of targets: two classes, several classes, several labels.

What differs between them in training stands here: the shape of the logits, how labels
and weights are summed, what is decided, and how decisions are scored.
"""

from sk_anyloss.training.targets.base import AnyMetric, TargetType
from sk_anyloss.training.targets.binary import Binary
from sk_anyloss.training.targets.lookup import target_type_of
from sk_anyloss.training.targets.multiclass import Multiclass
from sk_anyloss.training.targets.multilabel import Multilabel

__all__ = [
    "AnyMetric",
    "Binary",
    "Multiclass",
    "Multilabel",
    "TargetType",
    "target_type_of",
]
