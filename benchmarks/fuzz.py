"""Random losses and random fits: finite values or a clear error, never NaN.

    python -m benchmarks.fuzz [--losses 10000] [--fits 3000] [--seed 0]

A loss draws metric, step, L, thresholds, dtype, size, logits, labels and weights; its
value and gradient must be finite. A fit draws all of that and the data: dtypes,
magnitudes from 1e-300 to 1e300, constant features, sparse samples, class and sample
weights, networks, optimisers and learning rates; its probabilities must be finite, or
it must raise a ``ValueError`` or ``TypeError`` that says what is wrong. Prints the
number of each outcome, and the seeds of all unexpected ones.
"""

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np
import scipy.sparse
import torch
from tqdm import tqdm

from sk_anyloss import AnyLoss, AnyLossClassifier
from sk_anyloss.losses import get_loss, loss_names
from sk_anyloss.losses.base import Loss
from sk_anyloss.losses.steps import Step, get_step, step_names
from sk_anyloss.metrics import curve_names, metric_names

T = TypeVar("T")
#: What happened, and the message or the configuration.
Outcome: TypeAlias = tuple[str, str]
Experiment: TypeAlias = Callable[[list[int]], Outcome]

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
METRICS = [*metric_names(), *curve_names(), "f0.5", "precision@recall>=0.8"]
#: Exceptions with which the package rejects invalid input.
REJECTIONS = (ValueError, TypeError)
FINITE, REJECTED, NOT_FINITE = "finite", "rejected", "NaN"
UNEXPECTED = "unexpected exception"


def choice(rng: np.random.Generator, options: Sequence[T]) -> T:
    """One of several objects of any type, which ``rng.choice`` would convert."""
    return options[int(rng.integers(len(options)))]


def draw_weight(rng: np.random.Generator, n: int) -> np.ndarray | None:
    """Sample weights, from ordinary to extreme."""
    kind = choice(rng, ["none", "none", "plain", "zeros", "huge", "tiny", "spread"])
    plain = rng.uniform(0.5, 2, n)
    return {
        "none": None,
        "plain": plain,
        "zeros": plain * (rng.random(n) < 0.7),
        "huge": plain * 1e30,
        "tiny": plain * 1e-30,
        "spread": 10.0 ** rng.uniform(-30, 30, n),
    }[kind]


def draw_metric(rng: np.random.Generator, loss: str | None) -> str:
    """A metric that a loss can be trained for."""
    if loss == "pairs":
        return choice(rng, curve_names())
    return choice(rng, ["f1", "f0.5", "f2"] if loss == "surrogate_fbeta" else METRICS)


def draw_step(rng: np.random.Generator) -> Step:
    """A step, whose L may be far from a useful value."""
    name = choice(rng, step_names())
    params = {"L": 10.0 ** rng.uniform(-1, 3.5)} if name == "sigmoid" else {}
    return get_step(name, **params)


def try_loss(seed: list[int]) -> Outcome:
    """Value and gradient of a random loss."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 200))
    dtype = choice(rng, DTYPES)
    scale = min(10.0 ** rng.uniform(-3, 4), 3e4)
    logits = torch.tensor(rng.normal(size=n) * scale).to(dtype).requires_grad_()
    y = torch.tensor((rng.random(n) < choice(rng, [0, 0.05, 0.3, 1])).astype(int))
    weight = draw_weight(rng, n)
    weights = None if weight is None else torch.tensor(weight)
    step = draw_step(rng)
    thresholds: list[float | list[float]]
    thresholds = [0.5, 0.5, float(rng.uniform(0.01, 0.99)), [0.2, 0.5, 0.8]]
    threshold = choice(rng, thresholds)
    name = choice(rng, [None, None, None, *loss_names()])
    metric = draw_metric(rng, name)
    loss: torch.nn.Module
    try:
        if name is None:
            loss = AnyLoss(metric, step, threshold, choice(rng, [0.0, 0.9]))
        else:
            loss = get_loss(name, metric, step, threshold)
            assert isinstance(loss, Loss)
            loss.prepare(7.0, 3.0)
        value = loss(logits, y, weights)
        (gradient,) = torch.autograd.grad(value, logits)
    except REJECTIONS as error:
        return REJECTED, str(error)
    finite = bool(torch.isfinite(value)) and bool(torch.isfinite(gradient).all())
    return (FINITE, "") if finite else (NOT_FINITE, f"{loss}, {dtype}, n={n}")


def draw_samples(
    rng: np.random.Generator,
) -> tuple[np.ndarray | scipy.sparse.csr_array, np.ndarray]:
    """Samples of any shape and magnitude, with labels."""
    n, d = int(rng.integers(4, 150)), int(rng.integers(1, 8))
    X = rng.normal(size=(n, d))
    y = (X[:, 0] + rng.normal(size=n) > choice(rng, [0, 1, 1.5])).astype(int)
    y[:2] = 0, 1
    dtype = choice(rng, [np.float64, np.float64, np.float32])
    max_exponent = 300 if dtype == np.float64 else 37
    if rng.random() < 0.5:
        X *= 10.0 ** rng.uniform(-max_exponent, max_exponent, d)
    if rng.random() < 0.3:
        X[:, rng.integers(d)] = 10.0 ** rng.uniform(-max_exponent, max_exponent)
    if rng.random() < 0.2:
        X[rng.integers(n), rng.integers(d)] *= 1e6
    with np.errstate(over="ignore"):
        X = X.astype(dtype)
    if rng.random() < 0.1:
        X = scipy.sparse.csr_array(X)
    return X, y


def draw_classifier(rng: np.random.Generator, n: int) -> AnyLossClassifier:
    """An estimator with parameters from ordinary to extreme."""
    name = choice(rng, [None, None, None, *loss_names()])
    metric = draw_metric(rng, name)
    extreme_lr = rng.random() < 0.3
    batch_sizes: list[float | str] = ["auto", 1.0, 1, 3, 16]
    activations: list[str | Callable[[torch.Tensor], torch.Tensor]]
    activations = ["sigmoid", "relu", "tanh", torch.sin]
    return AnyLossClassifier(
        metric,
        hidden=choice(rng, [(), (2,), (8,), (4, 3)]),
        L=choice(rng, [73, 5, "auto", 10.0 ** rng.uniform(-1, 3.5)]),
        step=choice(rng, ["sigmoid", "sigmoid", *step_names()]),
        loss=name or partial(AnyLoss, decay=choice(rng, [0, 0, 0.9])),
        lr=10.0 ** rng.uniform(-1, 4) if extreme_lr else 0.01,
        max_epochs=int(rng.integers(1, 15)),
        batch_size=choice(rng, batch_sizes),
        activation=choice(rng, activations),
        batch_norm=bool(rng.random() < 0.7),
        standardize=bool(rng.random() < 0.8),
        n_bins=choice(rng, [None, None, None, 4]),
        class_weight=choice(rng, [None, None, "balanced", {0: 1e-12, 1: 1e12}]),
        optimizer=choice(rng, ["adam", "adam", "sgd", "adamw"]),
        early_stopping=bool(n > 40 and rng.random() < 0.2),
        random_state=0,
    )


def try_fit(seed: list[int]) -> Outcome:
    """Probabilities of a random fit."""
    rng = np.random.default_rng(seed)
    X, y = draw_samples(rng)
    model = draw_classifier(rng, len(y))
    weight = draw_weight(rng, len(y))
    try:
        proba = model.fit(X, y, weight).predict_proba(X)
    except REJECTIONS as error:
        return REJECTED, str(error)
    finite = np.isfinite(proba).all()
    return (FINITE, "") if finite else (NOT_FINITE, f"{model}, {X.dtype}, {X.shape}")


def run(
    experiment: Experiment, n: int, seed: int, progress: bool = True
) -> tuple[Counter[str], Counter[str], list[str]]:
    """Numbers of outcomes, error messages with their counts, unexpected outcomes."""
    outcomes: Counter[str] = Counter()
    messages: Counter[str] = Counter()
    unexpected = []
    for i in tqdm(range(n), disable=not progress, desc=experiment.__name__):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                outcome, text = experiment([seed, i])
            except Exception as error:
                outcome, text = UNEXPECTED, f"{type(error).__name__}: {error}"
        outcomes[outcome] += 1
        if outcome == REJECTED:
            messages[" ".join(text.split()[:7])] += 1
        elif outcome != FINITE:
            unexpected.append(f"[{seed}, {i}] {outcome}: {text[:300]}")
    return outcomes, messages, unexpected


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the outcomes; the exit code is 1 if any was unexpected."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--losses", type=int, default=10_000, help="random losses")
    parser.add_argument("--fits", type=int, default=3_000, help="random fits")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    failures = 0
    for experiment, n in ((try_loss, options.losses), (try_fit, options.fits)):
        outcomes, messages, unexpected = run(
            experiment, n, options.seed, not options.quiet
        )
        counts = ", ".join(
            f"{name} {count:,}" for name, count in sorted(outcomes.items())
        )
        print(f"{experiment.__name__}: {n:,} runs: {counts}")
        for text, count in messages.most_common(12):
            print(f"  {count:>6}  {text} ...")
        for line in unexpected[:20]:
            print(f"  {line}")
        failures += len(unexpected)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
