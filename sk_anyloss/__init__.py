"""Train a classifier for the metric you report."""

from sk_anyloss.classifier import AnyLossClassifier
from sk_anyloss.losses import AnyLoss
from sk_anyloss.model_selection import AnyLossClassifierCV
from sk_anyloss.net import AnyLossNet
from sk_anyloss.scoring import metric_score, metric_scorer
from sk_anyloss.stack import fit_stack

__version__ = "0.1.0"

__all__ = [
    "AnyLoss",
    "AnyLossClassifier",
    "AnyLossClassifierCV",
    "AnyLossNet",
    "__version__",
    "fit_stack",
    "metric_score",
    "metric_scorer",
]
