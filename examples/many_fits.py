"""Many fits at once: which L is best, on ten folds, for two networks.

Trains 220 networks in two stacks, one for each width: ten folds times eleven values of
L. Prints the time, and saves a figure of the F1 by L with its standard error.
"""

import sys
import time
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from sk_anyloss import AnyLossClassifier, fit_stack

warnings.simplefilter("ignore", ConvergenceWarning)  # Expected for extreme L.
X, y = make_classification(
    1_000, 10, n_informative=4, weights=[0.9], flip_y=0.03, random_state=1
)
folds = list(StratifiedKFold(10, shuffle=True, random_state=0).split(X, y))
Ls = np.geomspace(1, 110, 11)

figure, panel = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for hidden, color in (((2,), "#c1440e"), ((32,), "#1f5a7a")):
    models = [
        AnyLossClassifier("f1", hidden, L, random_state=0) for L in Ls for _ in folds
    ]
    start = time.perf_counter()
    fit_stack(models, X, y, rows=[train for train, _ in folds] * len(Ls))
    seconds = time.perf_counter() - start
    print(f"hidden {hidden}: {len(models)} networks in {seconds:.1f} s")
    tests = [test for _, test in folds] * len(Ls)
    scores = [
        model.score(X[test], y[test]) for model, test in zip(models, tests, strict=True)
    ]
    table = np.reshape(scores, (len(Ls), len(folds)))
    mean, error = table.mean(axis=1), table.std(axis=1) / np.sqrt(len(folds))
    panel.plot(Ls, mean, "o-", ms=4, color=color, label=f"hidden {hidden}")
    panel.fill_between(Ls, mean - error, mean + error, color=color, alpha=0.2)
panel.axvline(73, color="grey", lw=0.8, ls=":")
panel.set(
    xscale="log",
    xlabel="L (dotted: the paper's 73)",
    ylabel="F1, mean and standard error of ten folds",
    title="How steep should the amplifier be?",
)
panel.set_xticks([1, 3, 10, 30, 100], labels=["1", "3", "10", "30", "100"])
panel.legend(frameon=False)

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results")
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "many_fits.png", dpi=110)
print(f"Figure: {folder / 'many_fits.png'}")
