"""Runs Trunkline behind a thin front that speaks with stock's accent; a program for redirect.py.

Mercurial's tests compare what the stock server writes where HTTP leaves a choice. The front changes
that and nothing else, so that the rest of the test is read by Trunkline and compared to the byte:

- reason phrases (HTTP gives them no meaning): "Script output follows" of a 200 (Granian sends
  "OK"), and of a refusal its words, which stand in the body, too;
- the case and order of header names (both without meaning in HTTP);
- an access log in stock's own format (Trunkline's says more, in its own), and a log of errors
  without warnings, which stock writes none of;
- the path of `--prefix`, which proxies take off for Trunkline.

Two tests have an extension in the stock server that makes a user or a method of the environment;
the front writes these into the request. What is encrypted passes through untouched.

A body passes through as it is, its chunks too, and a connection that Trunkline breaks is broken.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

START_SECONDS = 30
STOP_SECONDS = 0.8  # killdaemons.py loses patience after one second
READY = re.compile(rb"listening on https?://([^:/\s]+):(\d+)")
FIRST_HEADERS = ("server", "date", "etag", "location")
SETTINGS = Path(__file__).with_name("trunkline.toml")
SPELLED = {"etag": "ETag", "www-authenticate": "WWW-Authenticate"}

AUTH_SETTINGS = """
[auth]
password_file = "{folder}/htpasswd"
realm = "mercurial"
anonymous_read = false
"""
PASSWORDS = "user:{SHA}nU4eI71bcnBGqeO0t9tXvY1u5oQ=\n"  # "pass"
USER_SETTINGS = """
[auth]
user_header = "X-Remote-User"
"""
PROXY_SETTINGS = '[server]\ntrusted_proxies = ["127.0.0.1"]\n'
TLS_SETTINGS = """
[tls]
certificate = "{file}"
key = "{key}"
client_ca = "{client_ca}"
"""

Headers = list[tuple[str, str]]


class Broken(Exception):
    """One side went away in the middle of a message."""


def read_head(stream: BinaryIO) -> tuple[str, Headers] | None:
    """First line and headers of a message; None when the connection ended before one."""
    first = stream.readline()
    if not first:
        return None
    headers: Headers = []
    while True:
        line = stream.readline()
        if not line.endswith(b"\n"):
            raise Broken
        if line in (b"\r\n", b"\n"):
            return first.decode("latin-1").rstrip("\r\n"), headers
        name, _, value = line.decode("latin-1").partition(":")
        headers.append((name, value.strip()))


def write_head(stream: BinaryIO, first: str, headers: Headers) -> None:
    lines = [first, *(f"{name}: {value}" for name, value in headers), "", ""]
    stream.write("\r\n".join(lines).encode("latin-1"))
    stream.flush()


def copy_body(source: BinaryIO, target: BinaryIO, headers: Headers, is_reply: bool) -> bool:
    """Pass one body on. False when it ended with the connection. Raises: Broken."""
    named = {name.lower(): value for name, value in headers}
    if named.get("transfer-encoding", "").lower() == "chunked":
        copy_chunks(source, target)
    elif "content-length" in named:
        copy_exactly(source, target, int(named["content-length"]))
    elif is_reply:
        while block := source.read1(65536):  # type: ignore[attr-defined]
            target.write(block)
            target.flush()
        return False
    return True


def copy_exactly(source: BinaryIO, target: BinaryIO, length: int) -> None:
    while length:
        block = source.read1(min(length, 65536))  # type: ignore[attr-defined]
        if not block:
            raise Broken
        target.write(block)
        target.flush()
        length -= len(block)


def copy_chunks(source: BinaryIO, target: BinaryIO) -> None:
    while True:
        line = source.readline()
        if not line.endswith(b"\n"):
            raise Broken
        target.write(line)
        size = int(line.split(b";")[0], 16)
        copy_exactly(source, target, size + len(b"\r\n"))
        if size == 0:
            return


def accented(first: str, headers: Headers) -> tuple[str, Headers]:
    """A reply's head as stock would write it."""
    version, status, *_ = first.split(" ", 2)
    named = {name.lower(): value for name, value in headers}
    if status == "200" and named.get("content-type", "").startswith("application/"):
        first = f"{version} 200 Script output follows"
    order = {name: place for place, name in enumerate(FIRST_HEADERS)}
    headers = sorted(headers, key=lambda header: order.get(header[0].lower(), len(order)))
    return first, [(SPELLED.get(name.lower(), name.title()), value) for name, value in headers]


def refusal(stream: BinaryIO, first: str, headers: Headers) -> bytes:
    """The body of one of Mercurial's; b"", and nothing is read, of another reply."""
    named = {name.lower(): value for name, value in headers}
    is_ours = named.get("content-type") == "application/mercurial-0.1"
    if first.split(" ")[1] < "400" or not is_ours or "content-length" not in named:
        return b""
    return stream.read(int(named["content-length"]))


class Front:
    def __init__(self, ask: Mapping[str, Any], upstream: tuple[str, int]) -> None:
        self._upstream = upstream
        self._ask = ask
        self._log = Path(ask["access_log"] or os.devnull)
        self._lock = threading.Lock()

    def serve(self, listener: socket.socket) -> None:
        while True:
            connection, peer = listener.accept()
            threading.Thread(
                target=self._connection, args=(connection, peer[0]), daemon=True
            ).start()

    def _connection(self, connection: socket.socket, peer: str) -> None:
        with connection, contextlib.suppress(OSError, Broken):
            if self._ask["certificate"]:
                pass_on(connection, self._upstream)
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client_in, client_out = connection.makefile("rb"), connection.makefile("wb")
            with socket.create_connection(self._upstream) as server:
                server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                server_in, server_out = server.makefile("rb"), server.makefile("wb")
                while self._exchange(peer, client_in, client_out, server_in, server_out):
                    pass

    def _exchange(
        self,
        peer: str,
        client_in: BinaryIO,
        client_out: BinaryIO,
        server_in: BinaryIO,
        server_out: BinaryIO,
    ) -> bool:
        asked = read_head(client_in)
        if asked is None:
            return False
        write_head(server_out, *self._rewritten(*asked))
        copy_body(client_in, server_out, asked[1], is_reply=False)
        server_out.flush()
        answered = read_head(server_in)
        if answered is None:
            return False
        first, headers = accented(*answered)
        self._note(peer, asked, first.split(" ")[1])
        words = refusal(server_in, first, headers)
        if words:
            first = " ".join([*first.split(" ")[:2], words.decode("latin-1").split("\n")[-2]])
        write_head(client_out, first, headers)
        client_out.write(words)
        is_open = bool(words) or copy_body(server_in, client_out, headers, is_reply=True)
        client_out.flush()
        closes = any(name == "Connection" and value.lower() == "close" for name, value in headers)
        return is_open and not closes

    def _rewritten(self, first: str, headers: Headers) -> tuple[str, Headers]:
        method, _, rest = first.partition(" ")
        user, prefix = self._ask["user"], "/" + self._ask["prefix"]
        more = [("X-Remote-User", user)] if user else []
        if prefix != "/" and rest.startswith(prefix):
            rest = "/" + rest.removeprefix(prefix).removeprefix("/")
            more.append(("X-Forwarded-Prefix", prefix))
        return f"{self._ask['method'] or method} {rest}", [*headers, *more]

    def _note(self, peer: str, asked: tuple[str, Headers], status: str) -> None:
        """A line of stock's access log: its last column is the request's X- headers."""
        extra = sorted((n.lower(), v) for n, v in asked[1] if n.lower().startswith("x-"))
        when = time.strftime("%d/%b/%Y %H:%M:%S")
        words = "".join(f" {name}:{value}" for name, value in extra)
        with self._lock, self._log.open("a") as log:
            print(f'{peer} - - [{when}] "{asked[0]}" {status} -{words}', file=log)


def pass_on(connection: socket.socket, upstream: tuple[str, int]) -> None:
    """Bytes both ways, until both sides have ended."""
    with socket.create_connection(upstream) as server:
        back = threading.Thread(target=pour, args=(server, connection), daemon=True)
        back.start()
        pour(connection, server)
        back.join()


def pour(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while block := source.recv(65536):
            target.sendall(block)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def write_settings(ask: Mapping[str, Any]) -> Path:
    """What this server needs besides SETTINGS, in a folder that stays with the test's others."""
    folder = Path(tempfile.mkdtemp(prefix="trunkline-", dir=os.environ.get("TESTTMP")))
    text = SETTINGS.read_text()
    if ask["user"] or ask["prefix"]:
        text = text.replace("[server]\n", PROXY_SETTINGS)
    if ask["user"]:
        text += USER_SETTINGS
    if ask["asks_login"]:
        (folder / "htpasswd").write_text(PASSWORDS)
        text += AUTH_SETTINGS.format(folder=folder)
    if ask["certificate"]:
        file = os.path.abspath(ask["certificate"])
        text += TLS_SETTINGS.format(
            file=file, key=write_key(file, folder), client_ca=ask["client_ca"]
        )
    settings = folder / "settings.toml"
    settings.write_text(text)
    return settings


def write_key(file: str, folder: Path) -> Path:
    """In PKCS#8, which alone we read. Raises: OSError."""
    key = folder / "key.pem"
    pem = Path(file).read_text()
    loaded = load_pem_private_key(pem[pem.index("-----BEGIN") :].encode(), None)
    form = PrivateFormat.PKCS8
    key.write_bytes(loaded.private_bytes(Encoding.PEM, form, NoEncryption()))
    return key


def start_trunkline(ask: Mapping[str, Any]) -> tuple[subprocess.Popen[bytes], tuple[str, int]]:
    """The server on a port of its own, once it says that it listens."""
    program = Path(sys.executable).with_name("trunkline")
    options = [word for setting in ask["config"] for word in ("--config", setting)]
    process = subprocess.Popen(
        [str(program), "serve", ask["path"], "--settings", str(write_settings(ask)), *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    errors = Path(ask["error_log"] or os.devnull)
    threading.Thread(target=copy_errors, args=(process.stderr, errors), daemon=True).start()
    for line in process.stdout:
        if found := READY.search(line):
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return process, (found.group(1).decode(), int(found.group(2)))
    raise RuntimeError(f"trunkline serve ended with status {process.wait()}")


def copy_errors(source: BinaryIO, file: Path) -> None:
    with file.open("ab", buffering=0) as out:
        for line in source:
            if b" WARNING " not in line:
                out.write(line)


def stop(process: subprocess.Popen[bytes]) -> None:
    """It ends by itself, whether or not we still see it."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_SECONDS)


def listen(ask: Mapping[str, Any]) -> socket.socket:
    """Raises: OSError, with stock's words about it."""
    try:
        return socket.create_server((ask["address"], ask["port"]), backlog=128)
    except OSError as error:
        where = f"{ask['address']}:{ask['port']}"
        words = os.strerror(error.errno or 0)
        raise OSError(f"cannot start server at '{where}': {words}") from None


def main() -> None:
    ask = json.loads(sys.argv[1])
    try:
        listener = listen(ask)
        process, upstream = start_trunkline(ask)
    except (OSError, RuntimeError) as error:
        print(json.dumps({"error": str(error)}), flush=True)
        sys.exit(1)

    def end(*_: object) -> None:
        listener.close()
        stop(process)
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    host, port = listener.getsockname()[:2]
    print(
        json.dumps(
            {"ready": f"listening at http://{ask['address']}:{port}/ (bound to {host}:{port})"}
        ),
        flush=True,
    )
    if ask["daemon"]:
        silent = os.open(os.devnull, os.O_RDWR)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
    Front(ask, upstream).serve(listener)


if __name__ == "__main__":
    main()
