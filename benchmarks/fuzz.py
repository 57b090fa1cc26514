"""Random losses and random fits: finite numbers or a clear error, never a NaN.

    python -m benchmarks.fuzz [--losses 10000] [--fits 3000] [--seed 0]

A loss draws metric, step, L, thresholds, dtype, size, logits, labels and weights; its
value and gradient must be finite. A fit draws all of that and the data: dtypes,
magnitudes from 1e-300 to 1e300, constant columns, sparse samples, class and sample
weights, networks, optimisers and learning rates; its scores must be finite, or it must
end with a ``ValueError`` that says what is wrong. Prints how many ended in which way,
and every other end with the seed that repeats it.
"""

import argparse
import sys
import warnings
from collections import Counter

import numpy as np
import scipy.sparse
import torch
from tqdm import tqdm

from sk_anyloss import AnyLoss, AnyLossClassifier
from sk_anyloss.losses import get_loss, loss_names
from sk_anyloss.losses.steps import get_step, step_names
from sk_anyloss.metrics import curve_names, metric_names

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
GOALS = [*metric_names(), *curve_names(), "f0.5", "precision@recall>=0.8"]
#: What a user is told in a sentence.
TOLD = (ValueError, TypeError)


def pick(rng, choices):
    """One of some things of any type."""
    return choices[rng.integers(len(choices))]


def draw_weight(rng, n):
    """Weights as people have them, and as nobody should."""
    kind = pick(rng, ["none", "none", "plain", "zeros", "huge", "tiny", "spread"])
    plain = rng.uniform(0.5, 2, n)
    return {
        "none": None,
        "plain": plain,
        "zeros": plain * (rng.random(n) < 0.7),
        "huge": plain * 1e30,
        "tiny": plain * 1e-30,
        "spread": 10.0 ** rng.uniform(-30, 30, n),
    }[kind]


def draw_goal(rng, loss):
    """A metric that a loss can be trained for."""
    kinds = {"pairs": curve_names(), "surrogate_fbeta": ["f1", "f0.5", "f2"]}
    return pick(rng, kinds.get(loss, GOALS))


def draw_step(rng):
    """A step with a steepness that may be far from sane."""
    name = pick(rng, step_names())
    params = {"L": 10.0 ** rng.uniform(-1, 3.5)} if name == "sigmoid" else {}
    return get_step(name, **params)


def try_loss(seed):
    """How a random loss ends."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 200))
    dtype = pick(rng, DTYPES)
    scale = min(10.0 ** rng.uniform(-3, 4), 3e4)
    logits = torch.tensor(rng.normal(size=n) * scale).to(dtype).requires_grad_()
    y = torch.tensor((rng.random(n) < pick(rng, [0, 0.05, 0.3, 1])).astype(int))
    weight = draw_weight(rng, n)
    weight = None if weight is None else torch.tensor(weight)
    step = draw_step(rng)
    threshold = pick(rng, [0.5, 0.5, float(rng.uniform(0.01, 0.99)), [0.2, 0.5, 0.8]])
    name = pick(rng, [None, None, None, *loss_names()])
    goal = draw_goal(rng, name)
    try:
        if name is None:
            loss = AnyLoss(goal, step, threshold, pick(rng, [0.0, 0.9]))
        else:
            loss = get_loss(name, goal, step, threshold)
            loss.prepare(7.0, 3.0)
        value = loss(logits, y, weight)
        value.backward()
    except TOLD as error:
        return "told", str(error)
    finite = bool(torch.isfinite(value)) and bool(torch.isfinite(logits.grad).all())
    return ("finite", "") if finite else ("NaN", f"{loss}, {dtype}, n={n}")


def draw_samples(rng):
    """Samples of any shape and magnitude, with labels."""
    n, d = int(rng.integers(4, 150)), int(rng.integers(1, 8))
    X = rng.normal(size=(n, d))
    y = (X[:, 0] + rng.normal(size=n) > pick(rng, [0, 1, 1.5])).astype(int)
    y[:2] = 0, 1
    dtype = pick(rng, [np.float64, np.float64, np.float32])
    most = 300 if dtype == np.float64 else 37
    if rng.random() < 0.5:
        X *= 10.0 ** rng.uniform(-most, most, d)
    if rng.random() < 0.3:
        X[:, rng.integers(d)] = 10.0 ** rng.uniform(-most, most)
    if rng.random() < 0.2:
        X[rng.integers(n), rng.integers(d)] *= 1e6
    with np.errstate(over="ignore"):
        X = X.astype(dtype)
    if rng.random() < 0.1:
        X = scipy.sparse.csr_array(X)
    return X, y


def draw_classifier(rng, n):
    """An estimator with parameters from sane to wild."""
    name = pick(rng, [None, None, None, *loss_names()])
    goal = draw_goal(rng, name)
    wild = rng.random() < 0.3
    return AnyLossClassifier(
        goal,
        hidden=pick(rng, [(), (2,), (8,), (4, 3)]),
        L=pick(rng, [73, 5, "auto", 10.0 ** rng.uniform(-1, 3.5)]),
        step=pick(rng, ["sigmoid", "sigmoid", *step_names()]),
        loss=name,
        lr=10.0 ** rng.uniform(-1, 4) if wild else 0.01,
        max_epochs=int(rng.integers(1, 15)),
        batch_size=pick(rng, ["auto", 1.0, 1, 3, 16]),
        activation=pick(rng, ["sigmoid", "relu", "tanh", torch.sin]),
        batch_norm=bool(rng.random() < 0.7),
        standardize=bool(rng.random() < 0.8),
        n_bins=pick(rng, [None, None, None, 4]),
        class_weight=pick(rng, [None, None, "balanced", {0: 1e-12, 1: 1e12}]),
        memory=pick(rng, [0, 0, 0.9]),
        optimizer=pick(rng, ["adam", "adam", "sgd", "adamw"]),
        early_stopping=bool(n > 40 and rng.random() < 0.2),
        random_state=0,
    )


def try_fit(seed):
    """How a random fit ends."""
    rng = np.random.default_rng(seed)
    X, y = draw_samples(rng)
    model = draw_classifier(rng, len(y))
    weight = draw_weight(rng, len(y))
    try:
        scores = model.fit(X, y, weight).predict_proba(X)
    except TOLD as error:
        return "told", str(error)
    finite = np.isfinite(scores).all()
    return ("finite", "") if finite else ("NaN", f"{model}, {X.dtype}, {X.shape}")


def run(attempt, n, seed, progress=True):
    """How many of n attempts ended in which way, and those that should not."""
    ends, told, bad = Counter(), Counter(), []
    for i in tqdm(range(n), disable=not progress, desc=attempt.__name__):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                end, text = attempt([seed, i])
            except Exception as error:
                end, text = "bare exception", f"{type(error).__name__}: {error}"
        ends[end] += 1
        if end == "told":
            told[" ".join(text.split()[:7])] += 1
        elif end != "finite":
            bad.append(f"[{seed}, {i}] {end}: {text[:300]}")
    return ends, told, bad


def main(words=None):
    """Print what became of all attempts; the exit code tells whether all is well."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--losses", type=int, default=10_000)
    parser.add_argument("--fits", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    options = parser.parse_args(words)
    torch.set_num_threads(1)
    failed = 0
    for attempt, n in ((try_loss, options.losses), (try_fit, options.fits)):
        ends, told, bad = run(attempt, n, options.seed, not options.quiet)
        counts = ", ".join(f"{end} {count:,}" for end, count in sorted(ends.items()))
        print(f"{attempt.__name__}: {n:,} attempts: {counts}")
        for text, count in told.most_common(12):
            print(f"  {count:>6}  {text} ...")
        for line in bad[:20]:
            print(f"  {line}")
        failed += len(bad)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
