"""No request makes `answer` raise, whatever is in it, as long as the repository is whole."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import quote_from_bytes

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.hg.store.stock import Stock
from tests.unit.hg.wire.stockweb import read, served

from trunkline.hg.wire.answer import answer
from trunkline.hg.wire.request import Request
from trunkline.hg.wire.served import Served
from trunkline.hg.wire.table import COMMANDS

NODE = "12" * 20
VALUES = st.one_of(
    st.binary(max_size=30),
    st.sampled_from(
        [b"", b"0", b"tip", b"0" * 40, b"1" * 40, b"0" * 40 + b"-" + b"0" * 40, b"HG20", b"1"]
    ),
    st.just(b"HG20,bundle2=HG20%0Achangegroup%3D01%2C02%2C09%0Astream%3Dv2%0Aphases%3Dheads"),
    st.just(b"heads ;known nodes=;lookup key=:x"),
)
DECLARED = {name for command in COMMANDS.values() for name in command.arguments}
NAMES = [
    *sorted(DECLARED - {b"*"}),
    *b"access-hidden bookmarks bundlecaps cg common includepats listkeys".split(),
    *b"obsmarkers phases stream three".split(),
]
ARGUMENTS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=6)
PROTO = st.sampled_from([b"", b"0.2", b"0.1 0.2 comp=zstd,zlib partial-pull", b"0.2 comp="])


@cache
def where() -> Served:
    stock = Stock(Path(mkdtemp()) / "r")
    for parents in ((), (0,), (0,)):
        stock.commit(*parents)
    stock.retract(2, stock.commit(1))
    return served(stock)


@settings(max_examples=400)
@given(st.sampled_from(sorted(COMMANDS)), ARGUMENTS, PROTO, st.sampled_from(["GET", "POST"]))
def test_known_command_with_any_arguments(
    command: bytes, arguments: dict[bytes, bytes], proto: bytes, method: str
) -> None:
    text = b"&".join(
        b"%s=%s" % (name, quote_from_bytes(value).encode()) for name, value in arguments.items()
    )
    headers = {b"x-hgarg-1": text, b"x-hgproto-1": proto}
    reply = read(answer(where(), Request(method, b"cmd=" + command, headers)))
    assert reply.status in (200, 403, 405, 404 if command == b"trunkline_bundle" else 200)
    assert reply.media_type.startswith("application/")
    if reply.media_type == "application/hg-error":
        assert reply.body.endswith(b"\n")
        assert b"Traceback" not in reply.body


@settings(max_examples=200)
@given(st.binary(max_size=100), st.dictionaries(st.sampled_from(
    [b"x-hgarg-1", b"x-hgproto-1", b"x-hgargs-post"]), st.binary(max_size=40)))  # fmt: skip
def test_any_bytes(query: bytes, headers: dict[bytes, bytes]) -> None:
    assert read(answer(where(), Request("GET", query, headers))).status in (200, 400, 413)
