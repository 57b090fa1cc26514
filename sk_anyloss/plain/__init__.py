"""Fitted networks as numpy arrays, to be stored safely and applied without torch.

Nothing here imports torch; :func:`to_plain` does, when it is first accessed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from sk_anyloss.plain.classifier import PlainClassifier
from sk_anyloss.plain.replacement import replace_parts

if TYPE_CHECKING:
    from sk_anyloss.plain.conversion import to_plain

__all__ = ["PlainClassifier", "replace_parts", "to_plain"]


def __getattr__(name: str) -> object:
    # The conversion imports torch, which its results do not need.
    if name == "to_plain":
        return importlib.import_module("sk_anyloss.plain.conversion").to_plain
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
