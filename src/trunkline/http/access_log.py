"""One line for each request: what was asked, what went out, and whether it went out whole.

Nothing of a query but the command's name is written: arguments are none of the log's business.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Outcome = Literal["ok", "aborted", "gone"]

FIELD_LIMIT = 512  # characters of what a client wrote


@dataclass(slots=True)
class Line:
    """`bytes` are of the body. `outcome`: "aborted" when the reply was broken by our fault, "gone"
    when the client went away or took nothing any more.
    """

    client: str = "-"
    method: str = "-"
    path: str = "-"
    status: int = 0
    bytes: int = 0
    seconds: float = 0.0
    media_engine: str = ""
    command: str = ""
    user_agent: str = ""
    outcome: Outcome = "ok"
    user: str = ""


WRITE_LIMIT = 4096  # bytes at once: as many go to a pipe in one piece (PIPE_BUF of Linux)


class AccessLog:
    """Appends to a file or stderr, whole lines in one write, so that processes don't mix theirs."""

    def __init__(self, target: str, form: Literal["text", "json"]) -> None:
        self._format = format_json if form == "json" else format_text
        self._descriptor: int | None = None
        self._held = b""
        if target == "-":
            self._descriptor = sys.stderr.fileno()
        elif target:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._descriptor = os.open(target, flags, 0o640)

    @property
    def is_on(self) -> bool:
        return self._descriptor is not None

    def hold(self, line: Line) -> bool:
        """Keep a line for `flush`. True: it is the first, so `flush` must be called soon."""
        if self._descriptor is None:
            return False
        text = (self._format(time.time(), line) + "\n").encode("utf-8", "backslashreplace")
        if len(self._held) + len(text) > WRITE_LIMIT:
            self.flush()
        is_first = not self._held
        self._held += text
        return is_first

    def flush(self) -> None:
        held, self._held = self._held, b""
        if self._descriptor is None or not held:
            return
        try:
            os.write(self._descriptor, held)
        except OSError:  # a full disk must not stop the service
            pass


def format_text(now: float, line: Line) -> str:
    """TIME CLIENT USER "METHOD PATH" STATUS BYTES SECONDS COMMAND ENGINE OUTCOME "USER AGENT"."""
    return (
        f"{stamp(now)} {shown(line.client)} {shown_word(line.user)} "
        f'"{shown(line.method)} {shown(line.path)}" '
        f"{line.status} {line.bytes} {line.seconds:.4f} {shown(line.command) or '-'} "
        f'{line.media_engine or "-"} {line.outcome} "{shown(line.user_agent)}"'
    )


def format_json(now: float, line: Line) -> str:
    fields = {
        "time": stamp(now),
        "client": line.client[:FIELD_LIMIT],
        "user": printable(line.user[:FIELD_LIMIT]) or None,
        "method": line.method[:FIELD_LIMIT],
        "path": printable(line.path[:FIELD_LIMIT]),
        "status": line.status,
        "bytes": line.bytes,
        "duration": round(line.seconds, 6),
        "engine": line.media_engine or None,
        "command": line.command[:FIELD_LIMIT] or None,
        "outcome": line.outcome,
        "user_agent": printable(line.user_agent[:FIELD_LIMIT]) or None,
    }
    return json.dumps(fields, ensure_ascii=True)


def stamp(now: float) -> str:
    return f"{whole_second(int(now))}.{int(now % 1 * 1000):03d}Z"


@lru_cache(maxsize=2)
def whole_second(now: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))


_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(32), 127, *range(128, 160))}
_ESCAPES |= {ord('"'): '\\"', ord("\\"): "\\\\"}


def shown(text: str) -> str:
    """No control character and no quote of a client ends or forges a line."""
    text = text[:FIELD_LIMIT]
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return text
    return printable(text).translate(_ESCAPES)


def shown_word(text: str) -> str:
    """Nor does a space of it begin another field."""
    return shown(text).replace(" ", "\\x20") or "-"


def printable(text: str) -> str:
    """Bytes that aren't UTF-8 came in as lone surrogates; JSON readers choke on those."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
