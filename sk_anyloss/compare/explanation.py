"""Why a method decides as it does, and whether more samples would help."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import f_classif
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from sk_anyloss.compare.folds.outer import make_splits
from sk_anyloss.compare.folds.tuning import fit_with_groups, inner_groups
from sk_anyloss.compare.methods.registry import get_method
from sk_anyloss.compare.metrics import AnyMetric, count_decisions, score_counts
from sk_anyloss.compare.report.text import has_constraint
from sk_anyloss.compare.run.models import make_tuned_model
from sk_anyloss.compare.run.stopping import end_with_parent
from sk_anyloss.compare.tables.table import (
    Features,
    Table,
    as_frame,
    needs_encoder,
    to_numbers,
)
from sk_anyloss.training.data.strata import strata

if TYPE_CHECKING:
    from sk_anyloss.compare.results.results import Results

__all__ = ["Explanation", "explain"]

#: Folds on which the method is fitted again.
FOLDS = 3
#: Fractions of the training samples of a fold.
FRACTIONS = (0.25, 0.5, 1.0)
#: Difference of the means from which a learning curve counts as rising.
RISE = 0.01
#: Samples of the smallest class that a part must have.
MIN_CLASS = 5
#: Columns that are permuted, how often on each fold, and on how many test samples.
MAX_COLUMNS, REPEATS, MAX_SAMPLES = 40, 3, 1000


@dataclass(frozen=True)
class Explanation:
    """What a method uses, and how it learns.

    Parameters
    ----------
    method : str
        Title of the method.
    metric : str
        Title of the metric.
    importances : DataFrame
        One row per column of the table, the most important one first: by how much the
        metric falls on held-out samples whose values in this column are permuted
        (``mean`` and ``std`` over folds and permutations).
    n_columns : int
        Number of columns of the table; of more than 40, those with the largest F
        statistic were permuted.
    learning : DataFrame
        ``samples`` that the method was fitted on, and ``mean`` and ``std`` of the
        metric over the folds.
    note : str, default=''
        That there are fewer folds than there should be, if so.

    Examples
    --------
    >>> from sk_anyloss.compare import built_in, compare_tables
    >>> found = compare_tables([built_in()], methods=["logistic"], folds=3)
    >>> explanation = found.explain()
    >>> len(explanation.importances), explanation.learning["samples"].tolist()
    (30, [65, 131, 262])
    """

    method: str
    metric: str
    importances: pd.DataFrame
    n_columns: int
    learning: pd.DataFrame
    note: str = ""

    def __str__(self) -> str:
        return f"{self._sentence()} {self.note}".rstrip()

    def _sentence(self) -> str:
        strongest = [str(name) for name in self.importances["column"].head(3)]
        first = f"{self.method} relies most on {', '.join(strongest)}."
        if len(self.learning) < 2:
            return first
        less, whole = (self.learning.iloc[i] for i in (-2, -1))
        if has_constraint(self.metric) and min(less["mean"], whole["mean"]) < 0:
            return first  # The means hold shortfalls.
        likely = "likely" if whole["mean"] - less["mean"] >= RISE else "unlikely"
        return (
            f"{first} On {whole['samples']:,.0f} instead of {less['samples']:,.0f} "
            f"training samples it has {self.metric} {whole['mean']:.3f} instead of "
            f"{less['mean']:.3f}: more samples are {likely} to help."
        )

    def to_dict(self) -> dict[str, object]:
        """The explanation as JSON can hold it."""
        return {
            "method": self.method,
            "metric": self.metric,
            "n_columns": self.n_columns,
            "note": self.note,
            "importances": self.importances.to_dict("records"),
            "learning": self.learning.to_dict("records"),
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Explanation:
        """The explanation that :meth:`to_dict` was made from.

        Parameters
        ----------
        stored : dict
            As JSON gives it back, with None for NaN.

        Returns
        -------
        explanation : Explanation
            With the same figures.
        """
        frames = {}
        for name in ("importances", "learning"):
            frame = pd.DataFrame(stored[name])
            frames[name] = frame.astype({"mean": float, "std": float})
        return cls(
            str(stored["method"]), str(stored["metric"]), n_columns=stored["n_columns"],
            note=str(stored.get("note", "")), **frames,
        )  # fmt: skip


def explain(
    results: Results,
    method: str | None = None,
    data: str | None = None,
    n_jobs: int | None = None,
    time_limit: float | None = None,
) -> Explanation:
    """Permutation importance and learning curve of a method, on up to three folds.

    Parameters
    ----------
    results : Results
        The results.
    method : str, default=None
        Name of a compared method; by default the recommended one.
    data : str, default=None
        Name of a data set; may be omitted if there is only one.
    n_jobs : int, default=None
        Number of processes.
    time_limit : float, default=None
        Seconds that the fits may take: a fold that would take longer is not started.

    Returns
    -------
    explanation : Explanation
        Of models that are fitted anew on parts of the training samples of the folds.
    """
    deadline = np.inf if time_limit is None else monotonic() + time_limit
    table = results.table_of(data)
    method = results.chosen_method(method, table.name)
    seed = int(results.settings.get("seed", 0))
    splits = make_splits(table, int(results.settings.get("folds", 10)), 1, seed)
    # In time, the last folds have the longest past.
    folds = splits[-FOLDS:] if table.time is not None else splits[:FOLDS]
    model = make_tuned_model(table, method, results.metric, seed)
    columns = _columns_to_permute(table)
    expected = sum(FRACTIONS) * results.ranking(table.name).loc[method, "seconds"]

    def jobs() -> Iterator[Any]:
        for train, test in folds:
            if monotonic() + expected > deadline:
                return
            yield delayed(_explain_fold)(
                table.X, table.y, inner_groups(table), model, results.metric,
                table.classes, columns, train, test, seed, table.weight,
            )  # fmt: skip

    done = Parallel(n_jobs=n_jobs, pre_dispatch="n_jobs")(jobs())
    if not done:
        raise TimeoutError(
            f"time_limit={time_limit:.3g} is too short for the fits of a fold, which "
            f"take about {expected:.2g} s."
        )
    note = f"Time was over after {len(done)} of {len(folds)} folds."
    names = as_frame(table.X).columns[columns]
    drops = np.concatenate([drop for drop, _ in done], axis=1)
    importances = pd.DataFrame(
        {"column": names, "mean": drops.mean(axis=1), "std": drops.std(axis=1, ddof=1)}
    ).sort_values("mean", ascending=False, ignore_index=True, kind="stable")
    curve = pd.DataFrame([row for _, rows in done for row in rows])
    learning = (
        curve.groupby("fraction")
        .agg(samples=("samples", "mean"), mean=("score", "mean"), std=("score", "std"))
        .reset_index(drop=True)
    )
    learning["samples"] = learning["samples"].astype(int)
    return Explanation(
        get_method(method).title,
        results.metric_title,
        importances,
        as_frame(table.X).shape[1],
        learning,
        note if len(done) < len(folds) else "",
    )


def _columns_to_permute(table: Table) -> np.ndarray:
    """Indices of all columns or, of many, of those with the largest F statistic."""
    frame = as_frame(table.X)
    if frame.shape[1] <= MAX_COLUMNS:
        return np.arange(frame.shape[1])
    if needs_encoder(table.X):
        codes = frame.apply(
            lambda c: c if pd.api.types.is_numeric_dtype(c) else pd.factorize(c)[0]
        )
        values = to_numbers(codes)
    else:
        values = to_numbers(table.X)
    medians = np.nan_to_num(np.nanmedian(values, axis=0))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        strength, _ = f_classif(
            np.where(np.isnan(values), medians, values), strata(table.y)
        )
    order = np.argsort(-np.nan_to_num(strength), kind="stable")
    return np.sort(order[:MAX_COLUMNS])


def _explain_fold(
    X: Features,
    y: np.ndarray,
    groups: np.ndarray | None,
    model: BaseEstimator,
    metric: AnyMetric,
    classes: Sequence[object],
    columns: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    seed: int,
    weight: np.ndarray | None = None,
) -> tuple[np.ndarray, list[dict[str, float]]]:
    """Falls of the metric by column, and a row for each number of samples."""
    end_with_parent()
    X = X if needs_encoder(X) else to_numbers(X)
    samples = X.iloc if isinstance(X, pd.DataFrame) else X

    def score(fitted: BaseEstimator, X: Features, rows: np.ndarray) -> float:
        own = None if weight is None else weight[rows]
        counts = count_decisions(y[rows], fitted.predict(X), len(classes), own)
        return score_counts(metric, counts, classes)

    curve = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for fraction in FRACTIONS:
            some = _part(train, y, fraction, seed)
            if some is None:
                continue
            own = [None if a is None else a[some] for a in (groups, weight)]
            try:
                fitted = fit_with_groups(clone(model), samples[some], y[some], *own)
                value = score(fitted, samples[test], test)
            except Exception:
                if fraction == 1:
                    raise
                continue  # Too few samples for a tuning, say.
            curve.append({"fraction": fraction, "samples": len(some), "score": value})
        held_out = _some_of(test, seed)
        encoded = np.asarray(fitted[:-1].transform(samples[held_out]))
        classifier, outputs = fitted[-1:], _outputs_of(fitted, columns)

        def score_rows(fitted: BaseEstimator, rows: np.ndarray, _: np.ndarray) -> float:
            """The score with the values of each column taken from other samples."""
            permuted = encoded.copy()
            moved = (rows != np.arange(len(rows))[:, None]).any(axis=0)
            for k in np.flatnonzero(moved):
                permuted[:, outputs[k]] = encoded[np.ix_(rows[:, k], outputs[k])]
            return score(fitted, permuted, held_out)

        # Encoders and imputer go by column and sample, so that their results can be
        # permuted instead of their input, which would have to be encoded every time.
        rows_of = np.tile(np.arange(len(held_out))[:, None], len(columns))
        found = permutation_importance(
            classifier, rows_of, y[held_out],
            scoring=score_rows, n_repeats=REPEATS, random_state=seed,
        )  # fmt: skip
    return found.importances, curve


def _outputs_of(fitted: BaseEstimator, columns: np.ndarray) -> list[np.ndarray]:
    """Indices of the encoded features that are made of each column."""
    encoder = fitted.named_steps.get("encoder")
    if encoder is None:
        return [np.array([column]) for column in columns]
    places = {name: k for k, name in enumerate(encoder.get_feature_names_out())}
    names = list(encoder.feature_names_in_)
    return [
        np.array([places[o] for o in encoder.input_to_outputs_[names[k]]], dtype=int)
        for k in columns
    ]


def _part(
    train: np.ndarray, y: np.ndarray, fraction: float, seed: int
) -> np.ndarray | None:
    """A stratified part of the training samples in their order, if it has a share."""
    if fraction == 1:
        return train
    own = strata(y[train])
    try:
        part, _ = train_test_split(
            train, train_size=fraction, stratify=own, random_state=seed
        )
    except ValueError:  # Too few samples of a class.
        return None
    counts = y[part].sum(axis=0)
    if y.ndim == 1:
        counts = np.bincount(y[part], minlength=int(y.max()) + 1)
    # Inner folds need some of each class.
    return np.sort(part) if counts.min() >= MIN_CLASS else None


def _some_of(test: np.ndarray, seed: int) -> np.ndarray:
    if len(test) <= MAX_SAMPLES:
        return test
    return np.random.default_rng(seed).choice(test, MAX_SAMPLES, replace=False)
