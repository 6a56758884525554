"""The documents that show kept results: how templates are read, where documents are written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import jinja2

ROOT = Path(__file__).parent.parent


def templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=jinja2.select_autoescape(["svg"]),
    )


def write_pages(texts: Mapping[str, str]) -> None:
    """`texts`: file name below the project -> what it says."""
    for name, text in texts.items():
        (ROOT / name).write_text(text)
