"""Which clients have a fast link, as far as their addresses tell."""

from __future__ import annotations

from collections.abc import Callable

from trunkline.config.hg import Hg
from trunkline.config.networks import Networks
from trunkline.http.forwarded import forwarded_address
from trunkline.http.visit import Visit

PASSED_ON = (b"x-forwarded-for", b"forwarded", b"via")  # headers that proxies add


def near_clients(settings: Hg) -> Callable[[Visit], bool]:
    """For `[hg] stream`."""
    if settings.stream != "auto":
        return lambda _: settings.stream == "always"
    networks = Networks(settings.stream_networks, "stream_networks")
    return lambda visit: knows_client(visit) and visit.address in networks


def knows_client(visit: Visit) -> bool:
    """Whether its address is the client's own, and not that of a proxy."""
    if visit.is_proxied:
        return bool(forwarded_address(visit.headers))
    return not any(name in visit.headers for name in PASSED_ON)
