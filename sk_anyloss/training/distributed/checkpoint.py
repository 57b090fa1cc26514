"""A checkpoint from which a training continues as if it had not been interrupted."""

from __future__ import annotations

import json
import numbers
import os
import pickle
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from joblib.hashing import NumpyHasher
from skorch.callbacks import Callback, Checkpoint, PrintLog, TrainEndCheckpoint
from torch import Tensor, nn

from sk_anyloss.training.data.row_groups.files import RowGroup

if TYPE_CHECKING:
    from sk_anyloss.training.net import AnyLossNet

__all__ = ["ResumableCheckpoint"]

#: What is written; a reader refuses other versions.
FORMAT = 2


class ResumableCheckpoint(Callback):
    """Save a training after every epoch, and resume it where its file exists.

    Weights, state of the optimiser, history, order of the samples, moving average of
    the loss, torch's random numbers and what the other callbacks have learned (early
    stopping, learning rates) are saved in one file, which is replaced as a whole:
    whoever reads it finds a complete epoch. A net with this callback that is
    fitted again, in the same way, continues after that epoch and ends where it
    would have ended without an interruption. Other samples, such as those of another
    fold, and other parameters are another training, which has a file of its own. In
    several processes, the first one writes and reads it.

    Parameters
    ----------
    path : str or path
        Where the files are: for ``net.pt``, that of a training is
        ``net-<digest>.pt``. Remove them to start anew.
    every : int, default=1
        Number of epochs between two checkpoints.

    Notes
    -----
    The digest is one of the samples, labels and weights as they are given to the net
    (of Parquet files, of names and times), of its parameters, of callbacks that do
    more than print and save, of the layers of the module and of the number of epochs
    before this training. Not part of it are the values of the module's
    initial weights, which a script without a seed would draw anew; device, processes
    and ``verbose``; and the source code of classes.

    It comes last in the list of callbacks, so that it sees what the others have done.
    Of callbacks, attributes that end with an underscore are saved if they are numbers,
    texts, tensors or containers of these, or have a ``state_dict``. Random numbers are
    those of the CPU; they resume in as many processes as before.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from torch import nn
    >>> from sk_anyloss import AnyLossNet
    >>> from sk_anyloss.training.distributed.checkpoint import ResumableCheckpoint
    >>> X = np.random.default_rng(0).normal(size=(99, 2)).astype("float32")
    >>> y = (X[:, 0] > 0).astype(int)
    >>> folder = tempfile.TemporaryDirectory()
    >>> saved = ResumableCheckpoint(Path(folder.name) / "net.pt")
    >>> net = AnyLossNet(nn.Linear(2, 1), max_epochs=3, callbacks=[saved])
    >>> fitted, again, other = net.fit(X, y), net.fit(X, y), net.fit(X, 1 - y)
    >>> len(list(Path(folder.name).glob("net-*.pt")))
    2
    >>> folder.cleanup()
    """

    def __init__(self, path: str | Path, every: int = 1) -> None:
        self.path = path
        self.every = every

    def restore(self, net: AnyLossNet, *data: Any) -> int:
        """Load the checkpoint of this training, if there is one.

        Parameters
        ----------
        net : AnyLossNet
            The net, about to be trained.
        *data
            What it is trained on.

        Returns
        -------
        epochs : int
            How many of its epochs lie behind; ``max_epochs`` if it was stopped.
        """
        before, state = len(net.history), None
        if not net.processes_.rank:
            path, digest = Path(self.path), _digest(net, before, *data)
            self.file_ = path.with_name(f"{path.stem}-{digest}{path.suffix}")
            state = self._read()
        state = net.processes_.from_first(state)
        if state is None:
            return 0
        if isinstance(state, str):  # In all processes, of which none waits then.
            raise ValueError(state)
        try:
            net.module_.load_state_dict(state["module"])
            net.optimizer_.load_state_dict(state["optimizer"])
        except (KeyError, RuntimeError, ValueError) as error:
            raise ValueError(
                f"The checkpoint {self.file_} is one of another net or optimiser; "
                f"remove it. {error}"
            ) from error
        net.rng_.bit_generator.state = json.loads(state["rng"])
        net.history[:] = json.loads(state["history"])
        if state["target"] is not None and net.target_ is None:
            # The loss of this kind of target, which has the moving average.
            name, n_outputs = state["target"]
            is_matrix = name == "multilabel-indicator"
            net.resolve_target(
                n_outputs, np.empty((0, n_outputs)) if is_matrix else None
            )
        if state["moving_average"] is not None:
            net.criterion_.moving_average = state["moving_average"].to(net.device_)
        for name, callback in _others(net):
            _restore(callback, state["callbacks"].get(name, {}))
        if len(state["torch_rng"]) == net.processes_.size:
            torch.set_rng_state(state["torch_rng"][net.processes_.rank])
        return net.max_epochs if state["is_stopped"] else state["epoch"] - before

    def _read(self) -> dict[str, Any] | str | None:
        """The checkpoint, what is wrong with it, or None if there is none."""
        if not self.file_.exists():
            return None
        try:
            state = torch.load(self.file_, map_location="cpu", weights_only=True)
            version = state["format"]
        except Exception as error:
            return (
                f"{self.file_} is no checkpoint of a training, or is damaged; remove "
                f"it to start anew. {type(error).__name__}: {error}"
            )
        if version != FORMAT:
            return (
                f"The checkpoint {self.file_} has format {version}, this version reads "
                f"{FORMAT}; remove it to start anew."
            )
        found: dict[str, Any] = state
        return found

    def on_epoch_end(self, net: AnyLossNet, **kwargs: object) -> None:
        """Save the epoch."""
        epoch = len(net.history)
        if epoch % self.every == 0:
            self._save(net, is_stopped=False)

    def on_train_end(self, net: AnyLossNet, **kwargs: object) -> None:
        """Save the state of a training that was stopped early."""
        if net.stopped_ and not net.interrupted_:
            self._save(net, is_stopped=True)

    def _save(self, net: AnyLossNet, is_stopped: bool) -> None:
        torch_rng = net.processes_.gather(torch.get_rng_state())
        if net.processes_.rank:
            return
        history = [
            {key: value for key, value in epoch.items() if key != "batches"}
            | {"batches": []}
            for epoch in net.history.to_list()
        ]
        target = net.target_
        state = {
            "format": FORMAT,
            "epoch": len(history),
            "is_stopped": is_stopped,
            "module": net.module_.state_dict(),
            "optimizer": net.optimizer_.state_dict(),
            "rng": json.dumps(net.rng_.bit_generator.state),
            "history": json.dumps(history, default=float),  # numpy's numbers.
            "target": target and (target.name, target.n_outputs),
            "moving_average": getattr(net.criterion_, "moving_average", None),
            "callbacks": {name: _learned(callback) for name, callback in _others(net)},
            "torch_rng": torch_rng,
        }
        path = self.file_
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(path.name + ".tmp")
        try:
            torch.save(state, unfinished)
            os.replace(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)


#: Parameters of the net that do not change what it learns, or of which more is known.
_NO_PART = {"callbacks", "device", "module", "process_group", "verbose"}
#: Callbacks that only look on, and those of scikit-learn, which hold the estimator.
_ONLOOKERS = "skorch.callbacks.logging", "sk_anyloss.training.fit_callbacks"


def _digest(net: AnyLossNet, *rest: Any) -> str:
    """The same for trainings that end at the same weights, from the same ones."""
    kinds = ResumableCheckpoint, PrintLog, Checkpoint, TrainEndCheckpoint
    callbacks = []
    for _, callback in net.callbacks_:
        if isinstance(callback, kinds) or type(callback).__module__ in _ONLOOKERS:
            continue
        params = {}
        with suppress(AttributeError):  # A user's own may not keep them.
            params = callback.get_params(deep=False)
        # Of a schedule, the parameters that are those of torch.
        callbacks.append((type(callback), params, getattr(callback, "kwargs", {})))
    own = {
        name: value
        for name, value in net.get_params(deep=False).items()
        if not name.startswith(("callbacks__", "_")) and name not in _NO_PART
    }
    hasher = _Hasher("sha1", coerce_mmap=True)
    found: str = hasher.hash((rest, own, callbacks, net.module_))
    return found[:16]


class _Hasher(NumpyHasher):
    """joblib's, for tensors, modules and functions too, and the same in every run."""

    def save(self, obj: Any) -> None:
        if isinstance(obj, Tensor):
            values = obj.detach().cpu()
            is_numpys = values.dtype != torch.bfloat16
            obj = (values if is_numpys else values.float()).numpy(), str(values.dtype)
        elif isinstance(obj, nn.Module):
            own = vars(obj).items()
            public = {k: v for k, v in own if k[0] != "_" and k != "training"}
            parameters = [
                (name, tuple(parameter.shape), parameter.requires_grad)
                for name, parameter in obj.named_parameters()
            ]
            children = dict(obj.named_children())
            obj = (
                type(obj),
                public,
                parameters,
                obj._buffers,
                children,
                obj.extra_repr(),
            )
        elif isinstance(obj, FunctionType):
            cells = [cell.cell_contents for cell in obj.__closure__ or ()]
            obj = obj.__qualname__, obj.__code__, obj.__defaults__, cells
        elif isinstance(obj, CodeType):
            obj = obj.co_code, obj.co_names, obj.co_consts
        elif isinstance(obj, type):
            obj = obj.__module__, obj.__qualname__
        elif isinstance(obj, RowGroup):
            path = Path(obj.path)
            obj = str(obj), obj.n, path.exists() and path.stat().st_mtime_ns
        try:
            super().save(obj)
        except (pickle.PicklingError, TypeError):  # Open files, for one.
            super().save(f"{type(obj).__module__}.{type(obj).__qualname__}")


def _others(net: AnyLossNet) -> list[tuple[str, Callback]]:
    """Callbacks whose state is saved, by their names."""
    kinds = ResumableCheckpoint, PrintLog  # A log begins with its header.
    return [pair for pair in net.callbacks_ if not isinstance(pair[1], kinds)]


def _learned(callback: Callback) -> dict[str, Any]:
    """Attributes that are not parameters, as far as they can be saved."""
    own = {key: value for key, value in vars(callback).items() if key[-1] == "_"}
    return _plain_items(own)


def _restore(callback: Callback, learned: Mapping[str, Any]) -> None:
    for name, value in learned.items():
        current: Any = getattr(callback, name, None)
        if hasattr(current, "load_state_dict"):
            current.load_state_dict(value)
        else:
            setattr(callback, name, value)


def _plain_items(values: Mapping[Any, Any]) -> dict[Any, Any]:
    """Those that a reader that loads no code understands."""
    found = {}
    for key, value in values.items():
        with suppress(TypeError):
            found[key] = _plain(value)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (numbers.Number, str, Tensor)):
        return value
    if isinstance(value, Mapping):
        return type(value)({k: _plain(v) for k, v in value.items()})  # type: ignore[call-arg]
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "load_state_dict"):
        return _plain_items(value.state_dict())
    raise TypeError(f"{value!r} cannot be saved.")
