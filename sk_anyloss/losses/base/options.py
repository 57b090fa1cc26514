"""Whether two losses have the same options."""

from __future__ import annotations

import numpy as np
from torch import Tensor, nn

__all__ = ["options_key"]

_ATTRIBUTES_OF_MODULES = frozenset(vars(nn.Module()))


def options_key(loss: nn.Module) -> object:
    """A key that is the same for two losses of a class only if their options are.

    Parameters
    ----------
    loss : torch.nn.Module
        A loss.

    Returns
    -------
    key : hashable
        From the attributes; the identity of a loss that holds tensors or modules.

    Examples
    --------
    >>> from sk_anyloss.losses import BCE, Focal
    >>> from sk_anyloss.losses.base.options import options_key
    >>> options_key(Focal(2)) == options_key(Focal(2)) != options_key(Focal(3))
    True
    """
    own = {k: v for k, v in vars(loss).items() if k not in _ATTRIBUTES_OF_MODULES}
    own.pop("_forms", None)
    has_state = any(True for _ in loss.children()) or any(loss.state_dict())
    if has_state or any(isinstance(v, (Tensor, np.ndarray)) for v in own.values()):
        return id(loss)
    return repr(sorted(own.items()))
