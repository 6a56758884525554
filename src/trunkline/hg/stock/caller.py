"""For whom a command is run: what hooks and `acl` are told, and what the client can read."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Caller:
    """`protocaps` is the value of X-HgProto, words parted by spaces."""

    user: str | None = None
    address: str | None = None
    scheme: str = "http"
    protocaps: bytes = b""
    method: str = ""

    @property
    def url(self) -> bytes:
        """HG_URL of hooks. Source: hg 7.2.4, wireprotoserver.py, httpv1protocolhandler.client."""
        parts = (quote(part or "", errors="surrogateescape") for part in (self.address, self.user))
        return ":".join(("remote", self.scheme, *parts)).encode()

    @property
    def environment(self) -> dict[str, str]:
        """As a CGI program would have it; hooks in Python find all of it in `ui.environ`."""
        named = {
            "REMOTE_USER": self.user,
            "REMOTE_ADDR": self.address,
            "REQUEST_METHOD": self.method,
            "wsgi.url_scheme": self.scheme,
        }
        return {name: value for name, value in named.items() if value}


ANYONE = Caller()
