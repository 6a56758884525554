"""A running gateway."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from trunkline.svn.gateway.announced import Running, announced
from trunkline.svn.gateway.cache import open_cache
from trunkline.svn.gateway.client import Client
from trunkline.svn.gateway.gateway import Gateway
from trunkline.svn.gateway.upstream import Upstream

END_SECONDS = 40  # for MERGEs that were sent, and for removals


@asynccontextmanager
async def running(
    upstreams: list[Upstream], host: str, port: int, cache_bytes: int
) -> AsyncIterator[int]:
    """Its port. Raises: OSError where it can't listen."""
    gateway = Gateway(upstreams, open_cache(os.environ, cache_bytes))
    clients: set[Client] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Client(gateway, clients), host, port)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await end(clients)
        gateway.close()


def serve(
    urls: tuple[str, ...],
    host: str,
    port: int,
    ca_file: str | None,
    cache_bytes: int,
    say: Callable[[str], None],
) -> None:
    """Until a signal comes. Raises: SettingsError, OSError."""
    upstreams = [Upstream(url, ca_file) for url in urls]
    asyncio.run(_serve(upstreams, host, port, cache_bytes, say))


async def _serve(
    upstreams: list[Upstream], host: str, port: int, cache_bytes: int, say: Callable[[str], None]
) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    servers = frozenset(upstream.asked_as for upstream in upstreams)
    async with running(upstreams, host, port, cache_bytes) as bound:
        with announced(Running(host, bound, servers), os.environ):
            say(f"listening on http://{f'[{host}]' if ':' in host else host}:{bound}")
            await stop.wait()


async def end(clients: set[Client]) -> None:
    for client in clients:
        client.close()
    try:
        async with asyncio.timeout(END_SECONDS):
            while clients:
                await asyncio.sleep(0.02)
    except TimeoutError:
        pass
