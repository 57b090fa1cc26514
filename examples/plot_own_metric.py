"""
A metric of your own
====================

A team can check only a limited number of alarms: at most one sample in twenty. The
metric is the recall, with a penalty for alarms above that limit. Any function of the
four counts will do, as long as plain arithmetic makes it work on tensors; ``ratio``
divides safely where a sum of counts is 0.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from sk_anyloss import AnyLossClassifier
from sk_anyloss.metrics import ratio

LIMIT = 0.05


def recall_within_limit(tn, fp, fn, tp):
    """Recall minus ten times the fraction of alarms above the limit."""
    excess = ratio(tp + fp, tn + fp + fn + tp) - LIMIT
    excess = (excess + abs(excess)) / 2  # max(excess, 0) with plain arithmetic.
    return ratio(tp, tp + fn) - 10 * excess


X, y = make_classification(
    3000, 8, n_informative=4, weights=[0.92], flip_y=0.02, random_state=3
)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

figure, panel = plt.subplots(figsize=(5.6, 4), layout="constrained")
for metric in (recall_within_limit, "f1", "recall", "precision"):
    model = AnyLossClassifier(metric, (8,), L=20, max_epochs=40, random_state=0)
    y_pred = model.fit(X, y).predict(X_test)
    alarms, recall = y_pred.mean(), y_pred[y_test == 1].mean()
    name = metric if isinstance(metric, str) else metric.__name__
    print(f"{name:<20} alarms {alarms:.1%}   recall {recall:.2f}")
    panel.plot(alarms, recall, "o", ms=9, label=name)
panel.axvline(LIMIT, color="0.4", ls=":", lw=1, label="limit")
panel.set(xlabel="fraction of alarms", ylabel="recall", ylim=(0, 1.05))
panel.set(xscale="log", xlim=(0.004, 1.2))
panel.set_xticks([0.01, 0.05, 0.2, 1], labels=["1 %", "5 %", "20 %", "100 %"])
panel.minorticks_off()
panel.legend(loc="lower right")
plt.show()
