from __future__ import annotations

import pytest

from trunkline.errors import PeerError
from trunkline.svn.dav.skel import parse_properties, parse_skel


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"(create-txn)", [b"create-txn"]),
        (b"( a 3 b c (d) )", [b"a", b"b c", [b"d"]]),
        (b"()", []),
        (b"(0 )", [b""]),
        (b"(4 ()() x)", [b"()()", b"x"]),
    ],
)
def test_parses(data: bytes, value: object) -> None:
    assert parse_skel(data) == value


@pytest.mark.parametrize(
    "data",
    [b"", b"(", b")", b"(9 short)", b"(a))", b"(99999999999999999999 x)", b"(3x abc)", b"(" * 99],
)
def test_refuses(data: bytes) -> None:
    with pytest.raises(PeerError):
        parse_skel(data)


def test_properties_come_in_pairs() -> None:
    assert parse_properties([b"a", b"1", b"b", b""]) == [(b"a", b"1"), (b"b", b"")]
    for wrong in (b"a", [b"a"], [b"a", [b"b"]]):
        with pytest.raises(PeerError):
            parse_properties(wrong)  # type: ignore[arg-type]
