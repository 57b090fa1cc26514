"""Many fits in one pass: folds, settings and seeds, trained in lockstep.

Networks as small as these leave a processor idle most of the time: it waits for the
next operation, not for its result. A stack of networks of one shape goes through every
operation together, and takes little longer than one of them alone.
"""

from __future__ import annotations

import copy
import math
import time
from collections import defaultdict
from collections.abc import Hashable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch
from sklearn.utils import gen_batches
from sklearn.utils.validation import validate_data

from sk_anyloss.estimators.classifier import (
    AnyLossClassifier,
    Job,
    Phase,
    restored_on_error,
)
from sk_anyloss.estimators.parameters import check_params
from sk_anyloss.estimators.preparation import Sample, as_rows
from sk_anyloss.training.batches import as_tensor, batch_rows
from sk_anyloss.training.closed_form import ClosedForm
from sk_anyloss.training.feed import PIECE_SIZE, Feed, Group
from sk_anyloss.training.net import AnyLossNet, train_epoch
from sk_anyloss.training.parameters import get_stepper, has_flat_step
from sk_anyloss.training.threads import single_thread

__all__ = ["fit_stack"]


def fit_stack(
    models: Sequence[AnyLossClassifier],
    X: Any,
    y: Any,
    *,
    rows: Sequence[Any] | None = None,
    sample_weight: Any = None,
) -> list[AnyLossClassifier]:
    """Fit many estimators at once, each as if it were fitted alone.

    ``models[k]`` becomes what ``models[k].fit(X[rows[k]], y[rows[k]])`` would make of
    it, up to rounding, in a fraction of the time. Those of one shape are trained in
    lockstep: the same ``hidden``, ``activation``, ``batch_norm``, ``optimizer``,
    ``max_epochs`` and ``early_stopping``, and as many batches. They may differ in their
    rows and weights, ``metric``, ``step``, ``L``, ``loss``, ``lr``, ``threshold`` and
    ``random_state``; those with the same rows, weights and
    ``random_state`` see the same batches and share the work on them. What has no like,
    or cannot be trained in a stack (callbacks, ``verbose``, a module or loss without a
    gradient in closed form, an optimiser other than Adam, AdamW and plain SGD), is
    fitted by itself.

    Parameters
    ----------
    models : sequence of AnyLossClassifier
        The estimators; each is fitted anew.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows for all of them.
    y : array-like of shape (n_samples,)
        Their labels.
    rows : sequence of arrays, default=None
        For each estimator the rows to learn from, as positions or as a mask, such as
        the training parts of a splitter; None, for one or for all, means every row.
    sample_weight : array-like, default=None
        Weights of the rows, of shape (n_samples,) for all estimators, or of shape
        (n_models, n_samples), a set for each.

    Returns
    -------
    models : list of AnyLossClassifier
        The same estimators, fitted. If one of them fails, all are left as they were.

    Examples
    --------
    Five folds and three values of L, fifteen networks in one pass:

    >>> import numpy as np
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.model_selection import StratifiedKFold
    >>> from sk_anyloss import AnyLossClassifier, fit_stack
    >>> X, y = make_classification(500, weights=[0.9], class_sep=2, random_state=0)
    >>> folds = list(StratifiedKFold(5).split(X, y))
    >>> Ls = np.repeat([5, 20, 73], 5)
    >>> models = [AnyLossClassifier(L=L, random_state=0) for L in Ls]
    >>> models = fit_stack(models, X, y, rows=[train for train, _ in folds] * 3)
    >>> tests = [test for _, test in folds] * 3
    >>> scores = [m.score(X[test], y[test]) for m, test in zip(models, tests)]
    >>> bool((np.reshape(scores, (3, 5)).mean(axis=1) > 0.8).all())
    True
    """
    models = list(models)
    _check_models(models)
    with ExitStack() as undo:
        for model in models:
            undo.enter_context(restored_on_error(model))
        members = _prepare(models, X, y, rows, sample_weight)
        for stack in _stacks(members):
            if len(stack) == len(stack[0]) == 1:
                (member,) = stack[0]
                model = member.model
                model._train(member.net, member.X, member.job, member.phases)
            else:
                _train(stack)
        for member in _best_of_each(members):
            member.model._finish(member.net, member.X, member.job, watch=True)
    return models


class _Member:
    """An estimator on its way through the stack."""

    def __init__(
        self, model: AnyLossClassifier, X: Any, job: Job, net: AnyLossNet, group: Any
    ) -> None:
        self.model, self.X, self.job, self.net = model, X, job, net
        #: Members with the same one see the same batches.
        self.group = group
        n = len(job.sample.target)
        self.n_batches = math.ceil(n / batch_rows(model.batch_size, n))
        self.phases = model._phases(net, net.criterion_)
        self.stopper, self.rate = model._set_callbacks(net, self.phases)
        self.stopper.on_train_begin(net)
        self.stopped = False
        self.watched: Any = None

    def shape(self) -> Hashable:
        """What members of a stack have in common; None for one that trains alone."""
        model, net = self.model, self.net
        if model.callbacks or model.verbose or not net.by_hand_:
            return None
        if not has_flat_step(net.optimizer_):
            return None
        pieces = net.module_.pieces
        options = dict(net.optimizer_.param_groups[0], params=None, lr=None)
        return (
            tuple(parameter.shape for parameter in net.module_.parameters()),
            net.dtype_,
            net.device_,
            model.activation,
            type(net.optimizer_),
            repr(options),
            model.max_epochs,
            model.warm_up,
            model.early_stopping,
            model.standardize,
            None if pieces is None else tuple(pieces.tolist()),
            self.n_batches,
        )

    def at_once(self) -> int:
        """How many like this one can take a step together within the memory."""
        n = math.ceil(len(self.job.sample.target) / self.n_batches)
        layers = self.net.module_.layers
        width = max(max(layer.in_features, layer.out_features) for layer in layers)
        return max(1, PIECE_SIZE // (n * width))

    def feed_group(self) -> Group:
        """The rows of this member and its group."""
        sample, module, weight = self.job.sample, self.net.module_, None
        if sample.weight is not None:
            weight = as_tensor(sample.weight).to(self.net.dtype_)
        return Group(
            sample.target,
            self.net.rng_,
            sample.rows,
            weight,
            module.mean,
            module.scale,
            module.pieces,
        )

    def enter(self, phase: Phase) -> None:
        """Follow another loss from now on."""
        self.net.follow(phase.criterion, self.model.metric, self.model._decide_at)

    def end_epoch(
        self, n_batches: int, loss: float, last: float, seconds: float, watched: bool
    ) -> None:
        """Write down the epoch, and see whether it was one too many."""
        if self.stopped:
            return
        net = self.net
        net.history.append({"batches": [{"train_loss": last}]})
        net.history.record("epoch", len(net.history))
        net.record_epoch("train", n_batches, loss)
        if watched and self.job.held_out is not None:
            if self.watched is None:
                samples = self.job.held_out.dataset(self.X)
                self.watched = net.get_iterator(samples, training=False)
            net.run_single_epoch(self.watched, False, "valid", net.validation_step)
            try:
                self.stopper.on_epoch_end(net, self.watched.dataset)
            except KeyboardInterrupt:  # How it ends a training.
                self.stopped = True
        net.history.record("dur", seconds)

    def outcome(self) -> float:
        """How good a training was, on what was held out, or else by its loss."""
        if self.job.held_out is not None:
            return self.stopper.best_score_
        return -self.net.history[-1]["train_loss"]


def _check_models(models: list[Any]) -> None:
    if not models:
        raise ValueError("models is empty; fit_stack needs at least one estimator.")
    for model in models:
        if not isinstance(model, AnyLossClassifier):
            raise TypeError(
                f"fit_stack takes AnyLossClassifier, got {type(model).__name__}; "
                "other estimators have to be fitted one by one."
            )
        check_params(model)
    if len({id(model) for model in models}) < len(models):
        raise ValueError(
            "models holds the same estimator twice; make copies with "
            "sklearn.base.clone, so that each can keep what it learns."
        )


def _prepare(
    models: list[AnyLossClassifier], X: Any, y: Any, rows: Any, sample_weight: Any
) -> list[_Member]:
    """Look at the data once, and make the nets."""
    first = models[0]
    names = X
    X, y = first._validate(X, y, reset=True)
    K, n = len(models), X.shape[0]
    rows = [None] * K if rows is None else list(rows)
    if len(rows) != K:
        raise ValueError(
            f"rows must have one entry for each of the {K} models, got {len(rows)}."
        )
    weights = [None] * K
    if sample_weight is not None:
        table = np.asarray(sample_weight)
        if table.shape not in ((n,), (K, n)):
            raise ValueError(
                f"sample_weight must have the shape ({n},) or ({K}, {n}), one row for "
                f"each model; got {table.shape}."
            )
        weights = list(np.broadcast_to(table, (K, n)))
    figures: dict[Hashable, Any] = {}
    members = []
    for model, index, weight in zip(models, rows, weights, strict=True):
        model._warn_of_class_weight()
        if model is not first:
            validate_data(model, names, skip_check_array=True)
        job = _job(model, y, index, weight, X.dtype)
        group = _key(job)
        kind = group, model.standardize, model.n_bins
        if kind not in figures:
            figures[kind] = model._figures(X, job.sample)
        for start in _starts(job, model.n_init):
            net = model._build_net(X, start, figures[kind])
            members.append(_Member(model, X, start, net, (group, start.seeds[1])))
    return members


def _starts(job: Job, n: int) -> list[Job]:
    """The same job from several initial weights and orders of rows."""
    seeds = np.random.SeedSequence(job.seeds).generate_state((n - 1) * 2).tolist()
    others = zip(seeds[::2], seeds[1::2], strict=True)
    return [job] + [job._replace(seeds=[*pair, job.seeds[2]]) for pair in others]


def _best_of_each(members: list[_Member]) -> list[_Member]:
    """Of the starts of every estimator the one that went best."""
    best: dict[int, _Member] = {}
    for member in members:
        other = best.get(id(member.model))
        if other is None or member.outcome() > other.outcome():
            best[id(member.model)] = member
    return list(best.values())


def _job(
    model: AnyLossClassifier, y: np.ndarray, index: Any, weight: Any, dtype: Any
) -> Job:
    """What the model has to do on the rows of an index into all rows."""
    if index is None:
        return model._prepare(y, weight, dtype)
    index = _check_rows(np.asarray(index), len(y))
    weight = None if weight is None else weight[index]
    sample, held_out, seeds = model._prepare(y[index], weight, dtype)

    def within(part: Sample) -> Sample:
        chosen = index if part.rows is None else index[part.rows]
        return Sample(chosen, part.target, part.weight, part.own)

    return Job(within(sample), None if held_out is None else within(held_out), seeds)


def _check_rows(rows: np.ndarray, n: int) -> np.ndarray:
    """Positions within n rows, from positions or a mask."""
    if rows.dtype == bool and rows.shape == (n,):
        return np.flatnonzero(rows)
    whole = np.issubdtype(rows.dtype, np.integer) and rows.ndim == 1
    if not whole or not ((rows >= 0) & (rows < n)).all():
        raise ValueError(
            f"rows must hold, for each model, positions from 0 to {n - 1} or a mask of "
            f"{n} entries; got an array of {rows.dtype} and of the shape {rows.shape}."
        )
    return rows


def _key(job: Job) -> Hashable:
    """The same for all that learn from the same rows."""
    parts = (job.sample.rows, job.sample.target, job.sample.weight)
    return tuple(None if part is None else hash(part.tobytes()) for part in parts)


def _stacks(members: list[_Member]) -> list[list[list[_Member]]]:
    """Sort into stacks: lists of groups with the same kinds of losses each."""
    alike: dict[Hashable, dict[Hashable, list[_Member]]] = defaultdict(dict)
    stacks = []
    for member in members:
        shape = member.shape()
        if shape is None:
            stacks.append([[member]])
        else:
            alike[shape].setdefault(member.group, []).append(member)
    for by_group in alike.values():
        by_kinds = defaultdict(list)
        for group in by_group.values():
            # A batch of all that are trained at once has to fit into the memory.
            at_once = group[0].at_once()
            group = _by_kind(group)
            for part in gen_batches(len(group), at_once):
                kinds = tuple(member.net.criterion_.kind for member in group[part])
                by_kinds[kinds].append(group[part])
        for kinds, groups in by_kinds.items():
            at_once = max(1, groups[0][0].at_once() // len(kinds))
            stacks += [groups[part] for part in gen_batches(len(groups), at_once)]
    return stacks


def _by_kind(group: list[_Member]) -> list[_Member]:
    """Members with one kind of loss behind each other."""
    kinds = [member.net.criterion_.kind for member in group]
    order = sorted(range(len(group)), key=lambda i: kinds.index(kinds[i]))
    return [group[i] for i in order]


def _train(groups: list[list[_Member]]) -> None:
    """Train the members of a stack in lockstep."""
    members = [member for group in groups for member in group]
    nets, first = [member.net for member in members], members[0]
    feed = Feed(
        as_rows(first.X),
        [group[0].feed_group() for group in groups],
        first.n_batches,
        len(members) * max(layer.out_features for layer in first.net.module_.layers),
        first.net.dtype_,
        first.net.device_,
    )
    for i, phase in enumerate(first.phases):
        for member in members:
            member.enter(member.phases[i])
        with torch.no_grad():
            modules = [net.module_ for net in nets]
            engine = ClosedForm(modules, [net.criterion_ for net in nets], len(groups))
            stepper = get_stepper([net.optimizer_ for net in nets], engine.flat)
        assert stepper is not None  # shape() has seen to that.
        try:
            # One of the stack for all: they have the samples in common.
            cause = first.model._cause_named(first.X, first.job.sample)
            with single_thread(), cause:
                _run_epochs(members, engine, stepper, feed, phase)
        finally:
            engine.release()
            stepper.release()
    for member in members:
        member.stopper.on_train_end(member.net)
        member.rate.on_train_end(member.net)
    for head, *others in groups:
        for member in others:  # They have drawn the same orders.
            member.net.rng_ = copy.deepcopy(head.net.rng_)


def _run_epochs(
    members: list[_Member], engine: ClosedForm, stepper: Any, feed: Feed, phase: Phase
) -> None:
    """Train until the phase is over, or nobody needs any more of it."""
    for _ in range(phase.epochs):
        start = time.time()
        for member in members:
            member.rate.on_epoch_begin(member.net)
        with torch.inference_mode():
            losses = train_epoch(engine, stepper, feed)
        seconds = time.time() - start
        for member, loss, last in zip(members, *losses, strict=True):
            member.end_epoch(
                len(feed), float(loss), float(last), seconds, phase.watched
            )
        if all(member.stopped for member in members):
            return
