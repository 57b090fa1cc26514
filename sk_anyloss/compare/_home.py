"""Import of skrub and matplotlib where the home directory is not writable.

Importing skrub creates the directory ``~/skrub_data`` and fails where it cannot;
matplotlib falls back to a temporary directory and logs a warning. Importing this module
prevents both; the package imports it before either of them, also in worker processes.
"""

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path

__all__ = ["prepare"]


def prepare() -> None:
    """Set another directory for skrub, and silence the warnings of matplotlib.

    Nothing is changed where the home directory is writable.

    Examples
    --------
    >>> from sk_anyloss.compare._home import prepare
    >>> prepare()
    """
    try:
        home: Path | None = Path.home()
    except RuntimeError:  # Neither HOME nor an entry in the password database.
        home = None
    if home is not None and os.access(home, os.W_OK | os.X_OK):
        return
    if home is None or not (home / "skrub_data").is_dir():
        folder = Path(tempfile.gettempdir()) / "skrub_data"
        os.environ.setdefault("SKB_DATA_DIRECTORY", str(folder))
    # It warns of the temporary directory, and while it builds its font cache.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)


prepare()
