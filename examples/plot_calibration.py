"""
Calibration after training on a metric
======================================

The scores of a network that was trained for F1 are not probabilities.
``CalibratedClassifierCV`` maps them to probabilities, which it learns on folds. The
calibrated model decides at a probability of 0.5, no longer where the network does. Its
threshold can be tuned again, which does not raise F1 on these data.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.datasets import make_classification
from sklearn.metrics import brier_score_loss, f1_score
from sklearn.model_selection import train_test_split

from sk_anyloss import AnyLossClassifier, TunedDecisionClassifier

X, y = make_classification(
    1500, 8, n_informative=4, weights=[0.8], class_sep=1.5, flip_y=0.1, random_state=0
)
X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
network = AnyLossClassifier("f1", L="auto", max_epochs=30, random_state=0)
calibrated = CalibratedClassifierCV(network, method="isotonic", cv=3)
models = {
    "trained for F1": network,
    "calibrated": calibrated,
    "calibrated, tuned for F1": TunedDecisionClassifier(
        calibrated, "f1", cv=3, random_state=0
    ),
}
_, panel = plt.subplots(figsize=(5.2, 4.6), layout="constrained")
for name, model in models.items():
    model.fit(X, y)
    proba = model.predict_proba(X_test)[:, 1]
    f1 = f1_score(y_test, model.predict(X_test))
    print(f"{name:<25} Brier {brier_score_loss(y_test, proba):.3f}   F1 {f1:.3f}")
    if "tuned" not in name:  # Tuning changes the decision, not the probabilities.
        CalibrationDisplay.from_predictions(
            y_test, proba, n_bins=10, name=name, ax=panel
        )
panel.set(xlabel="score", ylabel="fraction of positives")
plt.show()
