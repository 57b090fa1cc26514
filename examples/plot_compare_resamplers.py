"""
Compare with resamplers
=======================

Training on G-mean beside imbalanced-learn's resamplers, for one network: only the
samples or the loss differ. Resampling happens within the folds, on training samples.
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
comparison.plot()
plt.show()
