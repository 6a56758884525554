"""Mercurial's SSH transport, client side, over the pipes of one `hg` that runs `inside.serve`.

Wire:   a request as in `commands`; an answer is its length in decimal, LF, the bytes; a stream is
        raw and has no end of its own, so the process is spent by it: its stdin is closed, and what
        it says until it exits with status 0 is the stream.
Source: hg 7.2.4, mercurial/wireprotoserver.py and sshpeer.py.
"""

from __future__ import annotations

import re

from trunkline.config.hgconfig import HgConfig
from trunkline.errors import PeerError, StoreError, TrunklineError
from trunkline.hg.stock.caller import Caller
from trunkline.hg.stock.commands import format_request
from trunkline.hg.stock.process import Process, ProcessEnded

START_SECONDS = 60.0  # of silence until the first answer
ANSWER_SECONDS = 300.0  # of silence in an answer: tags or branches may have to be computed anew
STREAM_SECONDS = 900.0  # of silence in a stream: hooks run, deltas are made
PUSH_SECONDS = 3600.0  # of silence after a push: hooks may build and test
FINISH_SECONDS = 30.0  # from the end of the output to the exit
ANSWER_LIMIT = 512 * 1024 * 1024  # bytes of one answer
NOISE_LINES = 500  # printed before the first answer, by an extension say

READY = b"trunkline: ready\n"  # see `inside.serve`
_ABORT = re.compile(rb"^abort: (.*)$", re.MULTILINE)
# Exit statuses under ui.detailed-exit-code. Source: hg 7.2.4, mercurial/error.py, scmutil.py.
_INPUT_STATUS, _STORAGE_STATUS, _HOOK_STATUS, _OTHER_STATUS = 10, 50, 40, 255


class StdioServer:
    """One process; one exchange at a time. `config` is what it was started under."""

    def __init__(self, root: str, process: Process, config: HgConfig) -> None:
        self.root = root
        self.process = process
        self.config = config
        self.idle_since = 0.0
        self._is_ready = False

    def begin(self, caller: Caller) -> None:
        """Make ready for one exchange: nothing read before counts, and hooks know who asks.

        Raises: StoreError
        """
        others = {
            name.encode(): value.encode("utf-8", "surrogateescape")
            for name, value in caller.environment.items()
        }
        others |= {b"url": caller.url, b"protocaps": caller.protocaps}
        try:
            if not self._is_ready:
                self._await_ready()
            self._send(format_request(b"trunkline", others, spec=b"*"), START_SECONDS)
            if self._answer(START_SECONDS) != b"fresh":
                raise StoreError("Mercurial answered garbage", self.root)
        except PeerError as error:  # the peer has asked for nothing yet
            raise StoreError(error.text, self.root) from error

    def call(self, command: bytes, arguments: dict[bytes, bytes]) -> bytes:
        self._send(format_request(command, arguments), ANSWER_SECONDS)
        return self._answer(ANSWER_SECONDS)

    def start_stream(self, command: bytes, arguments: dict[bytes, bytes]) -> None:
        """What follows on stdout is the reply; no other request can follow."""
        self._send(format_request(command, arguments), ANSWER_SECONDS)
        self.process.close_input()

    def start_push(self, heads: bytes) -> bytes:
        """b"" when the payload may follow, else why not."""
        self._send(format_request(b"unbundle", {b"heads": heads}), ANSWER_SECONDS)
        return self._answer(ANSWER_SECONDS)

    def send_payload(self, block: bytes) -> None:
        if block:
            self._send(b"%d\n" % len(block), PUSH_SECONDS)
            self._send(block, PUSH_SECONDS)

    def end_payload(self) -> None:
        self._send(b"0\n", PUSH_SECONDS)
        self.process.close_input()

    def failure(self) -> TrunklineError:
        """Why a process that should go on didn't. It is reaped then."""
        status = self.process.finish(FINISH_SECONDS)
        return explain(status, self.process.take_words(), self.root)

    def _await_ready(self) -> None:
        """Pass over whatever an extension or a script around `hg` prints at the start."""
        try:
            for _ in range(NOISE_LINES):
                if self.process.read_line(START_SECONDS) == READY:
                    self._is_ready = True
                    return
        except ProcessEnded:
            raise self.failure() from None
        raise StoreError("Mercurial answered garbage", self.root)

    def _send(self, data: bytes, seconds: float) -> None:
        try:
            self.process.write(data, seconds)
        except ProcessEnded:
            raise self.failure() from None

    def _answer(self, seconds: float) -> bytes:
        try:
            length = self.process.read_line(seconds)
            if length == b"\n":  # an error beside the answers: its words are on stderr
                raise PeerError(_text(self.process.take_words()) or "refused by Mercurial")
            if not length[:-1].isdigit() or int(length) > ANSWER_LIMIT:
                raise StoreError(f"Mercurial answered garbage: {length[:60]!r}", self.root)
            return self.process.read_exactly(int(length), seconds)
        except ProcessEnded:
            raise self.failure() from None


def explain(status: int, words: bytes, root: str) -> TrunklineError:
    """Whose fault an abort is.

    What Mercurial says of a bad request or a refusing hook is meant for the peer; what it says of
    the disk, of paths, or in a traceback is not.
    """
    found = _ABORT.findall(words)
    text = _text(found[-1]) if found else ""
    if text and is_free_of_paths(text, root):
        if status == _HOOK_STATUS:
            return PeerError(text, 403)
        if status in (_INPUT_STATUS, _OTHER_STATUS):
            return PeerError(text)
        if status == _STORAGE_STATUS and text.startswith("00changelog@"):
            return PeerError(f"unknown changeset: {text}")
    last = _text(words).splitlines()
    why = text or (last[-1] if last else "no reason given")
    return StoreError(f"Mercurial failed with status {status}: {why}", root)


def is_free_of_paths(text: str, root: str) -> bool:
    return root not in text and re.search(r"(^|[\s'\"(:])/[^\s/]", text) is None


def _text(words: bytes) -> str:
    return words.decode("utf-8", "replace").strip()
