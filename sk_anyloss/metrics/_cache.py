"""Results that are kept, for arguments that may not be fit for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

Result = TypeVar("Result")


def cached(function: Callable[..., Result]) -> Callable[..., Result]:
    """Keep results by arguments; those that cannot be hashed are worked out anew.

    Examples
    --------
    >>> from sk_anyloss.metrics._cache import cached
    >>> cached(sum)([1, 2])  # A list cannot be hashed.
    3
    """
    quick = lru_cache(function)

    @wraps(function)
    def call(*args: Any) -> Result:
        try:
            hash(args)
        except TypeError:
            return function(*args)
        return quick(*args)

    return call
