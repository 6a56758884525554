"""One run of the installed `svn` through a gateway that lives as long as it."""

from __future__ import annotations

import asyncio
import signal
import sys
import time

from trunkline.svn.gateway.proxy_options import proxy_options
from trunkline.svn.gateway.server import running
from trunkline.svn.gateway.upstream import Upstream

HOST = "127.0.0.1"
SHOW_SECONDS = 0.5
CLEAR = "\r\x1b[K"


def run_through(program: str, words: tuple[str, ...], servers: list[str], cache_bytes: int) -> int:
    """`svn`'s own status. Raises: SettingsError, OSError."""
    return asyncio.run(_run(program, words, servers, cache_bytes))


async def _run(program: str, words: tuple[str, ...], servers: list[str], cache_bytes: int) -> int:
    upstreams = [Upstream(server) for server in servers]
    for upstream in upstreams:
        upstream.warm()
    async with running(upstreams, HOST, 0, cache_bytes) as port:
        hosts = {upstream.asked_as[0] for upstream in upstreams}
        process = await asyncio.create_subprocess_exec(
            program, *words, *proxy_options(HOST, port, hosts)
        )
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):  # svn aborts its commit, then we end
            loop.add_signal_handler(number, send_signal, process, number)
        showing = asyncio.create_task(show(upstreams))
        status = await process.wait()
        showing.cancel()
    return status if status >= 0 else 128 - status


def send_signal(process: asyncio.subprocess.Process, number: int) -> None:
    if number == signal.SIGTERM and process.returncode is None:
        process.send_signal(number)  # that of a terminal has reached it already


async def show(upstreams: list[Upstream]) -> None:
    """On a terminal: how far a commit is that takes longer than a moment."""
    if not sys.stderr.isatty():
        return
    shown = ""
    try:
        while True:
            await asyncio.sleep(SHOW_SECONDS)
            now = time.monotonic()
            said = "; ".join(filter(None, (one.progress.describe(now) for one in upstreams)))
            if said != shown:
                print(f"{CLEAR}{said}", end="", file=sys.stderr, flush=True)
                shown = said
    finally:
        if shown:
            print(CLEAR, end="", file=sys.stderr, flush=True)
