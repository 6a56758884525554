"""One run of the installed `svn` through a gateway that lives as long as it."""

from __future__ import annotations

import asyncio
import signal

from trunkline.svn.gateway.server import running
from trunkline.svn.gateway.upstream import Upstream

HOST = "127.0.0.1"


def run_through(program: str, words: tuple[str, ...], servers: list[str], cache_bytes: int) -> int:
    """`svn`'s own status. Raises: SettingsError, OSError."""
    return asyncio.run(_run(program, words, servers, cache_bytes))


async def _run(program: str, words: tuple[str, ...], servers: list[str], cache_bytes: int) -> int:
    upstreams = [Upstream(server) for server in servers]
    for upstream in upstreams:
        upstream.warm()
    async with running(upstreams, HOST, 0, cache_bytes) as port:
        process = await asyncio.create_subprocess_exec(
            program, *words, *proxy_options(port, upstreams)
        )
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):  # svn aborts its commit, then we end
            loop.add_signal_handler(number, send_signal, process, number)
        status = await process.wait()
    return status if status >= 0 else 128 - status


def send_signal(process: asyncio.subprocess.Process, number: int) -> None:
    if number == signal.SIGTERM and process.returncode is None:
        process.send_signal(number)  # that of a terminal has reached it already


def proxy_options(port: int, upstreams: list[Upstream]) -> list[str]:
    """For these hosts only: externals on others don't come here."""
    others = ",".join(all_but({upstream.asked_as[0] for upstream in upstreams}))
    options = (
        f"servers:global:http-proxy-host={HOST}",
        f"servers:global:http-proxy-port={port}",
        f"servers:global:http-proxy-exceptions={others}",
    )
    return [word for option in options for word in ("--config-option", option)]


def all_but(hosts: set[str]) -> list[str]:
    """Patterns that match every name but these: svn knows exceptions from a proxy only.

    Wire: those of fnmatch. "ab" gives: [!a]* a a[!b]* ab?*
    """
    patterns = []
    for start in sorted({host[:size] for host in hosts for size in range(len(host) + 1)}):
        if start and start not in hosts:
            patterns.append(start)
        follow = {host[len(start)] for host in hosts if host.startswith(start) and host != start}
        # A hyphen stands last, where it makes no range.
        letters = "".join(sorted(follow, key=lambda one: (one == "-", one)))
        patterns.append(f"{start}[!{letters}]*" if letters else f"{start}?*")
    return patterns
