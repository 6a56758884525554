"""How much at once: requests in all and from one address, and bytes of arguments in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address

from trunkline.config.settings import Limits
from trunkline.errors import PeerError


class Guests:
    """Counts running requests. For one event loop only."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._counts: Counter[str] = Counter()
        self.total = 0

    def enter(self, address: str) -> str:
        """A ticket for `leave`. Raises: PeerError 503."""
        ticket = group(address) if ":" in address else address
        if self.total >= self._limits.requests:
            raise PeerError(f"the server has {self.total} requests running: try again", status=503)
        if self._counts[ticket] >= self._limits.requests_per_address:
            raise PeerError(
                f"{self._counts[ticket]} requests from one address are running: try again",
                status=503,
            )
        self._counts[ticket] += 1
        self.total += 1
        return ticket

    def leave(self, ticket: str) -> None:
        self.total -= 1
        self._counts[ticket] -= 1
        if not self._counts[ticket]:
            del self._counts[ticket]


class ArgumentBytes:
    """What all requests together hold of arguments from bodies. For one event loop only."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.held = 0

    @contextmanager
    def hold(self, size: int) -> Iterator[None]:
        """Raises: PeerError 503. One request alone always gets its share."""
        if self.held and self.held + size > self._limit:
            raise PeerError("too many long requests are running: try again", status=503)
        self.held += size
        try:
            yield
        finally:
            self.held -= size


def group(address: str) -> str:
    """One site of IPv6 has 2**64 addresses: they count as one."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Address(int(parsed) >> 64 << 64))
