"""Let skrub and matplotlib be imported where the home directory cannot be written.

Importing skrub makes the directory ``~/skrub_data`` and fails where it cannot;
matplotlib makes do with a temporary directory and says so. This module does
its work when it is imported, which the package does before either of them, also in
worker processes.
"""

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path

__all__ = ["prepare"]


def prepare() -> None:
    """Name another directory to skrub if there is no home, and keep matplotlib quiet.

    Nothing is changed where the home directory can be written to.

    Examples
    --------
    >>> from sk_anyloss.compare._home import prepare
    >>> prepare()
    """
    try:
        home: Path | None = Path.home()
    except RuntimeError:  # There is neither HOME nor an entry for the user.
        home = None
    if home is not None and os.access(home, os.W_OK | os.X_OK):
        return
    if home is None or not (home / "skrub_data").is_dir():
        folder = Path(tempfile.gettempdir()) / "skrub_data"
        os.environ.setdefault("SKB_DATA_DIRECTORY", str(folder))
    # It warns of the temporary directory, and of the time that its font cache takes.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)


prepare()
