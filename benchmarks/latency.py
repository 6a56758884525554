"""A slow link on loopback: a TCP proxy that holds back every byte, both ways, and the handshake.

`python -m benchmarks.latency UPSTREAM_PORT --ms 150` prints its own port; SIGUSR1 cuts its
connections. Half of the round trip is
spent each way; bandwidth isn't limited. A real link's connection is made after one round trip, so
the upstream's side is connected first, and the client's bytes wait for it.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

BLOCK = 1 << 16  # bytes
IN_FLIGHT = 2000  # blocks of one direction

Block = tuple[float, bytes]


class Proxy:
    """`port` forwards to `upstream`, both on 127.0.0.1. `cut()` loses all connections."""

    def __init__(self, upstream: int, seconds: float) -> None:
        self._upstream = upstream
        self._one_way = seconds / 2
        self._writers: set[asyncio.StreamWriter] = set()
        self.connections = 0

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        begun = asyncio.get_running_loop().time()
        there = await asyncio.open_connection("127.0.0.1", self._upstream)
        self._writers |= {writer, there[1]}
        # SYN there and SYN-ACK back, before the first byte leaves.
        usable = begun + 2 * self._one_way
        await asyncio.gather(
            self._one(reader, there[1], usable),
            self._one(there[0], writer, 0.0),
            return_exceptions=True,
        )
        self._writers -= {writer, there[1]}

    async def _one(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, usable: float
    ) -> None:
        queue: asyncio.Queue[Block] = asyncio.Queue(IN_FLIGHT)
        sending = asyncio.create_task(self._send(queue, writer))
        clock = asyncio.get_running_loop().time
        try:
            while data := await reader.read(BLOCK):
                await queue.put((max(clock(), usable) + self._one_way, data))
        except OSError:
            pass
        await queue.put((max(clock(), usable) + self._one_way, b""))
        await sending

    async def _send(self, queue: asyncio.Queue[Block], writer: asyncio.StreamWriter) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            due, data = await queue.get()
            if (wait := due - clock()) > 0:
                await asyncio.sleep(wait)
            if not data:
                writer.close()
                return
            try:
                writer.write(data)
                await writer.drain()
            except OSError:
                return

    def cut(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()


@asynccontextmanager
async def slow_link(upstream: int, seconds: float) -> AsyncIterator[tuple[int, Proxy]]:
    """Its port, and itself."""
    proxy = Proxy(upstream, seconds)
    server = await asyncio.start_server(proxy.carry, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], proxy
    finally:
        server.close()
        proxy.cut()


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("upstream", type=int)
    parser.add_argument("--ms", type=float, default=150.0)
    asked = parser.parse_args()
    async with slow_link(asked.upstream, asked.ms / 1000) as (port, proxy):
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, proxy.cut)
        print(port, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
