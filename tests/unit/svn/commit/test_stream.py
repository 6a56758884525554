"""The format: golden bytes read, and written again."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from trunkline.errors import PeerError
from trunkline.svn.commit.encoder import CUT, Encoder, encode_question
from trunkline.svn.commit.fields import COUNT, LENGTH, format_revision, format_string
from trunkline.svn.commit.limits import DATA_BYTES, PATH_NAMES, Limits
from trunkline.svn.commit.names import MAGIC
from trunkline.svn.commit.parser import Parser
from trunkline.svn.commit.record import (
    Copy,
    Data,
    Delete,
    End,
    EndText,
    Form,
    Head,
    LockToken,
    MakeDir,
    Mode,
    Props,
    Record,
    RevProp,
    Text,
)

GOLDEN = Path(__file__).parents[3] / "golden" / "svn"
EVERYTHING = (GOLDEN / "commit-1.stream").read_bytes()
QUESTION = (GOLDEN / "question-1.stream").read_bytes()
MD5 = b"5d41402abc4b2a76b9719d911017c592"

RECORDS: list[Record] = [
    Head(b"golden-1"),
    RevProp(b"svn:log", b"Every record once\n"),
    LockToken(b"/trunk/a b", b"opaquelocktoken:0-1"),
    MakeDir(b"/trunk/\xc3\xbc"),
    Delete(b"/trunk/old", 7),
    Copy(b"/trunk", 8, b"/tags/1"),
    Props(b"/trunk", 8, ((b"svn:ignore", b"*.o\n"), (b"gone", None))),
    Text(b"/trunk/new", None, Mode.ADD, Form.WHOLE, None, MD5),
    Data(b"hel"),
    Data(b"lo"),
    EndText(5),
    Text(b"/trunk/a b", 8, Mode.OPEN, Form.SVNDIFF, MD5, None),
    Data(b"SVN\0"),
    EndText(4),
]


def test_the_golden_stream_is_read() -> None:
    parser = Parser()
    *records, end = parser.feed(EVERYTHING)
    parser.finish()
    assert records == RECORDS
    assert end == End(True, 6, sha256(EVERYTHING[:-32]).digest())


def test_the_golden_stream_is_written() -> None:
    encoder = Encoder(b"golden-1")
    written = [
        encoder.begin(),
        encoder.revprop(b"svn:log", b"Every record once\n"),
        encoder.lock_token(b"/trunk/a b", b"opaquelocktoken:0-1"),
        encoder.mkdir(b"/trunk/\xc3\xbc"),
        encoder.delete(b"/trunk/old", 7),
        encoder.copy(b"/trunk", 8, b"/tags/1"),
        encoder.props(b"/trunk", 8, [(b"svn:ignore", b"*.o\n"), (b"gone", None)]),
        encoder.text(b"/trunk/new", None, Mode.ADD, Form.WHOLE, None, MD5),
        encoder.data(b"hel"),
        encoder.data(b"lo"),
        encoder.end_text(),
        encoder.text(b"/trunk/a b", 8, Mode.OPEN, Form.SVNDIFF, MD5, None),
        encoder.data(b"SVN\0"),
        encoder.end_text(),
        encoder.end(release_locks=True),
    ]
    assert b"".join(written) == EVERYTHING
    assert encode_question(b"golden-1") == QUESTION
    assert Parser().feed(QUESTION)[0] == Head(b"golden-1", is_question=True)


@pytest.mark.parametrize("cut", range(len(EVERYTHING) + 1))
def test_feed_gives_the_same_for_any_cut(cut: int) -> None:
    parser = Parser()
    assert (parser.feed(EVERYTHING[:cut]) + parser.feed(EVERYTHING[cut:]))[:-1] == RECORDS
    cut_off = Parser()
    cut_off.feed(EVERYTHING[:cut])
    if cut < len(EVERYTHING):
        with pytest.raises(PeerError, match="breaks off"):
            cut_off.finish()


def test_byte_by_byte() -> None:
    parser = Parser()
    found = [record for at in EVERYTHING for record in parser.feed(bytes([at]))]
    assert found[:-1] == RECORDS


def test_nothing_may_follow() -> None:
    with pytest.raises(PeerError, match="out of place"):
        Parser().feed(EVERYTHING + b"\0")


@pytest.mark.parametrize("at", range(len(EVERYTHING)))
def test_any_byte_that_changed_is_noticed(at: int) -> None:
    parser = Parser()
    changed = bytearray(EVERYTHING)
    changed[at] ^= 1
    with pytest.raises(PeerError):
        whole(parser, bytes(changed))


def whole(parser: Parser, data: bytes) -> None:
    parser.feed(data)
    parser.finish()


def test_an_end_is_one() -> None:
    whole(Parser(), ended(b"\0", 0))


def record(kind: bytes, payload: bytes) -> bytes:
    return kind + LENGTH.pack(len(payload)) + payload


HEAD = MAGIC + record(b"H", format_string(b"k") + b"\0")
PATH = format_string(b"/f")
TEXT = record(b"T", PATH + format_revision(None) + bytes(4))
NONE = format_revision(None)


def ended(releases: bytes, operations: int) -> bytes:
    stream = HEAD + b"E" + LENGTH.pack(41) + releases + COUNT.pack(operations)
    return stream + sha256(stream).digest()


WRONG = [
    b"GET / HTTP/1.1\r\n",
    b"trunkline-commit 2\n",
    MAGIC + record(b"M", PATH),
    HEAD + HEAD[len(MAGIC) :],
    HEAD + record(b"?", b""),
    HEAD + record(b"B", b"x"),
    HEAD + record(b"Z", COUNT.pack(0)),
    HEAD + TEXT + record(b"M", PATH),
    HEAD + TEXT + record(b"B", b""),
    HEAD + TEXT + record(b"Z", COUNT.pack(1)),
    HEAD + record(b"M", PATH + b"x"),
    HEAD + record(b"M", PATH[:-1]),
    HEAD + record(b"D", PATH + (-2).to_bytes(8, "big", signed=True)),
    HEAD + record(b"D", PATH + (2**31).to_bytes(8, "big")),
    HEAD + record(b"C", PATH + PATH + NONE),
    HEAD + record(b"T", PATH + NONE + b"\3\0\0\0"),
    HEAD + record(b"T", PATH + NONE + b"\0\2\0\0"),
    HEAD + record(b"T", PATH + NONE + b"\0\0\1x\0"),
    HEAD + record(b"P", PATH + NONE + format_string(b"p") + b"\2"),
    HEAD + record(b"P", PATH + NONE + format_string(b"") + b"\0"),
    ended(b"\0", 1),
    ended(b"\0", 0)[:-32] + bytes(32),
    ended(b"\2", 0),
    MAGIC + record(b"H", format_string(b"k") + b"\1") + record(b"M", PATH),
    *(MAGIC + record(b"H", format_string(key) + b"\0") for key in (b"", b"x" * 65, b"a/b", b"\n")),
    *(
        HEAD + record(b"M", format_string(path))
        for path in (
            b"", b"f", b"/f/", b"//f", b"/./f", b"/a/../b", b"/\xff", b"/a\0b", b"/x" * 1025,
            b"/" + b"x" * 32768,
        )
    ),
    *(HEAD + record(b"L", PATH + format_string(token)) for token in (b"", b"\xff", b"x" * 1025)),
]  # fmt: skip


@pytest.mark.parametrize("data", WRONG)
def test_what_is_wrong_is_refused(data: bytes) -> None:
    with pytest.raises(PeerError) as caught:
        Parser().feed(data)
    assert caught.value.status == 400


def test_as_deep_as_may_be() -> None:
    path = b"/x" * PATH_NAMES
    assert Parser().feed(HEAD + record(b"M", format_string(path)))[1:] == [MakeDir(path)]


@pytest.mark.parametrize(
    "data",
    [
        HEAD + b"R" + LENGTH.pack(101),
        HEAD + TEXT + b"B" + LENGTH.pack(DATA_BYTES + 1),
        HEAD + TEXT + record(b"B", b"x" * 60),
        HEAD + record(b"M", PATH) * 4,
        HEAD + record(b"L", PATH + format_string(b"t")) * 3,
        HEAD + record(b"R", PATH + PATH) * 2,
        HEAD + bytes(2000),
    ],
)
def test_past_a_limit(data: bytes) -> None:
    limits = Limits(record=100, text=50, stream=1000, operations=3, tokens=2, revprops=1)
    with pytest.raises(PeerError) as caught:
        Parser(limits).feed(data)
    assert caught.value.status == 413


def test_nothing_is_held_of_a_record_that_is_too_long() -> None:
    """Its length is judged before its payload comes."""
    parser = Parser()
    with pytest.raises(PeerError):
        parser.feed(HEAD + b"M\xff\xff\xff\xff")


def test_long_data_is_cut() -> None:
    encoder = Encoder(b"k")
    stream = encoder.begin() + encoder.text(b"/f", None, Mode.EITHER, Form.WHOLE)
    stream += encoder.data(bytes(CUT + 1)) + encoder.data(b"") + encoder.end_text()
    sizes = [len(one.block) for one in Parser().feed(stream) if isinstance(one, Data)]
    assert sizes == [CUT, 1]


def test_calls_out_of_order_are_a_mistake() -> None:
    encoder = Encoder(b"k")
    with pytest.raises(ValueError, match="order"):
        encoder.mkdir(b"/d")
    encoder.begin()
    with pytest.raises(ValueError, match="text"):
        encoder.data(b"x")
    encoder.text(b"/f", None, Mode.EITHER, Form.WHOLE)
    with pytest.raises(ValueError, match="order"):
        encoder.end(False)
    encoder.end_text()
    encoder.end(False)
    with pytest.raises(ValueError, match="order"):
        encoder.mkdir(b"/d")
