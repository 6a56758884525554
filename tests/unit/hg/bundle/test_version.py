"""Headers of the three changegroup versions, beside Mercurial's own structs."""

from __future__ import annotations

import pytest
from mercurial import changegroup as stock

from trunkline.hg.bundle.version import FLAG_BYTES, VERSIONS, choose_version, format_path

FIELDS = [bytes([n]) * 20 for n in range(1, 6)]
NODE, P1, P2, BASE, LINK = FIELDS


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (b"01", stock._CHANGEGROUPV1_DELTA_HEADER.pack(NODE, P1, P2, LINK)),
        (b"02", stock._CHANGEGROUPV2_DELTA_HEADER.pack(NODE, P1, P2, BASE, LINK)),
        (b"03", stock._CHANGEGROUPV3_DELTA_HEADER.pack(NODE, P1, P2, BASE, LINK, 0x8001)),
    ],
)
def test_head_has_the_fields_of_its_version(name: bytes, expected: bytes) -> None:
    version, flags = VERSIONS[name], FLAG_BYTES[0x8001]
    assert version.head.pack(*FIELDS, flags) == expected
    assert version.delta_head.pack(9, *FIELDS, flags) == b"\0\0\0\x09" + expected
    full = version.full_head.pack(9, *FIELDS, flags, 0, 0, 4)
    assert full == b"\0\0\0\x09" + expected + b"\0\0\0\0\0\0\0\0\0\0\0\x04"


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        ((b"01", b"03", b"02"), b"03"),
        ((b"01", b"04"), b"01"),
        ((b"04", b"05"), None),
        ((b"",), None),
        ((), None),
    ],
)
def test_choice_is_the_newest_of_both(offered: tuple[bytes, ...], chosen: bytes | None) -> None:
    assert choose_version(offered) == chosen


def test_path_is_a_chunk() -> None:
    assert format_path(b"a/b") == b"\0\0\0\x07a/b"
