"""Mercurial's own reader is the judge of the container; bytes are held to a golden text too."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Iterable, Iterator

import pytest
from mercurial import bundle2 as stock
from mercurial import bundle2_part_handlers as _registers_them  # noqa: F401
from mercurial import error
from mercurial import ui as stock_ui

from trunkline.errors import PeerError, StoreError, TrunklineError
from trunkline.hg.bundle import bundle2
from trunkline.hg.bundle.bundle2 import Part


def read(data: bytes) -> list[tuple[bytes, bytes, dict[bytes, bytes], bool]]:
    parts = []
    for part in stock.getunbundler(stock_ui.ui(), io.BytesIO(data)).iterparts():
        parts.append((part.type, part.read(), dict(part.params), part.mandatory))
    return parts


GOLDEN = (
    b"HG20\0\0\0\0"
    b"\0\0\0\x20\x06OUTPUT\0\0\0\0\x01\x01\x01\x02\x04\x01abbnamev"
    b"\0\0\0\x03one\0\0\0\x05three\0\0\0\0"
    b"\0\0\0\x0b\x04note\0\0\0\x01\0\0"
    b"\0\0\0\0"
    b"\0\0\0\0"
)


def test_write_bundle_gives_golden_bytes() -> None:
    parts = [
        Part(b"output", ((b"a", b"bb"),), ((b"name", b"v"),), iter([b"one", b"", b"three"])),
        Part(b"Note", is_mandatory=False),
    ]
    golden = GOLDEN.replace(b"\0\0\0\x20\x06OUTPUT", b"\0\0\0\x19\x06OUTPUT")
    assert b"".join(bundle2.write_bundle(parts)) == golden


def test_stock_reads_what_was_written() -> None:
    parts = [
        Part(b"output", ((b"a", b"bb"),), ((b"name", b""),), iter([b"one", b"", b"three"])),
        Part(b"note", is_mandatory=False),
        Part(b"listkeys", payload=[bytes(3 * bundle2.CHUNK + 1)]),
    ]
    assert read(b"".join(bundle2.write_bundle(parts))) == [
        (b"output", b"onethree", {b"a": b"bb", b"name": b""}, True),
        (b"note", b"", {}, False),
        (b"listkeys", bytes(3 * bundle2.CHUNK + 1), {}, True),
    ]


def test_empty_bundle_is_sixteen_bytes_less_four() -> None:
    assert b"".join(bundle2.write_bundle([])) == b"HG20" + bytes(8)


def test_stream_parameters_are_quoted_and_read_by_stock() -> None:
    data = b"".join(bundle2.write_bundle([], {b"simple": b"a =%\xff"}))
    assert stock.getunbundler(stock_ui.ui(), io.BytesIO(data)).params == {b"simple": b"a =%\xff"}


def test_parts_without_a_payload_travel_with_the_next_block() -> None:
    block = b"x" * 9
    blocks = list(bundle2.write_bundle([Part(b"a"), Part(b"b", payload=[block]), Part(b"c")]))
    assert len(blocks) == 3
    assert blocks[1] is block  # no copy


def test_parts_are_taken_one_after_the_other() -> None:
    taken: list[bytes] = []

    def parts() -> Iterator[Part]:
        for name in (b"a", b"b"):
            taken.append(name)
            yield Part(name, payload=[b"payload"])

    blocks = bundle2.write_bundle(parts())
    next(blocks)
    assert taken == [b"a"]


def send_until(expected: type[Exception], parts: Iterable[Part]) -> bytes:
    sent = bytearray()
    with pytest.raises(expected):
        deque(map(sent.extend, bundle2.write_bundle(parts)), maxlen=0)
    return bytes(sent)


def failing(failure: Exception) -> Iterator[bytes]:
    yield b"begun"
    raise failure


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (StoreError("bad chunk", "/srv/secret/path", 7), bundle2.BROKEN),
        (ValueError("internal"), bundle2.BROKEN),
        (PeerError("you went wrong"), b"you went wrong"),
    ],
)
def test_failure_in_a_payload_interrupts_then_raises(failure: Exception, words: bytes) -> None:
    sent = send_until(type(failure), [Part(b"output", payload=failing(failure))])
    assert b"secret" not in sent
    # What stock makes of it: the interruption is handled while the payload is being read.
    with pytest.raises(error.Abort) as seen:
        read(sent)
    assert words in (seen.value.message or b"")


def test_failure_between_parts_is_a_part_of_its_own() -> None:
    def parts() -> Iterator[Part]:
        yield Part(b"output", payload=[b"whole"])
        raise StoreError("gone", "/srv/secret/path")

    sent = send_until(StoreError, parts())
    assert read(sent) == [
        (b"output", b"whole", {}, True),
        (b"error:abort", b"", {b"message": bundle2.BROKEN}, False),
    ]


def test_abort_bundle_reads_as_error_abort() -> None:
    data = bundle2.abort_bundle(PeerError("no such head"), b"try again")
    assert read(data) == [
        (b"error:abort", b"", {b"message": b"no such head", b"hint": b"try again"}, True)
    ]


def test_abort_message_is_cut_to_what_a_parameter_holds() -> None:
    ((_, _, parameters, _),) = read(bundle2.abort_bundle(PeerError("é" * 300)))
    assert parameters[b"message"] == ("é" * 127).encode()


def test_too_long_parameter_is_refused() -> None:
    with pytest.raises(TrunklineError, match="256 bytes"):
        list(bundle2.write_bundle([Part(b"x", ((b"name", bytes(256)),))]))


def test_closing_the_bundle_closes_the_payload() -> None:
    is_closed = []

    def payload() -> Iterator[bytes]:
        try:
            yield b"one"
            yield b"two"
        finally:
            is_closed.append(True)

    blocks = bundle2.write_bundle([Part(b"a", payload=payload())])
    next(blocks)
    del blocks
    assert is_closed == [True]


@pytest.mark.parametrize(
    "blob",
    [b"", b"HG20\nchangegroup=01,02,03\n\nobsmarkers", b"a%3Db=c%2Cd,e\nx=", b"bare\r\nnext="],
)
def test_capabilities_parse_as_stock_does(blob: bytes) -> None:
    stock_view = {name: tuple(words) for name, words in stock.decodecaps(blob).items()}
    assert bundle2.parse_capabilities(blob) == stock_view
