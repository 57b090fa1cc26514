"""The study with nested cross-validation: no test fold affects its own training.

A new network for every fit; features are standardised by the training samples; the
learning rate, the resampling ratio and the threshold are tuned inside the training
fold, over the same grid for every loss. Network, amplifier (L = 73), folds and metrics
are the paper's. Both networks are trained with Adam for 100 epochs of twenty batches,
or fewer where a batch would have less than 64 samples.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from imblearn.over_sampling import SMOTE
from imblearn.under_sampling import RandomUnderSampler
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from benchmarks.study.data import Source, ten_folds
from benchmarks.study.paper import ZeroStart
from benchmarks.study.runs import Record, Records, Task
from benchmarks.study.scores import (
    MAIN_METRICS,
    METRICS,
    TABLE_METRICS,
    confusion_counts,
)
from sk_anyloss import AnyLossClassifier, fit_stack
from sk_anyloss.metrics.tuning import best_threshold

NAME = "honest"  # Folder of the results; earlier ones are stored under this name.
N_INNER_FOLDS = 3
EPOCHS = 100
LRS = (0.003, 0.02, 0.1)
RATIOS = (0.25, 0.5, 1.0)
NETWORKS = {"SLP": (), "MLP": (2,)}
SMALL_L = 5
# Samples times features above which folds are trained one by one, and above which only
# three of them are.
LARGE, VERY_LARGE = 3 * 10**5, 75 * 10**4

#: Name, target metric (or None) and parameters of a loss.
LossSetting: TypeAlias = tuple[str, str | None, dict[str, Any]]


def make_losses() -> list[LossSetting]:
    """The losses of the paper and those it compares with."""
    untargeted: list[LossSetting] = [
        ("MSE", None, {"loss": "mse"}),
        ("BCE", None, {"loss": "bce"}),
        ("BCE, class weights", None, {"loss": "weighted_bce"}),
        ("surrogate F1", "F1", {"loss": "surrogate_fbeta"}),
    ]
    targeted: list[tuple[str, str, dict[str, Any]]]
    targeted = [("AnyLoss", metric, {}) for metric in TABLE_METRICS]
    targeted += [("SOL", metric, {"step": "cosine"}) for metric in MAIN_METRICS]
    targeted += [("soft sets", metric, {"step": "linear"}) for metric in ("F1", "BAcc")]
    return untargeted + [
        (name, metric, {"metric": METRICS[metric], **params})
        for name, metric, params in targeted
    ]


def make_losses_with_L(L: float) -> list[LossSetting]:
    """AnyLoss with another L than the paper's."""
    return [
        (f"AnyLoss, L={L}", metric, {"metric": METRICS[metric], "L": L})
        for metric in TABLE_METRICS
    ]


def make_tasks(sources: Sequence[Source]) -> list[Task]:
    """The first five folds of every data set, then the rest; the largest sets last."""
    # The time of a sample grows with its number of features plus a constant.
    by_size = sorted(sources, key=lambda source: source.n * (source.d + 50))
    usual = [source for source in by_size if source.size < VERY_LARGE]
    very_large = [source for source in by_size if source.size >= VERY_LARGE]
    return [
        Task(NAME, source, folds, {"structure": network, **options})
        for kept, half in (
            (usual, range(5)), (usual, range(5, 10)), (very_large, range(3)),
        )
        for options in ({}, {"L": SMALL_L})
        for source in kept
        for network in NETWORKS
        for folds in ([tuple(half)] if source.size < LARGE else zip(half))
    ]  # fmt: skip


class Stack:
    """Models on subsets of one data set, to be trained together.

    Parameters
    ----------
    X, y : arrays
        Samples of the data set, and labels.
    hidden : tuple of int
        Widths of the hidden layers.
    """

    def __init__(self, X: np.ndarray, y: np.ndarray, hidden: tuple[int, ...]) -> None:
        self.X, self.y, self.hidden = [X], [y], hidden
        self.n = len(y)
        self.models: list[AnyLossClassifier] = []
        self.indices: list[np.ndarray] = []

    def add(self, indices: np.ndarray, n_batches: int, **params: Any) -> int:
        """Add a model on some samples; return its position."""
        self.models.append(
            AnyLossClassifier(
                hidden=self.hidden,
                callbacks=[ZeroStart()],
                max_epochs=EPOCHS,
                batch_size=math.ceil(len(indices) / n_batches),
                random_state=0,
                **params,
            )
        )
        self.indices.append(indices)
        return len(self.models) - 1

    def oversample(self, indices: np.ndarray, ratio: float) -> np.ndarray:
        """Add SMOTE samples, up to a ratio of positives to negatives."""
        X, y = self.X[0][indices], self.y[0][indices]
        scaler = StandardScaler().fit(X)
        neighbors = min(5, int(y.sum()) - 1)
        smote = SMOTE(sampling_strategy=ratio, k_neighbors=neighbors, random_state=0)
        new, labels = smote.fit_resample(scaler.transform(X), y)
        new, labels = scaler.inverse_transform(new[len(y) :]), labels[len(y) :]
        self.X.append(new)
        self.y.append(labels)
        first, self.n = self.n, self.n + len(labels)
        return np.concatenate((indices, np.arange(first, self.n)))

    def undersample(self, indices: np.ndarray, ratio: float) -> np.ndarray:
        """Drop negatives at random, up to a ratio of positives to negatives."""
        sampler = RandomUnderSampler(sampling_strategy=ratio, random_state=0)
        sampler.fit_resample(self.X[0][indices], self.y[0][indices])
        return indices[sampler.sample_indices_]

    def fit(self) -> None:
        """Train all models."""
        X, y = np.vstack(self.X), np.hstack(self.y)
        fit_stack(self.models, X, y, rows=self.indices)


class Setting(NamedTuple):
    """The models of a setting: one for each inner fold, and one on all samples."""

    method: str
    target: str | None
    params: dict[str, float]
    inner: list[tuple[np.ndarray, int]]  # Held-out samples, position of the model.
    refit: int  # Position of the model on the whole training fold.


def run(
    source: Source, folds: Sequence[int], structure: str, L: float | None = None
) -> Records:
    """Confusion matrices of every setting, on the inner folds and on the test fold.

    With ``L``, those of AnyLoss with this L; without, those of all other methods.
    """
    X, y = source.load()
    outer = ten_folds(y)
    stack = Stack(X, y, NETWORKS[structure])
    settings = {fold: add_models(stack, outer[fold][0], L) for fold in folds}
    stack.fit()
    return {
        fold: [
            {"structure": structure, **record}
            for setting in settings[fold]
            for record in evaluate(stack, setting, X, y, outer[fold][1])
        ]
        for fold in folds
    }


def evaluate(
    stack: Stack, setting: Setting, X: np.ndarray, y: np.ndarray, test: np.ndarray
) -> list[Record]:
    """Records of a setting; for BCE, also with a threshold tuned for each metric."""
    held_out = np.concatenate([indices for indices, _ in setting.inner])
    logits = np.concatenate(
        [stack.models[k].decision_function(X[indices]) for indices, k in setting.inner]
    )
    test_logits = stack.models[setting.refit].decision_function(X[test])
    thresholds = {"": 0.0}
    if setting.method == "BCE":
        for metric in TABLE_METRICS:
            thresholds[metric] = best_threshold(METRICS[metric], logits, y[held_out])[0]
    records: list[Record] = []
    for metric, threshold in thresholds.items():
        method, target = setting.method, setting.target
        if metric:
            method, target = "BCE, tuned threshold", metric
        records.append(
            {
                "method": method,
                "aim": target,
                **setting.params,
                "inner": confusion_counts(y[held_out], logits > threshold),
                "test": confusion_counts(y[test], test_logits > threshold),
            }
        )
    return records


def n_batches(n_samples: int) -> int:
    """Twenty, or fewer where a batch would have less than 64 samples."""
    return min(max(n_samples // 64, 1), 20)


def add_models(
    stack: Stack, train: np.ndarray, L: float | None = None
) -> list[Setting]:
    """Add the models for a training fold to the stack."""
    splitter = StratifiedKFold(N_INNER_FOLDS, shuffle=True, random_state=0)
    y = stack.y[0]
    inner = [
        (train[kept], train[held_out])
        for kept, held_out in splitter.split(train, y[train])
    ]
    subsets = [*(kept for kept, _ in inner), train]
    smallest = min(map(len, subsets))
    settings: list[Setting] = []

    def add(
        method: str,
        target: str | None,
        params: dict[str, float],
        subsets: list[np.ndarray],
        **model_params: Any,
    ) -> None:
        batches = n_batches(min(smallest, *map(len, subsets)))
        for lr in LRS:
            *positions, refit = (
                stack.add(indices, batches, lr=lr, **model_params)
                for indices in subsets
            )
            pairs = zip([held_out for _, held_out in inner], positions, strict=True)
            params_with_lr = {**params, "lr": lr}
            settings.append(Setting(method, target, params_with_lr, list(pairs), refit))

    losses = make_losses() if L is None else make_losses_with_L(L)
    for method, target, loss_params in losses:
        add(method, target, {}, subsets, **loss_params)
    if L is not None:
        return settings
    present = max(y[subset].sum() / (y[subset] == 0).sum() for subset in subsets)
    for ratio in RATIOS:
        if ratio > present:
            for method, resample in (
                ("BCE + SMOTE", stack.oversample),
                ("BCE + under-sampling", stack.undersample),
            ):
                resampled = [resample(subset, ratio) for subset in subsets]
                add(method, None, {"share": ratio}, resampled, loss="bce")
    return settings
