from __future__ import annotations

import pytest
from mercurial import bundlecaches, error
from tests.unit.hg.store.stock import Stock

from trunkline.hg.wire.bundle_manifest import parse_entry, parse_spec

SPECS = [
    b"gzip-v2",
    b"none-v1",
    b"zstd-v2;obsolescence=yes",
    b"none-packed1;requirements%3Drevlogv1",
    b"none-packed1;requirements=revlogv1%2Cgeneraldelta",
    b"none-v2;stream=v2",
    b"none-streamv2",
    b"zstd-v1",
    b"v2",
    b"lzma-v2",
    b"gzip-v9",
    b"gzip-v2;x",
    b"",
]


@pytest.mark.parametrize("text", SPECS)
def test_specification_is_read_as_stock_reads_it(plain: Stock, text: bytes) -> None:
    spec = parse_spec(text)
    try:
        expected = bundlecaches.parsebundlespec(plain.repo, text)
    except (error.InvalidBundleSpecification, error.UnsupportedBundleSpecification):
        assert spec is None
        return
    assert spec is not None
    assert spec.compression == expected.compression
    assert spec.is_stream == bundlecaches.isstreamclonespec(expected)


def test_entry_is_unquoted() -> None:
    entry = parse_entry(b"http://x BUNDLESPEC=gzip-v2 a%20b=c%3Dd stray\n")
    assert entry is not None
    assert entry.url == b"http://x"
    assert entry.attributes == {b"BUNDLESPEC": b"gzip-v2", b"a b": b"c=d"}
    assert entry.compression == b"gzip"


def test_empty_line_is_no_entry() -> None:
    assert parse_entry(b"  \n") is None
