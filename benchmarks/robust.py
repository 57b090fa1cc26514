"""What makes training on a metric robust: measured, each beside the plain training.

    python -m benchmarks.robust --data FOLDER

FOLDER holds one ``.npz`` file a data set, with ``X`` and ``y`` (1 is the positive
class). Compared are batches that are not stratified, a moving average of the confusion
matrix (``memory``), a warm-up on cross-entropy and several starts, for two widths of
the network and two choices of L; then the same on a generated set of 200,000 rows with
one positive in a thousand, trained on one half and scored on the other. A run that is
started again goes on where it was.
"""

import warnings
from contextlib import contextmanager
from unittest import mock

import numpy as np
from tqdm import tqdm

import sk_anyloss.training.feed
from benchmarks.sets import load, parser, run, score, splits
from sk_anyloss import AnyLossClassifier, fit_stack
from sk_anyloss.compare.verdict import judge_many

PLAIN = "plain"
WAYS = {
    PLAIN: {},
    "not stratified": {},
    "memory 0.9": {"memory": 0.9},
    "warm-up, 5 of 100 epochs": {"warm_up": 5},
    "warm-up, 20 of 100 epochs": {"warm_up": 20},
    "warm-up, 50 of 100 epochs": {"warm_up": 50},
    "best of 2 starts": {"n_init": 2},
    "best of 5 starts": {"n_init": 5},
}
SETTINGS = [
    {"hidden": hidden, "L": L} for hidden in ((2,), (32,)) for L in (73, "auto")
]


@contextmanager
def order_of(way):
    """Rows in any order, if that is what is tried."""
    if way != "not stratified":
        yield
        return
    with mock.patch.object(
        sk_anyloss.training.feed,
        "stratified_order",
        lambda y, rng: rng.permutation(len(y)),
    ):
        yield


def name_of(setting):
    """A setting in a word."""
    return ", ".join(f"{key} {value}" for key, value in setting.items())


def run_set(path, options):
    """Mean score of every way and setting on one data set."""
    X, y = load(path)
    folds = splits(X, y, options.folds)
    rows = []
    for setting in SETTINGS:
        for way, params in WAYS.items():
            models = [
                AnyLossClassifier(options.metric, random_state=0, **setting, **params)
                for _ in folds
            ]
            with order_of(way):
                fit_stack(models, X, y, rows=[train for train, _ in folds])
            row = {"setting": name_of(setting), "way": way}
            rows.append({**row, **score(models, X, y, folds)})
    return rows


def report(table, options):
    """A line a way, in each setting."""
    sets = table["set"].nunique()
    print(f"{options.metric}, {sets} sets, {options.folds} folds")
    for setting in map(name_of, SETTINGS):
        rows = table[table["setting"] == setting]
        scores = rows.pivot(index="set", columns="way", values="score")
        collapsed = rows.groupby("way")["collapsed"].sum() / (sets * options.folds)
        print(f"\n{setting:<28}{'mean':>7}{'one class':>11}{'better/alike/worse':>22}")
        for way in WAYS:
            line = f"{way:<28}{scores[way].mean():>7.3f}{collapsed[way]:>11.1%}"
            if way != PLAIN:
                chances = judge_many(scores[way], scores[PLAIN])
                line += f"{' / '.join(f'{chance:.2f}' for chance in chances):>22}"
            print(line)


def rare(metric, seeds=3, n=200_000):
    """One positive in a thousand: every way, with small and with usual batches."""
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.001).astype(int)
    X = rng.normal(size=(n, 10))
    X[y == 1, :3] += 2.0
    half = np.arange(n) % 2 == 0
    print(
        f"\n{metric}, {n:,} rows, {y.sum()} positives, mean and range of {seeds} seeds"
    )
    print(f"{'':<28}{'batch 100':>22}{'batch 500':>22}{'batch 5000':>22}")
    for way, params in tqdm(WAYS.items(), unit="way"):
        warm_up = round(params.get("warm_up", 0) / 10)  # Of 10 epochs, not of 100.
        if not warm_up and "warm_up" in params:
            continue
        cells = []
        for batch_size in (100, 500, 5_000):
            scores = []
            for seed in range(seeds):
                model = AnyLossClassifier(
                    metric, L="auto", batch_size=batch_size, max_epochs=10,
                    random_state=seed, **{**params, "warm_up": warm_up},
                )  # fmt: skip
                with order_of(way), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model.fit(X[half], y[half])
                scores.append(model.score(X[~half], y[~half]))
            low, high = min(scores), max(scores)
            cells.append(f"{np.mean(scores):.3f} ({low:.3f}-{high:.3f})")
        tqdm.write(f"{way:<28}" + "".join(f"{cell:>22}" for cell in cells))


if __name__ == "__main__":
    arguments = parser(__doc__, "results/robust.csv", folds=5, most=1_200)
    arguments.add_argument("--rare-only", action="store_true")
    arguments = arguments.parse_args()
    if not arguments.rare_only:
        report(run(arguments, run_set), arguments)
    rare(arguments.metric)
