"""The bundle2 capabilities, which travel as one quoted blob inside the capability `bundle2=`.

Wire:   quoted as a whole; inside, one `name` or `name=value,value` a line, sorted, each quoted.
Source: hg 7.2.4, exchanges/bundle_caps.py and bundle2.py (encodecaps, decodecaps).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import quote_from_bytes

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.bundle.stream import offers_stream_parts
from trunkline.hg.store.evolution import is_exchange_enabled
from trunkline.quoting import unquote

Capabilities = Mapping[bytes, tuple[bytes, ...]]

STATIC: Capabilities = {
    b"HG20": (),
    b"bookmarks": (),
    b"changegroup": (b"01", b"02", b"03"),
    b"error": (b"abort", b"unsupportedcontent", b"pushraced", b"pushkey"),
    b"hgtagsfnodes": (),
    b"listkeys": (),
    b"phases": (b"heads",),
    b"pushkey": (),
}

# What stock advertises and we don't, of a bridged repository either.
# digests, remote-changegroup: by them who pushes makes the server fetch any URL.
# delta-compression: a promise about version 4 of the changegroup, which we don't write.
WITHHELD = frozenset({b"digests", b"remote-changegroup", b"delta-compression"})


def bundle_capabilities(config: HgConfig) -> Capabilities:
    found = dict(STATIC)
    if is_exchange_enabled(config):
        found[b"obsmarkers"] = (b"V0", b"V1")
    if config.text("server", "concurrent-push-mode", "check-related") == "check-related":
        found[b"checkheads"] = (b"related",)
    if "phases" in config.list("devel", "legacy.exchange"):
        del found[b"phases"]
    if offers_stream_parts(config):
        is_v3_on = config.bool("experimental", "stream-v3")
        found[b"stream"] = (b"v2", b"v3-exp") if is_v3_on else (b"v2",)
    return found


def format_blob(capabilities: Capabilities) -> bytes:
    return b"\n".join(format_line(name, capabilities[name]) for name in sorted(capabilities))


def format_line(name: bytes, values: Iterable[bytes]) -> bytes:
    joined = b",".join(quote(value) for value in values)
    return quote(name) + (b"=" + joined if joined else b"")


def parse_blob(blob: bytes) -> dict[bytes, tuple[bytes, ...]]:
    found: dict[bytes, tuple[bytes, ...]] = {}
    for line in blob.splitlines():
        name, _, values = line.partition(b"=")
        found[unquote(name)] = tuple(unquote(value) for value in values.split(b",") if value)
    return found


def format_token(capabilities: Capabilities) -> bytes:
    return b"bundle2=" + quote(format_blob(capabilities))


def without_withheld(token: bytes) -> bytes:
    """A `bundle2=` token of stock, less what isn't advertised here."""
    blob = parse_blob(unquote(token.partition(b"=")[2]))
    return format_token({name: values for name, values in blob.items() if name not in WITHHELD})


def quote(text: bytes) -> bytes:
    return quote_from_bytes(text).encode()
