"""Stock Mercurial as a program: the clients of the tests, and the maker of repositories."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[2]
RUN_SECONDS = 240

# Nothing of the user's own: no hgrc, no locale surprises, one user and one date for every commit.
ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HGRCPATH": "",
    "HGPLAIN": "1",
    "HGUSER": "test",
    "LC_ALL": "C.UTF-8",
    "PYTHONWARNINGS": "ignore",
}
FIXED = ("--config", "devel.default-date=0 0")

Argument = str | bytes | Path


@dataclass(frozen=True)
class Finished:
    status: int
    out: bytes
    err: bytes

    @property
    def lines(self) -> list[bytes]:
        return self.out.splitlines()


class HgFailed(AssertionError):
    """`hg` ended with another status than the test expects."""


@dataclass(frozen=True)
class Hg:
    """One installed Mercurial."""

    executable: Path
    config: tuple[str, ...] = ()

    @cached_property
    def version(self) -> tuple[int, ...]:
        text = self.run("version", "--template", "{ver}").out.decode()
        return tuple(int(number) for number in re.findall(r"\d+", text)[:3])

    def with_config(self, *config: str) -> Hg:
        """The same program with more `section.name=value`."""
        return replace(self, config=(*self.config, *config))

    def command(self, *arguments: Argument) -> list[Argument]:
        options = [word for setting in self.config for word in ("--config", setting)]
        return [self.executable, *FIXED, *options, *arguments]

    def run(
        self, *arguments: Argument, cwd: Path | None = None, expect: int | None = 0
    ) -> Finished:
        """Run one command to its end. Raises: HgFailed unless it ends with `expect` (None: any)."""
        command = self.command(*arguments)
        done = subprocess.run(
            command,
            cwd=cwd,
            env=ENVIRONMENT,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=RUN_SECONDS,
            check=False,
        )
        if expect is not None and done.returncode != expect:
            words = " ".join(os.fsdecode(word) for word in command)[:1000]
            said = (done.stdout + done.stderr)[-4000:].decode(errors="replace")
            raise HgFailed(f"{words}\nexit status {done.returncode}, expected {expect}\n{said}")
        return Finished(done.returncode, done.stdout, done.stderr)

    def __call__(self, *arguments: Argument, cwd: Path | None = None) -> bytes:
        """What a command that succeeds prints."""
        return self.run(*arguments, cwd=cwd).out

    def session(self, repository: Path) -> Session:
        return Session(self, repository)


class Session:
    """One warm `hg serve --cmdserver pipe` in a repository: many commands without many start-ups.

    Source: hg 7.2.4, mercurial/commandserver.py; https://wiki.mercurial-scm.org/CommandServer.
    """

    def __init__(self, hg: Hg, repository: Path) -> None:
        self._path = repository
        self._process = subprocess.Popen(
            hg.command("serve", "--cmdserver", "pipe"),
            cwd=repository,
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._read()  # its greeting

    def _read(self) -> tuple[bytes, bytes]:
        assert self._process.stdout is not None
        channel, length = struct.unpack(">cI", self._process.stdout.read(5))
        if channel in b"IL":  # it asks for input: there is none
            self._write(struct.pack(">I", 0))
            return b"", b""
        return channel, self._process.stdout.read(length)

    def _write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def __call__(self, *arguments: Argument) -> bytes:
        """What a command that succeeds prints."""
        done = self.run(*arguments)
        if done.status != 0:
            said = (done.out + done.err).decode(errors="replace")
            raise HgFailed(f"hg {arguments!r}: exit status {done.status}\n{said}")
        return done.out

    def run(self, *arguments: Argument) -> Finished:
        """One command to its end, whatever that is."""
        words = b"\0".join(os.fsencode(word) for word in arguments)
        self._write(b"runcommand\n" + struct.pack(">I", len(words)) + words)
        out, err = b"", b""
        while True:
            channel, data = self._read()
            if channel == b"o":
                out += data
            elif channel == b"e":
                err += data
            elif channel == b"r":
                (status,) = struct.unpack(">i", data)
                return Finished(status, out, err)

    def write(self, name: str | bytes, data: bytes) -> Path:
        """A file of the working copy, its folders too."""
        path = self._path / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def commit(self, message: str, *arguments: Argument) -> None:
        self("commit", "--addremove", "--message", message, *arguments)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=30)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


INSTALLED = Hg(Path(sys.executable).with_name("hg"))


def older_versions() -> Sequence[str]:
    """The versions that scripts/older-mercurials builds."""
    text = (ROOT / "tests/compat/older-mercurials.txt").read_text()
    return [line.strip() for line in text.splitlines() if line.strip() and line[0] != "#"]


def older(version: str) -> Hg:
    return Hg(ROOT / ".cache" / f"hg-{version}" / "bin" / "hg")
