"""What the benchmarks on many data sets have in common: options and resuming."""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.model_selection import StratifiedKFold
from tqdm import tqdm


def parser(description, output, folds=10, most=None):
    """Options that every one of them has."""
    result = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("--data", type=Path, required=True, help="folder of .npz files")
    result.add_argument("--metric", default="f1")
    result.add_argument("--folds", type=int, default=folds)
    result.add_argument("--least", type=int, default=0, help="more rows than this")
    result.add_argument("--most", type=int, default=most, help="at most so many rows")
    result.add_argument("--every", type=int, default=1, help="every n-th of the sets")
    result.add_argument("--jobs", type=int, default=2)
    result.add_argument("--output", type=Path, default=Path(output))
    return result


def load(path):
    """Rows and labels of a set."""
    data = np.load(path)
    return data["X"].astype(float), data["y"]


def splits(X, y, folds):
    """Stratified folds, the same for all methods."""
    return list(StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y))


def run(options, run_set):
    """Run what is missing, the largest sets first, and return all rows there are.

    Parameters
    ----------
    options : argparse.Namespace
        From :func:`parser`.
    run_set : callable
        ``run_set(path, options)`` gives a list of dicts, one a result.

    Returns
    -------
    table : DataFrame
        All results, with the name of the set as ``set``. Finished sets are written at
        once, beside ``--output``, and are not run again.
    """
    # Results of other metrics or folds are not mixed with these.
    kind = f"{options.metric}_{options.folds}_folds"
    output = options.output.with_stem(f"{options.output.stem}_{kind}")
    output.parent.mkdir(parents=True, exist_ok=True)
    files = sorted(options.data.glob("*.npz"))
    size = {path: len(np.load(path)["y"]) for path in files}
    most = options.most or np.inf
    paths = [path for path, n in size.items() if options.least < n <= most]
    paths = paths[:: options.every]
    tables = []
    if output.exists():
        known = pd.read_csv(output)
        tables.append(known[known["set"].isin([path.stem for path in paths])])
        done = set(known["set"])
        paths = [path for path in paths if path.stem not in done]
    paths.sort(key=lambda path: -size[path])
    jobs = Parallel(n_jobs=options.jobs, return_as="generator_unordered")(
        delayed(_run_one)(run_set, path, options) for path in paths
    )
    for table in tqdm(jobs, total=len(paths), unit="set"):
        new = not output.exists()
        table.to_csv(output, mode="a", header=new, index=False)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _run_one(run_set, path, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = pd.DataFrame(run_set(path, options))
    table.insert(0, "set", path.stem)
    return table


def score(models, X, y, folds):
    """Mean score over the folds, and how many models decide for one class only."""
    pairs = list(zip(models, folds, strict=True))
    return {
        "score": np.mean([model.score(X[test], y[test]) for model, (_, test) in pairs]),
        "collapsed": sum(is_constant(model, X[train]) for model, (train, _) in pairs),
    }


def is_constant(model, X):
    """Whether a model decides alike on all rows."""
    return len(np.unique(model.predict(X))) < 2
