"""The bias of the last layer of any module: what shifts all logits alike."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from sk_anyloss.losses.distributed.processes import Processes
from sk_anyloss.losses.precision import full_precision

__all__ = ["shift_logits"]


@torch.no_grad()
def shift_logits(
    module: nn.Module,
    shift: Tensor,
    logits: Callable[[], Tensor],
    processes: Processes | None = None,
) -> bool:
    """Add a constant to the logits of a module, in the bias of its last layer.

    Which parameter that is follows from what it does: the last bias with an entry for
    each logit is changed, and changed back if the logits do not change by the shift.

    Parameters
    ----------
    module : torch.nn.Module
        Any module.
    shift : tensor of shape () or (C,)
        What to add to its logits.
    logits : callable
        Gives logits of some samples, of shape (n,) or (n, C).
    processes : Processes, default=None
        Those that train together; the bias is shifted in all of them or in none.

    Returns
    -------
    is_shifted : bool
        False if there is no such bias; the module is then as it was.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> from sk_anyloss.training.network.output_bias import shift_logits
    >>> X = torch.ones(2, 3)
    >>> linear = nn.Linear(3, 1)
    >>> shift_logits(linear, torch.tensor(2.0), lambda: linear(X))
    True
    >>> squashed = nn.Sequential(nn.Linear(3, 1), nn.Tanh())
    >>> shift_logits(squashed, torch.tensor(2.0), lambda: squashed(X))
    False
    """
    n_outputs = shift.numel()
    found: Tensor | None = None
    for name, parameter in module.named_parameters():
        is_bias = name.rpartition(".")[2] == "bias" and parameter.requires_grad
        if is_bias and parameter.numel() == n_outputs:
            found = parameter
    if found is None or not bool(shift.isfinite().all()):
        return False
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    with full_precision(found.device):
        before, kept = logits().clone(), found.clone()
        # Through .data, so that autograd does not refuse gradients of earlier outputs,
        # which do not depend on a constant that is added to them.
        found.data.add_(shift.to(found).reshape(found.shape))
        difference = logits() - before
    for part, mode in modes:
        part.training = mode
    shift = shift.to(difference)
    largest = float(before.abs().max() + shift.abs().max()) if len(before) else 0.0
    tolerance = max(1e-4, 4 * torch.finfo(found.dtype).eps) * (1 + largest)
    wrong = torch.zeros(1, device=found.device)
    if len(before):
        wrong += ((difference - shift).abs().max() > tolerance).to(wrong)
    if processes is not None:
        wrong = processes.sum(wrong, "shifts")
    if not wrong.item() and (len(before) or processes is not None):
        return True
    found.copy_(kept)
    return False
