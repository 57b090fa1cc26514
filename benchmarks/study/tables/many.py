"""Tables over the 102 data sets of the paper."""

from collections.abc import Sequence

import pandas as pd

from benchmarks.study import paper
from benchmarks.study.data import Source
from benchmarks.study.published import LEARNING_RATES
from benchmarks.study.scores import MAIN_METRICS, TABLE_METRICS, score
from benchmarks.study.tables.aggregate import (
    Scores,
    count_wins,
    imbalance_group,
    main_losses,
    sign_test,
)
from benchmarks.study.tables.markdown import markdown, number, probabilities
from sk_anyloss.compare.verdict import judge_many

TOLERANCE = 2e-4


def reproduced(
    ours: pd.DataFrame, published: pd.DataFrame
) -> tuple[str, list[tuple[str, str]]]:
    """Number of data sets that reproduce the published scores, by loss.

    Also returns the pairs of data set and loss that do not.
    """
    keys = ["paper_id", "metric", "loss"]
    theirs = published[published["structure"] == "SLP"]
    theirs = theirs.rename(columns={"score": "theirs"})
    both = ours.merge(theirs[[*keys, "theirs"]], on=keys)
    both["difference"] = (both["score"] - both["theirs"]).abs()
    rows, deviating = [], []
    for loss in LEARNING_RATES:
        largest = both[both["loss"] == loss].groupby("set")["difference"].max()
        within = largest[largest <= TOLERANCE]
        beyond = largest[largest > TOLERANCE]
        names = ", ".join(f"{name} {gap:.4f}" for name, gap in beyond.items())
        fraction = f"{len(within)} of {len(largest)}"
        rows.append([loss, fraction, number(within.max(), 6), names])
        deviating += [(name, loss) for name in beyond.index]
    header = ["loss", "all six metrics within 2e-4", "largest difference of these"]
    return markdown([*header, "not within, with largest difference"], rows), deviating


def rounding(table: pd.DataFrame, published: pd.DataFrame) -> str:
    """Scores under perturbation, beside the published ones."""
    rows = []
    theirs = published[published["structure"] == "SLP"]
    for (name, loss), own in table.groupby(["set", "method"]):
        known = theirs[theirs["paper_id"].isin(own["paper_id"])]
        known = known[known["loss"] == loss].set_index("metric")["score"]
        metric = loss.removeprefix("L_") if loss.startswith("L_") else "F1"
        by_run = own.assign(score=score(own["test"], metric)).groupby("time")["score"]
        scores = by_run.mean()
        row = [name, loss, metric, f"{scores[0]:.4f}", f"{known[metric]:.4f}"]
        rows.append([*row, f"{scores.min():.4f} to {scores.max():.4f}"])
    header = ["data set", "loss", "metric", "ours", "published"]
    return markdown([*header, "ours, perturbed"], rows)


def folds(table: pd.DataFrame, sources: Sequence[Source]) -> str:
    """Number of folds of the data sets, and the data sets that are not finished."""
    n_folds = table.groupby(["set", "structure"])["fold"].nunique()
    counts = n_folds.groupby(level=0).min().value_counts().sort_index(ascending=False)
    text = ", ".join(f"{n} data sets with {k} folds" for k, n in counts.items()) + "."
    known = set(table["set"])
    missing = [s.name for s in sources if s.name not in known and not s.is_imbalanced]
    return text + (f" Not finished: {', '.join(missing)}." if missing else "")


def wins(scores: Scores, published: pd.DataFrame | None) -> str:
    """Tables 3, 15 and 16: ours, the published scores on the same data, the paper's."""
    rows = []
    for network in scores:
        for metric in TABLE_METRICS:
            own, ids = scores[network][metric]
            ours, ties = count_wins(own)
            row = [network, metric, *ours, ties]
            if published is not None:
                theirs = published[published["structure"] == network]
                theirs = main_losses(theirs, metric)
                theirs = theirs[theirs.index.isin(ids)]
                cells = map(str, count_wins(theirs)[0]) if len(theirs) else "-"
                row.append(" / ".join(cells))
            row.append(" / ".join(map(str, paper.WINS[network][metric])))
            rows.append(row)
    header = ["network", "metric", "MSE", "BCE", "AnyLoss", "ties among these"]
    if published is not None:
        header += ["published, same data sets"]
    return markdown([*header, "paper, 102 data sets"], rows)


def sign_tests(scores: Scores) -> str:
    """Tables 15 and 16: sign tests of AnyLoss against MSE and BCE."""
    rows = []
    for network in scores:
        for metric in TABLE_METRICS:
            own, _ = scores[network][metric]
            for k, other in enumerate(("MSE", "BCE")):
                row = [network, metric, other]
                for rope in (0.01, 0.05):
                    ours = judge_many(own["AnyLoss"], own[other], rope)
                    row.append(probabilities(ours))
                    theirs = paper.SIGN_TESTS[network][rope][metric][k]
                    row.append(probabilities(theirs))
                rows.append(row)
    header = ["network", "metric", "against", "ROPE 0.01", "paper"]
    return markdown([*header, "ROPE 0.05", "paper"], rows)


def differences(scores: Scores, proportions: pd.Series) -> str:
    """Table 4: AnyLoss minus MSE and minus BCE, by imbalance."""
    rows = []
    for network in scores:
        for metric in MAIN_METRICS:
            wide, _ = scores[network][metric]
            groups = imbalance_group(proportions[wide.index])
            for k, group in enumerate(paper.IMBALANCE_GROUPS):
                own = wide[groups == k]
                if own.empty:
                    continue
                row = [network, metric, group, len(own)]
                for j, other in enumerate(("MSE", "BCE")):
                    difference = own["AnyLoss"] - own[other]
                    theirs = paper.DIFFERENCES[network][metric][k][j]
                    mean, std = difference.mean(), difference.std(ddof=0)
                    row += [f"{mean:+.3f} ± {std:.3f}", number(theirs, sign=True)]
                rows.append(row)
    header = ["network", "metric", "imbalance", "data sets"]
    return markdown([*header, "minus MSE", "paper", "minus BCE", "paper"], rows)


def methods(scores: Scores, network: str) -> str:
    """Every method on every metric: its mean, and the sign test of AnyLoss."""
    names = list(
        dict.fromkeys(
            name
            for metric in TABLE_METRICS
            for name in scores[network][metric][0].columns
        )
    )
    mean_f1 = scores[network]["F1"][0].mean()
    names.sort(key=lambda name: -mean_f1.get(name, 0))
    rows = []
    for name in names:
        row = [f"**{name}**" if name == "AnyLoss" else name]
        for metric in TABLE_METRICS:
            own, _ = scores[network][metric]
            if name not in own:
                row += ["-", ""]
                continue
            row.append(number(own[name].mean()))
            is_anyloss = name == "AnyLoss"
            row.append("" if is_anyloss else probabilities(sign_test(own, name)))
        rows.append(row)
    header = ["method"]
    for metric in TABLE_METRICS:
        header += [metric, "AnyLoss better / equivalent / worse"]
    return markdown(header, rows)
