"""From confusion matrices to the tables of the paper, beside the published ones."""

import numpy as np
import pandas as pd

from benchmarks.study import paper
from benchmarks.study.published import RATES
from benchmarks.study.scores import AIMS, MAIN, METRICS, is_collapsed, score
from sk_anyloss.compare.verdict import judge_many

TRIO = ["AnyLoss", "BCE", "MSE"]  # Ties go to the first of those that are best.
WITHIN = 2e-4


def markdown(header, rows):
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def figure(value, digits=3, sign=False):
    """A number as the paper prints it."""
    if value is None or not np.isfinite(value):
        return "-"
    return f"{value:{'+' if sign else ''}.{digits}f}"


def three(probabilities):
    """Better, alike and worse."""
    return " / ".join(figure(p, 2) for p in probabilities)


def bold(cells, at):
    """Some cells in bold."""
    return [f"**{cell}**" if i in at else cell for i, cell in enumerate(cells)]


# Scores


def as_published(table, metrics=tuple(METRICS)):
    """Ten-fold scores, one a row: ``paper_id``, ``set``, ``metric``, ``loss``."""
    plain = table[table["method"].isin(RATES)]
    parts = []
    for metric in metrics:
        part = plain[["paper_id", "set", "method"]].rename(columns={"method": "loss"})
        part = part.assign(metric=metric, score=score(plain["test"], metric))
        parts.append(part)
    keys = ["paper_id", "set", "metric", "loss"]
    return pd.concat(parts).groupby(keys, as_index=False)["score"].mean()


def chosen(table, metric):
    """Scores by set (rows) and method (columns), each with its inner choice.

    Of all settings of a method that aim at the metric or at none, the one counts that
    has the best pooled inner score, in each fold by itself.
    """
    own = table[table["aim"].isna() | (table["aim"] == metric)]
    own = own.assign(
        inside=score(own["inner"], metric).round(12), outside=score(own["test"], metric)
    )
    best = own.groupby(["set", "fold", "method"], sort=False)["inside"].idxmax()
    found = own.loc[best]
    return found.pivot_table(index="set", columns="method", values="outside")


def finished(table):
    """The sets on which every structure has been run with both values of L."""
    ours = table[table["method"].str.startswith("AnyLoss")]
    kinds = ours.groupby("set")[["structure", "method"]].apply(
        lambda rows: len(rows.drop_duplicates())
    )
    return table[table["set"].map(kinds) == kinds.max()]


def larger_share(table):
    """Share of the larger class by set."""
    one = table.drop_duplicates(["set", "fold"])
    total = np.array(one["test"].tolist()).reshape(-1, 4)
    sums = pd.DataFrame(total, index=one["set"]).groupby(level=0).sum()
    negative = (sums[0] + sums[1]) / sums.sum(axis=1)
    return np.maximum(negative, 1 - negative)


def group_of(share):
    """Which of the paper's four groups of imbalance."""
    return np.searchsorted([0.7, 0.8, 0.9], np.round(share, 4), side="left")


def wins(scores):
    """How often MSE, BCE and AnyLoss are best, and on how many sets not alone."""
    trio = scores[TRIO].round(9)
    counts = trio.idxmax(axis=1).value_counts()
    ties = int(((trio.eq(trio.max(axis=1), axis=0)).sum(axis=1) > 1).sum())
    return [int(counts.get(name, 0)) for name in ("MSE", "BCE", "AnyLoss")], ties


def trio_of(scores, metric, index="paper_id"):
    """From losses with names of the paper to a table of MSE, BCE and AnyLoss."""
    columns = {"MSE": "MSE", "BCE": "BCE", f"L_{metric}": "AnyLoss"}
    own = scores[(scores["metric"] == metric) & scores["loss"].isin(columns)]
    wide = own.pivot_table(index=index, columns="loss", values="score")
    return wide.rename(columns=columns)


# Tables


def reproduced(ours, published):
    """How many sets give the published score, loss by loss, and where not."""
    keys = ["paper_id", "metric", "loss"]
    theirs = published[published["structure"] == "SLP"]
    theirs = theirs.rename(columns={"score": "theirs"})
    both = ours.merge(theirs[[*keys, "theirs"]], on=keys)
    both["difference"] = (both["score"] - both["theirs"]).abs()
    rows, others = [], []
    for loss in RATES:
        own = both[both["loss"] == loss]
        worst = own.groupby("set")["difference"].max()
        same = worst[worst <= WITHIN]
        beyond = worst[worst > WITHIN]
        cell = ", ".join(f"{name} {gap:.4f}" for name, gap in beyond.items())
        number = f"{len(same)} of {len(worst)}"
        rows.append([loss, number, figure(same.max(), 6), cell])
        others += [(name, loss) for name in beyond.index]
    header = ["loss", "all six metrics within 2e-4", "largest difference of these"]
    return markdown([*header, "beyond, with the largest difference"], rows), others


def rounding(table, published):
    """Scores with other last digits, beside the published ones."""
    rows = []
    theirs = published[published["structure"] == "SLP"]
    for (name, loss), own in table.groupby(["set", "method"]):
        known = theirs[theirs["paper_id"].isin(own["paper_id"])]
        known = known[known["loss"] == loss].set_index("metric")["score"]
        metric = loss.removeprefix("L_") if loss.startswith("L_") else "F1"
        by_time = own.assign(score=score(own["test"], metric)).groupby("time")["score"]
        scores = by_time.mean()
        row = [name, loss, metric, f"{scores[0]:.4f}", f"{known[metric]:.4f}"]
        rows.append([*row, f"{scores.min():.4f} to {scores.max():.4f}"])
    header = ["set", "loss", "metric", "ours", "published"]
    return markdown([*header, "ours with other last digits"], rows)


def folds(table, sources):
    """On how many folds the sets were run, and which were not."""
    pairs = table.groupby(["set", "structure"])["fold"].nunique()
    counts = pairs.groupby(level=0).min().value_counts().sort_index(ascending=False)
    text = ", ".join(f"{n} sets with {k} folds" for k, n in counts.items()) + "."
    known = set(table["set"])
    missing = [s.name for s in sources if s.name not in known and not s.is_of_four]
    return text + (f" Not finished: {', '.join(missing)}." if missing else "")


def win_counts(found, published, printed):
    """Tables 3, 15 and 16: ours, the published ones on the same sets, as printed."""
    rows = []
    for structure in found:
        for metric in AIMS:
            scores, ids = found[structure][metric]
            ours, ties = wins(scores)
            row = [structure, metric, *ours, ties]
            if published is not None:
                own = published[published["structure"] == structure]
                theirs = trio_of(own, metric)
                theirs = theirs[theirs.index.isin(ids)]
                row += [" / ".join(map(str, wins(theirs)[0])) if len(theirs) else "-"]
            row += [" / ".join(map(str, printed[structure][metric]))]
            rows.append(row)
    header = ["", "metric", "MSE", "BCE", "AnyLoss", "of these tied"]
    if published is not None:
        header += ["published, same sets"]
    return markdown([*header, "printed, 102 sets"], rows)


def sign_tests(found, printed, against=("MSE", "BCE")):
    """Tables 15 and 16: AnyLoss better / alike / worse, by rope."""
    rows = []
    for structure in found:
        for metric in AIMS:
            scores, _ = found[structure][metric]
            for k, other in enumerate(against):
                row = [structure, metric, other]
                for rope in (0.01, 0.05):
                    row.append(
                        three(judge_many(scores["AnyLoss"], scores[other], rope))
                    )
                    row.append(three(printed[structure][rope][metric][k]))
                rows.append(row)
    header = ["", "metric", "against", "rope 0.01", "printed"]
    return markdown([*header, "rope 0.05", "printed"], rows)


def differences(found, shares):
    """Table 4: AnyLoss less MSE and less BCE by imbalance, and as printed."""
    rows = []
    for structure in found:
        for metric in MAIN:
            scores, _ = found[structure][metric]
            groups = group_of(shares[scores.index])
            for k, group in enumerate(paper.GROUPS):
                own = scores[groups == k]
                if own.empty:
                    continue
                row = [structure, metric, group, len(own)]
                for j, other in enumerate(("MSE", "BCE")):
                    less = own["AnyLoss"] - own[other]
                    printed = paper.DIFFERENCES[structure][metric][k][j]
                    row += [f"{less.mean():+.3f} ± {less.std(ddof=0):.3f}"]
                    row += [figure(printed, sign=True)]
                rows.append(row)
    header = ["", "metric", "imbalance", "sets"]
    return markdown([*header, "less MSE", "printed", "less BCE", "printed"], rows)


def beside(scores, name, rope=0.01):
    """AnyLoss against a method, on the sets that have both."""
    own = scores[[name, "AnyLoss"]].dropna()
    return judge_many(own["AnyLoss"], own[name], rope)


def against_all(found, structure):
    """Every method on every metric: mean, and what the sign test says of AnyLoss."""
    names = list(
        dict.fromkeys(
            name for metric in AIMS for name in found[structure][metric][0].columns
        )
    )
    mean = found[structure]["F1"][0].mean()
    names.sort(key=lambda name: -mean.get(name, 0))
    rows = []
    for name in names:
        row = [f"**{name}**" if name == "AnyLoss" else name]
        for metric in AIMS:
            scores, _ = found[structure][metric]
            if name not in scores:
                row += ["-", ""]
                continue
            row.append(figure(scores[name].mean()))
            row.append("" if name == "AnyLoss" else three(beside(scores, name)))
        rows.append(row)
    header = [""]
    for metric in AIMS:
        header += [metric, "AnyLoss better / alike / worse"]
    return markdown(header, rows)


def four_published(ours):
    """Table 17: our scores and the published ones on the imbalanced sets."""
    rows, worst = [], {}
    for paper_id, name in paper.FOUR.items():
        own = ours[ours["paper_id"] == paper_id]
        if not len(own):
            continue
        wide = own.pivot_table(index="metric", columns="loss", values="score")
        printed = paper.FOUR_SCORES["SLP"][paper_id]
        for metric, theirs in zip(AIMS, printed, strict=True):
            known = dict(zip(paper.FOUR_LOSSES, theirs, strict=True))
            cells = []
            for loss in RATES:
                mine = wide.loc[metric, loss]
                same = abs(mine - known[loss]) < 5e-6
                cells.append("same" if same else f"{mine:.4f} ({known[loss]:.4f})")
                worst[loss] = max(worst.get(loss, 0), abs(mine - known[loss]))
            rows.append([name, metric, *cells])
    rows.append(["largest difference", "", *(f"{worst[x]:.6f}" for x in RATES)])
    return markdown(["set", "metric", *RATES], rows)


def four_resampled(table, ours):
    """Table 7: the rate with the best F1 on the test folds, as it was done."""
    rows = []
    for paper_id, name in paper.FOUR.items():
        own = table[(table["paper_id"] == paper_id) & table["share"].notna()]
        if not len(own):
            continue
        best = {}
        for method in ("SMOTE", "under"):
            part = own[own["method"] == method]
            part = part.assign(**{m: score(part["test"], m) for m in METRICS})
            means = part.groupby("share")[list(METRICS)].mean()
            best[method] = means.loc[means["F1"].idxmax()]
        mine = ours[ours["paper_id"] == paper_id]
        mine = mine.pivot_table(index="metric", columns="loss", values="score")
        for metric, printed in paper.RESAMPLED[paper_id].items():
            cells = [
                best["SMOTE"][metric],
                best["under"][metric],
                mine.loc[metric, f"L_{metric}"],
            ]
            row = [name, metric]
            for cell, known in zip(cells, printed, strict=True):
                row += [figure(cell), figure(known)]
            rows.append(row)
    header = ["set", "metric", "BCE + SMOTE", "printed", "BCE + under", "printed"]
    return markdown([*header, "AnyLoss", "printed"], rows)


def four_honest(table):
    """Tables 6 and 18 in their honest form, with the baselines, on the same sets."""
    rows, names = [], None
    for paper_id, title in paper.FOUR.items():
        own = table[table["paper_id"] == paper_id]
        for structure, part in own.groupby("structure", sort=False):
            scores = {metric: chosen(part, metric).iloc[0] for metric in AIMS}
            names = names or [
                name
                for name in dict.fromkeys(part["method"])
                if name not in TRIO  # These come first.
            ]
            printed = paper.FOUR_SCORES[structure][paper_id]
            for metric, theirs in zip(AIMS, printed, strict=True):
                known = dict(zip(paper.FOUR_LOSSES, theirs, strict=True))
                row = [title, structure, metric]
                for name, loss in zip(TRIO, (f"L_{metric}", "BCE", "MSE"), strict=True):
                    mine = scores[metric].get(name, np.nan)
                    row.append(f"{figure(mine)} ({figure(known[loss])})")
                row += [figure(scores[metric].get(name, np.nan)) for name in names]
                rows.append(row)
    header = ["set", "", "metric", *(f"{name} (printed)" for name in TRIO)]
    return markdown([*header, *(names or [])], rows)


def L_means(table):
    """Mean score over sets by dtype, metric, learning rate and L, in long form."""
    parts = []
    for metric, own in table.groupby("aim"):
        own = own.assign(
            score=score(own["test"], metric),
            collapsed=[is_collapsed(matrix) for matrix in own["test"]],
        )
        keys = ["dtype", "aim", "lr", "L", "set", "paper_id"]
        parts.append(own.groupby(keys, as_index=False)[["score", "collapsed"]].mean())
    return pd.concat(parts, ignore_index=True)


def L_by_rate(means):
    """Mean score (and share of collapsed fits) of each L."""
    own = means[~means["paper_id"].str.startswith("four")]
    Ls = sorted(own["L"].unique())
    rows = []
    for (metric, lr, dtype), part in own.groupby(["aim", "lr", "dtype"]):
        by_L = part.groupby("L")[["score", "collapsed"]].mean()
        cells = [f"{s:.3f} ({100 * c:.0f})" for s, c in by_L.to_numpy()]
        rows.append([metric, f"{lr:g}", dtype, *bold(cells, {by_L["score"].argmax()})])
    return markdown(["metric", "lr", "", *(f"L {L}" for L in Ls)], rows)


def L_wins(means):
    """Table 13: on how many sets each of the paper's five L is best, ties for all."""
    own = means[~means["paper_id"].str.startswith("four") & means["L"].isin(paper.LS)]
    rows = []
    for (metric, lr, dtype), part in own.groupby(["aim", "lr", "dtype"]):
        wide = part.pivot(index="set", columns="L", values="score").round(9)
        counts = wide.eq(wide.max(axis=1), axis=0).sum()
        at = {int(np.argmax(counts))}
        rows.append([metric, f"{lr:g}", dtype, *bold(list(counts), at)])
    for metric, counts in paper.L_WINS.items():
        row = bold(list(counts), {int(np.argmax(counts))})
        rows.append([metric, "", "printed, 102 sets", *row])
    return markdown(["metric", "lr", "", *(f"L {L}" for L in paper.LS)], rows)


def L_of_four(means):
    """Table 12: the paper's five L on the imbalanced sets."""
    own = means[means["L"].isin(paper.LS) & (means["dtype"] == "float64")]
    rows = []
    for paper_id, name in paper.FOUR.items():
        for metric in MAIN:
            part = own[(own["paper_id"] == paper_id) & (own["aim"] == metric)]
            for lr, cells in part.groupby("lr"):
                values = cells.sort_values("L")["score"].to_numpy()
                row = bold([figure(v) for v in values], {int(values.argmax())})
                rows.append([name, metric, f"{lr:g}", *row])
            printed = paper.L_SCORES[paper_id][metric]
            row = bold([figure(v) for v in printed], {int(np.argmax(printed))})
            rows.append([name, metric, "printed", *row])
    return markdown(["set", "metric", "lr", *(f"L {L}" for L in paper.LS)], rows)


def times(table):
    """Table 8: time of a fit relative to cross-entropy."""
    rows = []
    for structure in ("SLP", "MLP"):
        for paper_id, name in paper.FOUR.items():
            own = table[
                (table["paper_id"] == paper_id) & (table["structure"] == structure)
            ]
            if not len(own):
                continue
            ratio = own.set_index("method")["ratio"]
            of = {
                kind: ratio[ratio.index.str.startswith(kind)] for kind in ("S_", "L_")
            }
            printed = paper.TIMES[structure][paper_id]
            row = [structure, name]
            for mine, known in zip(
                (ratio["MSE"], of["S_"].mean(), of["L_"].mean()), printed, strict=True
            ):
                row += [figure(mine, 2), figure(known, 2)]
            rows.append([*row, f"{of['L_'].min():.2f} to {of['L_'].max():.2f}"])
    header = ["", "set", "MSE", "printed", "SOL, mean", "printed", "AnyLoss, mean"]
    return markdown([*header, "printed", "AnyLoss, range"], rows)


def achieved(table):
    """Table 9: share of the fall in loss by epoch."""
    rows = []
    for paper_id, name in paper.FOUR.items():
        own = table[(table["paper_id"] == paper_id) & table["achieved"].notna()]
        if not len(own):
            continue
        shares = {row.method: np.array(row.achieved) for row in own.itertuples()}
        of_L = np.mean([v for k, v in shares.items() if k.startswith("L_")], axis=0)
        lines = {"BCE": shares["BCE"], "AnyLoss, mean": of_L}
        for (loss, mine), known in zip(
            lines.items(), paper.ACHIEVED[paper_id], strict=True
        ):
            rows.append([name, loss, *(figure(v) for v in mine)])
            rows.append([name, f"{loss}, printed", *(figure(v) for v in known)])
        rows += [
            [name, loss, *(figure(v) for v in mine)]
            for loss, mine in shares.items()
            if loss != "BCE"
        ]
    return markdown(["set", "loss", *(f"epoch {e}" for e in paper.EPOCHS)], rows)
