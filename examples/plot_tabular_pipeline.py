"""
A table with text, dates and missing values
===========================================

``skrub.tabular_pipeline`` puts encoders for categories, text and dates, and an imputer,
before any estimator, here before the search. Everything is learned within the folds of
the cross-validation.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import skrub
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from sk_anyloss import AnyLossClassifierCV, metric_score

rng = np.random.default_rng(0)
n = 400
orders = pd.DataFrame(
    {
        "ordered": np.datetime64("2026-01-01") + rng.integers(0, 300, n),
        "country": rng.choice(["DE", "FR", "IT", "PL"], n),
        "message": rng.choice(["please leave at the door", "urgent", "call me", ""], n),
        "amount": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(4, 1, n)),
    }
)  # fmt: skip
risk = (
    1.2 * (orders["country"] == "IT")
    + 1.5 * (orders["message"] == "urgent")
    + 0.8 * (orders["amount"].fillna(50) > 100)
    + rng.normal(0, 0.5, n)
)
returned = np.where(risk > risk.quantile(0.85), "returned", "kept")

candidates = [{"hidden": (8,)}, {"hidden": (8,), "loss": "bce"}]
search = AnyLossClassifierCV(
    "f1", candidates=candidates, cv=3, max_epochs=20, random_state=0
)
model = skrub.tabular_pipeline(search)
folds = StratifiedKFold(3, shuffle=True, random_state=0)
predicted = cross_val_predict(model, orders, returned, cv=folds)
f1 = metric_score(returned, predicted, metric="f1", pos_label="returned")
print(f"F1 of 'returned', cross-validated: {f1:.2f}")

ConfusionMatrixDisplay.from_predictions(
    returned, predicted, cmap="Oranges", colorbar=False
)
plt.title(f"cross-validated: F1 {f1:.2f}")
plt.show()

# %%
# The pipeline, with the parameters of each step:
model
