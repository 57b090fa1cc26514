"""Shared by the benchmarks on many data sets: options, folds, resuming, scores."""

import argparse
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.model_selection import StratifiedKFold
from tqdm import tqdm

#: One result, a row of the table that a benchmark writes.
Record: TypeAlias = dict[str, object]
#: Indices of the training and of the test samples.
Fold: TypeAlias = tuple[np.ndarray, np.ndarray]
RunDataset: TypeAlias = Callable[[Path, argparse.Namespace], list[Record]]


class Classifier(Protocol):
    """A fitted scikit-learn classifier."""

    def predict(self, X: np.ndarray) -> np.ndarray: ...  # noqa: D102

    def score(self, X: np.ndarray, y: np.ndarray) -> float: ...  # noqa: D102


def make_parser(
    description: str | None,
    output: str | Path,
    folds: int = 10,
    max_samples: int | None = None,
    needs_data: bool = True,
) -> argparse.ArgumentParser:
    """Command-line options that these benchmarks have in common."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, required=needs_data, help="folder of .npz files"
    )
    parser.add_argument("--metric", default="f1", help="default: %(default)s")
    parser.add_argument(
        "--folds", type=int, default=folds, help="outer folds, default: %(default)s"
    )
    parser.add_argument(
        "--min-samples", type=int, default=0, metavar="N",
        help="only data sets with more samples than this",
    )  # fmt: skip
    parser.add_argument(
        "--max-samples", type=int, default=max_samples, metavar="N",
        help="only data sets with at most this many samples, default: %(default)s",
    )  # fmt: skip
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="only every N-th data set"
    )
    parser.add_argument(
        "--skip", type=int, default=0, metavar="N",
        help="leave out the first N data sets, and count from the next one",
    )  # fmt: skip
    parser.add_argument(
        "--jobs", type=int, default=2, help="processes, default: %(default)s"
    )
    parser.add_argument(
        "--output", type=Path, default=Path(output), metavar="FILE",
        help="CSV file of results; metric and folds are added to its name, "
        "default: %(default)s",
    )  # fmt: skip
    return parser


def load_dataset(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """X as floats, and y."""
    data = np.load(path)
    return data["X"].astype(float), data["y"]


def describe(params: Mapping[str, object]) -> str:
    """Parameters as a string."""
    return ", ".join(f"{name} {value}" for name, value in params.items())


def outer_folds(X: np.ndarray, y: np.ndarray, n_folds: int) -> list[Fold]:
    """Stratified folds, the same for all methods."""
    return list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y))


def run_all(
    options: argparse.Namespace,
    run_dataset: RunDataset,
    sizes: Mapping[Path, int] | None = None,
) -> pd.DataFrame:
    """Run the data sets without results, largest first; return the results of all.

    Parameters
    ----------
    options : argparse.Namespace
        From :func:`make_parser`.
    run_dataset : callable
        ``run_dataset(path, options)`` returns a list of records.
    sizes : dict, default=None
        Number of samples of each file; by default of the ``.npz`` files of the folder.

    Returns
    -------
    table : DataFrame
        All records, with the name of the data set as ``set``. Each data set is appended
        to the CSV file as soon as it has finished, and is not run again.
    """
    # Results of other metrics or numbers of folds must not be mixed with these.
    kind = f"{options.metric}_{options.folds}_folds"
    output = options.output.with_stem(f"{options.output.stem}_{kind}")
    output.parent.mkdir(parents=True, exist_ok=True)
    if sizes is None:
        files = sorted(options.data.glob("*.npz"))
        sizes = {path: len(np.load(path)["y"]) for path in files}
    n_samples = dict(sizes)
    maximum = options.max_samples or np.inf
    paths = [
        path for path, n in n_samples.items() if options.min_samples < n <= maximum
    ]
    paths = paths[options.skip :: options.every]
    tables = []
    if output.exists():
        known = pd.read_csv(output)
        tables.append(known[known["set"].isin([path.stem for path in paths])])
        done = set(known["set"])
        paths = [path for path in paths if path.stem not in done]
    paths.sort(key=lambda path: -n_samples[path])
    results = Parallel(n_jobs=options.jobs, return_as="generator_unordered")(
        delayed(_run_one)(run_dataset, path, options) for path in paths
    )
    for table in tqdm(results, total=len(paths), unit="data set"):
        new = not output.exists()
        table.to_csv(output, mode="a", header=new, index=False)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _run_one(
    run_dataset: RunDataset, path: Path, options: argparse.Namespace
) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = pd.DataFrame(run_dataset(path, options))
    table.insert(0, "set", path.stem)
    return table


def summarize_folds(
    models: Sequence[Classifier], X: np.ndarray, y: np.ndarray, folds: Sequence[Fold]
) -> Record:
    """Mean test score, and the number of models that predict a single class."""
    pairs = list(zip(models, folds, strict=True))
    return {
        "score": np.mean([model.score(X[test], y[test]) for model, (_, test) in pairs]),
        "collapsed": sum(
            predicts_one_class(model, X[train]) for model, (train, _) in pairs
        ),
    }


def predicts_one_class(model: Classifier, X: np.ndarray) -> bool:
    """Whether a model predicts the same class for all samples."""
    return len(np.unique(model.predict(X))) < 2


def format_probabilities(probabilities: Sequence[float]) -> str:
    """Probabilities to be better, practically equivalent and worse."""
    return " / ".join(f"{probability:.2f}" for probability in probabilities)
