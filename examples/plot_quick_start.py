"""
Quick start: F1 in a Pipeline
=============================

The same network in a ``Pipeline``, trained for F1 and on cross-entropy, cross-validated
with five folds; then the loss curve and both confusion matrices. Here both reach the
same F1; how the two compare depends on the data, as the benchmarks show.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_anyloss import AnyLossClassifier
from sk_anyloss.baselines import get_baseline

X, y = make_classification(
    600, 6, n_informative=4, weights=[0.9], class_sep=1.2, random_state=0
)
folds = StratifiedKFold(5, shuffle=True, random_state=0)
models = {
    "trained for F1": AnyLossClassifier("f1", random_state=0),
    "cross-entropy": get_baseline("bce", random_state=0),
}
models = {name: make_pipeline(StandardScaler(), m) for name, m in models.items()}

figure, panels = plt.subplots(1, 3, figsize=(9.5, 3), layout="constrained")
for panel, (name, model) in zip(panels[1:], models.items(), strict=True):
    # Both estimators are scored by their metric, F1.
    scores = cross_val_score(model, X, y, cv=folds)
    print(f"{name:<15} F1 {scores.mean():.3f} +/- {scores.std():.3f}")
    y_pred = cross_val_predict(model, X, y, cv=folds)
    ConfusionMatrixDisplay.from_predictions(
        y,
        y_pred,
        ax=panel,
        colorbar=False,
        cmap="Oranges",
        display_labels=["common", "rare"],
    )
    panel.set_title(f"{name}: F1 {scores.mean():.3f}")

curve = models["trained for F1"].fit(X, y)[-1].loss_curve_
panels[0].plot(range(1, len(curve) + 1), curve, color="#c1440e")
panels[0].set(title="loss curve", xlabel="epoch", ylabel="1 - soft F1", ylim=(0, None))

plt.show()
