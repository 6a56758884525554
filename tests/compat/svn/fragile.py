"""A way to a server that ends or stalls at a word of a request: an upstream killed at that step."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

BLOCK = 1 << 16
LATE_SECONDS = 0.3  # for the upstream to do what it was asked


class Fragile:
    """`port` forwards to `upstream`, both on 127.0.0.1, until something is asked for that it is
    armed for. It is gone then: connections are cut, and new ones refused, until `revive`.
    """

    def __init__(self, upstream: int) -> None:
        self._upstream = upstream
        self._word = b""
        self._how = ""
        self._turn = 0  # of connections: each ends with a fault
        self._mute = -1  # answers to those of this turn, and before, are lost
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._going_on = threading.Event()
        self.fired = threading.Event()
        self._listener = self._listen(0)
        self.port: int = self._listener.getsockname()[1]

    def arm(self, word: bytes, how: str) -> None:
        """`how`: "before" the upstream gets the request; "after" it did, and its answer is lost;
        "blink": the same, but it can be reached again at once; or "stall": all stays as it is,
        until `revive`."""
        self.fired.clear()
        self._going_on.clear()
        self._word, self._how = word, how

    def revive(self) -> None:
        self._word = b""
        if self._how not in ("stall", "blink") and self.fired.is_set():
            self._listener = self._listen(self.port)
        self.fired.clear()
        self._going_on.set()

    def close(self) -> None:
        self.arm(b"", "before")
        self._die()
        self._going_on.set()

    def _listen(self, port: int) -> socket.socket:
        listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        return listener

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near = listener.accept()[0]
                far = socket.create_connection(("127.0.0.1", self._upstream))
                with self._lock:
                    self._sockets += [near, far]
                    turn = self._turn
                for pair, is_watched in (((near, far), True), ((far, near), False)):
                    threading.Thread(
                        target=self._pump, args=(*pair, is_watched, turn), daemon=True
                    ).start()

    def _pump(
        self, source: socket.socket, target: socket.socket, is_watched: bool, turn: int
    ) -> None:
        with suppress(OSError):
            while data := source.recv(BLOCK):
                at = data.find(self._word) if self._word and is_watched else -1
                if at >= 0:
                    self._fire(target, data, at)
                    continue
                if is_watched or turn > self._mute:
                    target.sendall(data)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _fire(self, target: socket.socket, data: bytes, at: int) -> None:
        self._word = b""
        if self._how == "stall":
            self.fired.set()
            self._going_on.wait()
            target.sendall(data)
            return
        if self._how == "before":
            target.sendall(data[:at])
        else:
            self._mute = self._turn
            target.sendall(data)
            time.sleep(LATE_SECONDS)
        self._die()
        self.fired.set()

    def _die(self) -> None:
        if self._how != "blink":
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        with self._lock:
            sockets, self._sockets = self._sockets, []
            self._turn += 1
        for one in sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@contextmanager
def fragile(upstream: int) -> Iterator[Fragile]:
    made = Fragile(upstream)
    try:
        yield made
    finally:
        made.close()
