"""Clone bundles: when they are made, where they lie, and to which object store they go."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from msgspec import Struct, field

from trunkline.config.fields import GiB, MiB, unit, words

DAY = 24 * 3600  # seconds

URL = re.compile(r"https?://[^\s?#]+", re.ASCII)
STORE = re.compile(r"s3://[^/\s]+(/[^\s?#]*)?", re.ASCII)
SIGNED_LIMIT = 7 * DAY  # what S3 allows

KindName = Literal["zstd", "gzip", "stream"]


class Bundles(Struct, frozen=True, forbid_unknown_fields=True):
    """Clone bundles that the server makes by itself, in the background, of public changesets.

    Clients take one in place of a clone that is made for them, and pull what is newer. A
    repository's own `.hg/clonebundles.manifest` wins. `trunkline bundle` makes them ahead of time.
    """

    make: Annotated[
        Literal["off", "auto", "always"],
        words(
            "`auto`: of repositories that are large enough. `always`: of all that anybody asks "
            "for. `off`: of none, and those that are there aren't listed."
        ),
    ] = "auto"
    smallest_bytes: Annotated[
        int,
        unit("bytes", "Of a clone, as estimated, for `auto` to make bundles of it."),
    ] = 32 * MiB
    growth_percent: Annotated[
        int,
        unit("percent", "More public changesets than the last bundles have: then new ones.", ge=1),
    ] = 10
    kinds: Annotated[
        list[KindName],
        words(
            "Which ones. They are listed in the order `zstd`, `gzip` (for clients before 4.1), "
            "`stream` (for `hg clone --stream`), whatever the order here. `stream` alone is "
            "refused: not every client can use one."
        ),
    ] = field(default_factory=lambda: ["zstd", "gzip", "stream"])
    zstd_level: Annotated[
        int, unit("", "A higher one takes longer and makes smaller bundles.", ge=1, le=19)
    ] = 9
    check_seconds: Annotated[
        int,
        unit(
            "seconds", "Between two looks at one repository; each follows a request for it.", ge=1
        ),
    ] = 30
    path: Annotated[
        str,
        words(
            "The folder, relative to the file; nobody else may write to it. "
            '`""` is `bundles` where the spool is by default, or the `path` of the spool with '
            "`-bundles` behind it. Several servers may have one folder."
        ),
    ] = ""
    bytes: Annotated[
        int,
        unit("bytes", "Of all of them; the least recently used make room.", ge=1),
    ] = 64 * GiB
    free_bytes: Annotated[int, unit("bytes", "To be left free on its disk.")] = 4 * GiB
    age_seconds: Annotated[
        int, unit("seconds", "After its last use a bundle may be removed.", ge=1)
    ] = 60 * DAY

    def __post_init__(self) -> None:
        if not set(self.kinds) - {"stream"}:
            raise ValueError("`kinds`: one of zstd and gzip is needed, for clients of every kind")


class BundleStore(Struct, frozen=True, forbid_unknown_fields=True):
    """An S3-compatible object store that the bundles are copied to, for clients to fetch from
    there. Needs `pip install trunkline[s3]`. The keys come from the environment:
    `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or the machine's own role.
    """

    url: Annotated[str, words('`s3://BUCKET/PREFIX`; `""` is none.')] = ""
    endpoint: Annotated[
        str, words("`https://HOST:PORT` of a store that isn't Amazon's; the bucket is in the path.")
    ] = ""
    region: Annotated[str, words("As the store has it.")] = "us-east-1"
    signed_seconds: Annotated[
        int,
        unit(
            "seconds",
            "For so long is a URL good that a client is given; the bucket needs to be open to "
            "nobody.",
            ge=60,
            le=SIGNED_LIMIT,
        ),
    ] = 6 * 3600
    public_url: Annotated[
        str,
        words(
            "What stands for `s3://BUCKET/PREFIX` where everybody may read, as a CDN does. URLs "
            "aren't signed then: **whoever knows one may read that bundle for good.**"
        ),
    ] = ""
    seconds: Annotated[
        int, unit("seconds", "To wait for the store when a list is asked for.", ge=1)
    ] = 3

    def __post_init__(self) -> None:
        if self.url and not STORE.fullmatch(self.url):
            raise ValueError(f"`url`: {self.url!r} isn't s3://BUCKET/PREFIX")
        check_public_url("endpoint", self.endpoint)
        check_public_url("public_url", self.public_url)


def check_public_url(name: str, value: str) -> None:
    """Raises: ValueError."""
    if value and not URL.fullmatch(value):
        raise ValueError(f"`{name}`: {value!r} isn't http:// or https:// and a host")
