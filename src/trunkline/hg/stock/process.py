"""A child process and its three pipes. Every wait is bounded, nothing is left behind.

One thread at a time uses a `Process`; no thread of ours waits beside it. Whatever the caller waits
for, stderr is drained meanwhile, so that the child never stops on a full pipe.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Sequence

from trunkline.errors import StoreError

READ_SIZE = 256 * 1024  # bytes asked of a pipe at once
PIPE_SIZE = 256 * 1024  # bytes a child may write ahead; the system may refuse
WORDS_LIMIT = 1024 * 1024  # bytes of stderr kept
LINE_LIMIT = 1024 * 1024  # bytes of a line on stdout
LOOK_SECONDS = 1.0  # between two looks whether a child that says nothing is still there
WAIT_STEP = 0.1  # seconds between two looks at the stderr of a child that is about to exit
TERMINATE_SECONDS = 5.0  # from SIGTERM (hg rolls back and unlocks) to SIGKILL


class ProcessEnded(StoreError):
    """The child closed its pipes where more was expected."""


class ProcessSilent(StoreError):
    """The child neither said nor took anything for as long as we were willing to wait."""


class Process:
    """Holds: a process group of its own, so that the hooks that a child runs end with it."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self.name = " ".join(command[:1])
        self.words = bytearray()  # what stderr said, up to WORDS_LIMIT
        self.look: Callable[[], None] | None = None  # called in waits; what it raises ends them
        self._held = bytearray()  # read from stdout, not yet asked for
        try:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd="/",
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise StoreError(f"can't start Mercurial: {error}", command[0]) from error
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        assert self._child.stderr is not None
        self._in, self._out, self._err = (
            self._child.stdin,
            self._child.stdout,
            self._child.stderr,
        )
        for pipe in (self._in, self._out, self._err):
            os.set_blocking(pipe.fileno(), False)
        with contextlib.suppress(OSError, AttributeError):
            fcntl.fcntl(self._out.fileno(), fcntl.F_SETPIPE_SZ, PIPE_SIZE)

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def is_running(self) -> bool:
        return self._child.poll() is None

    # What goes in

    def write(self, data: bytes, seconds: float) -> None:
        """All of `data`. Raises: ProcessEnded, ProcessSilent."""
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(self._in.fileno(), left) :]
            except BlockingIOError:
                if not self._wait(seconds, is_writing=True):
                    raise ProcessEnded("Mercurial ended before it had read its input") from None
            except OSError as error:
                raise ProcessEnded("Mercurial ended before it had read its input") from error

    def close_input(self) -> None:
        with contextlib.suppress(OSError):
            self._in.close()

    # What comes out

    def read_some(self, limit: int, seconds: float) -> bytes:
        """From 1 to `limit` bytes; b"" at the end of the output."""
        if self._held:
            data = bytes(self._held[:limit])
            del self._held[:limit]
            return data
        return self._read_pipe(limit, seconds)

    def read_block(self, size: int, seconds: float) -> bytes:
        """`size` bytes, fewer only at the end of the output."""
        parts: list[bytes] = []
        while size > 0:
            part = self.read_some(size, seconds)
            if not part:
                break
            parts.append(part)
            size -= len(part)
        return b"".join(parts) if len(parts) != 1 else parts[0]

    def read_exactly(self, size: int, seconds: float) -> bytes:
        data = self.read_block(size, seconds)
        if len(data) < size:
            raise ProcessEnded(f"Mercurial's answer ended {size - len(data)} bytes early")
        return data

    def read_line(self, seconds: float) -> bytes:
        """With its line feed. Raises: ProcessEnded where the output ends before one."""
        start = 0
        while (end := self._held.find(b"\n", start)) < 0:
            start = len(self._held)
            if start > LINE_LIMIT:
                raise StoreError(f"Mercurial answered with a line of over {LINE_LIMIT} bytes")
            more = self._read_pipe(READ_SIZE, seconds)
            if not more:
                raise ProcessEnded("Mercurial ended without an answer")
            self._held += more
        line = bytes(self._held[: end + 1])
        del self._held[: end + 1]
        return line

    def drain_words(self) -> None:
        """Take what stderr holds now, without waiting."""
        if self._err.closed:
            return
        try:
            while data := os.read(self._err.fileno(), READ_SIZE):
                self.words += data[: max(0, WORDS_LIMIT - len(self.words))]
            self._err.close()
        except BlockingIOError:
            pass

    def take_words(self) -> bytes:
        self.drain_words()
        words = bytes(self.words)
        self.words.clear()
        return words

    def _read_pipe(self, limit: int, seconds: float) -> bytes:
        while True:
            try:
                return os.read(self._out.fileno(), limit)
            except BlockingIOError:
                if not self._wait(seconds):
                    return b""

    def _wait(self, seconds: float, is_writing: bool = False) -> bool:
        """Until stdout can be read (or stdin written), draining stderr. False: the child has ended,
        and what it left behind (a hook's own child) holds the pipe open. Raises: ProcessSilent.
        """
        poll = select.poll()
        wanted = self._in.fileno() if is_writing else self._out.fileno()
        poll.register(wanted, select.POLLOUT if is_writing else select.POLLIN)
        errors = -1 if self._err.closed else self._err.fileno()
        if errors >= 0:
            poll.register(errors, select.POLLIN)
        deadline = time.monotonic() + seconds
        while True:
            if self.look is not None:
                self.look()
            left = deadline - time.monotonic()
            ready = poll.poll(max(0.0, min(left, LOOK_SECONDS)) * 1000)
            if any(fd == wanted for fd, _ in ready):
                return True
            if ready:
                self.drain_words()
                if self._err.closed:
                    poll.unregister(errors)
            if not self.is_running:
                return any(fd == wanted for fd, _ in poll.poll(0))
            if left <= 0:
                raise ProcessSilent(f"Mercurial was silent for {seconds:g} s")

    # The end

    def finish(self, seconds: float) -> int:
        """Close stdin, let the child end by itself, else end it. Its exit status; all words read.

        A process that a hook has left in the background may hold our pipes; nobody waits for it.
        """
        self.look = None
        self.close_input()
        if self._out.closed:
            return self._child.wait()
        deadline = time.monotonic() + seconds
        try:
            while self._read_pipe(READ_SIZE, max(0.0, deadline - time.monotonic())):
                pass
        except ProcessSilent:
            return self.end()
        while True:
            self.drain_words()
            try:
                self._child.wait(WAIT_STEP)
            except subprocess.TimeoutExpired:
                if time.monotonic() > deadline:
                    return self.end()
            else:
                return self._close()

    def end(self) -> int:
        """SIGTERM, on which hg rolls back and unlocks, then SIGKILL. Reaped on return."""
        self.close_input()
        self._signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(TERMINATE_SECONDS)
        return self.kill()

    def interrupt(self) -> None:
        """SIGTERM, for any thread: the one that uses it finds the pipes at their end."""
        self._signal(signal.SIGTERM)

    def terminate(self, seconds: float) -> None:
        """The same; it is reaped on return."""
        self.interrupt()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(seconds)
        self._signal(signal.SIGKILL)
        self._child.wait()

    def kill(self) -> int:
        """At once, for a child that holds nothing. Reaped on return."""
        self._signal(signal.SIGKILL)
        self._child.wait()
        return self._close()

    def _signal(self, number: signal.Signals) -> None:
        # Not reaped yet, so neither the pid nor the group of that number can be anyone else's.
        if self._child.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child.pid, number)
                os.killpg(self._child.pid, signal.SIGCONT)  # one that is stopped heeds no SIGTERM

    def _close(self) -> int:
        with contextlib.suppress(OSError, ValueError):
            self.drain_words()
        for pipe in (self._in, self._out, self._err):
            with contextlib.suppress(OSError):
                pipe.close()
        return self._child.wait()
