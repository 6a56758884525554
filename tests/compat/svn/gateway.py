"""A gateway under test: the real program, in front of a stock Apache, behind a slow link."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

END_SECONDS = 30
ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Running:
    port: int
    process: subprocess.Popen[str]
    cache: str  # its folder

    @property
    def options(self) -> str:
        """For `svn`."""
        proxy = {"host": "127.0.0.1", "port": self.port}
        return " ".join(
            f"--config-option servers:global:http-proxy-{key}={value}"
            for key, value in proxy.items()
        )

    def cut(self) -> None:
        """A slow link loses its connections."""
        self.process.send_signal(signal.SIGUSR1)


@contextmanager
def program(*words: str) -> Iterator[Running]:
    """Says its port at the end of its first line. Ended by its own pid."""
    cache = tempfile.mkdtemp(prefix="trunkline-gateway-cache-")
    process = subprocess.Popen(
        [sys.executable, "-m", *words],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "CACHE_DIRECTORY": cache},
    )
    assert process.stdout is not None
    try:
        port = int(process.stdout.readline().strip().rpartition(":")[2])
        yield Running(port, process, cache)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=END_SECONDS)
        shutil.rmtree(cache)


@contextmanager
def gateway(*upstreams: str, port: int = 0) -> Iterator[Running]:
    words = [word for upstream in upstreams for word in ("--upstream", upstream)]
    with program("trunkline", "gateway", *words, "--listen", f"127.0.0.1:{port}") as running:
        yield running


@contextmanager
def slow_link(port: int, milliseconds: int) -> Iterator[Running]:
    words = ("benchmarks.latency", str(port), "--ms", str(milliseconds))
    with program(*words) as running:
        yield running
