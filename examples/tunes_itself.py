"""AnyLossClassifierCV: candidates cross-validated in one call.

All candidates and folds are trained in stacks; their out-of-fold predictions are
pooled, and the networks of the best candidates are averaged. The figure shows the
scores of all candidates, and those of the ensemble at other thresholds.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from sk_anyloss import AnyLossClassifier, AnyLossClassifierCV
from sk_anyloss.search.displays import SettingsDisplay, ThresholdDisplay

X, y = make_classification(
    1200, 12, n_informative=5, n_clusters_per_class=3, weights=[0.9], flip_y=0.02,
    random_state=3,
)  # fmt: skip
X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)

search = AnyLossClassifierCV("f1", random_state=0, verbose=1).fit(X, y)
print(f"\nbest candidate: {search.best_params_}")
print(f"out-of-fold F1 of the best candidate:     {search.best_score_:.3f}")
print(f"test F1 of AnyLossClassifierCV:           {search.score(X_test, y_test):.3f}")
default = AnyLossClassifier("f1", random_state=0).fit(X, y)
print(f"test F1 of AnyLossClassifier, defaults:   {default.score(X_test, y_test):.3f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
SettingsDisplay.from_estimator(search, ax=left)
ThresholdDisplay.from_estimator(search, ax=right)
left.set_title("Candidates")
right.set_title("The ensemble at other thresholds")

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results")
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "tunes_itself.png", dpi=110)
print(f"Figure: {folder / 'tunes_itself.png'}")
