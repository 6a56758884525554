from __future__ import annotations

from base64 import b64decode

import pytest

from trunkline.svn.dav.pushed import Output
from trunkline.svn.dav.svndiff import Base64Writer, accepted_version

STOCK = b"gzip,svndiff1;q=0.9,svndiff2;q=0.8,svndiff;q=0.7"
NEAR = b"gzip,svndiff2;q=0.9,svndiff1;q=0.8,svndiff;q=0.7"


@pytest.mark.parametrize(
    ("accept", "level", "version"),
    [
        (STOCK, 5, 1),
        (NEAR, 5, 2),
        (STOCK, 1, 2),
        (STOCK, 0, 0),
        (b"svndiff", 5, 0),
        (b"gzip", 5, None),
        (b"", 5, None),
        (b"svndiff1;q=0", 5, None),
        (b";;,=,svndiff2", 5, 2),
    ],
)
def test_version_is_chosen(accept: bytes, level: int, version: int | None) -> None:
    assert accepted_version(accept, level) == version


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_base64_is_whole_whatever_the_blocks(size: int) -> None:
    data = bytes(range(256))
    got: list[bytes] = []
    output, ended = Output(got.append), []
    writer = Base64Writer(output, 1, 5, lambda: ended.append(True))
    for at in range(0, len(data), size):
        writer.write(data[at : at + size])
    writer.close()
    output.flush()
    assert b64decode(b"".join(got), validate=True) == data
    assert ended == [True]
