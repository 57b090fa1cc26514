"""AnyLossClassifierCV: steps, values of L and widths tried in one call.

All candidates and folds are trained in stacks; their decisions on rows left out are
pooled, and the networks of the best candidates decide together. The pictures show what
was tried, and what another threshold would have done.
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
print(f"\nbest alone: {search.best_params_}, F1 {search.best_score_:.3f} out of fold")
print(f"the best five together, on new rows: {search.score(X_test, y_test):.3f}")
plain = AnyLossClassifier("f1", random_state=0).fit(X, y)
print(f"AnyLossClassifier with its defaults:  {plain.score(X_test, y_test):.3f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
SettingsDisplay.from_estimator(search, ax=left)
ThresholdDisplay.from_estimator(search, ax=right)
left.set_title("What was tried")
right.set_title("The ensemble at other thresholds")

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results")
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "tunes_itself.png", dpi=110)
print(f"Picture: {folder / 'tunes_itself.png'}")
