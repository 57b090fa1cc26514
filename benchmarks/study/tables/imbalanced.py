"""Tables of the paper's imbalanced data sets, and of time and convergence on them."""

import numpy as np
import pandas as pd

from benchmarks.study import paper
from benchmarks.study.published import LEARNING_RATES
from benchmarks.study.scores import METRICS, TABLE_METRICS, score
from benchmarks.study.tables.aggregate import MAIN_LOSSES, select_inner_best
from benchmarks.study.tables.markdown import markdown, number


def published_protocol(ours: pd.DataFrame) -> str:
    """Table 17: our scores where they differ from the published ones."""
    rows, largest = [], dict.fromkeys(LEARNING_RATES, 0.0)
    for paper_id, name in paper.IMBALANCED.items():
        own = ours[ours["paper_id"] == paper_id]
        if not len(own):
            continue
        wide = own.pivot_table(index="metric", columns="loss", values="score")
        theirs = paper.IMBALANCED_SCORES["SLP"][paper_id]
        for metric, line in zip(TABLE_METRICS, theirs, strict=True):
            known = dict(zip(paper.IMBALANCED_LOSSES, line, strict=True))
            cells = []
            for loss in LEARNING_RATES:
                value = wide.loc[metric, loss]
                difference = abs(value - known[loss])
                same = difference < 5e-6
                cells.append("same" if same else f"{value:.4f} ({known[loss]:.4f})")
                largest[loss] = max(largest[loss], difference)
            rows.append([name, metric, *cells])
    cells = [f"{difference:.6f}" for difference in largest.values()]
    rows.append(["largest difference", "", *cells])
    return markdown(["data set", "metric", *LEARNING_RATES], rows)


def resampled(table: pd.DataFrame, ours: pd.DataFrame) -> str:
    """Table 7: the ratio with the best F1 on the test folds, as in the paper."""
    rows = []
    for paper_id, name in paper.IMBALANCED.items():
        own = table[(table["paper_id"] == paper_id) & table["share"].notna()]
        if not len(own):
            continue
        best = {}
        for method in ("SMOTE", "under"):
            part = own[own["method"] == method]
            part = part.assign(**{m: score(part["test"], m) for m in METRICS})
            means = part.groupby("share")[list(METRICS)].mean()
            best[method] = means.loc[means["F1"].idxmax()]
        anyloss = ours[ours["paper_id"] == paper_id]
        anyloss = anyloss.pivot_table(index="metric", columns="loss", values="score")
        for metric, theirs in paper.RESAMPLED[paper_id].items():
            values = [
                best["SMOTE"][metric],
                best["under"][metric],
                anyloss.loc[metric, f"L_{metric}"],
            ]
            row = [name, metric]
            for value, known in zip(values, theirs, strict=True):
                row += [number(value), number(known)]
            rows.append(row)
    header = ["data set", "metric", "BCE + SMOTE", "paper", "BCE + under-sampling"]
    return markdown([*header, "paper", "AnyLoss", "paper"], rows)


def nested(table: pd.DataFrame) -> str:
    """Tables 6 and 18 with nested cross-validation, and with more baselines."""
    rows: list[list[str]] = []
    names: list[str] = []
    for paper_id, title in paper.IMBALANCED.items():
        own = table[table["paper_id"] == paper_id]
        for network, part in own.groupby("structure", sort=False):
            scores = {m: select_inner_best(part, m).iloc[0] for m in TABLE_METRICS}
            if not names:
                methods = dict.fromkeys(part["method"])
                names = [name for name in methods if name not in MAIN_LOSSES]
            theirs = paper.IMBALANCED_SCORES[network][paper_id]
            for metric, line in zip(TABLE_METRICS, theirs, strict=True):
                known = dict(zip(paper.IMBALANCED_LOSSES, line, strict=True))
                row = [title, network, metric]
                for name, loss in zip(
                    MAIN_LOSSES, (f"L_{metric}", "BCE", "MSE"), strict=True
                ):
                    value = scores[metric].get(name, np.nan)
                    row.append(f"{number(value)} ({number(known[loss])})")
                row += [number(scores[metric].get(name, np.nan)) for name in names]
                rows.append(row)
    header = ["data set", "network", "metric"]
    header += [f"{name} (paper)" for name in MAIN_LOSSES]
    return markdown([*header, *names], rows)


def times(table: pd.DataFrame) -> str:
    """Table 8: time of a fit relative to cross-entropy."""
    rows = []
    for network in ("SLP", "MLP"):
        for paper_id, name in paper.IMBALANCED.items():
            own = table[
                (table["paper_id"] == paper_id) & (table["structure"] == network)
            ]
            if not len(own):
                continue
            ratio = own.set_index("method")["ratio"]
            sol, anyloss = (
                ratio[ratio.index.str.startswith(prefix)] for prefix in ("S_", "L_")
            )
            row = [network, name]
            for value, known in zip(
                (ratio["MSE"], sol.mean(), anyloss.mean()),
                paper.TIMES[network][paper_id],
                strict=True,
            ):
                row += [number(value, 2), number(known, 2)]
            rows.append([*row, f"{anyloss.min():.2f} to {anyloss.max():.2f}"])
    header = ["network", "data set", "MSE", "paper", "SOL, mean", "paper"]
    return markdown([*header, "AnyLoss, mean", "paper", "AnyLoss, range"], rows)


def convergence(table: pd.DataFrame) -> str:
    """Table 9: fraction of the total decrease in loss, by epoch."""
    rows = []
    for paper_id, name in paper.IMBALANCED.items():
        own = table[(table["paper_id"] == paper_id) & table["achieved"].notna()]
        if not len(own):
            continue
        fractions = {row.method: np.array(row.achieved) for row in own.itertuples()}
        anyloss = [value for key, value in fractions.items() if key.startswith("L_")]
        compared = {"BCE": fractions["BCE"], "AnyLoss, mean": np.mean(anyloss, axis=0)}
        for (loss, values), theirs in zip(
            compared.items(), paper.CONVERGENCE[paper_id], strict=True
        ):
            rows.append([name, loss, *map(number, values)])
            rows.append([name, f"{loss}, paper", *map(number, theirs)])
        rows += [
            [name, loss, *map(number, values)]
            for loss, values in fractions.items()
            if loss != "BCE"
        ]
    return markdown(["data set", "loss", *(f"epoch {e}" for e in paper.EPOCHS)], rows)
