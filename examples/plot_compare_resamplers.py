"""
Compare with resamplers
=======================

The same network, trained for G-mean or on cross-entropy with imbalanced-learn's
resamplers: only the loss or the training samples differ. Resampling happens within the
folds, on training samples only.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification

from sk_anyloss.compare import compare

X, y = make_classification(
    400, 8, n_informative=4, weights=[0.9], flip_y=0.05, random_state=0
)
methods = ["anyloss", "bce", "bce_smote", "bce_adasyn", "bce_over", "bce_under"]
comparison = compare(X, y, "gmean", methods=methods, folds=5, name="generated")
print(comparison)

# %%
# A dot is the score on a fold, a bar the mean.
scores = comparison.scores()
scores = scores[scores.mean().sort_values().index]
_, panel = plt.subplots(figsize=(6.6, 3.4), layout="constrained")
for i, name in enumerate(scores):
    colour = "#c1440e" if name == "anyloss" else "#4a6a8a"
    panel.plot(scores[name], [i] * len(scores), "o", color=colour, alpha=0.5)
    panel.plot(scores[name].mean(), i, "|", ms=22, mew=2.5, color=colour)
panel.set_yticks(range(scores.shape[1]), scores.columns)
panel.set(xlabel="G-mean on a fold")
plt.show()
