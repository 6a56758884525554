"""Sets of addresses that an operator names: proxies that are believed, clients that are near."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

UNIX = "unix"  # the address of who comes in through a unix socket
KEPT_ANSWERS = 4096  # addresses

Network = IPv4Network | IPv6Network


class Networks:
    """Addresses, networks in CIDR form, and `unix`. `setting` is where they stand.

    Raises: ValueError for any other word.
    """

    def __init__(self, words: Iterable[str], setting: str) -> None:
        words = tuple(words)
        self._has_unix = UNIX in words
        self._networks = [read_network(word, setting) for word in words if word != UNIX]
        self._judge = lru_cache(KEPT_ANSWERS)(self._is_in_a_network)

    def __contains__(self, address: object) -> bool:
        if address == UNIX:
            return self._has_unix
        return bool(self._networks) and isinstance(address, str) and self._judge(address)

    def _is_in_a_network(self, address: str) -> bool:
        try:
            found = ip_address(address)
        except ValueError:
            return False
        if isinstance(found, IPv6Address) and found.ipv4_mapped:  # of a socket that takes both
            found = found.ipv4_mapped
        return any(found in network for network in self._networks)


def read_network(word: str, setting: str) -> Network:
    try:
        return ip_network(word)
    except ValueError as error:
        raise ValueError(
            f"`{setting}`: {word!r} is no address, network or `{UNIX}` ({error})"
        ) from None
