"""Inner folds of whole groups, or forward in time, on which a method is tuned."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator

from sk_anyloss._compat import shuffled_group_folds
from sk_anyloss.compare.folds.splits import Splits, forward_splits, have_classes

__all__ = ["ForwardFolds", "GroupFolds", "InnerFolds"]


class InnerFolds(BaseCrossValidator):
    """Folds for tuning, as many as possible such that every part has both classes.

    Of more than two classes, the training samples have all and the validation samples
    at least two.

    Groups are passed by scikit-learn's metadata routing, as ``groups`` of ``split``.
    For estimators without routing the attribute ``groups`` can be set before; it does
    not reach a nested tuning, which splits a subset of the samples.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds; fewer where some would have one class only.
    """

    # Read by scikit-learn's metadata routing: split always requests groups.
    __metadata_request__split = {"groups": True}  # noqa: RUF012
    #: The smallest number of folds.
    min_splits = 2

    def __init__(self, n_splits: int = 5) -> None:
        self.n_splits = n_splits
        self.groups: np.ndarray | None = None

    @abstractmethod
    def _make_splits(self, n_splits: int, y: np.ndarray, groups: np.ndarray) -> Splits:
        """Splits into ``n_splits`` folds, or an empty list if there are none."""

    @abstractmethod
    def _requirement(self) -> str:
        """What the samples must fulfil for folds to exist, for an error message."""

    def _find_splits(self, y: ArrayLike | None, groups: ArrayLike | None) -> Splits:
        y = np.asarray(y)
        groups = self.groups if groups is None else np.asarray(groups)
        if groups is None or len(groups) != len(y):
            raise ValueError(
                "The estimator does not pass groups to the folds it is tuned on; it "
                "has to support scikit-learn's metadata routing to be compared with "
                "groups or time."
            )
        for n_splits in range(self.n_splits, self.min_splits - 1, -1):
            splits = self._make_splits(n_splits, y, np.asarray(groups))
            if splits and have_classes(splits, y):
                return splits
        which = "both classes" if len(np.unique(y)) <= 2 else "enough classes"
        raise ValueError(
            "There are no folds to tune on in which training and validation samples "
            f"have {which}: {self._requirement()}."
        )

    def split(
        self,
        X: ArrayLike | None,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Generate the folds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Not used.
        y : array-like of shape (n_samples,)
            Labels.
        groups : array-like of shape (n_samples,)
            Integers: groups, or ranks of points in time.

        Yields
        ------
        train, test : ndarray of int
            Indices of the training and of the validation samples.
        """
        yield from self._find_splits(y, groups)

    def get_n_splits(
        self,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> int:
        """Number of folds; given labels, the number that :meth:`split` yields.

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
        return len(self._find_splits(y, groups))


class GroupFolds(InnerFolds):
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

    def _make_splits(self, n_splits: int, y: np.ndarray, groups: np.ndarray) -> Splits:
        smallest_class = np.unique(y, return_counts=True)[1].min()
        if n_splits > min(smallest_class, len(np.unique(groups))):
            return []
        return shuffled_group_folds(n_splits, y, groups, self.random_state)

    def _requirement(self) -> str:
        return "each class needs samples in at least two groups"


class ForwardFolds(InnerFolds):
    """Folds that train on the past and validate on the next block of time.

    The first fold trains on the earlier half of the samples, so that no model is tuned
    on far fewer samples than it is then fitted on. Samples of one point in time are in
    one block.

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

    min_splits = 1

    def _make_splits(self, n_splits: int, y: np.ndarray, groups: np.ndarray) -> Splits:
        return forward_splits(groups, n_splits, first=0.5)

    def _requirement(self) -> str:
        return "each class needs samples in both halves of the time"
