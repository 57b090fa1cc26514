"""Tables of scores by L, the steepness of the amplifier."""

import numpy as np
import pandas as pd

from benchmarks.study import paper
from benchmarks.study.scores import MAIN_METRICS, is_collapsed, score
from benchmarks.study.tables.markdown import bold, markdown, number


def mean_scores(table: pd.DataFrame) -> pd.DataFrame:
    """Mean over the folds by dtype, metric, learning rate, L and data set."""
    parts = []
    for metric, own in table.groupby("aim"):
        own = own.assign(
            score=score(own["test"], metric),
            collapsed=[is_collapsed(matrix) for matrix in own["test"]],
        )
        keys = ["dtype", "aim", "lr", "L", "set", "paper_id"]
        parts.append(own.groupby(keys, as_index=False)[["score", "collapsed"]].mean())
    return pd.concat(parts, ignore_index=True)


def by_learning_rate(means: pd.DataFrame) -> str:
    """Mean score, and percentage of collapsed fits, of each L."""
    own = means[~means["paper_id"].str.startswith("four")]
    Ls = sorted(own["L"].unique())
    rows = []
    for (metric, lr, dtype), part in own.groupby(["aim", "lr", "dtype"]):
        by_L = part.groupby("L")[["score", "collapsed"]].mean()
        cells = [f"{s:.3f} ({100 * c:.0f})" for s, c in by_L.to_numpy()]
        rows.append([metric, f"{lr:g}", dtype, *bold(cells, {by_L["score"].argmax()})])
    return markdown(["metric", "lr", "dtype", *(f"L {L}" for L in Ls)], rows)


def wins(means: pd.DataFrame) -> str:
    """Table 13: on how many data sets each of five L is best; ties count for all."""
    own = means[~means["paper_id"].str.startswith("four") & means["L"].isin(paper.LS)]
    rows = []
    for (metric, lr, dtype), part in own.groupby(["aim", "lr", "dtype"]):
        wide = part.pivot(index="set", columns="L", values="score").round(9)
        counts = wide.eq(wide.max(axis=1), axis=0).sum()
        cells = bold(list(counts), {int(np.argmax(counts))})
        rows.append([metric, f"{lr:g}", dtype, *cells])
    for metric, theirs in paper.L_WINS.items():
        cells = bold(list(theirs), {int(np.argmax(theirs))})
        rows.append([metric, "", "paper, 102 data sets", *cells])
    return markdown(["metric", "lr", "dtype", *(f"L {L}" for L in paper.LS)], rows)


def imbalanced(means: pd.DataFrame) -> str:
    """Table 12: the paper's five L on the imbalanced data sets."""
    own = means[means["L"].isin(paper.LS) & (means["dtype"] == "float64")]
    rows = []
    for paper_id, name in paper.IMBALANCED.items():
        for metric in MAIN_METRICS:
            part = own[(own["paper_id"] == paper_id) & (own["aim"] == metric)]
            lines = [(f"{lr:g}", cells) for lr, cells in part.groupby("lr")]
            scores = [(lr, c.sort_values("L")["score"].to_numpy()) for lr, c in lines]
            scores.append(("paper", np.array(paper.L_SCORES[paper_id][metric])))
            for lr, values in scores:
                cells = bold([number(v) for v in values], {int(values.argmax())})
                rows.append([name, metric, lr, *cells])
    return markdown(["data set", "metric", "lr", *(f"L {L}" for L in paper.LS)], rows)
