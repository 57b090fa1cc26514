"""Gradient boosting trained on the metric, by LightGBM or XGBoost.

Both libraries take a custom objective: a function that gives the gradient and the
Hessian of the loss with respect to the raw score of each sample, to which the next tree
is fitted. They are called through their public interfaces alone, and imported by their
user.
"""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Hashable
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import Tags, assert_all_finite, check_consistent_length, get_tags
from sklearn.utils.validation import column_or_1d

from sk_anyloss._compat import check_sample_weight
from sk_anyloss.estimators.binary_mixin import DecidesByLogOdds
from sk_anyloss.estimators.labels import Labels
from sk_anyloss.losses import AnyLoss
from sk_anyloss.losses.steps import Sigmoid, Step, get_step
from sk_anyloss.metrics import Metric
from sk_anyloss.metrics.decision import Decision

__all__ = ["MetricBoostingClassifier", "MetricObjective"]

#: The mean of the Hessian. Both libraries compare sums of it with constants, such as
#: ``min_child_weight``; that of log-loss is 0.25 at most.
MEAN_HESSIAN = 0.25
#: The least Hessian of a sample, as a share of the mean. Without it, a leaf of samples
#: that are all decided would move by as much as one of samples that are not.
LEAST_HESSIAN = 0.01
#: The step of the objective; steeper ones were measured to be no better.
DEFAULT_STEP = Sigmoid(2.0)
#: How ``fit`` of each library names a model to continue, and ``predict`` raw scores.
CONTINUES = {"init_model": "raw_score", "xgb_model": "output_margin"}
#: Objectives of the library itself that the start on log-loss may have.
LOG_LOSS = (None, "binary", "binary:logistic")


class MetricObjective:
    r"""Gradient and Hessian of one minus a metric of the soft confusion matrix.

    An ``objective`` for ``LGBMClassifier`` and ``XGBClassifier``. With the soft
    decisions :math:`h_i = H(\sigma(s_i); t)` of the raw scores :math:`s_i`, the loss
    depends on the samples through four sums only, so that

    .. math:: g_i = -w_i \, [y_i (f_{TP} - f_{FN}) + (1 - y_i) (f_{FP} - f_{TN})]
              \, \frac{dh_i}{ds_i}

    The true Hessian is neither diagonal nor positive; :math:`|g_i|` takes its place, no
    less than a hundredth of its mean. A leaf then moves by the learning rate at most,
    in the direction of the majority of its gradient. Both are scaled to a mean
    :math:`|g_i|` of 0.25, which changes no leaf but by the regularisation.

    Parameters
    ----------
    metric : str or callable, default='f1'
        The metric to maximise, as :class:`sk_anyloss.losses.AnyLoss` takes it for two
        classes.
    step : str or Step, default=Sigmoid(2)
        The step H from probability to soft decision.
    threshold : float, default=0.5
        The decision threshold t.

    See Also
    --------
    MetricBoostingClassifier : The same after a short start on log-loss.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.boosting import MetricObjective
    >>> objective = MetricObjective("recall")
    >>> gradient, hessian = objective(np.array([1, 0, 1]), np.array([-0.5, 0.0, 0.5]))
    >>> gradient.round(3)  # The false positives do not count.
    array([-0.375, -0.   , -0.375])
    >>> hessian.round(4)
    array([0.375 , 0.0025, 0.375 ])
    """

    def __init__(
        self,
        metric: str | Metric = "f1",
        step: str | Step = DEFAULT_STEP,
        threshold: float = 0.5,
    ) -> None:
        self.metric = metric
        self.step = step
        self.threshold = threshold
        # All samples are in this process.
        self._loss = AnyLoss(metric, step, threshold, process_group=None)

    def __call__(
        self,
        y_true: np.ndarray,
        y_pred: np.ndarray,
        sample_weight: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and Hessian with respect to the raw scores.

        Parameters
        ----------
        y_true : ndarray of shape (n_samples,)
            0 or 1.
        y_pred : ndarray of shape (n_samples,)
            Raw scores, log-odds.
        sample_weight : ndarray of shape (n_samples,), default=None
            Weights; a sample of weight 2 counts as two.

        Returns
        -------
        gradient, hessian : ndarray of shape (n_samples,)
            Of each sample.
        """
        scores = torch.tensor(y_pred, dtype=torch.float64, requires_grad=True)
        weight = None
        if sample_weight is not None:
            weight = torch.as_tensor(np.asarray(sample_weight, dtype=np.float64))
        target = torch.as_tensor(np.asarray(y_true, dtype=np.float64))
        self._loss(scores, target, weight).backward()
        assert scores.grad is not None
        gradient = scores.grad.numpy()
        size = np.abs(gradient)
        mean = size.mean()
        if mean == 0:  # At an optimum, or with one class: nothing moves.
            return np.zeros_like(size), np.full_like(size, MEAN_HESSIAN)
        factor = MEAN_HESSIAN / mean
        return factor * gradient, factor * np.maximum(size, LEAST_HESSIAN * mean)


class MetricBoostingClassifier(DecidesByLogOdds, MetaEstimatorMixin, BaseEstimator):
    """Gradient boosting of LightGBM or XGBoost, trained on the metric.

    The first trees are trained on log-loss, since the gradient of a metric says little
    where all decisions are alike; the others on one minus the metric of the soft
    confusion matrix of all samples (:class:`MetricObjective`). The decision threshold
    is 0.5: nothing is tuned afterwards. For two classes.

    Parameters
    ----------
    estimator : LGBMClassifier or XGBClassifier
        With all parameters but its objective. ``n_estimators`` is the number of trees
        in all.
    metric : str or callable, default='f1'
        What to train for, as :class:`sk_anyloss.AnyLossClassifier` takes it.
    warm_up : int, default=20
        Number of trees that are trained on log-loss.
    step : str or Step, default='sigmoid'
        The step from probability to soft decision.
    L : float, default=2
        Steepness of the sigmoid step.
    pos_label : label, default=None
        The positive class; by default ``classes_[1]``.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The classes, sorted.
    pos_label_ : label
        The positive one.
    estimator_ : LGBMClassifier or XGBClassifier
        Fitted on all trees, for labels 0 and 1.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names; only if X has names that are all strings.

    Notes
    -----
    Scores are not calibrated probabilities.

    Examples
    --------
    >>> from lightgbm import LGBMClassifier
    >>> from sklearn.datasets import make_classification
    >>> from sk_anyloss.boosting import MetricBoostingClassifier
    >>> X, y = make_classification(600, weights=[0.9], class_sep=2, random_state=0)
    >>> trees = LGBMClassifier(n_estimators=40, n_jobs=1, verbosity=-1)
    >>> model = MetricBoostingClassifier(trees, "mcc").fit(X, y)
    >>> model.score(X, y) > 0.9  # MCC.
    True
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        metric: str | Metric = "f1",
        *,
        warm_up: int = 20,
        step: str | Step = "sigmoid",
        L: float = 2.0,
        pos_label: Hashable | None = None,
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.warm_up = warm_up
        self.step = step
        self.L = L
        self.pos_label = pos_label

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = tags.classifier_tags.multi_label = False
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> MetricBoostingClassifier:
        """Train the trees, the first ones on log-loss.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, as the estimator takes them.
        y : array-like of shape (n_samples,)
            Their labels, of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        self : MetricBoostingClassifier
            The fitted estimator.
        """
        objective = self._objective()
        option, n_trees = self._option(), self._n_trees()
        target = column_or_1d(y, warn=True)
        assert_all_finite(target, input_name="y")
        check_consistent_length(X, target)
        labels = Labels.of(target, self.pos_label)
        if labels.target.name != "binary":
            raise ValueError(
                "Only binary classification is supported. MetricBoostingClassifier is "
                f"for two classes, but y has {len(labels.classes)}; wrap it in "
                "OneVsRestClassifier, or train AnyLossClassifier, which takes any "
                "number."
            )
        weight = None
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, len(target))
        codes = labels.encode(target, int)
        model = clone(self.estimator)
        n_start = min(self.warm_up, n_trees)
        given: dict[str, Any] = {"sample_weight": weight}
        if n_start > 0:
            model.set_params(n_estimators=n_start).fit(X, codes, **given)
            given[option] = model.get_booster() if option == "xgb_model" else model
        if n_trees > n_start:
            model = clone(self.estimator)
            model.set_params(n_estimators=n_trees - n_start, objective=objective)
            model.fit(X, codes, **given)
        self.estimator_, self.metric_ = model, self.metric
        self.classes_, self.pos_label_ = labels.classes, labels.pos_label
        self.decision_ = Decision()
        self.n_features_in_ = int(model.n_features_in_)
        self.__dict__.pop("feature_names_in_", None)
        names = getattr(model, "feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names
        return self

    def _objective(self) -> MetricObjective:
        step = get_step(self.step, L=self.L) if self.step == "sigmoid" else self.step
        return MetricObjective(self.metric, step)

    def _option(self) -> str:
        """How ``fit`` of the estimator names a model to continue."""
        fit = getattr(self.estimator, "fit", None)
        known = () if fit is None else inspect.signature(fit).parameters
        for name in CONTINUES:
            if name in known and hasattr(self.estimator, "predict_proba"):
                return name
        raise ValueError(
            "estimator must be an LGBMClassifier or an XGBClassifier, whose fit takes "
            f"a model to continue; got {self.estimator!r}."
        )

    def _n_trees(self) -> int:
        params = self.estimator.get_params()
        if params.get("objective") not in LOG_LOSS:
            raise ValueError(
                f"objective={params['objective']!r} of the estimator is replaced by "
                "the metric; leave it out."
            )
        n_trees = params.get("n_estimators")
        n_trees = 100 if n_trees is None else n_trees  # The default of XGBoost.
        is_number = isinstance(self.warm_up, numbers.Integral)
        if not is_number or not 0 <= self.warm_up < n_trees:
            raise ValueError(
                f"warm_up must be a whole number from 0 to n_estimators - 1 = "
                f"{n_trees - 1}, got {self.warm_up!r}."
            )
        return int(n_trees)

    def _validate(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        return X  # The estimator does, and may take categories and missing values.

    def _log_odds(self, X: Any) -> np.ndarray:
        option = CONTINUES[self._option()]
        return np.asarray(self.estimator_.predict(X, **{option: True}), dtype=float)
