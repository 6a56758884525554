"""A server under measurement: started, asked what it has cost so far, and ended by its own pid."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.dataset import ENVIRONMENT

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
START_SECONDS = 30.0


def bin_path(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def descendants(root: int) -> list[int]:
    """`root` and every live process below it."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry)] = int(fields[1])
    family = [root]
    for pid in family:
        family += [child for child, parent in parents.items() if parent == pid]
    return family


def cpu_seconds(root: int) -> float:
    """User and system time of the whole family, those already reaped included."""
    ticks = 0
    for pid in descendants(root):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(int(field) for field in fields[11:15])
    return ticks / TICKS_PER_SECOND


def peak_bytes(root: int) -> int:
    """The largest resident set that any one process of the family ever had."""
    peaks = [0]
    for pid in descendants(root):
        try:
            match = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        except OSError:
            continue
        if match:
            peaks.append(int(match[1]) * 1024)
    return max(peaks)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Server:
    """`folder` is its own, thrown away with it."""

    name: str
    process: subprocess.Popen[bytes]
    port: int
    folder: TemporaryDirectory[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.process.pid)

    def peak_bytes(self) -> int:
        return peak_bytes(self.process.pid)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()


def command(
    name: str, repository: Path, port: int, config: tuple[str, ...], folder: Path, spools: bool
) -> list[str]:
    options = [word for value in config for word in ("--config", value)]
    if name == "stock":
        where = ["-a", "127.0.0.1", "-p", str(port)]
        return [bin_path("hg"), "serve", "-R", str(repository), *where, *options]
    listen = ["--listen", f"127.0.0.1:{port}", "--workers", "1"]
    settings = folder / "settings.toml"
    spool = f'path = "{folder / "spool"}"' if spools else "bytes = 0"
    settings.write_text(f'[spool]\n{spool}\n[hg]\nstream = "never"\n[bundles]\nmake = "off"\n')
    program = [bin_path("trunkline"), "serve", str(repository), "--settings", str(settings)]
    return [*program, *listen, *options]


def start(
    name: str, repository: Path, config: tuple[str, ...] = (), spools: bool = False
) -> Server:
    """`name` is "stock" or "trunkline". One worker process, so that memory compares. `spools`: it
    makes costly replies once; an empty spool at the start.
    """
    port = free_port()
    folder = TemporaryDirectory(prefix="trunkline-bench-")
    process = subprocess.Popen(
        command(name, repository, port, config, Path(folder.name), spools),
        # Mercurial's lazy imports break where two first requests meet; they end before the figures.
        env={**ENVIRONMENT, "HGDEMANDIMPORT": "disable"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return wait_for(Server(name, process, port, folder))


def wait_for(server: Server) -> Server:
    """The same, once it takes connections. Raises: RuntimeError when it doesn't."""
    process, until = server.process, time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", server.port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return server
    process.kill()
    raise RuntimeError(f"{server.name} did not start: {process.args!r}")
