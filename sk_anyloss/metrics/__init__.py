"""Metrics of confusion matrices: functions, curves, derivatives, scorers."""

from sk_anyloss.metrics.arithmetic import Metric, ratio, root
from sk_anyloss.metrics.binary import (
    FBeta,
    Savings,
    accuracy,
    balanced_accuracy,
    cohen_kappa,
    depends_on_prevalence,
    fowlkes_mallows,
    gmean,
    jaccard,
    mcc,
    precision,
    recall,
    specificity,
    youden_j,
)
from sk_anyloss.metrics.constraints import AtLeast
from sk_anyloss.metrics.curves import AveragePrecision, RocAuc
from sk_anyloss.metrics.multiclass.averages import Average
from sk_anyloss.metrics.multiclass.lookup import matrix_metric, matrix_metric_names
from sk_anyloss.metrics.multiclass.matrix import CostMatrix
from sk_anyloss.metrics.registry import (
    curve_names,
    get_metric,
    metric_name,
    metric_names,
    register_curve,
    register_metric,
    unregister_metric,
)
from sk_anyloss.metrics.scoring import metric_score, metric_scorer

__all__ = [
    "AtLeast",
    "Average",
    "AveragePrecision",
    "CostMatrix",
    "FBeta",
    "Metric",
    "RocAuc",
    "Savings",
    "accuracy",
    "balanced_accuracy",
    "cohen_kappa",
    "curve_names",
    "depends_on_prevalence",
    "fowlkes_mallows",
    "get_metric",
    "gmean",
    "jaccard",
    "matrix_metric",
    "matrix_metric_names",
    "mcc",
    "metric_name",
    "metric_names",
    "metric_score",
    "metric_scorer",
    "precision",
    "ratio",
    "recall",
    "register_curve",
    "register_metric",
    "root",
    "specificity",
    "unregister_metric",
    "youden_j",
]
