"""The kind of a target, by its name."""

from __future__ import annotations

from collections.abc import Sequence

from sk_anyloss.training.targets.base import TargetType
from sk_anyloss.training.targets.binary import Binary
from sk_anyloss.training.targets.multiclass import Multiclass
from sk_anyloss.training.targets.multilabel import Multilabel

__all__ = ["target_type_of"]


def target_type_of(
    name: str, n_outputs: int = 1, classes: Sequence[object] | None = None
) -> TargetType:
    """The kind of a target, by scikit-learn's name for it.

    Parameters
    ----------
    name : {'binary', 'multiclass', 'multilabel-indicator'}
        As :func:`sklearn.utils.multiclass.type_of_target` gives it.
    n_outputs : int, default=1
        Number of classes or labels, if there are more than two classes.
    classes : sequence, default=None
        The labels, for a metric that names one.

    Returns
    -------
    target_type : TargetType
        The kind.

    Examples
    --------
    >>> from sk_anyloss.training.targets import target_type_of
    >>> type(target_type_of("multiclass", 3)).__name__
    'Multiclass'
    """
    if name == "binary":
        return Binary(classes)
    kinds = {kind.name: kind for kind in (Multiclass, Multilabel)}
    if name not in kinds:
        raise ValueError(
            "target_type must be 'binary', 'multiclass' or 'multilabel-indicator', got "
            f"{name!r}."
        )
    return kinds[name](n_outputs, classes)
