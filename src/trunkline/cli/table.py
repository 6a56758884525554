"""Rows in columns, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The last column is as long as it is. What could steer a terminal is shown as an escape."""
    lines = [tuple(head), *(tuple(shown(cell) for cell in row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head) - 1)]
    return "\n".join(
        "  ".join(
            [*(cell.ljust(width) for cell, width in zip(line[:-1], widths, strict=True)), line[-1]]
        ).rstrip()
        for line in lines
    )


def shown(text: str) -> str:
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
