"""The URL at which a client reaches a repository: of clone bundles, a wrong one breaks the clone.

Source: RFC 9110, section 7.2 (Host); RFC 3986, section 3.2.2 (what a host may look like).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

HOST = re.compile(rb"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
# What proxies leave in a request. One that we don't trust may have put its own name into Host.
TRACES = (b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip")


HTTP_1_0 = ("1.0", "1")  # as ASGI has it, and as Granian has it; no client of ours speaks it


def reached_host(
    headers: Mapping[bytes, bytes], is_trusted: bool, http_version: str = "1.1"
) -> str:
    """What the client calls us, and "" where that can't be known. `is_trusted`: the request came
    through a proxy of ours, which passes the client's own word on.
    """
    is_traced = http_version in HTTP_1_0 or any(name in headers for name in TRACES)
    if is_traced and not is_trusted:
        return ""
    host = headers.get(b"host", b"")
    if is_trusted:
        # The first one is of the proxy that the client spoke to.
        host = headers.get(b"x-forwarded-host", b"").partition(b",")[0].strip() or host
    return host.decode("ascii") if HOST.fullmatch(host) else ""


def repository_url(base: str, names: Sequence[str]) -> str:
    """`base` is of `/`; "" where that isn't known."""
    path = "/".join(quote(name, safe="", errors="surrogateescape") for name in names)
    return f"{base.rstrip('/')}/{path}" if base else ""
