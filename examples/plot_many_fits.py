"""
Many fits at once to choose L
=============================

How steep should the amplifier be? ``fit_stack`` trains 110 networks in two stacks, one
for each width: five folds times eleven values of L. The picture shows the mean F1 over
the folds and its standard error: the narrow network needs a large L, the wide one a
small L.
"""

import time
import warnings

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
folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
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
    ylabel="F1, mean and standard error of five folds",
    title="How steep should the amplifier be?",
)
panel.set_xticks([1, 3, 10, 30, 100], labels=["1", "3", "10", "30", "100"])
panel.legend(frameon=False)

plt.show()
