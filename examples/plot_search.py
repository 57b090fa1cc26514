"""
The search and its displays
===========================

``AnyLossClassifierCV`` cross-validates candidates in one call. Networks are trained in
stacks over candidates and folds, out-of-fold predictions are pooled, and the best
candidates are combined by a weighted mean. The pictures show the scores and weights of
all candidates, and the score of the ensemble at other thresholds.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from sk_anyloss import AnyLossClassifier, AnyLossClassifierCV
from sk_anyloss.search.displays import ThresholdDisplay, WeightsDisplay

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

figure, (top, bottom) = plt.subplots(2, 1, figsize=(7.5, 7.5), layout="constrained")
WeightsDisplay.from_estimator(search, ax=top)
ThresholdDisplay.from_estimator(search, ax=bottom)
top.set_title("Candidates and their weights")
bottom.set_title("The ensemble at other thresholds")

plt.show()
