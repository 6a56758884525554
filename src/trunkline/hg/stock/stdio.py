"""Mercurial's SSH transport, client side, over the pipes of one `hg` that runs `inside.serve`.

Wire:   a request as in `commands`; an answer is its length in decimal, LF, the bytes; a stream is
        raw and has no end of its own, so the process is spent by it: its stdin is closed, and what
        it says until it exits with status 0 is the stream.
Source: hg 7.2.4, mercurial/wireprotoserver.py and sshpeer.py.
"""

from __future__ import annotations

import re

from trunkline.config.hgconfig import HgConfig
from trunkline.errors import ClientGone, PeerError, StoreError, TrunklineError
from trunkline.hg.stock.caller import Caller
from trunkline.hg.stock.commands import Command, format_request, parse_command
from trunkline.hg.stock.process import Process, ProcessEnded
from trunkline.work import Work

START_SECONDS = 60.0  # of silence until the first answer
ANSWER_SECONDS = 300.0  # of silence in an answer: tags or branches may have to be computed anew
STREAM_SECONDS = 900.0  # of silence in a stream: hooks run, deltas are made
PUSH_SECONDS = 3600.0  # of silence after a push: hooks may build and test
FINISH_SECONDS = 30.0  # from the end of the output to the exit
ANSWER_LIMIT = 512 * 1024 * 1024  # bytes of one answer
NOISE_LINES = 2000  # before the first answer, what an extension prints among them

COMMAND = b"trunkline: command "  # see `inside.serve`
READY = b"trunkline: ready\n"
_END_OF_ERROR = b"\n-\n"  # of an error beside the answers, on stderr
_ABORT = re.compile(rb"^abort: (.*)$", re.MULTILINE)
_HOOK_FAILED = re.compile(rb"^error: \S+ hook failed: ", re.MULTILINE)
_UNKNOWN = "unknown revision '"
_REFUSALS = (
    "incompatible Mercurial client; bundle2 required",
    "server has pull-based clones disabled",
)
# Of a changeset that isn't there, and of one that isn't for the peer to see: told the same way.
# Source: hg 7.2.4, localrepo.py, scmutil.py (_filterederror), obsutil.py, error.py (LookupError).
_WHY = r"(?: \(not in '.*' subset\)| (?:was|is|has) .*)?"
_UNSEEN = re.compile(rf"(?:hidden|filtered) revision '(.*?)'{_WHY}", re.DOTALL)
_NO_NODE = re.compile(r"00changelog(?:\.i)?@([0-9a-f]+): (?:no|filtered) node")
# Source: hg 7.2.4, mercurial/scmutil.py (callcatch). What it names holds a path.
_CANT_LOCK = re.compile(r"could not lock .*: (Permission denied|Read-only file system)", re.DOTALL)
# Exit statuses under ui.detailed-exit-code. Source: hg 7.2.4, mercurial/error.py, scmutil.py.
_INPUT_STATUS, _STORAGE_STATUS, _HOOK_STATUS, _OTHER_STATUS = 10, 50, 40, 255
_LOCK_STATUS = 20


class StdioServer:
    """One process; one exchange at a time. `config` is what it was started under."""

    def __init__(self, root: str, process: Process, config: HgConfig) -> None:
        self.root = root
        self.process = process
        self.config = config
        self.idle_since = 0.0
        self.is_between_requests = True
        self.commands: dict[bytes, Command] = {}  # empty: it has not said that it is ready
        self._work = Work()

    def begin(self, caller: Caller, work: Work) -> None:
        """Make ready for one exchange: nothing read before counts, and hooks know who asks.
        Whoever waits looks at `work`, but while something is written.

        Raises: StoreError, ClientGone
        """
        self._work = work
        self.process.look = work.look
        others = {
            name.encode(): value.encode("utf-8", "surrogateescape")
            for name, value in caller.environment.items()
        }
        others |= {b"url": caller.url, b"protocaps": caller.protocaps}
        try:
            if not self.commands:
                self._await_ready()
            self._send(format_request(b"trunkline", (b"*",), others), START_SECONDS)
            if self._answer(START_SECONDS) != b"fresh":
                raise StoreError("Mercurial answered garbage", self.root)
        except ClientGone:
            raise
        except PeerError as error:  # the peer has asked for nothing yet
            raise StoreError(error.text, self.root) from error

    def call(self, command: bytes, arguments: dict[bytes, bytes]) -> bytes:
        self._request(command, arguments)
        return self._answer(ANSWER_SECONDS)

    def start_stream(self, command: bytes, arguments: dict[bytes, bytes]) -> None:
        """What follows on stdout is the reply; no other request can follow."""
        self._request(command, arguments)
        self.process.close_input()

    def start_push(self, heads: bytes) -> bytes:
        """b"" when the payload may follow, else why not."""
        self._request(b"unbundle", {b"heads": heads})
        return self._answer(ANSWER_SECONDS)

    def send_payload(self, block: bytes) -> None:
        if block:
            self._send(b"%d\n" % len(block), PUSH_SECONDS)
            self._send(block, PUSH_SECONDS)

    def end_payload(self) -> None:
        self._send(b"0\n", PUSH_SECONDS)
        self.process.close_input()

    def end_exchange(self) -> None:
        """Nobody waits for it any more."""
        self._work = Work()
        self.process.look = None
        self.process.take_words()

    def failure(self) -> TrunklineError:
        """Why a process that should go on didn't. It is reaped then."""
        status = self.process.finish(FINISH_SECONDS)
        return explain(status, self.process.take_words(), self.root)

    def _await_ready(self) -> None:
        """Pass over whatever an extension or a script around `hg` prints at the start."""
        commands: dict[bytes, Command] = {}
        try:
            for _ in range(NOISE_LINES):
                line = self.process.read_line(START_SECONDS)
                if line.startswith(COMMAND):
                    name, command = parse_command(line[len(COMMAND) :])
                    commands[name] = command
                elif line == READY:
                    del commands[b"trunkline"]  # for us, not for peers
                    self.commands = commands
                    return
        except ProcessEnded:
            raise self.failure() from None
        raise StoreError("Mercurial answered garbage", self.root)

    def _request(self, name: bytes, arguments: dict[bytes, bytes]) -> None:
        command = self.commands.get(name)
        if command is None:
            raise PeerError(f"no such command: {name[:60].decode('latin-1')!r}", 404)
        self.process.look = self._work.look if command.permission == b"pull" else None
        self._send(format_request(name, command.spec, arguments), ANSWER_SECONDS)

    def _send(self, data: bytes, seconds: float) -> None:
        self.is_between_requests = False
        try:
            self.process.write(data, seconds)
        except ProcessEnded:
            raise self.failure() from None

    def _answer(self, seconds: float) -> bytes:
        try:
            length = self.process.read_line(seconds)
            if length == b"\n":  # an error beside the answers: its words are on stderr
                self.is_between_requests = True
                words = veil(_text(self.process.take_words().removesuffix(_END_OF_ERROR)))
                raise PeerError(words or "refused by Mercurial")
            if not length[:-1].isdigit() or int(length) > ANSWER_LIMIT:
                raise StoreError(f"Mercurial answered garbage: {length[:60]!r}", self.root)
            answer = self.process.read_exactly(int(length), seconds)
            self.is_between_requests = True
            return answer
        except ProcessEnded:
            raise self.failure() from None


def explain(status: int, words: bytes, root: str) -> TrunklineError:
    """Whose fault an abort is.

    What Mercurial says of a bad request or a refusing hook is meant for the peer; what it says of
    the disk, of paths, or in a traceback is not.
    """
    found = _ABORT.findall(words)
    text = veil(_text(found[-1])) if found else ""
    if status == _LOCK_STATUS and (lock := _CANT_LOCK.fullmatch(text)):
        return PeerError(f"the server may not write to this repository: {lock[1]}")
    if text and is_free_of_paths(text, root):
        if status in (_INPUT_STATUS, _HOOK_STATUS) or (
            status == _OTHER_STATUS and _is_refusal(text, words)
        ):
            return PeerError(text)
        if status == _STORAGE_STATUS and text.startswith(_UNKNOWN):
            return PeerError(text)
    last = _text(words).splitlines()
    why = text or (last[-1] if last else "no reason given")
    return StoreError(f"Mercurial failed with status {status}: {why}", root)


def veil(text: str) -> str:
    """Words for the peer, which don't tell a changeset that is hidden from one that isn't there."""
    found = _UNSEEN.fullmatch(text) or _NO_NODE.fullmatch(text)
    return f"{_UNKNOWN}{found[1]}'" if found else text


def _is_refusal(text: str, words: bytes) -> bool:
    """Of an abort that has no kind, like those of hooks in Python."""
    return text.startswith(_REFUSALS) or _HOOK_FAILED.search(words) is not None


def is_free_of_paths(text: str, root: str) -> bool:
    return root not in text and re.search(r"(^|[\s'\"(:])/[^\s/]", text) is None


def _text(words: bytes) -> str:
    return words.decode("utf-8", "replace").strip()
