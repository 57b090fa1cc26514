"""Compare training on the metric with imbalanced-learn's resamplers, from Python.

Prints the table and the verdict, and saves a figure of the scores of all folds.
"""

import sys
from pathlib import Path

from sklearn.datasets import make_classification

from sk_anyloss.compare import compare

X, y = make_classification(
    400, 8, n_informative=4, weights=[0.9], flip_y=0.05, random_state=0
)
# The same network every time; only the samples or the loss differ.
methods = ["anyloss", "bce", "bce_smote", "bce_adasyn", "bce_over", "bce_under"]
comparison = compare(X, y, "gmean", methods=methods, folds=5, name="generated")
print(comparison)

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results")
folder.mkdir(parents=True, exist_ok=True)
comparison.plot().savefig(folder / "compare_resamplers.png", dpi=120, facecolor="white")
