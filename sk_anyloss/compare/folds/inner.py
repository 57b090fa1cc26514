"""Folds for every tuning inside a fit, of the same kind as those of the comparison."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator, TimeSeriesSplit
from sklearn.utils.metadata_routing import get_routing_for_object

from sk_anyloss._compat import shuffled_group_folds
from sk_anyloss.compare.tables.table import Table

__all__ = ["ForwardFolds", "GroupFolds", "fit", "hold", "inner_groups"]

#: Samples to train on, and samples left out.
Splits: TypeAlias = list[tuple[np.ndarray, np.ndarray]]


class _InnerFolds(BaseCrossValidator):
    """Folds for tuning, so many that every part has both classes.

    Groups come to them through scikit-learn's metadata routing, as ``groups`` of
    ``split``. For estimators that do not route they can be put into ``groups`` before;
    that does not reach a tuning inside another one, which sees a part of the samples.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds; fewer where some would have one class only.
    """

    # What scikit-learn's metadata routing reads: split takes groups, always.
    __metadata_request__split = {"groups": True}  # noqa: RUF012
    #: The smallest number of folds.
    least = 2

    def __init__(self, n_splits: int = 5) -> None:
        self.n_splits = n_splits
        self.groups: np.ndarray | None = None

    @abstractmethod
    def _try(self, n_splits: int, y: np.ndarray, groups: np.ndarray) -> Splits:
        """So many folds, of whatever classes."""

    def _find(self, y: Any, groups: Any) -> Splits:
        y, groups = np.asarray(y), self.groups if groups is None else groups
        if groups is None or len(groups) != len(y):
            raise ValueError(
                "The estimator does not tell the folds it tunes on which samples they "
                "split; it needs scikit-learn's metadata routing to be compared with "
                "groups or time."
            )
        for n_splits in range(self.n_splits, self.least - 1, -1):
            found = self._try(n_splits, y, np.asarray(groups))
            if found and have_both_classes(found, y):
                return found
        raise ValueError(
            "There are no folds to tune on in which training and validation samples "
            f"have both classes: {self._lack()}."
        )

    @abstractmethod
    def _lack(self) -> str:
        """What is missing where no folds can be made."""

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Give the folds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Not used.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        groups : array-like of shape (n_samples,)
            Numbers of groups, or of points in time.

        Yields
        ------
        train, test : ndarray of int
            Samples to train on, and samples to validate on.
        """
        yield from self._find(y, groups)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds, for given labels the one that :meth:`split` comes to.

        Parameters
        ----------
        X, y, groups : array-like
            As for :meth:`split`.

        Returns
        -------
        n_splits : int
            At least 1.
        """
        if y is None or (groups is None and self.groups is None):
            return self.n_splits
        return len(self._find(y, groups))


class GroupFolds(_InnerFolds):
    """Stratified, shuffled folds of whole groups, each with both classes.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds; fewer where some would have one class only.
    random_state : int, default=0
        Seed of the order of the groups.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.compare.folds.inner import GroupFolds
    >>> groups, y = np.repeat(np.arange(4), 2), [0, 1] * 4
    >>> (train, test), _ = GroupFolds(2).split(None, y, groups)
    >>> set(groups[train]) & set(groups[test])
    set()
    """

    def __init__(self, n_splits: int = 5, random_state: int = 0) -> None:
        super().__init__(n_splits)
        self.random_state = random_state

    def _try(self, n_splits: int, y: np.ndarray, groups: np.ndarray) -> Splits:
        least = np.unique(y, return_counts=True)[1].min()
        if n_splits > min(least, len(np.unique(groups))):
            return []
        return shuffled_group_folds(n_splits, y, groups, self.random_state)

    def _lack(self) -> str:
        return "each class needs samples in at least two groups"


class ForwardFolds(_InnerFolds):
    """Folds that train on the past and validate on the block of time that follows.

    The first fold trains on the earlier half of the samples, so that no model is tuned
    on far fewer than it is then fitted on. Samples of one point in time are never in
    two blocks.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds; fewer where some would have one class only.

    Examples
    --------
    >>> from sk_anyloss.compare.folds.inner import ForwardFolds
    >>> times, y = [0, 0, 1, 1, 2, 2, 3, 3], [0, 1] * 4
    >>> for train, test in ForwardFolds(2).split(None, y, times):
    ...     print(train, test)
    [0 1 2 3] [4 5]
    [0 1 2 3 4 5] [6 7]
    """

    least = 1

    def _try(self, n_splits: int, y: np.ndarray, groups: np.ndarray) -> Splits:
        return forward_splits(groups, n_splits, first=0.5)

    def _lack(self) -> str:
        return "each class needs samples in both halves of the time"


def forward_splits(times: np.ndarray, n_splits: int, first: float) -> Splits:
    """Blocks of about equal numbers of samples, each after those to train on.

    Parameters
    ----------
    times : ndarray of shape (n_samples,)
        Points in time, in any order.
    n_splits : int
        Number of folds.
    first : float
        Share of the samples that the first fold trains on.

    Returns
    -------
    splits : list of pairs of ndarray of int
        Samples of the past, and samples of the next block.
    """
    shares = first + (1 - first) * np.arange(n_splits) / n_splits
    # A little more, since 0.333... + 0.333... can round to less than two thirds.
    starts = np.sort(times)[(shares * len(times) + 1e-6).astype(int)]
    blocks = np.searchsorted(starts, times, side="right")  # 0 before the first one.
    return [
        (np.flatnonzero(blocks < k), np.flatnonzero(blocks == k))
        for k in range(1, n_splits + 1)
    ]


def have_both_classes(found: Splits, y: np.ndarray) -> bool:
    """Whether all training samples and all samples left out have both classes."""
    return all(len(np.unique(y[part])) == 2 for pair in found for part in pair)


def group_codes(table: Table) -> np.ndarray | None:
    """Groups as numbers, whatever they were; a missing value is a group, too."""
    if table.groups is None:
        return None
    groups = np.asarray(table.groups)
    return pd.factorize(groups, sort=True, use_na_sentinel=False)[0]


def inner_groups(table: Table) -> np.ndarray | None:
    """Give what :func:`fit` hands on to inner folds: groups, or places in time."""
    return table.time if table.time is not None else group_codes(table)


def hold(model: BaseEstimator, table: Table, seed: int) -> BaseEstimator:
    """Let every tuning in a model split the samples as the table wants it.

    Every parameter ``cv`` in the model is set: to :class:`GroupFolds` for a table with
    groups, to :class:`ForwardFolds` for one that is ordered in time, with as many
    folds as the model asked for. A splitter that heeds groups itself is left alone
    where there are groups, ``TimeSeriesSplit`` where there is time, and so is
    ``'prefit'``.

    Parameters
    ----------
    model : estimator
        Not fitted; its parameters are changed.
    table : Table
        What it will be fitted on.
    seed : int
        Of the inner folds.

    Returns
    -------
    model : estimator
        The same.
    """
    if table.time is None and table.groups is None:
        return model
    for name, cv in model.get_params(deep=True).items():
        if name.split("__")[-1] != "cv" or isinstance(cv, str):
            continue
        if table.time is None:
            if not _takes_groups(cv):
                model.set_params(**{name: GroupFolds(_number(cv), seed)})
        elif not isinstance(cv, TimeSeriesSplit):
            model.set_params(**{name: ForwardFolds(_number(cv))})
    return model


def _takes_groups(cv: Any) -> bool:
    if not hasattr(cv, "split") or not hasattr(cv, "get_metadata_routing"):
        return False
    return bool(get_routing_for_object(cv).consumes("split", ["groups"]))


def _number(cv: Any) -> int:
    """How many folds a model asked for; 5 where it did not say."""
    number = getattr(cv, "n_splits", cv)
    return int(number) if isinstance(number, (int, np.integer)) and number > 1 else 5


def fit(
    model: BaseEstimator, X: Any, y: np.ndarray, groups: np.ndarray | None = None
) -> BaseEstimator:
    """Fit a model, and hand groups on to the folds that it tunes on.

    Parameters
    ----------
    model : estimator
        From :func:`hold`.
    X : DataFrame or array
        Samples.
    y : ndarray
        Their labels.
    groups : ndarray, default=None
        Those of :func:`inner_groups`. A model that tunes nothing ignores them.

    Returns
    -------
    model : estimator
        Fitted.
    """
    if groups is None:
        return model.fit(X, y)
    with config_context(enable_metadata_routing=True):
        if _routes(model):
            return model.fit(X, y, groups=groups)
    inner = [p for p in model.get_params().values() if isinstance(p, _InnerFolds)]
    for cv in inner:
        cv.groups = groups
    try:
        return model.fit(X, y)
    finally:
        for cv in inner:  # A fitted model does not carry them.
            cv.groups = None


def _routes(model: BaseEstimator) -> bool:
    try:
        return bool(get_routing_for_object(model).consumes("fit", ["groups"]))
    except NotImplementedError:  # Of some part of it, such as scikit-learn's AdaBoost.
        return False
