"""Mercurial repositories, beside what they say themselves."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct, field

from trunkline.config.fields import words
from trunkline.config.networks import Networks

NEAR = (
    "127.0.0.0/8",
    "::1/128",
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "169.254.0.0/16",
    "fc00::/7",
    "fe80::/10",
    "unix",
)


class Hg(Struct, frozen=True, forbid_unknown_fields=True):
    """Mercurial repositories, beside what they say themselves."""

    stream: Annotated[
        Literal["auto", "always", "never"],
        words(
            "Who is told that stream clones are preferred, and clones so unless it says `--pull`: "
            "clients in `stream_networks`, all, or none. They are larger, and cost both ends a "
            "fraction of the CPU. `server.preferuncompressed` in a repository's hgrc or in "
            "`config` wins."
        ),
    ] = "auto"
    stream_networks: Annotated[
        list[str],
        words(
            "Addresses and networks whose links are fast; `unix` is who comes through a unix "
            "socket. A request that a proxy has passed on counts by `X-Forwarded-For`, if it comes "
            "from one of `server.trusted_proxies`, and is of none of these networks else."
        ),
    ] = field(default_factory=lambda: list(NEAR))

    def __post_init__(self) -> None:
        Networks(self.stream_networks, "stream_networks")
