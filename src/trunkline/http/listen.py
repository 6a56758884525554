"""The address to listen on: read, resolved, and shown to be free before any worker starts."""

from __future__ import annotations

import os
import socket
import stat
import sys
from dataclasses import dataclass, replace
from ipaddress import ip_address

from trunkline.errors import SettingsError

UNIX_PREFIX = "unix:"
HAS_REUSEPORT = sys.platform == "linux"  # there each worker binds for itself
CONNECT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Address:
    """An IP address with its port, or the path of a unix socket."""

    host: str = ""
    port: int = 0
    path: str = ""
    scheme: str = "http"

    @property
    def is_local(self) -> bool:
        """Only this machine reaches it."""
        return bool(self.path) or ip_address(self.host.partition("%")[0]).is_loopback

    @property
    def family(self) -> socket.AddressFamily:
        if self.path:
            return socket.AF_UNIX
        return socket.AF_INET6 if ":" in self.host else socket.AF_INET

    @property
    def url(self) -> str:
        if self.path:
            return UNIX_PREFIX + self.path
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def parse_listen(text: str) -> Address:
    """HOST:PORT, [IPv6]:PORT or unix:PATH; a name becomes its first address.

    Raises: SettingsError.
    """
    if text.startswith(UNIX_PREFIX):
        path = text.removeprefix(UNIX_PREFIX)
        if not path:
            raise SettingsError(f"{text!r}: a path must follow {UNIX_PREFIX}")
        return Address(path=os.path.abspath(path))
    host, colon, port = text.rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    if not (colon and host and port.isascii() and port.isdigit() and int(port) < 65536):
        raise SettingsError(
            f"can't listen on {text!r}: not HOST:PORT, [IPv6]:PORT or unix:PATH "
            "(port 0 takes a free one)"
        )
    if ":" in host and not is_bracketed:
        raise SettingsError(f"{text!r}: an IPv6 address stands in brackets, as in [::1]:{port}")
    host = host[1:-1] if is_bracketed else host
    try:
        found = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
    except OSError as error:
        raise SettingsError(f"{text!r}: {error.strerror or error}") from None
    return Address(str(found[0][4][0]), int(port))


class Claim:
    """An address that is ours: with its port, and kept from others while workers start.

    On Linux the socket stays bound without listening, so no connection reaches it and no other
    program gets the port.
    """

    def __init__(self, wanted: Address) -> None:
        """Raises: SettingsError when another program has it, or it isn't ours to take."""
        self.address = wanted
        self._socket: socket.socket | None = None
        if wanted.path:
            clear_unix(wanted.path)
            return
        try:
            self._socket = bind(wanted)
        except OSError as error:
            raise SettingsError(f"can't listen on {wanted.url}: {error.strerror}") from None
        self.address = replace(wanted, port=self._socket.getsockname()[1])
        if not HAS_REUSEPORT:
            self.close()

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def bind(wanted: Address) -> socket.socket:
    with socket.socket(wanted.family, socket.SOCK_STREAM) as probe:
        # Without SO_REUSEPORT: another server that has it set would share its port with us.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((wanted.host, wanted.port))
        probe.listen(1)
        port = probe.getsockname()[1]
    held = socket.socket(wanted.family, socket.SOCK_STREAM)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if HAS_REUSEPORT:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    held.bind((wanted.host, port))
    return held


def clear_unix(path: str) -> None:
    """A socket that nobody listens on is left over from a server that was killed: it goes.

    Raises: SettingsError when somebody listens, or it is no socket.
    """
    try:
        is_socket = stat.S_ISSOCK(os.stat(path).st_mode)
    except FileNotFoundError:
        if not os.path.isdir(os.path.dirname(path)):
            raise SettingsError(f"{os.path.dirname(path)}: no such folder") from None
        return
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from None
    if not is_socket:
        raise SettingsError(f"{path}: there is something that is no socket")
    if is_reachable(Address(path=path)):
        raise SettingsError(f"can't listen on {path}: Address already in use")
    os.unlink(path)


def is_reachable(address: Address) -> bool:
    """Whether somebody takes connections there."""
    with socket.socket(address.family, socket.SOCK_STREAM) as probe:
        probe.settimeout(CONNECT_SECONDS)
        try:
            probe.connect(address.path or (connectable(address.host), address.port))
        except OSError:
            return False
        return True


def connectable(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
