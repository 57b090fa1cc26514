"""The study: the paper's tables as its authors made them, and as they should be made.

    python -m benchmarks.study --data FOLDER            # or: make study DATA=FOLDER
    python -m benchmarks.study --data FOLDER --quick    # ten sets
    python -m benchmarks.study                          # three sets of scikit-learn

FOLDER holds ``catalog.csv`` (name, paper_id, n, d, match), ``paper_scores.csv``
(structure, paper_id, eval_metric, loss, score) and ``paper/<name>.npz`` with X and y;
or nothing but ``.npz`` files. ``--openml 37 1462`` adds sets of OpenML. Every finished
fold is a file under ``--output``, and a run that is started again goes on where it was.
The tables are printed and written beside the pictures; ``--page`` renews them in a page
of Markdown, between ``<!-- begin: name -->`` and ``<!-- end: name -->``.
"""

import argparse
import platform
from importlib.metadata import version
from pathlib import Path

from joblib import cpu_count

from benchmarks.study import (
    data,
    honest,
    learning,
    paper,
    pictures,
    published,
    rounding,
    runs,
    steepness,
    tables,
)
from benchmarks.study.scores import AIMS
from sk_anyloss.compare.run.files import write

PARTS = {
    "published": published, "honest": honest, "L": steepness, "learning": learning,
}  # fmt: skip


def parser():
    """The words of the command."""
    result = argparse.ArgumentParser(
        prog="python -m benchmarks.study",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("--data", type=Path, help="folder of data sets")
    result.add_argument("--openml", type=int, nargs="+", default=[], metavar="ID")
    result.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    result.add_argument("--quick", action="store_true", help="ten sets only")
    result.add_argument(
        "--folds", type=int, choices=(5, 10), default=10, help="of the honest part"
    )
    result.add_argument("--jobs", type=int, default=2, help="processes")
    result.add_argument("--output", type=Path, default=Path("results/study"))
    result.add_argument("--page", type=Path, help="page whose tables are renewed")
    result.add_argument("--report", action="store_true", help="run nothing more")
    return result


def choose(options):
    """The sets that were asked for."""
    sources = data.built_in() if options.data is None else []
    if options.data is not None:
        sources = data.read_folder(options.data)
    if options.quick:
        small = [s for s in sources if s.cells < 20_000 and not s.is_of_four]
        kept = small[:: max(1, len(small) // 10)][:10]
        sources = kept + [s for s in sources if s.is_of_four and s.cells < 20_001]
    return sources + data.from_openml(options.openml)


def found_of(sources, options):
    """Results of every part, run or read."""
    known = {}
    for name, part in PARTS.items():
        if name not in options.parts:
            continue
        tasks = part.tasks(sources)
        if part is honest:
            tasks = [task for task in tasks if max(task.folds) < options.folds]
        known[name] = _results(part, tasks, options)
    return {name: table for name, table in known.items() if len(table)}


def _results(part, tasks, options):
    if options.report:
        return runs.read(tasks, options.output)
    # Times are taken by one process, with nothing beside it.
    jobs = 1 if part is learning else options.jobs
    return runs.run(tasks, part.run, options.output, jobs)


def report(sources, results, options):
    """All tables by name, and all pictures."""
    scores = None
    if options.data is not None:
        scores = data.published_scores(options.data)
    made, drawn = {"machine": machine(sources, results)}, {}
    if "published" in results:
        _published(sources, results["published"], scores, options, made)
    if "honest" in results:
        _honest(sources, results["honest"], scores, made, drawn)
    if "L" in results:
        means = tables.L_means(results["L"])
        made["L by rate"] = tables.L_by_rate(means)
        made["table 12"] = tables.L_of_four(means)
        made["table 13"] = tables.L_wins(means)
        drawn["study_L"] = pictures.which_L(means)
        drawn["study_curves"] = pictures.learning_curves(steepness.curves())
    if "learning" in results:
        made["table 8"] = tables.times(results["learning"])
        made["table 9"] = tables.achieved(results["learning"])
    return made, drawn


def _published(sources, table, scores, options, made):
    everything = tables.as_published(table)
    of_four = everything["paper_id"].str.startswith("four")
    if of_four.any():
        made["table 17"] = tables.four_published(everything)
        made["table 7"] = tables.four_resampled(table, everything)
    diverse = everything[~of_four]
    if not len(diverse):
        return
    of_metric = {
        metric: (tables.trio_of(diverse, metric, "set"), set(diverse["paper_id"]))
        for metric in AIMS
    }
    found = {"SLP": of_metric}
    shares = tables.larger_share(table)
    made["published wins"] = tables.win_counts(found, scores, paper.WINS)
    made["published sign tests"] = tables.sign_tests(found, paper.SIGN_TESTS)
    made["published differences"] = tables.differences(found, shares)
    if scores is not None:
        made["reproduced"], beyond = tables.reproduced(diverse, scores)
        again = _results(rounding, rounding.tasks(sources, beyond), options)
        if len(again):
            made["rounding"] = tables.rounding(again, scores)


def _honest(sources, table, scores, made, drawn):
    table = tables.finished(table)
    of_four = table["paper_id"].str.startswith("four")
    if of_four.any():
        made["honest four"] = tables.four_honest(table)
    diverse = table[~of_four]
    if not len(diverse):
        return
    found = {}
    for structure, part in diverse.groupby("structure", sort=False):
        ids = set(part["paper_id"])
        found[structure] = {
            metric: (tables.chosen(part, metric), ids) for metric in AIMS
        }
    shares = tables.larger_share(diverse)
    made["honest folds"] = tables.folds(diverse, sources)
    made["honest wins"] = tables.win_counts(found, scores, paper.WINS)
    made["honest sign tests"] = tables.sign_tests(found, paper.SIGN_TESTS)
    made["honest differences"] = tables.differences(found, shares)
    for structure in found:
        made[f"honest {structure}"] = tables.against_all(found, structure)
    drawn["study_signs"] = pictures.sign_bars(found)
    drawn["study_baselines"] = pictures.against_all(found)
    drawn["study_imbalance"] = pictures.gaps_by_imbalance(found, shares)


def machine(sources, results):
    """What it ran on, and for how long."""
    spent = ", ".join(
        f"{name} {table.drop_duplicates('file')['seconds'].sum() / 60:.0f}"
        for name, table in results.items()
    )
    packages = ("torch", "numpy", "scikit-learn", "imbalanced-learn", "skorch")
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    return (
        f"{len(sources)} sets; {platform.system()} on {platform.machine()}, "
        f"{cpu_count()} cores, Python {platform.python_version()}, {versions}. "
        f"Minutes of one core: {spent}."
    )


def renew(page, made):
    """Put the tables into a page, each where its name is."""
    text = page.read_text(encoding="utf-8")
    for name, table in made.items():
        begin, end = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->"
        if begin in text and end in text:
            before, rest = text.split(begin, 1)
            text = f"{before}{begin}{table}\n{end}{rest.split(end, 1)[1]}"
    write(page, text.encode())


def main(words=None):
    """Run, print and draw."""
    options = parser().parse_args(words)
    sources = choose(options)
    results = found_of(sources, options)
    made, drawn = report(sources, results, options)
    text = "\n\n".join(f"## {name}\n\n{table}" for name, table in made.items())
    print(text)
    folder = options.output if options.page is None else options.page.parent
    options.output.mkdir(parents=True, exist_ok=True)
    write(options.output / "tables.md", text.encode())
    for name, figure in drawn.items():
        figure.savefig(folder / f"{name}.png", dpi=110)
    if options.page is not None:
        renew(options.page, made)


if __name__ == "__main__":
    main()
