"""Tables and cells in Markdown."""

from collections.abc import Container, Iterable, Sequence

import numpy as np


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def number(value: float | None, digits: int = 3, sign: bool = False) -> str:
    """A rounded number, or a dash."""
    if value is None or not np.isfinite(value):
        return "-"
    return f"{value:{'+' if sign else ''}.{digits}f}"


def probabilities(values: Iterable[float]) -> str:
    """Probabilities to be better, practically equivalent and worse."""
    return " / ".join(number(p, 2) for p in values)


def bold(cells: Sequence[object], positions: Container[int]) -> list[object]:
    """The cells, with those at some positions in bold."""
    return [f"**{cell}**" if i in positions else cell for i, cell in enumerate(cells)]
