"""Servers under test: `trunkline serve`, or the stock `hg serve` to try the harness itself."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.compat.hg import ENVIRONMENT, INSTALLED

START_SECONDS = 30
STOP_SECONDS = 30
LOG_SECONDS = 0.1
FAR = ("--config", "server.preferuncompressed=no")  # loopback is near: its clones would be streams
READY = re.compile(r"listening (?:on|at) (https?://[^\s/]+)")
TROUBLE = re.compile(r"Traceback \(most recent call last\)|panicked at")

# `stock` runs the same tests against `hg serve`: what fails there is the test's own fault.
IS_STOCK = os.environ.get("TRUNKLINE_COMPAT_SERVER") == "stock"


class ServerFailed(AssertionError):
    """The server didn't start, or didn't stop as it should."""


class Serving:
    """A running server. Its whole output is in `log_path`."""

    def __init__(self, command: list[str], folder: Path, stock: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log_path = folder / "server.log"
        self._log = self.log_path.open("ab")
        self._seen = 0
        self._is_stock = stock  # it ends with 255 and "killed!"
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            # Its spool is its own: no reply comes from a server of before.
            env={**ENVIRONMENT, "PYTHONUNBUFFERED": "1", "CACHE_DIRECTORY": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        self.url = self._wait_until_ready()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def address(self) -> str:
        return self.url.partition("://")[2]

    def log(self) -> str:
        """A thread of the server's own writes it, a moment later."""
        time.sleep(LOG_SECONDS)
        return self.log_path.read_text(errors="replace")

    def await_log(self, words: str) -> str:
        """The log, once `words` are in it, however busy the machine is. Raises: ServerFailed."""
        deadline = time.monotonic() + START_SECONDS
        while words not in (text := self.log_path.read_text(errors="replace")):
            if time.monotonic() > deadline:
                raise ServerFailed(f"{words!r} isn't in the log\n{text[-4000:]}")
            time.sleep(0.02)
        return text

    def _wait_until_ready(self) -> str:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            found = READY.search(self.log_path.read_text(errors="replace"))
            if found:
                return found.group(1)
            if self._process.poll() is not None:
                break
            time.sleep(0.02)
        self._process.kill()
        raise ServerFailed(f"the server didn't come up\n{self.log()}")

    def check_log(self) -> None:
        """No traceback and no panic since the last look. What is written later is seen by the next
        look, at the latest by `stop`, so nothing is waited for. Raises: ServerFailed.
        """
        text = self.log_path.read_text(errors="replace")
        new, self._seen = text[self._seen :], text.rfind("\n") + 1  # a line may be half there
        if found := TROUBLE.search(new):
            shown = new[max(found.start() - 1000, 0) : found.start() + 5000]
            raise ServerFailed(f"a traceback in the server's log\n{shown}")

    def stop(self) -> None:
        """SIGTERM to its own pid; Trunkline must end with status 0. Raises: ServerFailed."""
        self._process.send_signal(signal.SIGTERM)
        try:
            status = self._process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise ServerFailed(f"SIGTERM didn't end the server\n{self.log()[-4000:]}") from None
        finally:
            self._log.close()
        if status != 0 and not self._is_stock:
            raise ServerFailed(f"exit status {status} after SIGTERM\n{self.log()[-4000:]}")
        self.check_log()


def trunkline_command(path: Path, *options: str) -> list[str]:
    program = Path(sys.executable).with_name("trunkline")
    command = [str(program), "serve", str(path), "--listen", "127.0.0.1:0", *FAR, *options]
    return command if "--workers" in options else [*command, "--workers", "1"]


def stock_command(path: Path, *options: str) -> list[str]:
    where = ["--repository", str(path)]
    if not (path / ".hg").is_dir():
        web_conf = path.parent / f"{path.name}.web-conf"
        web_conf.write_text(f"[paths]\n/ = {path}/**\n")
        where = ["--web-conf", str(web_conf)]
    words = ["serve", *where, "--address", "127.0.0.1", "--port", "0", "--verbose", *options]
    return [str(word) for word in INSTALLED.command(*words)]


@contextmanager
def serving(path: Path, folder: Path, *options: str, stock: bool = IS_STOCK) -> Iterator[Serving]:
    """A server for one repository or folder of repositories, ended at the end."""
    command = (stock_command if stock else trunkline_command)(path, *options)
    server = Serving(command, folder, stock)
    try:
        yield server
    finally:
        server.stop()


Serve = Callable[..., Serving]
