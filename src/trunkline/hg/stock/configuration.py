"""What Mercurial's configuration says about one repository, as the installed Mercurial reads it.

Includes, the order of files, trust and share-safe are its business; here its answer is kept until
one of the files that it came from is another one.
Source: hg 7.2.4, mercurial/configuration/, `hg help config`.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from trunkline.config.hgconfig import HgConfig
from trunkline.config.mercurial import CHECKS
from trunkline.errors import StoreError
from trunkline.hg.stock.cmdserver import COMMAND_SECONDS, CommandServer, Ran
from trunkline.hg.stock.installed import child_environment, find_hg
from trunkline.hg.stock.process import Process
from trunkline.hg.stock.watch import Signature, read_text, sign, with_includes

CACHED_LIMIT = 2000  # repositories whose configuration is kept
_SHARED_TEXT_LIMIT = 200  # bytes; longer values are seldom the same in two repositories

# NUL can't stand in a name, a value or a path, so no quoting is needed (JSON would have to bend
# bytes that aren't UTF-8).
_TEMPLATE = rb"{name}\0{value}\0{source}\0"
_SOURCES_OF_THE_RUN = (b"repo", b"commandserver", b"--verbose", b"--debug", b"--quiet")
# Of no use to a server, and most of the text there is; `auth` holds passwords besides.
_UNUSED_SECTIONS = frozenset({"alias", "auth", "color", "merge-patterns", "merge-tools"})
_NAMES_FILES = ("HGRCPATH", "HOME", "XDG_CONFIG_HOME")
_READ_FROM = b"read config from: "

Values = dict[tuple[str, str], str]
Parsed = tuple[Values, list[str], Values]


class ConfigRefused(StoreError):
    """Mercurial looked at the files and said no; it will, until they are other ones."""


@dataclass(frozen=True, slots=True)
class _Cached:
    """One answer: a configuration, or the words why there is none.

    Never the exception itself: each raise would hang its frames on it, and all that they hold.
    """

    answer: HgConfig | str
    base: int
    watched: tuple[str, ...]
    signature: Signature

    def is_of(self, other: _Cached) -> bool:
        """Whether both were read from the same state of the same files."""
        return (self.base, self.watched, self.signature) == (
            other.base,
            other.watched,
            other.signature,
        )


@dataclass(slots=True)
class _Base:
    """System and user files; whatever is asked about a repository rests on them too."""

    generation: int = 0
    watched: tuple[str, ...] = ()
    signature: Signature = ()
    environment: tuple[str | None, ...] = ()


@dataclass
class ConfigReader:
    """Reads and keeps configurations. Thread-safe; at most CACHED_LIMIT are held.

    The same HgConfig object comes back as long as nothing has changed, so that identity tells a
    holder of things derived from it (`is`) whether they are still good.
    """

    hg: str
    _server: CommandServer = field(init=False)
    _cache: OrderedDict[tuple[str, tuple[str, ...]], _Cached] = field(default_factory=OrderedDict)
    _base: _Base = field(default_factory=_Base)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _base_lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._server = CommandServer(self.hg)

    def read(self, root: str, overrides: Sequence[str] = ()) -> HgConfig:
        """Raises: StoreError, in Mercurial's own words, when it can't tell."""
        generation = self._base_generation()
        key = (root, tuple(overrides))
        with self._lock:
            cached = self._cache.get(key)
            if cached is not None:
                self._cache.move_to_end(key)
        if cached is None or cached.base != generation or sign(cached.watched) != cached.signature:
            cached = self._ask(root, overrides, generation)
            with self._lock:
                other = self._cache.get(key)  # of a thread that asked at the same time
                if other is not None and other.is_of(cached):
                    cached = other
                self._cache[key] = cached
                self._cache.move_to_end(key)
                while len(self._cache) > CACHED_LIMIT:
                    self._cache.popitem(last=False)
        if isinstance(cached.answer, str):
            raise StoreError(cached.answer)
        return cached.answer

    def kept(self, root: str, overrides: Sequence[str] = ()) -> HgConfig | None:
        """What `read` would give, where some stats are enough to say so. Waits for nobody."""
        if not self._base_lock.acquire(blocking=False):
            return None
        try:
            is_base_good = self._is_current(self._base, _environment())
            generation = self._base.generation
        finally:
            self._base_lock.release()
        with self._lock:
            cached = self._cache.get((root, tuple(overrides)))
        if not is_base_good or cached is None or cached.base != generation:
            return None
        if isinstance(cached.answer, str) or sign(cached.watched) != cached.signature:
            return None
        return cached.answer

    def close(self) -> None:
        self._server.close()

    @staticmethod
    def _is_current(base: _Base, environment: tuple[str | None, ...]) -> bool:
        return (
            bool(base.generation)
            and base.environment == environment
            and base.signature == sign(base.watched)
        )

    def _base_generation(self) -> int:
        with self._base_lock:
            base, environment = self._base, _environment()
            if self._is_current(base, environment):
                return base.generation
            told = run_once(self.hg, [b"config", b"--debug"])
            if told.status != 0:
                raise StoreError(f"Mercurial can't start: {_last_line(told.errors)}", self.hg)
            # `sudo -u hg` may leave HOME at another's: that stops nothing.
            watched = with_includes(_base_files(told.output), must_be_readable=False)
            signature = sign(watched)
            self._server.restart()  # it read these files at its start, and not since
            self._base = _Base(base.generation + 1, watched, signature, environment)
            return self._base.generation

    def _ask(self, root: str, overrides: Sequence[str], generation: int) -> _Cached:
        watched = with_includes(_repository_files(root))
        signature = sign(watched)  # before the answer: a change in between shows the next time
        try:
            trusted, sources, places = self._config(root, overrides, [])
        except ConfigRefused as refusal:
            return _Cached(refusal.text, generation, watched, signature)
        missed = [path for path in sources if path not in watched + self._base.watched]
        watched, signature = (*watched, *missed), (*signature, *sign(missed))
        untrusted = trusted
        if _may_distrust(signature):
            untrusted, _, places = self._config(root, overrides, [b"--untrusted"])
        return _Cached(HgConfig(trusted, untrusted, places), generation, watched, signature)

    def _config(self, root: str, overrides: Sequence[str], options: list[bytes]) -> Parsed:
        ran = self._run([b"-R", os.fsencode(root), *_question(overrides), *options])
        if ran.status != 0:
            kind = ConfigRefused if ran.status > 0 else StoreError
            raise kind(f"Mercurial can't read the configuration: {_last_line(ran.errors)}", root)
        return _parse_values(ran.output)

    def _run(self, arguments: list[bytes]) -> Ran:
        try:
            return self._server.run(arguments)
        except StoreError:
            return run_once(self.hg, arguments)


def run_once(hg: str, arguments: list[bytes]) -> Ran:
    """One command in a process of its own. Raises: StoreError when it can't run or hangs."""
    process = Process([hg, *(os.fsdecode(word) for word in arguments)], child_environment())
    try:
        process.close_input()
        parts: list[bytes] = []
        while part := process.read_some(1 << 20, COMMAND_SECONDS):
            parts.append(part)
        status = process.finish(COMMAND_SECONDS)
    except BaseException:
        process.kill()
        raise
    return Ran(status, b"".join(parts), bytes(process.words))


_readers: dict[str, ConfigReader] = {}
_readers_lock = threading.Lock()


def read_config(root: str, overrides: Sequence[str] = (), hg: str | None = None) -> HgConfig:
    """Configuration of the repository at `root`; `overrides` are SECTION.NAME=VALUE and win.

    `hg` names the program, see `installed.find_hg`. Raises: StoreError.
    """
    return config_reader(hg).read(os.path.abspath(root), overrides)


def kept_config(root: str, overrides: Sequence[str] = (), hg: str | None = None) -> HgConfig | None:
    """The same, if it was read before and a few stats show that it still holds; else None."""
    return config_reader(hg).kept(os.path.abspath(root), overrides)


def read_base_config(overrides: Sequence[str] = (), hg: str | None = None) -> HgConfig:
    """What every repository starts from: the system's and the user's files. Raises: StoreError."""
    arguments = [b"--cwd", b"/", *_question(overrides)]
    ran = run_once(find_hg(hg), arguments)
    has_nothing = ran.status == 1 and not ran.output and not ran.errors  # no value in any file
    if ran.status != 0 and not has_nothing:
        raise StoreError(f"Mercurial can't read its configuration: {_last_line(ran.errors)}")
    values, _, places = _parse_values(ran.output)
    return HgConfig(values, values, places)


def config_reader(hg: str | None = None) -> ConfigReader:
    """The one reader of this process for that `hg`."""
    program = find_hg(hg)
    with _readers_lock:
        reader = _readers.get(program)
        if reader is None:
            reader = _readers[program] = ConfigReader(program)
        return reader


def close_readers() -> None:
    """At the end of a worker: no child stays."""
    with _readers_lock:
        readers = list(_readers.values())
        _readers.clear()
    for reader in readers:
        reader.close()


def _question(overrides: Sequence[str]) -> list[bytes]:
    arguments = [b"config", b"--source", b"-T", _TEMPLATE]
    for override in overrides:
        arguments += [b"--config", os.fsencode(override)]
    return arguments


def _environment() -> tuple[str | None, ...]:
    return tuple(os.environ.get(name) for name in _NAMES_FILES)


def _base_files(output: bytes) -> Iterator[str]:
    for line in output.splitlines():
        if line.startswith(_READ_FROM) and not line.startswith(_READ_FROM + b"resource:"):
            path = os.fsdecode(line[len(_READ_FROM) :])
            yield path
            if os.path.basename(path) == "hgrc":
                yield path + ".d"  # a folder, whose *.rc files are read too
    yield from filter(None, os.environ.get("HGRCPATH", "").split(os.pathsep))


def _repository_files(root: str) -> Iterator[str]:
    """What Mercurial looks at in the repository itself; `requires` says if a share is safe."""
    inside = os.path.join(root, ".hg")
    for name in ("requires", "sharedpath", "hgrc", "hgrc-not-shared", "store/requires"):
        yield os.path.join(inside, name)
    told = os.fsdecode(read_text(os.path.join(inside, "sharedpath")).rstrip(b"\n"))
    if not told or "\0" in told:
        return
    source = os.path.normpath(os.path.join(inside, told))
    for name in ("hgrc", "requires", "store/requires"):
        yield os.path.join(source, name)


def _may_distrust(signature: Signature) -> bool:
    """Whether a file has another owner than we are. Mercurial trusts its user's own files always,
    so only then can its two answers differ."""
    return any(found is not None and found[-1] != os.geteuid() for found in signature)


def _parse_values(output: bytes) -> Parsed:
    """Values, the files that they come from, and FILE:LINE of those that are to be checked."""
    fields = output.split(b"\0")
    if len(fields) % 3 != 1 or fields[-1].strip():
        raise StoreError("Mercurial's answer about its configuration was cut short")
    values: Values = {}
    sources: dict[str, None] = {}
    places: Values = {}
    for name, value, source in zip(fields[0:-1:3], fields[1:-1:3], fields[2:-1:3], strict=True):
        section, _, item = name.decode("utf-8", "surrogateescape").partition(".")
        path, _, line = source.rpartition(b":")
        if path.startswith(b"/") and line.isdigit():
            sources[os.fsdecode(path)] = None
            if (section, item) in CHECKS:
                places[_shared(section), _shared(item)] = os.fsdecode(source)
        if source not in _SOURCES_OF_THE_RUN and section not in _UNUSED_SECTIONS:
            values[_shared(section), _shared(item)] = _shared(
                value.decode("utf-8", "surrogateescape")
            )
    return values, list(sources), places


def _shared(text: str) -> str:
    """Thousands of repositories say much the same: one copy of each short text."""
    return sys.intern(text) if len(text) <= _SHARED_TEXT_LIMIT else text


def _last_line(errors: bytes) -> str:
    """What went wrong; hints stand in parentheses."""
    lines = errors.decode("utf-8", "backslashreplace").strip().splitlines()
    return next((line for line in reversed(lines) if not line.startswith("(")), "no reason given")
