"""Replication of the AnyLoss study: as published, and with nested cross-validation.

    python -m benchmarks.study --data FOLDER          # or: make study DATA=FOLDER
    python -m benchmarks.study --data FOLDER --quick  # ten data sets
    python -m benchmarks.study                        # three data sets of scikit-learn

FOLDER holds ``catalog.csv`` (name, paper_id, n, d, match), ``paper_scores.csv``
(structure, paper_id, eval_metric, loss, score) and ``paper/<name>.npz`` with X and y;
or only ``.npz`` files. ``--openml 37 1462`` adds data sets of OpenML. Every finished
fold is a file under ``--output``, and an interrupted run resumes. The tables are
printed and written beside the plots; ``--page`` replaces them in a Markdown file,
between ``<!-- begin: name -->`` and ``<!-- end: name -->``.
"""

import argparse
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pandas as pd
from joblib import cpu_count
from matplotlib.figure import Figure

from benchmarks.study import (
    data,
    learning,
    nested,
    plots,
    published,
    rounding,
    runs,
    steepness,
)
from benchmarks.study.data import Source
from benchmarks.study.scores import TABLE_METRICS
from benchmarks.study.tables import aggregate, amplifier, imbalanced, many
from benchmarks.study.tables.aggregate import Scores

PARTS: dict[str, ModuleType] = {
    "published": published, "nested": nested, "L": steepness, "learning": learning,
}  # fmt: skip


def make_parser() -> argparse.ArgumentParser:
    """Options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.study",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="folder of data sets")
    parser.add_argument(
        "--openml", type=int, nargs="+", default=[], metavar="ID",
        help="data sets of OpenML to add",
    )  # fmt: skip
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, default=list(PARTS), help="default: all"
    )
    parser.add_argument("--quick", action="store_true", help="ten data sets only")
    parser.add_argument(
        "--folds", type=int, choices=(5, 10), default=10,
        help="of the part 'nested', default: %(default)s",
    )  # fmt: skip
    parser.add_argument(
        "--jobs", type=int, default=2, help="processes, default: %(default)s"
    )
    parser.add_argument(
        "--output", type=Path, default=Path("results/study"),
        help="folder of results, default: %(default)s",
    )  # fmt: skip
    parser.add_argument(
        "--page", type=Path, help="Markdown file in which to replace the tables"
    )
    parser.add_argument(
        "--report", action="store_true", help="only report the results so far"
    )
    return parser


def select_sources(options: argparse.Namespace) -> list[Source]:
    """The data sets that the options select."""
    sources = data.built_in() if options.data is None else []
    if options.data is not None:
        sources = data.read_folder(options.data)
    if options.quick:
        small = [s for s in sources if s.size < 20_000 and not s.is_imbalanced]
        kept = small[:: max(1, len(small) // 10)][:10]
        sources = kept + [s for s in sources if s.is_imbalanced and s.size < 20_001]
    return sources + data.from_openml(options.openml)


def run_parts(
    sources: Sequence[Source], options: argparse.Namespace
) -> dict[str, pd.DataFrame]:
    """Results of every selected part, run or read."""
    results = {}
    for name, part in PARTS.items():
        if name not in options.parts:
            continue
        tasks = part.make_tasks(sources)
        if part is nested:
            tasks = [task for task in tasks if max(task.folds) < options.folds]
        results[name] = _run_part(part, tasks, options)
    return {name: table for name, table in results.items() if len(table)}


def _run_part(
    part: ModuleType, tasks: Sequence[runs.Task], options: argparse.Namespace
) -> pd.DataFrame:
    if options.report:
        return runs.read(tasks, options.output)
    # Times are measured in one process, with no other beside it.
    jobs = 1 if part is learning else options.jobs
    return runs.run(tasks, part.run, options.output, jobs)


def report(
    sources: Sequence[Source],
    results: dict[str, pd.DataFrame],
    options: argparse.Namespace,
) -> tuple[dict[str, str], dict[str, Figure]]:
    """All tables and all plots by name."""
    scores = None
    if options.data is not None:
        scores = data.published_scores(options.data)
    tables = {"machine": describe_machine(sources, results)}
    figures: dict[str, Figure] = {}
    if "published" in results:
        table = results["published"]
        tables |= _published_tables(sources, table, scores, options)
    if "nested" in results:
        new_tables, figures = _nested_tables(sources, results["nested"], scores)
        tables |= new_tables
    if "L" in results:
        means = amplifier.mean_scores(results["L"])
        tables["L by rate"] = amplifier.by_learning_rate(means)
        tables["table 12"] = amplifier.imbalanced(means)
        tables["table 13"] = amplifier.wins(means)
        figures["study_L"] = plots.plot_scores_by_L(means)
        figures["study_curves"] = plots.plot_loss_curves(steepness.loss_curves())
    if "learning" in results:
        tables["table 8"] = imbalanced.times(results["learning"])
        tables["table 9"] = imbalanced.convergence(results["learning"])
    return tables, figures


def _published_tables(
    sources: Sequence[Source],
    table: pd.DataFrame,
    published: pd.DataFrame | None,
    options: argparse.Namespace,
) -> dict[str, str]:
    tables = {}
    everything = aggregate.published_protocol_scores(table)
    is_imbalanced = everything["paper_id"].str.startswith("four")
    if is_imbalanced.any():
        tables["table 17"] = imbalanced.published_protocol(everything)
        tables["table 7"] = imbalanced.resampled(table, everything)
    own = everything[~is_imbalanced]
    if not len(own):
        return tables
    ids = set(own["paper_id"])
    scores: Scores = {
        "SLP": {m: (aggregate.main_losses(own, m, "set"), ids) for m in TABLE_METRICS}
    }
    proportions = aggregate.majority_proportions(table)
    tables["published wins"] = many.wins(scores, published)
    tables["published sign tests"] = many.sign_tests(scores)
    tables["published differences"] = many.differences(scores, proportions)
    if published is not None:
        tables["reproduced"], deviating = many.reproduced(own, published)
        tasks = rounding.make_tasks(sources, deviating)
        perturbed = _run_part(rounding, tasks, options)
        if len(perturbed):
            tables["rounding"] = many.rounding(perturbed, published)
    return tables


def _nested_tables(
    sources: Sequence[Source], table: pd.DataFrame, published: pd.DataFrame | None
) -> tuple[dict[str, str], dict[str, Figure]]:
    tables: dict[str, str] = {}
    table = aggregate.select_finished(table)
    is_imbalanced = table["paper_id"].str.startswith("four")
    if is_imbalanced.any():
        tables["nested imbalanced"] = imbalanced.nested(table)
    table = table[~is_imbalanced]
    if not len(table):
        return tables, {}
    scores: Scores = {}
    for network, own in table.groupby("structure", sort=False):
        ids = set(own["paper_id"])
        scores[network] = {
            metric: (aggregate.select_inner_best(own, metric), ids)
            for metric in TABLE_METRICS
        }
    proportions = aggregate.majority_proportions(table)
    tables["nested folds"] = many.folds(table, sources)
    tables["nested wins"] = many.wins(scores, published)
    tables["nested sign tests"] = many.sign_tests(scores)
    tables["nested differences"] = many.differences(scores, proportions)
    for network in scores:
        tables[f"nested {network}"] = many.methods(scores, network)
    return tables, {
        "study_signs": plots.plot_sign_tests(scores),
        "study_baselines": plots.plot_methods(scores),
        "study_imbalance": plots.plot_gain_by_imbalance(scores, proportions),
    }


def describe_machine(
    sources: Sequence[Source], results: dict[str, pd.DataFrame]
) -> str:
    """Machine, versions and run times."""
    minutes = ", ".join(
        f"{name} {table.drop_duplicates('file')['seconds'].sum() / 60:.0f}"
        for name, table in results.items()
    )
    packages = ("torch", "numpy", "scikit-learn", "imbalanced-learn", "skorch")
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    return (
        f"{len(sources)} data sets; {platform.system()} on {platform.machine()}, "
        f"{cpu_count()} cores, Python {platform.python_version()}, {versions}. "
        f"Minutes on one core: {minutes}."
    )


def replace_tables(page: Path, tables: dict[str, str]) -> None:
    """Replace the tables of a page between their markers."""
    text = page.read_text(encoding="utf-8")
    for name, table in tables.items():
        begin, end = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->"
        if begin in text and end in text:
            before, rest = text.split(begin, 1)
            text = f"{before}{begin}{table}\n{end}{rest.split(end, 1)[1]}"
    page.write_bytes(text.encode())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print and plot."""
    options = make_parser().parse_args(arguments)
    sources = select_sources(options)
    results = run_parts(sources, options)
    tables, figures = report(sources, results, options)
    text = "\n\n".join(f"## {name}\n\n{table}" for name, table in tables.items())
    print(text)
    folder = options.output if options.page is None else options.page.parent
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "tables.md").write_bytes(text.encode())
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=110)
    if options.page is not None:
        replace_tables(options.page, tables)


if __name__ == "__main__":
    main()
