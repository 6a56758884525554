"""How much at once, in all and from one address: requests, and bytes of arguments in memory.

A guest is an address, or all addresses of one IPv6 network.
"""

from __future__ import annotations

from collections import Counter
from ipaddress import IPv6Address, ip_address

from trunkline.config.limits import Limits
from trunkline.errors import PeerError


class Guests:
    """Counts running requests. For one event loop only."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._counts: Counter[str] = Counter()
        self.total = 0

    def enter(self, address: str) -> str:
        """The guest, for `leave`. Raises: PeerError 503."""
        guest = group(address) if ":" in address else address
        if self.total >= self._limits.requests:
            raise PeerError(f"the server has {self.total} requests running: try again", status=503)
        if self._counts[guest] >= self._limits.requests_per_address:
            raise PeerError(
                f"{self._counts[guest]} requests from one address are running: try again",
                status=503,
            )
        self._counts[guest] += 1
        self.total += 1
        return guest

    def leave(self, guest: str) -> None:
        self.total -= 1
        self._counts[guest] -= 1
        if not self._counts[guest]:
            del self._counts[guest]


class ArgumentBytes:
    """What requests hold of arguments from bodies, all together and those of one guest. Only what
    has arrived counts. For one event loop only.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._of_guest: Counter[str] = Counter()
        self.total = 0

    def holding(self, guest: str) -> Held:
        return Held(self, guest)

    def add(self, guest: str, size: int) -> None:
        """Raises: PeerError 503. One request alone always gets its share."""
        limits = self._limits
        for now, limit in (
            (self.total, limits.all_post_args_bytes),
            (self._of_guest[guest], limits.post_args_bytes_per_address),
        ):
            if now + size > max(limit, limits.post_args_bytes):
                raise PeerError("too many long requests are running: try again", status=503)
        self.change(guest, size)

    def change(self, guest: str, size: int) -> None:
        self.total += size
        self._of_guest[guest] += size
        if not self._of_guest[guest]:
            del self._of_guest[guest]


class Held:
    """The part of one request, given back at the end of its `with`."""

    __slots__ = ("_guest", "_whole", "size")

    def __init__(self, whole: ArgumentBytes, guest: str) -> None:
        self._whole = whole
        self._guest = guest
        self.size = 0

    def add(self, size: int) -> None:
        """Raises: PeerError 503."""
        self._whole.add(self._guest, size)
        self.size += size

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *_: object) -> None:
        if self.size:
            self._whole.change(self._guest, -self.size)
            self.size = 0


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
