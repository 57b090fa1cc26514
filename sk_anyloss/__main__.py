"""``python -m sk_anyloss`` and the command ``sk_anyloss``."""

import sys


def main() -> int:
    """Run the command line, or say what it needs."""
    try:
        from sk_anyloss.compare.cli import main as run
    except ModuleNotFoundError as error:
        print(
            f"This command needs {error.name}: pip install 'sk_anyloss[compare]'",
            file=sys.stderr,
        )
        return 2
    return run()


if __name__ == "__main__":
    sys.exit(main())
