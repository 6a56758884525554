"""Servers, a slow link to each, and a gateway behind each link: what a round of commits goes by."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.process import Server, bin_path, free_port, wait_for
from benchmarks.svn_cases import WRITTEN
from benchmarks.svn_servers import ACCOUNT, APACHE

SERVERS = ("apache", "apache-unlimited", "trunkline")
ROOT = Path(__file__).parent.parent
SETTINGS = 'allow_write = "anonymous"\n[subversion]\ntransactions = "{folder}/state"\n'


@dataclass(frozen=True)
class Far:
    """A server with the repositories in `root`, by a link: the URL has no slash at its end."""

    root: Path
    server: Server
    url: str
    gateway: int  # its port
    gateway_pid: int

    @property
    def proxy(self) -> list[str]:
        values = {"host": "127.0.0.1", "port": self.gateway}
        return [
            word
            for key, value in values.items()
            for word in ("--config-option", f"servers:global:http-proxy-{key}={value}")
        ]


def server_command(name: str, root: Path, port: int, folder: Path) -> list[str]:
    """As they are when nobody sets anything, but for the limits of "apache-unlimited"."""
    if name == "trunkline":
        settings = folder / "settings.toml"
        settings.write_text(SETTINGS.format(folder=folder))
        listen = ("--listen", f"127.0.0.1:{port}", "--settings", str(settings))
        return [bin_path("trunkline"), "serve", str(root), *listen]
    text = APACHE.replace("SVNPath", "SVNParentPath")
    if name == "apache-unlimited":
        text += "MaxKeepAliveRequests 0\nLimitRequestBody 0\n"
    is_root = os.geteuid() == 0
    account = ACCOUNT if is_root else ""
    configuration = folder / "httpd.conf"
    configuration.write_text(
        text.format(folder=folder, port=port, repository=root, account=account)
    )
    own(folder)
    return ["apache2", "-DFOREGROUND", "-f", str(configuration)]


def own(path: Path) -> None:
    """Apache's own account may write."""
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", "www-data", str(path)], check=True)


@contextmanager
def server(name: str, root: Path, written: Path) -> Iterator[Server]:
    port = free_port()
    folder = TemporaryDirectory(prefix="trunkline-bench-", dir=written)
    process = subprocess.Popen(
        server_command(name, root, port, Path(folder.name)),
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    made = wait_for(Server(name, process, port, folder))
    try:
        yield made
    finally:
        made.stop()


@contextmanager
def program(*words: str) -> Iterator[tuple[int, int]]:
    """The port that it says at the end of its first line, and its process."""
    command = [sys.executable, "-m", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline().strip().rpartition(":")[2]), process.pid
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def sites(
    delay: int, names: tuple[str, ...] = SERVERS, written: Path = WRITTEN
) -> Iterator[dict[str, Far]]:
    """`delay` in milliseconds, there and back; 0 is no link at all. `written`: where all is."""
    with ExitStack() as stack:
        made = {}
        for name in names:
            folder = stack.enter_context(TemporaryDirectory(prefix="trunkline-bench-", dir=written))
            root = Path(folder)
            root.chmod(0o755)
            running = stack.enter_context(server(name, root, written))
            port = running.port
            if delay:
                link = program("benchmarks.latency", str(port), "--ms", str(delay))
                port = stack.enter_context(link)[0]
            url = f"http://127.0.0.1:{port}"
            words = ("trunkline", "gateway", "--upstream", url, "--listen", "127.0.0.1:0")
            gateway, pid = stack.enter_context(program(*words))
            made[name] = Far(root, running, url, gateway, pid)
        yield made
