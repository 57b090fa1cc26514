"""Train a classifier for the metric you report."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sk_anyloss.estimators.classifier import AnyLossClassifier
    from sk_anyloss.estimators.stack import fit_stack
    from sk_anyloss.estimators.tuned_decision import TunedDecisionClassifier
    from sk_anyloss.losses import AnyLoss
    from sk_anyloss.metrics.scoring import metric_score, metric_scorer
    from sk_anyloss.search.search import AnyLossClassifierCV
    from sk_anyloss.training.callbacks import EarlyStopping
    from sk_anyloss.training.net import AnyLossNet
    from sk_anyloss.training.schedules import CosineDecay

__version__ = "0.1.0"

__all__ = [
    "AnyLoss",
    "AnyLossClassifier",
    "AnyLossClassifierCV",
    "AnyLossNet",
    "CosineDecay",
    "EarlyStopping",
    "TunedDecisionClassifier",
    "__version__",
    "fit_stack",
    "metric_score",
    "metric_scorer",
]

#: Where each public name is defined. They are imported when they are first asked for,
#: so that what needs no torch does not wait for it.
_DEFINED_IN = {
    "AnyLoss": "sk_anyloss.losses",
    "AnyLossClassifier": "sk_anyloss.estimators.classifier",
    "AnyLossClassifierCV": "sk_anyloss.search.search",
    "AnyLossNet": "sk_anyloss.training.net",
    "CosineDecay": "sk_anyloss.training.schedules",
    "EarlyStopping": "sk_anyloss.training.callbacks",
    "TunedDecisionClassifier": "sk_anyloss.estimators.tuned_decision",
    "fit_stack": "sk_anyloss.estimators.stack",
    "metric_score": "sk_anyloss.metrics.scoring",
    "metric_scorer": "sk_anyloss.metrics.scoring",
}


def __getattr__(name: str) -> Any:
    if name not in _DEFINED_IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_DEFINED_IN[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
