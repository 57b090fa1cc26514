"""Versions of the packages that results depend on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from sk_anyloss import __version__

__all__ = ["versions"]


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that the results depend on.

    Returns
    -------
    versions : dict of str to str
        By the name of the package.

    Examples
    --------
    >>> from sk_anyloss.compare.report.versions import versions
    >>> list(versions())[:3]
    ['python', 'sk_anyloss', 'scikit-learn']
    """
    installed = {"python": platform.python_version(), "sk_anyloss": __version__}
    names = "scikit-learn imbalanced-learn torch skorch skrub numpy pandas"
    for name in names.split():
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            installed[name] = "not installed"
    return installed
