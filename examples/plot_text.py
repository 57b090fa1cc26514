"""
A rare topic in texts
=====================

Which descriptions of functions are about signal processing? The texts are those that
NumPy, SciPy and PyTorch ship with their functions, and six in a hundred of them are
from ``scipy.signal``. A bag of embeddings, which averages a learned vector for each
word, is trained for F1 with :class:`sk_anyloss.AnyLossNet`, and on cross-entropy from
the same start. Most of what separates the two is the threshold: once that of the
second is tuned as well, they are about level.
"""

import re
from collections import Counter
from importlib import import_module
from inspect import getdoc, getmembers

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.model_selection import train_test_split
from torch import nn

from sk_anyloss import AnyLossNet, metric_score
from sk_anyloss.losses import BCE
from sk_anyloss.metrics.tuning import best_threshold

# %%
# A text is the part of a docstring before the list of parameters. A function that is in
# two packages counts once.
PACKAGES = """
    numpy numpy.linalg numpy.fft numpy.random numpy.ma
    scipy.signal scipy.signal.windows scipy.fft scipy.integrate scipy.interpolate
    scipy.linalg scipy.ndimage scipy.optimize scipy.sparse scipy.sparse.linalg
    scipy.spatial.distance scipy.special scipy.stats scipy.stats.mstats
    torch torch.nn torch.nn.functional torch.linalg torch.distributions
"""
topics = {}
for package in PACKAGES.split():
    for name, function in getmembers(import_module(package), callable):
        text = re.split(r"\n(Parameters|Args:|Returns)\b", getdoc(function) or "")[0]
        if text and not name.startswith("_"):
            topics.setdefault(text, package.startswith("scipy.signal"))
texts = [re.findall(r"[a-z]{3,}", text.lower()) for text in topics]
y = np.array(list(topics.values())).astype(int)
train, test = train_test_split(
    np.arange(len(y)), test_size=0.5, stratify=y, random_state=0
)
print(f"{len(y)} texts, {y.sum()} of them about signal processing")

# %%
# A sample has the numbers of the first 80 words of a text, padded with zeros. Words in
# fewer than three of the training texts are left out.
counts = Counter(word for i in train for word in sorted(set(texts[i])))
words = [word for word, count in counts.items() if count >= 3]
number = {word: k for k, word in enumerate(words, start=1)}
X = np.zeros((len(texts), 80), dtype=np.int64)
for row, text in zip(X, texts, strict=True):
    known = [number[word] for word in text if word in number][:80]
    row[: len(known)] = known


# %%
# The net takes any module, and any input that the module takes.
def make_module():
    """A vector for each word, their mean, and a logit."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.EmbeddingBag(len(words) + 1, 16, padding_idx=0), nn.Linear(16, 1)
    )


settings = {
    "metric": "f1",
    "max_epochs": 16,
    "batch_size": 64,
    "optimizer__weight_decay": 1e-3,  # There are more words than texts to learn from.
    "random_state": 0,
}
nets = {
    "AnyLossNet": AnyLossNet(make_module(), **settings),
    # With warm_up, the rival starts from the same output bias, too.
    "cross-entropy": AnyLossNet(make_module(), criterion=BCE, warm_up=0.75, **settings),
}
for name, net in nets.items():
    net.fit(X[train], y[train])
    print(f"{name}: F1 {net.score(X[test], y[test]):.3f}")
net = nets["cross-entropy"]
cut, _ = best_threshold("f1", net.logits(X[train]), y[train])
tuned = (net.logits(X[test]) > cut).astype(int)
tuned = metric_score(y[test], tuned, metric="f1")
print(f"cross-entropy, threshold tuned on the training texts: F1 {tuned:.3f}")

# %%
# F1 over the threshold, on texts that were not trained on; dots at 0.5. Both curves
# reach the same height: what training for F1 changes here is where the best threshold
# lies, closer to the 0.5 at which the net decides. On the right, the words with the
# highest logits as texts of one word, among words in at least 15 texts.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
thresholds = np.linspace(0.01, 0.99, 99)
for name, net in nets.items():
    probability = net.predict_proba(X[test])[:, 1]
    scores = [metric_score(y[test], probability > t, metric="f1") for t in thresholds]
    (line,) = left.plot(thresholds, scores, label=name)
    left.plot(0.5, scores[49], "o", color=line.get_color())
left.set(xlabel="threshold", ylabel="F1 on test samples", ylim=(0, 1))
left.legend(loc="upper right")
single = np.zeros((len(words), 80), dtype=np.int64)
single[:, 0] = np.arange(1, len(words) + 1)
logits = nets["AnyLossNet"].logits(single)
logits[[counts[word] < 15 for word in words]] = -np.inf
top = logits.argsort()[-12:]
right.barh([words[k] for k in top], logits[top], color="C0")
right.set(xlabel="logit of the word alone")
plt.show()
