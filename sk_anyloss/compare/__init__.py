"""Comparison of methods on a table, with a verdict on training on the metric.

>>> from sk_anyloss.compare import built_in, compare
>>> table = built_in()
>>> found = compare(
...     table.X, table.y, metric="f1", methods=["anyloss", "logistic"], folds=3
... )
>>> found.winner in ("anyloss", "logistic")
True
"""

from sk_anyloss.compare import _home  # noqa: F401  Before skrub and matplotlib.
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
from sk_anyloss.compare.model_file.saved import load_model
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
