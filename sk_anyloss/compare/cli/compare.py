"""The command ``compare``: tables in, ranking, verdict, report and model out."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sk_anyloss._files import check_replaceable
from sk_anyloss.compare.checks import check_table
from sk_anyloss.compare.cli.streams import replace_unencodable
from sk_anyloss.compare.comparison import Comparison
from sk_anyloss.compare.core import compare_tables
from sk_anyloss.compare.errors import TableError, TableWarning
from sk_anyloss.compare.exports.mlflow import find_experiment
from sk_anyloss.compare.folds.outer import describe_folds
from sk_anyloss.compare.methods.registry import (
    default_methods,
    get_method,
    method_names,
)
from sk_anyloss.compare.metrics import parse_cost
from sk_anyloss.compare.model_file.saved import check_model_path
from sk_anyloss.compare.options import check_methods, check_options
from sk_anyloss.compare.report.text import format_results, wrap_finding
from sk_anyloss.compare.run.execution import Progress
from sk_anyloss.compare.run.names import distinct_names, folder_name
from sk_anyloss.compare.tables.reading.files import one_line
from sk_anyloss.compare.tables.sources import built_in, read_table
from sk_anyloss.compare.tables.table import Table
from sk_anyloss.metrics import Metric, matrix_metric_names, metric_names

__all__ = ["chosen_metric", "run_compare", "split_names"]

#: Results of a table are written to a folder of its name in this one.
RESULTS = Path("results")
#: Files of a report, which are written after the fits.
REPORT = ("report.html", "summary.json", "results.csv", "results.parquet")


def run_compare(options: argparse.Namespace) -> None:
    """Compare methods, or list them.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed arguments.
    """
    with replace_unencodable("replace"):
        if options.list:
            _print_list()
        else:
            _compare(options)


def _print_list() -> None:
    print("Methods (* compared by default):")
    defaults = default_methods()
    for name in method_names():
        star = "*" if name in defaults else " "
        print(f"  {star} {name:<22} {get_method(name).title}")
    print("\nMetrics:\n  " + ", ".join(metric_names()))
    print("  and any f<beta> such as f0.5, or precision@recall>=0.8 and the like")
    print("\nWith more than two classes also:\n  " + ", ".join(matrix_metric_names()))
    print("  <metric>_macro, _weighted and _micro, which average over the classes,")
    print("  and <metric>[<class>], one class against the rest")


def _compare(options: argparse.Namespace) -> None:
    start, limit = time.monotonic(), options.time_limit

    def remaining(reserved: float = 0) -> float | None:
        """Seconds of the time limit that are left, without some."""
        if limit is None:
            return None
        return max(0.0, start + limit - reserved - time.monotonic())

    for option in ("calibrate", "onnx"):
        if getattr(options, option) and not options.save:
            raise ValueError(f"--{option} is for a stored model; name it with --save.")
    if options.save_method and not options.save:
        raise ValueError(
            "--save-method names the method to store; name the model with --save."
        )
    if options.mlflow:
        find_experiment(options.mlflow)  # Fails before the fits, if it does.
    methods = options.methods
    if methods not in (None, "all"):
        methods = split_names(methods)
        if not methods:
            check_methods(methods)  # Raises, before the data are read.
        for name in methods:
            get_method(name)
    also = None if options.also is None else split_names(options.also)
    metric = chosen_metric(options.metric, options.cost)
    check_options(
        metric, also or (), folds=options.folds, repeats=options.repeats,
        seed=options.seed, n_jobs=options.jobs, time_limit=options.time_limit,
        rope=options.rope,
    )  # fmt: skip
    tables = _read_tables(options)
    if options.cost and not all(table.is_binary for table in tables):
        raise TableError(
            "--cost is for two classes; name the positive one with --positive, and the "
            "others are negative."
        )
    if options.save and any(table.has_labels for table in tables):
        raise TableError(
            "--save is for classes; of several labels use found.best_estimator() in "
            "Python, or save a model of each label."
        )
    n_classes = max(2 if table.has_labels else table.n_classes for table in tables)
    names = check_methods(methods, n_classes)
    chosen = _method_to_save(options.save_method, names, n_classes)
    _describe(tables, options.folds)
    output = options.output or RESULTS / folder_name([t.name for t in tables])
    for name in REPORT:
        check_replaceable(output / name, options.data)
    if options.save:
        others = (".md", ".onnx") if options.onnx else (".md",)
        check_model_path(output / options.save, others, options.data)
    found = compare_tables(
        tables,
        metric,
        methods=methods,
        folds=options.folds,
        repeats=options.repeats,
        seed=options.seed,
        n_jobs=options.jobs,
        output=output,
        dask=options.dask,
        time_limit=remaining(),
        progress=_progress(options.quiet),
        also=also,
        rope=options.rope,
    )
    if not found.folds:
        raise ValueError("--time-limit was over before the first fit was started.")
    if not any(not fold.failed for fold in found.folds):
        raise ValueError(f"Every method failed: {found.reasons()}.")
    found.settings = {**found.settings, "command": options.command}
    if not options.no_explain:
        # The model that is asked for comes first.
        final = 0.0
        if options.save:
            final = found.ranking()["seconds"][found.chosen_method(chosen)]
        _explain(found, options, partial(remaining, final))
    # The only table has been described above, and all have been checked.
    text = format_results(found, headline=len(tables) > 1, table_checks=False)
    print(f"\n{text}\n")
    if missing := found.partial():
        print(f"Time was over. {missing}\n")
    page = found.report(output)
    print(f"{time.monotonic() - start:.0f} s. Report: {page}")
    if options.mlflow:
        run = found.log_to_mlflow(options.mlflow)
        print(f"MLflow: experiment {options.mlflow}, run {run}")
    if options.save:
        method, n = found.chosen_method(chosen), len(tables[0].y)
        over = " beyond --time-limit" if remaining() == 0 else ""
        title = get_method(method).title
        print(f"Fitting {title} on all {n:,} samples{over} ...", flush=True)
        path = found.save(
            output / options.save,
            method,
            calibrate=options.calibrate,
            onnx=options.onnx,
        )
        print(f"Model: {path}")
        if options.onnx:
            print(f"ONNX: {path.with_suffix('.onnx')}")


def _method_to_save(
    method: str | None, compared: list[str], n_classes: int
) -> str | None:
    """The method of ``--save-method``, which has to be among those compared."""
    if method is None:
        return None
    (name,) = check_methods([method], n_classes)
    if name not in compared:
        raise ValueError(
            f"--save-method {method!r} is not among the methods that are compared; "
            f"name one of {', '.join(compared)}, or add it to --methods."
        )
    return name


def chosen_metric(metric: str | None, cost: str | None) -> str | Metric:
    """The metric of the options ``--metric`` and ``--cost``.

    Parameters
    ----------
    metric : str or None
        Name of a metric.
    cost : str or None
        Costs such as ``'fp=1,fn=20'``.

    Returns
    -------
    metric : str or callable
        F1 by default.

    Examples
    --------
    >>> from sk_anyloss.compare.cli.compare import chosen_metric
    >>> chosen_metric(None, "fp=1, fn=20")
    Savings(fp=1.0, fn=20.0, tn=0.0, tp=0.0)
    """
    if cost is None:
        return metric or "f1"
    if metric is not None:
        raise ValueError("--cost is a metric of its own; omit it or --metric.")
    return parse_cost(cost)


def split_names(text: str) -> tuple[str, ...]:
    """Comma-separated names.

    Examples
    --------
    >>> from sk_anyloss.compare.cli.compare import split_names
    >>> split_names("f1, mcc,")
    ('f1', 'mcc')
    """
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _read_tables(options: argparse.Namespace) -> list[Table]:
    if not options.data:
        return [built_in(options.seed, options.drop)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)  # They are printed as notes.
        tables = [
            read_table(
                source, options.target, options.positive, options.groups,
                time=options.time, weight=options.weight,
                drop=options.drop, keep=options.keep,
                allow_missing_labels=options.allow_missing_labels,
                encoding=options.encoding, order=options.order,
            )
            for source in options.data
        ]  # fmt: skip
    if options.save and len(tables) > 1:
        raise TableError("--save takes one data set, since a model is fitted on one.")
    names = distinct_names([table.name for table in tables], options.data)
    for table, name in zip(tables, names, strict=True):
        table.name = name
    return tables


def _describe(tables: list[Table], folds: int) -> None:
    for table in tables:
        print(table.describe())
        print(f"  Folds: {folds}, {describe_folds(table)}.")
        found = check_table(table, folds)
        findings = [str(one) for one in found if one.status == "found"]
        for text in (*table.notes, *findings):
            print("\n".join(wrap_finding(text)))


def _explain(
    found: Comparison,
    options: argparse.Namespace,
    remaining: Callable[[], float | None],
) -> None:
    """Explain the recommended method of each data set; no failure of it counts."""
    left_out = "Importances and learning curve are left out, since"
    for table in found.tables:
        if found.recommendation(table.name) is None:
            continue
        if found.unfinished()[0]:
            found.unexplained[table.name] = f"{left_out} the run is partial."
            continue
        try:
            found.explain(data=table.name, n_jobs=options.jobs, time_limit=remaining())
        except TimeoutError:
            found.unexplained[table.name] = (
                f"{left_out} --time-limit is over; the same command with a longer one "
                "fits nothing else."
            )
        except Exception as error:
            warnings.warn(
                f"Importances and learning curve of {table.name} are left out: "
                f"{one_line(error)}",
                TableWarning,
                stacklevel=2,
            )


def _progress(quiet: bool) -> Progress | None:
    if quiet:
        return None
    from tqdm import tqdm

    return tqdm
