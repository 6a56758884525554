"""svndiff on the wire: which version a client takes, and how texts become one."""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Callable

from trunkline.svn.dav.pushed import Output

# Source: subversion 1.14, mod_dav_svn/repos.c (negotiate_encoding_prefs).
OFFER = re.compile(rb"\s*([^;,\s]+)\s*(?:;\s*q\s*=\s*([0-9.]+))?")
VERSIONS = {b"svndiff": 0, b"svndiff1": 1, b"svndiff2": 2}


def accepted_version(accept_encoding: bytes, level: int) -> int | None:
    """The version to send; None where the client takes no svndiff at all."""
    weights: dict[int, float] = {}
    for offer in accept_encoding.split(b","):
        match = OFFER.match(offer)
        if match and match[1].lower() in VERSIONS:
            try:
                weight = float(match[2] or b"1")
            except ValueError:
                weight = 0.0
            if weight > 0:
                weights[VERSIONS[match[1].lower()]] = weight
    if not weights:
        return None
    if level == 0:
        return 0
    if level == 1 and 2 in weights:
        return 2
    return max(weights, key=lambda version: (weights[version], version))


class Base64Writer:
    """svndiff as base64 into a report: three bytes at a time, whatever the blocks are."""

    def __init__(
        self, output: Output, version: int, level: int, at_end: Callable[[], None] | None = None
    ) -> None:
        self.version = version
        self.level = level
        self._output = output
        self._left = b""
        self._at_end = at_end

    def write(self, data: bytes) -> None:
        data = self._left + data
        cut = len(data) - len(data) % 3
        self._left = data[cut:]
        if cut:
            self._output.write(b2a_base64(data[:cut], newline=False))

    def close(self) -> None:
        if self._left:
            self._output.write(b2a_base64(self._left, newline=False))
            self._left = b""
        if self._at_end is not None:
            self._at_end()


class PlainWriter:
    """svndiff as it is."""

    def __init__(self, output: Output, version: int, level: int) -> None:
        self.version = version
        self.level = level
        self._output = output

    def write(self, data: bytes) -> None:
        self._output.write(data)

    def close(self) -> None:
        pass
