"""One warm `hg serve --cmdserver pipe`: Mercurial's commands without the cost of its start.

Wire:   out: channel (1 byte), length (u32 BE), data; in: "runcommand" LF, length (u32 BE),
        arguments parted by NUL. Channels o: output, e: errors, r: exit status (i32 BE).
Source: hg 7.2.4, mercurial/commandserver.py.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from trunkline.errors import StoreError
from trunkline.hg.stock.installed import child_environment
from trunkline.hg.stock.process import Process, ProcessEnded, ProcessSilent

COMMAND_SECONDS = 30.0  # of silence, then the process is taken for hung
OUTPUT_LIMIT = 64 * 1024 * 1024  # bytes of one command's output
COMMANDS_LIMIT = 2000  # a process is then replaced: extensions of repositories pile up in it
_HEADER = struct.Struct(">cI")


@dataclass(frozen=True, slots=True)
class Ran:
    """What one command came to. A negative `status` is of a signal, as `subprocess` has it."""

    status: int
    output: bytes
    errors: bytes


class CommandServer:
    """Thread-safe; commands run one after the other. A process that fails is replaced by the next
    call. A call whose process died is tried again, since only commands that change nothing are run
    here; not one whose process hung, since others wait meanwhile."""

    def __init__(self, hg: str) -> None:
        self._hg = hg
        self._lock = threading.Lock()
        self._process: Process | None = None
        self._runs = 0
        self._is_closed = False

    def run(self, arguments: Sequence[bytes]) -> Ran:
        """Raises: StoreError when two processes in a row fail, ProcessSilent when one hangs."""
        with self._lock:
            try:
                return self._run(arguments)
            except ProcessSilent:
                self._drop()
                raise
            except StoreError:
                self._drop()
            try:
                return self._run(arguments)
            except StoreError:
                self._drop()
                raise

    def restart(self) -> None:
        """Forget what the process read at its start (system and user configuration)."""
        with self._lock:
            self._drop()

    def close(self) -> None:
        """For good. Whoever waits for an answer waits no longer."""
        self._is_closed = True
        process = self._process
        if process is not None:
            process.interrupt()
        self.restart()

    def _drop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _run(self, arguments: Sequence[bytes]) -> Ran:
        if self._runs >= COMMANDS_LIMIT:
            self._drop()
        process = self._process or self._start()
        self._runs += 1
        joined = b"\0".join(arguments)
        process.write(b"runcommand\n" + struct.pack(">I", len(joined)) + joined, COMMAND_SECONDS)
        output, errors = bytearray(), bytearray()
        while True:
            channel, data = _read_chunk(process)
            if channel == b"r":
                (status,) = struct.unpack(">i", data)
                return Ran(status & 255, bytes(output), bytes(errors))  # -1 stands for 255
            if channel == b"o":
                output += data
            elif channel == b"e":
                errors += data
            elif channel.isupper():  # it asks for input: nobody is there to give any
                process.write(struct.pack(">I", 0), COMMAND_SECONDS)
            if len(output) + len(errors) > OUTPUT_LIMIT:
                raise StoreError(f"Mercurial's output passed {OUTPUT_LIMIT} bytes")

    def _start(self) -> Process:
        if self._is_closed:
            raise StoreError("the server is being stopped", self._hg)
        self._process = process = Process(
            [self._hg, "serve", "--cmdserver", "pipe"],
            child_environment(),
        )
        self._runs = 0
        channel, hello = _read_chunk(process)
        if channel != b"o" or not hello.startswith(b"capabilities:"):
            raise StoreError(f"not a Mercurial command server: {self._hg}")
        return process


def _read_chunk(process: Process) -> tuple[bytes, bytes]:
    channel, length = _HEADER.unpack(process.read_exactly(_HEADER.size, COMMAND_SECONDS))
    if channel.isupper():  # a question, `length` says how much it would take
        return channel, b""
    if length > OUTPUT_LIMIT:
        raise ProcessEnded("Mercurial's command server answered garbage")
    return channel, process.read_exactly(length, COMMAND_SECONDS)
