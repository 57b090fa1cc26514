"""
Three classes, and ordered classes
==================================

Upper row: three classes, of which one is frequent, and one network trained for two
metrics. Training for accuracy gives up the rare classes where they overlap with the
frequent one; training for macro F1 does not. Lower row: five ordered grades.
Cross-entropy prefers the frequent grades in the middle; a network that is trained for
quadratic weighted kappa finds many more of the rare grades at both ends, at the price
of some accuracy.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from sk_anyloss import AnyLossClassifier, metric_score

COLOURS = ["#4a6a8a", "#c1440e", "#d9a400"]
rng = np.random.default_rng(0)

# Three classes in a plane: 85 %, 10 % and 5 % of the samples.
y = rng.choice(3, 1500, p=[0.85, 0.10, 0.05])
centres = np.array([[0.0, 0.0], [1.6, 0.6], [-0.4, 1.7]])
X = centres[y] + rng.normal(size=(1500, 2)) * np.array([1.0, 0.7, 0.6])[y, None]

figure, panels = plt.subplots(2, 2, figsize=(9.5, 9.2), layout="constrained")
grid = np.stack(np.meshgrid(*[np.linspace(-3.2, 3.6, 300)] * 2), axis=-1)
print(f"{'trained for':<16}{'accuracy':>9}{'macro F1':>10}   recall of each class")
for panel, metric in zip(panels[0], ["accuracy", "f1_macro"], strict=True):
    model = AnyLossClassifier(
        metric, hidden=(16,), L="auto", activation="relu", random_state=0
    )
    predicted = model.fit(X, y).predict(X)
    scores = [metric_score(y, predicted, metric=m) for m in ("accuracy", "f1_macro")]
    recalls = [metric_score(y, predicted, metric=f"recall[{c}]") for c in range(3)]
    print(
        f"{metric:<16}{scores[0]:>9.3f}{scores[1]:>10.3f}   "
        + ", ".join(f"{recall:.2f}" for recall in recalls)
    )
    regions = model.predict(grid.reshape(-1, 2)).reshape(300, 300)
    panel.pcolormesh(
        *grid.transpose(2, 0, 1), regions, cmap=ListedColormap(COLOURS), alpha=0.25,
        vmin=0, vmax=2, rasterized=True,
    )  # fmt: skip
    for c in range(3):
        panel.scatter(*X[y == c].T, s=6, color=COLOURS[c], label=f"class {c}")
    panel.set_title(
        f"trained for {metric}\naccuracy {scores[0]:.3f}, macro F1 {scores[1]:.3f}"
    )
    panel.set(xlim=(-3.2, 3.6), ylim=(-3.2, 3.6), xticks=[], yticks=[])
panels[0, 0].legend(markerscale=3, loc="lower right")

# Five grades of a noisy quantity; the outer ones are rare.
X = rng.normal(size=(3000, 4))
quantity = X @ [1.0, 0.7, 0.4, 0.2] + rng.normal(size=3000) * 0.9
grade = np.digitize(quantity, [-2.2, -0.8, 0.8, 2.2])
train, test = np.arange(1500), np.arange(1500, 3000)
is_outer = np.isin(grade[test], [0, 4])
print(f"\n{'trained on':<16}{'kappa':>9}{'accuracy':>10}   outer grades found")
trained = {
    "cross-entropy": {"metric": "kappa_quadratic", "loss": "cross_entropy"},
    "kappa_quadratic": {"metric": "kappa_quadratic", "L": "auto"},
}
for panel, (name, params) in zip(panels[1], trained.items(), strict=True):
    model = AnyLossClassifier(hidden=(16,), activation="relu", random_state=0, **params)
    model.fit(X[train], grade[train])
    predicted = model.predict(X[test])
    M = np.zeros((5, 5), dtype=int)
    np.add.at(M, (grade[test], predicted), 1)
    kappa = model.score(X[test], grade[test])
    is_right = predicted == grade[test]
    found = f"{is_right[is_outer].sum()} of {is_outer.sum()}"
    print(f"{name:<16}{kappa:>9.3f}{is_right.mean():>10.3f}   {found}")
    panel.imshow(np.sqrt(M), cmap="Blues")
    for c, k in np.ndindex(5, 5):
        colour = "white" if M[c, k] > 0.4 * M.max() else "black"
        panel.text(k, c, M[c, k], ha="center", va="center", color=colour)
    panel.set_title(
        f"trained for {name}: kappa {kappa:.3f}\n{found} outer grades found"
    )
    panel.set(xlabel="predicted grade", ylabel="true grade")

plt.show()
