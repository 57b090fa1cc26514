"""The study as it should be run: nothing of a test fold is seen before it is tested.

A fresh network for every fit, columns standardised by the training rows, the learning
rate, the rate of resampling and the threshold chosen inside the training fold, from the
same grid for every loss. Network, amplifier (L = 73), folds and metrics are the
paper's; both structures are trained alike (Adam, 100 epochs, twenty batches, or fewer
where a batch would have less than 64 rows).
"""

import math

import numpy as np
from imblearn.over_sampling import SMOTE
from imblearn.under_sampling import RandomUnderSampler
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from benchmarks.study.data import ten_folds
from benchmarks.study.runs import Task
from benchmarks.study.scores import AIMS, MAIN, METRICS, counts
from sk_anyloss import AnyLossClassifier, fit_stack
from sk_anyloss.metrics.scoring import best_threshold

NAME = "honest"
INNER = 3
EPOCHS = 100
LRS = (0.003, 0.02, 0.1)
SHARES = (0.25, 0.5, 1.0)
STRUCTURES = {"SLP": (), "MLP": (2,)}
SMALL_L = 5
# Rows times columns above which folds are trained one by one; above which three do.
LARGE, VERY_LARGE = 3 * 10**5, 75 * 10**4


def losses():
    """Name, metric aimed at (None: none) and parameters of every loss of the paper."""
    plain = [
        ("MSE", None, {"loss": "mse"}),
        ("BCE", None, {"loss": "bce"}),
        ("BCE, class weights", None, {"loss": "weighted_bce"}),
        ("surrogate F1", "F1", {"loss": "surrogate_fbeta"}),
    ]
    aimed = [("AnyLoss", aim, {}) for aim in AIMS]
    aimed += [("SOL", aim, {"step": "cosine"}) for aim in MAIN]
    aimed += [("soft sets", aim, {"step": "linear"}) for aim in ("F1", "BAcc")]
    return plain + [
        (name, aim, {"metric": METRICS[aim], **params}) for name, aim, params in aimed
    ]


def smaller_L(L):
    """AnyLoss with another L than the paper's."""
    return [(f"AnyLoss, L={L}", aim, {"metric": METRICS[aim], "L": L}) for aim in AIMS]


def tasks(sources):
    """The first five folds of every set, then the others; the longest sets last."""
    # A row costs as much as its columns and fifty more.
    by_size = sorted(sources, key=lambda source: source.n * (source.d + 50))
    usual = [source for source in by_size if source.cells < VERY_LARGE]
    others = [source for source in by_size if source.cells >= VERY_LARGE]
    return [
        Task(NAME, source, folds, {"structure": structure, **options})
        for kept, half in (
            (usual, range(5)), (usual, range(5, 10)), (others, range(3)),
        )
        for options in ({}, {"L": SMALL_L})
        for source in kept
        for structure in STRUCTURES
        for folds in ([tuple(half)] if source.cells < LARGE else zip(half))
    ]  # fmt: skip


class Bench:
    """Many models on parts of one set, to be trained in one stack.

    Parameters
    ----------
    X, y : arrays
        Rows of the set, and labels.
    hidden : tuple of int
        Widths of the networks.
    """

    def __init__(self, X, y, hidden):
        self.X, self.y, self.hidden = [X], [y], hidden
        self.n = len(y)
        self.models, self.rows = [], []

    def add(self, rows, n_batches, **params):
        """A model on some rows; returns its place."""
        self.models.append(
            AnyLossClassifier(
                hidden=self.hidden,
                output_bias=0,
                max_epochs=EPOCHS,
                batch_size=math.ceil(len(rows) / n_batches),
                random_state=0,
                **params,
            )
        )
        self.rows.append(rows)
        return len(self.models) - 1

    def oversampled(self, rows, share):
        """The rows, and new positives between them, up to a share of the negatives."""
        X, y = self.X[0][rows], self.y[0][rows]
        scaler = StandardScaler().fit(X)
        neighbors = min(5, int(y.sum()) - 1)
        smote = SMOTE(sampling_strategy=share, k_neighbors=neighbors, random_state=0)
        new, labels = smote.fit_resample(scaler.transform(X), y)
        new, labels = scaler.inverse_transform(new[len(y) :]), labels[len(y) :]
        self.X.append(new)
        self.y.append(labels)
        first, self.n = self.n, self.n + len(labels)
        return np.concatenate((rows, np.arange(first, self.n)))

    def undersampled(self, rows, share):
        """The rows, less negatives, until positives are a share of them."""
        sampler = RandomUnderSampler(sampling_strategy=share, random_state=0)
        sampler.fit_resample(self.X[0][rows], self.y[0][rows])
        return rows[sampler.sample_indices_]

    def fit(self):
        """Train all of them."""
        fit_stack(self.models, np.vstack(self.X), np.hstack(self.y), rows=self.rows)


def run(source, folds, structure, L=None):
    """Confusion matrices of every method and setting, inside and outside.

    With an ``L``, of AnyLoss with this one; without, of all others.
    """
    X, y = source.load()
    outer = ten_folds(y)
    bench = Bench(X, y, STRUCTURES[structure])
    plans = {fold: plan(bench, outer[fold][0], L) for fold in folds}
    bench.fit()
    found = {fold: [] for fold in folds}
    for fold, settings in plans.items():
        test = outer[fold][1]
        for name, aim, setting, inner, last in settings:
            same = {"structure": structure, "method": name, "aim": aim, **setting}
            held_out = np.concatenate([part for part, _ in inner])
            logits = np.concatenate(
                [bench.models[k].decision_function(X[part]) for part, k in inner]
            )
            final = bench.models[last].decision_function(X[test])
            cuts = {"": 0.0}
            if name == "BCE":
                cuts |= {
                    m: best_threshold(METRICS[m], logits, y[held_out])[0] for m in AIMS
                }
            for metric, cut in cuts.items():
                row = {
                    "inner": counts(y[held_out], logits > cut),
                    "test": counts(y[test], final > cut),
                }
                tuned = {"method": "BCE, tuned threshold", "aim": metric}
                found[fold].append({**same, **(tuned if metric else {}), **row})
    return found


def n_batches(n):
    """Twenty, or fewer where a batch would have less than 64 rows."""
    return min(max(n // 64, 1), 20)


def plan(bench, train, L=None):
    """Models for a training fold: of each setting one on all rows, some on parts.

    Returns
    -------
    settings : list of tuples
        Name, aim, setting, the rows left out by each inner model with its place, and
        the place of the last one.
    """
    splitter = StratifiedKFold(INNER, shuffle=True, random_state=0)
    y = bench.y[0]
    parts = [
        (train[rest], train[held_out])
        for rest, held_out in splitter.split(train, y[train])
    ]
    everything = [*parts, (train, None)]
    settings = []
    fewest = min(len(rows) for rows, _ in everything)

    def add(name, aim, setting, rows_of, **params):
        batches = n_batches(min(fewest, *map(len, rows_of)))
        for lr in LRS:
            places = [bench.add(rows, batches, lr=lr, **params) for rows in rows_of]
            inner = list(zip([out for _, out in parts], places, strict=False))
            settings.append((name, aim, {**setting, "lr": lr}, inner, places[-1]))

    for name, aim, params in losses() if L is None else smaller_L(L):
        add(name, aim, {}, [rows for rows, _ in everything], **params)
    if L is not None:
        return settings
    own = max(y[rows].sum() / (y[rows] == 0).sum() for rows, _ in everything)
    for share in SHARES:
        if share > own:
            for name, sample in (
                ("BCE + SMOTE", bench.oversampled),
                ("BCE + under-sampling", bench.undersampled),
            ):
                rows_of = [sample(rows, share) for rows, _ in everything]
                add(name, None, {"share": share}, rows_of, loss="bce")
    return settings
