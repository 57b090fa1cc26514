"""Stronger networks on tables of many samples: alone, and beside gradient boosting.

    python -m benchmarks.embeddings --data FOLDER [--also FILE ...] [--sample 8000]

FOLDER holds one ``.npz`` file per data set, with ``X`` and ``y`` (1 is the positive
class); ``--also`` names further files. Each network is trained as the search trains its
candidates: with its number of passes and samples in a batch, Adam and a cosine decay
from 0.03 (0.01 with periodic embeddings); here on three inner folds, and the mean of
the three decides. On the metric (AnyLoss with L = 5) the threshold is 0.5; on
cross-entropy it is tuned on the samples left out, as a mean over bootstrap samples.
Learned bins and periodic embeddings follow Gorishniy et al. (2022), members with shared
weights "TabM" (Gorishniy et al. 2024).

Printed for each network: its mean score, the mean difference from the default network
with its standard error over the data sets, and on how many it is better / worse by more
than 0.01; alone, and in a blend with HistGB with a tuned threshold, half of each (the
mean of two log-odds to the threshold decides as that of their probabilities does), also
less the default network in the plain loop that trains the modules; and all scores. An
interrupted run resumes. Set ``OMP_NUM_THREADS=1``.
"""

import argparse
import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import torch
from scipy import special
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn

from benchmarks.datasets import Record, make_parser, outer_folds, run_all
from benchmarks.quality.running import load_sample
from sk_anyloss import AnyLossClassifier, CosineDecay, metric_score
from sk_anyloss.baselines import tuned_threshold
from sk_anyloss.estimators.folds import inner_cv
from sk_anyloss.estimators.tuning.out_of_fold import N_BOOTSTRAP, OutOfFold
from sk_anyloss.losses import AnyLoss
from sk_anyloss.losses.steps import Sigmoid
from sk_anyloss.metrics.decision import log_odds
from sk_anyloss.search.effort.budget import passes, samples_in_batch
from sk_anyloss.training.network.mlp import MLP, WeightedBatchNorm
from sk_anyloss.training.optimizers import get_optimizer
from sk_anyloss.training.targets import Binary

HIDDEN = (32, 32)
DEFAULT, LOOP, TUNED = "(32, 32)", "(32, 32), plain loop", "HistGB, tuned threshold"
RATE = CosineDecay(0.03)
#: From samples to the log-odds of the positive class.
Outputs: TypeAlias = Callable[[np.ndarray], np.ndarray]


class Task(NamedTuple):
    """What a network is trained for, and how long."""

    metric: str
    on_metric: bool
    epochs: int
    batch_size: int


def plain(X: Tensor) -> MLP:
    """The default network."""
    return MLP(X.shape[1], HIDDEN, "relu", random_state=0)


class LearnedEdges(nn.Module):
    """A piecewise-linear encoding whose bins start at quantiles and are learned."""

    def __init__(self, X: Tensor, n_bins: int = 8) -> None:
        super().__init__()
        quantiles = np.quantile(X.numpy(), np.linspace(0, 1, n_bins + 1), axis=0)
        edges = [np.unique(of_feature) for of_feature in quantiles.T]
        bins = np.hstack([np.stack((found[:-1], found[1:])) for found in edges])
        low, high = torch.tensor(bins, dtype=X.dtype)
        n_found = torch.tensor([len(found) - 1 for found in edges])
        self.features = torch.arange(len(edges)).repeat_interleave(n_found)
        self.edges_centre = nn.Parameter((low + high) / 2)
        self.edges_log_scale = nn.Parameter(((high - low) / 2).clamp(min=1e-3).log())
        self.network = plain(self.edges_centre[None])

    def forward(self, X: Tensor) -> Tensor:
        """Logits of shape (n,)."""
        centred = X[:, self.features] - self.edges_centre
        inputs = centred * torch.exp(-self.edges_log_scale)
        return self.network(inputs.clamp(-1, 1))


class Periodic(nn.Module):
    """Sines and cosines of learned frequencies, and a linear layer, of each feature."""

    rate = CosineDecay(0.01)

    def __init__(self, X: Tensor, sigma: float, width: int = 8) -> None:
        super().__init__()
        d = X.shape[1]
        self.frequency = nn.Parameter(torch.randn(d, width) * sigma)
        self.weight = nn.Parameter(torch.randn(d, 2 * width, width) / width**0.5)
        self.bias = nn.Parameter(torch.zeros(d, 1, width))
        self.network = plain(torch.empty(0, d * width))

    def forward(self, X: Tensor) -> Tensor:
        """Logits of shape (n,)."""
        angle = 2 * math.pi * X.T[:, :, None] * self.frequency[:, None]
        waves = torch.cat((angle.sin(), angle.cos()), dim=-1)
        embedded = torch.relu(torch.baddbmm(self.bias, waves, self.weight))
        return self.network(embedded.transpose(0, 1).flatten(1))


class Members(nn.Module):
    """Networks that share weights, each with its own scales of a layer's inputs."""

    def __init__(self, X: Tensor, n_members: int = 8) -> None:
        super().__init__()
        widths = (X.shape[1], *HIDDEN)
        self.weights, self.scales = nn.ParameterList(), nn.ParameterList()
        self.norms = nn.ModuleList()
        for i, n_out in enumerate(HIDDEN):
            self.weights.append(torch.randn(widths[i], n_out) * (2 / widths[i]) ** 0.5)
            # Random signs make the members differ; the other scales start at 1.
            signs = torch.randint(0, 2, (n_members, widths[i])) * 2.0 - 1
            self.scales.append(signs if i == 0 else torch.ones_like(signs))
            self.norms.append(WeightedBatchNorm(n_members * n_out))
        self.output = nn.Parameter(torch.zeros(n_members, HIDDEN[-1]))
        self.bias = nn.Parameter(torch.zeros(n_members))

    def forward(self, X: Tensor) -> Tensor:
        """Logits of shape (n, n_members)."""
        X = X[:, None]
        for i, norm in enumerate(self.norms):
            hidden = (X * self.scales[i]) @ self.weights[i]
            X = torch.relu(norm(hidden.flatten(1)).view_as(hidden))
        return (X * self.output).sum(-1) + self.bias


def fit_ours(
    params: dict[str, Any], X: np.ndarray, y: np.ndarray, task: Task
) -> Outputs:
    """A network of the package."""
    model = AnyLossClassifier(
        task.metric, activation="relu", L=5, lr=RATE, max_epochs=task.epochs,
        loss=None if task.on_metric else "bce", batch_size=task.batch_size,
        random_state=0, **params,
    )  # fmt: skip
    return model.fit(X, y).decision_function


def fit_module(
    build: Callable[[Tensor], nn.Module], X: np.ndarray, y: np.ndarray, task: Task
) -> Outputs:
    """A torch module on standardised features, trained by a plain loop."""
    torch.manual_seed(0)
    scaler = StandardScaler().fit(X)

    def inputs(X: np.ndarray) -> Tensor:
        return torch.as_tensor(scaler.transform(X), dtype=torch.float32)

    X_train, target = inputs(X), torch.as_tensor(y, dtype=torch.float32)
    module = build(X_train).train()
    # Bins are narrow: their edges move by a tenth of the rate.
    optimizer = get_optimizer("adam")([
        {"params": [parameter], "share": 0.1 if "edges" in name else 1.0}
        for name, parameter in module.named_parameters()
    ])  # fmt: skip
    lr = getattr(module, "rate", RATE)
    on_metric = AnyLoss(task.metric, step=Sigmoid(L=5))
    loss = on_metric if task.on_metric else nn.BCEWithLogitsLoss()
    n_batches = math.ceil(len(y) / task.batch_size)
    for epoch in range(task.epochs):
        rate = lr.initial * lr.factor((epoch + 0.5) / task.epochs)
        for group in optimizer.param_groups:
            group["lr"] = rate * group["share"]
        for batch in torch.randperm(len(y)).chunk(n_batches):
            logits = module(X_train[batch]).view(len(batch), -1)
            total = sum(loss(member, target[batch]) for member in logits.T)
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
    module.eval()

    @torch.no_grad()
    def outputs(X: np.ndarray) -> np.ndarray:
        logits = module(inputs(X)).view(len(X), -1).double().numpy()
        return log_odds(expit(logits).mean(axis=1))

    return outputs


#: ``fit(X, y, task)`` of each network, by name.
NETWORKS: dict[str, Callable[[np.ndarray, np.ndarray, Task], Outputs]] = {
    DEFAULT: partial(fit_ours, {"hidden": HIDDEN}),
    "(128, 128)": partial(fit_ours, {"hidden": (128, 128)}),
    "quantile bins": partial(fit_ours, {"hidden": HIDDEN, "n_bins": 8}),
    LOOP: partial(fit_module, plain),
    "learned bins": partial(fit_module, LearnedEdges),
    "periodic, sigma 0.1": partial(fit_module, partial(Periodic, sigma=0.1)),
    "periodic, sigma 0.5": partial(fit_module, partial(Periodic, sigma=0.5)),
    "8 members": partial(fit_module, Members),
}


def expit(log_odds: np.ndarray) -> np.ndarray:
    """The logistic function; processes cannot be given scipy's by itself."""
    return special.expit(log_odds)


def margins_of_network(
    name: str, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, task: Task
) -> np.ndarray:
    """Log-odds to the threshold, of the mean of the networks of three inner folds."""
    folds = list(inner_cv(3, random_state=0).split(X, y))
    models = [NETWORKS[name](X[train], y[train], task) for train, _ in folds]
    offset = 0.0
    if not task.on_metric:
        tests = [test for _, test in folds]
        pool = OutOfFold.of_folds(tests, y.astype(float), None, task.metric, Binary())
        left_out = [model(X[test]) for model, test in zip(models, tests, strict=True)]
        draws = pool.enough_draws(N_BOOTSTRAP)
        offset = float(pool.tune(np.concatenate(left_out), draws)[0].offset)
    return log_odds(np.mean([expit(model(X_test) - offset) for model in models], 0))


def run_dataset(path: Path, options: argparse.Namespace) -> list[Record]:
    """Scores of all networks, alone and blended, on the folds of one data set."""
    X, y = load_sample(path, options)
    metric, records = options.metric, []
    for fold, (train, test) in enumerate(outer_folds(X, y, options.folds)):
        split = X[train], y[train], X[test]
        score = partial(score_of, metric, y[test])
        n, start = len(train), time.process_time()
        trees = HistGradientBoostingClassifier(random_state=0)
        trees = tuned_threshold(trees, metric, random_state=0).fit(*split[:2])
        offset = log_odds(np.array(trees.best_threshold_))
        boosted = log_odds(trees.estimator_.predict_proba(split[2])[:, 1]) - offset
        row = {"network": TUNED, "loss": "log-loss", "score": score(boosted)}
        records.append({"fold": fold, "seconds": time.process_time() - start, **row})
        for on_metric in (True, False):
            task = Task(metric, on_metric, passes(n), samples_in_batch(n))
            for name in NETWORKS:
                start = time.process_time()
                own = margins_of_network(name, *split, task)
                records.append({
                    "fold": fold, "network": name,
                    "loss": metric if on_metric else "cross-entropy",
                    "seconds": time.process_time() - start,
                    "score": score(own), "blend": score(own + boosted),
                })  # fmt: skip
    return records


def score_of(metric: str, y: np.ndarray, margin: np.ndarray) -> float:
    """The metric of decisions."""
    return float(metric_score(y, (margin > 0).astype(int), metric=metric))


def report(table: pd.DataFrame, options: argparse.Namespace) -> None:
    """Print a line for each network and loss, alone and beside HistGB."""
    trees = table[table["network"] == TUNED].groupby("set")[["score", "seconds"]].mean()
    print(f"{options.metric}, {len(trees)} data sets")
    print(f"{TUNED:<25}{trees['score'].mean():.4f}{trees['seconds'].mean():>81.1f}")
    for loss, own in table[table["network"] != TUNED].groupby("loss"):
        header = f"{'alone':>31}{'with HistGB':>31}{'less plain loop':>17}"
        print(f"\n{f'trained on {loss}':<21}{header}{'seconds':>9}")
        means = own.drop(columns="loss").pivot_table(index="set", columns="network")
        for name in NETWORKS:
            cells = cell(means["score"], name) + cell(means["blend"], name)
            gain = means["blend"][name] - means["blend"][LOOP]
            cells += f"{gain.mean():>+9.4f} ±{gain.sem():.4f}"
            print(f"{name:<21}{cells}{means['seconds'][name].mean():>9.1f}")
        print(means["score"][list(NETWORKS)].round(3).to_string())


def cell(scores: pd.DataFrame, name: str) -> str:
    """Mean, difference from the default, standard error, better / worse."""
    gain = scores[name] - scores[DEFAULT]
    counts = f"{(gain > 0.01).sum():>3}/{(gain < -0.01).sum()}"
    return f"{scores[name].mean():>10.4f}{gain.mean():>+8.4f} ±{gain.sem():.4f}{counts}"


def main() -> None:
    """Run and report the networks."""
    parser = make_parser(__doc__, "results/embeddings.csv", folds=2)
    add = parser.add_argument
    add("--sample", type=int, default=8_000, metavar="N", help="of each data set")
    add("--also", type=Path, nargs="*", default=[], metavar="FILE", help="more data")
    options = parser.parse_args()
    files = [*sorted(options.data.glob("*.npz")), *options.also]
    sizes = {path: min(len(np.load(path)["y"]), options.sample) for path in files}
    report(run_all(options, run_dataset, sizes), options)


if __name__ == "__main__":
    main()
