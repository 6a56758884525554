"""Drives the ASGI application as the HTTP library does, without a socket."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from trunkline.config.settings import Log, Settings
from trunkline.http.app import App
from trunkline.http.body import Message
from trunkline.http.roots import mount_paths
from trunkline.http.threads import Threads

SECONDS = 60


@dataclass
class Reply:
    """`is_whole`: the last chunk was sent. `error` is what the application raised."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""
    sends: int = 0
    is_whole: bool = False
    error: BaseException | None = None

    def header(self, name: bytes) -> bytes | None:
        found = [value for key, value in self.headers if key == name]
        assert len(found) <= 1, found
        return found[0] if found else None

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass
class Client:
    """One request. `parts` are the messages of its body; then it waits, or goes away. If it
    `stalls`, more of the body was to come.
    """

    method: str = "GET"
    target: str | bytes = "/"
    headers: Sequence[tuple[bytes, bytes]] = ()
    parts: Sequence[bytes] = (b"",)
    stalls: bool = False
    goes_after: int | None = None  # messages of the body
    address: str = "127.0.0.1"
    scheme: str = "http"
    on_send: Callable[[Reply], Awaitable[None]] | None = None
    gone: asyncio.Event | None = None

    def scope(self) -> dict[str, Any]:
        target = self.target.encode() if isinstance(self.target, str) else self.target
        path, _, query = target.partition(b"?")
        return {
            "type": "http",
            "method": self.method,
            "scheme": self.scheme,
            "path": path.decode("latin-1"),
            "raw_path": path,
            "query_string": query,
            "headers": [(b"host", b"hg.example"), *self.headers],
            "client": (self.address, 40000),
        }

    async def ask(self, app: App) -> Reply:
        reply = Reply()
        parts = list(self.parts)
        taken = 0
        self.gone = self.gone or asyncio.Event()
        gone = self.gone

        async def receive() -> Message:
            nonlocal taken
            if self.goes_after is not None and taken >= self.goes_after:
                return {"type": "http.disconnect"}
            if parts:
                taken += 1
                data = parts.pop(0)
                return {
                    "type": "http.request",
                    "body": data,
                    "more_body": self.stalls or bool(parts),
                }
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                assert not reply.status
                reply.status, reply.headers = message["status"], list(message["headers"])
                return
            assert reply.status
            assert not reply.is_whole
            reply.body += message["body"]
            reply.sends += 1
            reply.is_whole = not message.get("more_body", False)
            if self.on_send is not None:
                await self.on_send(reply)

        try:
            async with asyncio.timeout(SECONDS):
                await app(self.scope(), receive, send)
        except Exception as error:
            reply.error = error
        return reply


def make_app(*paths: object, settings: Settings | None = None, **changes: Any) -> App:
    settings = settings or Settings(log=Log(access=""), **changes)
    return App(settings, mount_paths([str(path) for path in paths]))


def ask(app: App, *clients: Client) -> list[Reply]:
    """All at once, in a loop of their own."""

    async def run() -> list[Reply]:
        app.open()
        try:
            return list(await asyncio.gather(*(client.ask(app) for client in clients)))
        finally:
            app.close_threads()
            app._log.flush()

    return asyncio.run(run())


@contextmanager
def busy(threads: Threads | None, guest: str = "") -> Iterator[None]:
    """As many jobs as there are threads, all of one guest or each of its own. In the loop."""
    assert threads is not None
    go = threading.Event()
    jobs = [
        threads.run_for(guest or f"guest {number}", go.wait, SECONDS)
        for number in range(threads.count)
    ]
    try:
        yield
        assert not any(job.done() for job in jobs)
    finally:
        go.set()


def get(app: App, target: str | bytes, *headers: tuple[bytes, bytes]) -> Reply:
    return ask(app, Client("GET", target, headers))[0]


def post(app: App, target: str, body: bytes, *headers: tuple[bytes, bytes]) -> Reply:
    length = (b"content-length", b"%d" % len(body))
    return ask(app, Client("POST", target, [length, *headers], [body]))[0]
