"""`hg` that is started once for many commands: the same clients, without their start-ups.

An extension that a process has loaded stays in it, so each set of extensions has processes of its
own; for repositories whose own hgrc has some, name them (`with_config("extensions.lfs=")`).
"""

from __future__ import annotations

import atexit
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from tests.compat.hg import INSTALLED, Argument, Finished, Hg, HgFailed, Session

Key = tuple[Path, tuple[str, ...]]


class Pool:
    """Idle processes by program and extensions. Thread-safe: each is lent to one command."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._idle: dict[Key, list[Session]] = defaultdict(list)
        atexit.register(self.close)

    @contextmanager
    def lend(self, hg: Hg) -> Iterator[Session]:
        extensions = tuple(word for word in hg.config if word.startswith("extensions."))
        key = hg.executable, extensions
        with self._lock:
            session = self._idle[key].pop() if self._idle[key] else None
        session = session or Session(Hg(hg.executable, extensions), Path("/"))
        try:
            yield session
        except BaseException:
            session.close()
            raise
        with self._lock:
            self._idle[key].append(session)

    def close(self) -> None:
        for sessions in self._idle.values():
            for session in sessions:
                session.close()


POOL = Pool()


@dataclass(frozen=True)
class WarmHg(Hg):
    def run(
        self, *arguments: Argument, cwd: Path | None = None, expect: int | None = 0
    ) -> Finished:
        where: tuple[Argument, ...] = ("--cwd", cwd or Path.cwd())
        command = [*where, *self.command(*arguments)[1:]]
        with POOL.lend(self) as session:
            done = session.run(*command)
        if expect is not None and done.status != expect:
            words = " ".join(os.fsdecode(word) for word in command)[:1000]
            said = (done.out + done.err)[-4000:].decode(errors="replace")
            raise HgFailed(f"{words}\nexit status {done.status}, expected {expect}\n{said}")
        return done


def warm(hg: Hg) -> Hg:
    return WarmHg(hg.executable, hg.config)


WARM = warm(INSTALLED)
