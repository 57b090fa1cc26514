"""Comparison of methods on a table, with a verdict on training on the metric.

>>> from sk_anyloss.compare import built_in, compare
>>> table = built_in()
>>> found = compare(
...     table.X, table.y, metric="f1", methods=["anyloss", "logistic"], folds=3
... )
>>> found.winner in ("anyloss", "logistic")
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sk_anyloss.compare import _home  # noqa: F401  Before skrub and matplotlib.

if TYPE_CHECKING:
    from sk_anyloss.compare.comparison import Comparison
    from sk_anyloss.compare.core import compare, compare_tables
    from sk_anyloss.compare.errors import TableError
    from sk_anyloss.compare.methods.registry import (
        default_methods,
        get_method,
        method_names,
        register_method,
        unregister_method,
    )
    from sk_anyloss.compare.model_file import trusted_names
    from sk_anyloss.compare.model_file.loading import load_model
    from sk_anyloss.compare.tables.build import make_table
    from sk_anyloss.compare.tables.sources import built_in, read_table
    from sk_anyloss.compare.tables.table import Table

__all__ = [
    "Comparison",
    "Table",
    "TableError",
    "built_in",
    "compare",
    "compare_tables",
    "default_methods",
    "get_method",
    "load_model",
    "make_table",
    "method_names",
    "read_table",
    "register_method",
    "trusted_names",
    "unregister_method",
]

#: Where each public name is defined. They are imported when they are first asked for,
#: so that a stored model is loaded without torch.
_DEFINED_IN = {
    "Comparison": "sk_anyloss.compare.comparison",
    "Table": "sk_anyloss.compare.tables.table",
    "TableError": "sk_anyloss.compare.errors",
    "built_in": "sk_anyloss.compare.tables.sources",
    "compare": "sk_anyloss.compare.core",
    "compare_tables": "sk_anyloss.compare.core",
    "default_methods": "sk_anyloss.compare.methods.registry",
    "get_method": "sk_anyloss.compare.methods.registry",
    "load_model": "sk_anyloss.compare.model_file.loading",
    "make_table": "sk_anyloss.compare.tables.build",
    "method_names": "sk_anyloss.compare.methods.registry",
    "read_table": "sk_anyloss.compare.tables.sources",
    "register_method": "sk_anyloss.compare.methods.registry",
    "trusted_names": "sk_anyloss.compare.model_file",
    "unregister_method": "sk_anyloss.compare.methods.registry",
}


def __getattr__(name: str) -> Any:
    if name not in _DEFINED_IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_DEFINED_IN[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
