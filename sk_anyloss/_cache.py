"""A cache of results that also accepts arguments that cannot be hashed."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar, TypeVarTuple

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")


def cached(function: Callable[[*Arguments], Result]) -> Callable[[*Arguments], Result]:
    """Cache the results of a function; unhashable arguments bypass the cache.

    Parameters
    ----------
    function : callable
        A pure function of positional arguments.

    Returns
    -------
    function : callable
        The same function with an LRU cache.

    Examples
    --------
    >>> from sk_anyloss._cache import cached
    >>> cached(sum)([1, 2])  # A list cannot be hashed.
    3
    """
    with_cache = lru_cache(function)

    @wraps(function)
    def call(*args: *Arguments) -> Result:
        try:
            hash(args)
        except TypeError:
            return function(*args)
        return with_cache(*args)

    return call
