"""``python -m sk_anyloss`` and the command ``sk_anyloss``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import requires


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, or name the package that it needs.

    Parameters
    ----------
    arguments : sequence of str, default=None
        The arguments; by default those of the process.

    Returns
    -------
    code : int
        The exit code: 0 for success, 2 for invalid input.
    """
    try:
        from sk_anyloss.compare.cli.main import main as run
    except ModuleNotFoundError as error:
        needed = [
            f"'{requirement.split(';')[0].strip()}'"
            for requirement in requires("sk_anyloss") or ()
            if "compare" in requirement
        ]
        print(
            f"This command needs {error.name}: pip install {' '.join(needed)}",
            file=sys.stderr,
        )
        return 2
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
