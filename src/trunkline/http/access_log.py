"""One line for each request: what was asked, what went out, and whether it went out whole.

Nothing of a query but the command's name is written: arguments are none of the log's business.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from trunkline.http.log_writer import STDERR, LogWriter, stderr_writer

log = logging.getLogger(__name__)

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


class AccessLog:
    """Appends to a file or stderr. Processes don't mix their lines. `turn`: see `LogFile`."""

    def __init__(
        self, target: str, form: Literal["text", "json"], turn: Callable[[], int] = lambda: 0
    ) -> None:
        self._format = format_json if form == "json" else format_text
        self._writer: LogWriter | None = None
        if target == "-":
            self._writer = stderr_writer
        elif target:
            self._writer = LogWriter(LogFile(target, turn).descriptor, "the access log")

    @property
    def is_on(self) -> bool:
        return self._writer is not None

    def add(self, line: Line) -> None:
        """Written by another thread, a moment later."""
        if self._writer is not None:
            text = self._format(time.time(), line) + "\n"
            self._writer.write(text.encode("utf-8", "backslashreplace"))

    def flush(self) -> None:
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """At the end of the program. What was lost is said."""
        if self._writer is stderr_writer:
            self.flush()
        elif self._writer is not None:
            self._writer.close()


class LogFile:
    """A file that is opened anew before the next line whenever `turn` has moved on.

    If it can't be opened, that is said once for each turn, and stderr takes its place.
    """

    def __init__(self, target: str, turn: Callable[[], int]) -> None:
        self._target = target
        self._turn = turn
        self._opened_at = turn()
        self._descriptor = open_file(target)

    def descriptor(self) -> int:
        turn = self._turn()
        if turn != self._opened_at:
            self._opened_at = turn
            old, self._descriptor = self._descriptor, open_file(self._target)
            if old != STDERR:
                os.close(old)
        return self._descriptor


def open_file(target: str) -> int:
    try:
        return os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
    except OSError as error:
        log.error("log.access: %s: %s; it goes to stderr instead", target, error.strerror)
        return STDERR


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
