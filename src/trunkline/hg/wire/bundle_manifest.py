"""One line of a bundle manifest, and the bundle specification in it.

Wire:   URL SP NAME=VALUE ..., names and values percent-quoted. A specification is
        `<compression>-<version>;<name>=<value>;...`.
Source: hg 7.2.4, bundlecaches.py (parse_clonebundle_manifest_line, parsebundlespec).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trunkline.quoting import unquote

V1_COMPRESSIONS = (b"none", b"gzip", b"bzip2")
COMPRESSIONS = (*V1_COMPRESSIONS, b"zstd")
STREAM_VERSIONS = (b"packed1", b"streamv2", b"streamv3-exp")
VERSIONS = (*STREAM_VERSIONS, b"v1", b"v2", b"v3", b"bundle2")


@dataclass(frozen=True, slots=True)
class BundleSpec:
    compression: bytes
    version: bytes
    parameters: Mapping[bytes, bytes]

    @property
    def is_stream(self) -> bool:
        return self.version in STREAM_VERSIONS or b"stream" in self.parameters


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    url: bytes
    attributes: Mapping[bytes, bytes]
    spec: BundleSpec | None  # None: no BUNDLESPEC, or one that can't be read

    @property
    def compression(self) -> bytes | None:
        if self.spec is not None:
            return self.spec.compression
        return self.attributes.get(b"COMPRESSION")

    @property
    def store_fingerprint(self) -> bytes | None:
        named = None if self.spec is None else self.spec.parameters.get(b"store-fingerprint")
        return named or self.attributes.get(b"STORE-FINGERPRINT")

    @property
    def is_readable(self) -> bool:
        return self.spec is not None or b"BUNDLESPEC" not in self.attributes


def parse_entry(line: bytes) -> ManifestEntry | None:
    """None for an empty line. An attribute without "=" is left out."""
    fields = line.split()
    if not fields:
        return None
    attributes: dict[bytes, bytes] = {}
    for field in fields[1:]:
        name, equals, value = field.partition(b"=")
        if equals:
            attributes[unquote(name)] = unquote(value)
    spec = attributes.get(b"BUNDLESPEC")
    return ManifestEntry(fields[0], attributes, None if spec is None else parse_spec(spec))


def parse_spec(text: bytes) -> BundleSpec | None:
    """None for what Mercurial wouldn't read."""
    name, *fields = text.split(b";")
    compression, dash, version = name.partition(b"-")
    if not dash or compression not in COMPRESSIONS or version not in VERSIONS:
        return None
    if version == b"v1" and compression not in V1_COMPRESSIONS:
        return None
    parameters: dict[bytes, bytes] = {}
    for field in fields:
        key, equals, value = field.partition(b"=")
        if not equals:
            return None
        parameters[unquote(key)] = unquote(value)
    return BundleSpec(compression, version, parameters)
