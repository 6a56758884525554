"""Whole answers, held to what Mercurial's own web server says of the same repository."""

from __future__ import annotations

import random
import zlib
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
import zstandard
from tests.unit.hg.bundle.streams import files_of_v1
from tests.unit.hg.store.stock import Stock
from tests.unit.hg.wire.stockweb import PROTO, Reply, ask, served, stock_reply
from tests.unit.http.conftest import commit, new

from trunkline.compression.table import installed
from trunkline.config.hgconfig import HgConfig
from trunkline.hg.stock.bridge import Bridge
from trunkline.hg.wire import batch
from trunkline.hg.wire.answer import Answer, answer, kept_answer, requested_command
from trunkline.hg.wire.negotiate import TEXT_PACK_LIMIT
from trunkline.hg.wire.request import Request
from trunkline.hg.wire.served import Served
from trunkline.hg.wire.state import State
from trunkline.reply import Bytes, Stream
from trunkline.work import Work

HEADERS = {b"x-hgproto-1": PROTO}
ZERO = "0" * 40


def all_nodes(history: Stock) -> list[str]:
    changelog = history.repo.changelog
    return [changelog.node(rev).hex() for rev in range(len(changelog))]


def visible_nodes(history: Stock) -> list[str]:
    changelog = history.filtered("served").changelog
    return [changelog.node(rev).hex() for rev in changelog]


def query(command: str, **arguments: str) -> bytes:
    return urlencode({"cmd": command, **arguments}).encode()


@pytest.mark.parametrize("command", ["heads", "protocaps&caps=x", "clonebundles"])
def test_commands_without_arguments_are_stocks(history: Stock, ours: Served, command: str) -> None:
    asked = b"cmd=" + command.encode()
    assert ask(ours, asked, HEADERS) == stock_reply(history, asked, HEADERS)


def test_branchmap_is_stocks(history: Stock, ours: Served) -> None:
    """But for the order of branches, which depends on whether stock has its cache."""
    reply, expected = ask(ours, b"cmd=branchmap"), stock_reply(history, b"cmd=branchmap")
    assert sorted(reply.body.split(b"\n")) == sorted(expected.body.split(b"\n"))
    assert reply.media_type == expected.media_type


@pytest.mark.parametrize("namespace", ["bookmarks", "phases", "namespaces", "none-such"])
def test_listkeys_is_stocks(history: Stock, ours: Served, namespace: str) -> None:
    """But for phase roots that are hidden: those are nobody's business."""
    asked = query("listkeys", namespace=namespace)
    hidden = {node.encode() for node in set(all_nodes(history)) - set(visible_nodes(history))}
    lines = stock_reply(history, asked).body.split(b"\n")
    expected = b"\n".join(line for line in lines if line.split(b"\t")[0] not in hidden)
    assert ask(ours, asked) == Reply(200, "application/mercurial-0.1", expected)


def test_known_is_stocks(history: Stock, ours: Served) -> None:
    nodes = [*all_nodes(history), ZERO, "f" * 40, all_nodes(history)[0]]
    asked = query("known", nodes=" ".join(nodes))
    assert ask(ours, asked) == stock_reply(history, asked)


@pytest.mark.parametrize(
    "key", ["tip", "null", "0", "default", "book", "v1", "nowhere", "", "stable", "-99"]
)
def test_lookup_is_stocks(history: Stock, ours: Served, key: str) -> None:
    asked = query("lookup", key=key)
    assert ask(ours, asked) == stock_reply(history, asked)


def test_lookup_takes_bytes_that_are_no_text(ours: Served) -> None:
    """Stock answers 500, on some Pythons to all but ASCII."""
    assert ask(ours, "cmd=lookup&key=büch".encode()) == ask(ours, query("lookup", key="büch"))
    reply = ask(ours, b"cmd=lookup&key=ff%ff")
    assert (reply.status, reply.body) == (200, b"0 unknown revision 'ff\xff'\n")


def test_old_discovery_is_stocks(history: Stock, ours: Served) -> None:
    nodes = visible_nodes(history)
    chance = random.Random(5)
    for count in (0, 1, 7):
        asked = query("branches", nodes=" ".join(chance.choices(nodes, k=count)))
        assert ask(ours, asked) == stock_reply(history, asked)
        pairs = ["-".join(chance.choices([*nodes, ZERO], k=2)) for _ in range(count)]
        if pairs:
            asked = query("between", pairs=" ".join(pairs))
            assert ask(ours, asked) == stock_reply(history, asked)


def test_batch_is_stocks(history: Stock, ours: Served) -> None:
    nodes = " ".join(all_nodes(history))
    cmds = f"heads ;known nodes={nodes};lookup key=a:cb:ec;listkeys namespace=bookmarks"
    asked = query("batch", cmds=cmds)
    assert ask(ours, asked).body == stock_reply(history, asked).body


class Counted(Work):
    """Its client goes after some looks."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self.left = left

    def look(self) -> None:
        self.left -= 1
        self.is_gone = self.left < 0
        super().look()


def test_batch_ends_when_its_client_is_gone(ours: Served) -> None:
    work = Counted(3)
    asked = query("batch", cmds=";".join(["heads "] * 100))
    reply = answer(ours, Request("GET", asked, HEADERS, work=work))
    assert reply.body == Bytes(b"the client went away\n")
    assert work.left == -1


def test_the_same_call_of_a_batch_is_answered_once(ours: Served) -> None:
    """Others of the same reply, but for what the command doesn't read, are the same."""
    calls = ["listkeys namespace=phases"] * 3 + ["listkeys namespace=phases,x=1"]
    replies, looks = [], []
    for count in (1, 4):
        work = Counted(100)
        asked = query("batch", cmds=";".join(calls[:count]))
        answered = answer(ours, Request("GET", asked, {}, work=work))
        assert isinstance(answered.body, Bytes)
        replies.append(answered.body.data.split(b";"))
        looks.append(100 - work.left)
    assert replies[1] == replies[0] * 4
    assert looks == [3, 6]  # the batch, each call, and what is run


def unpacked(body: bytes) -> bytes:
    length = body[0]
    assert body[1 : 1 + length] == b"zstd"
    reader = zstandard.ZstdDecompressor().decompressobj()
    return reader.decompress(body[1 + length :])


def test_batch_with_too_much_to_answer_is_refused(
    ours: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = urlencode({"cmd": "batch", "cmds": ";".join(["heads "] * 7)}).encode()
    size = len(ask(ours, b"cmd=heads").body)
    monkeypatch.setattr(batch, "REPLY_LIMIT", 7 * size)
    assert ask(ours, asked).media_type == "application/mercurial-0.1"
    monkeypatch.setattr(batch, "REPLY_LIMIT", 7 * size - 1)
    refused = ask(ours, asked + b"&again=1")  # another question: answers may be kept
    assert refused.media_type == "application/hg-error"
    assert b"the replies come to more than" in refused.body


def test_long_batch_is_packed_for_who_can_take_it(history: Stock, ours: Served) -> None:
    nodes = " ".join(all_nodes(history) * 200)
    asked, headers = query("batch"), {b"x-hgarg-1": f"cmds=known+nodes={quote(nodes)}".encode()}
    plain_reply = ask(ours, asked, headers)
    assert plain_reply == stock_reply(history, asked, headers)
    assert len(plain_reply.body) > TEXT_PACK_LIMIT
    packed = ask(ours, asked, headers | HEADERS)
    assert packed.media_type == "application/mercurial-0.2"
    assert len(packed.body) < len(plain_reply.body) // 2
    assert unpacked(packed.body) == plain_reply.body


def test_long_text_of_another_command_stays_0_1(history: Stock, ours: Served) -> None:
    """A stock client calls read() without a size there, which its unpackers don't know."""
    headers = {b"x-hgarg-1": b"nodes=" + "+".join(all_nodes(history) * 200).encode()}
    reply = ask(ours, b"cmd=known", headers | HEADERS)
    assert len(reply.body) > TEXT_PACK_LIMIT
    assert reply.media_type == "application/mercurial-0.1"


@pytest.mark.parametrize("caps", ["", "HG20,bundle2=" + quote("HG20\nchangegroup=01,02")])
@pytest.mark.parametrize("proto", [b"", b"0.1", b"0.2 comp=zlib", b"0.2 comp=none"])
def test_getbundle_travels_as_stocks_does(
    history: Stock, ours: Served, caps: str, proto: bytes
) -> None:
    heads = ask(ours, b"cmd=heads").body.decode().strip()
    asked = query("getbundle", heads=heads, common=ZERO, bundlecaps=caps)
    if not caps:
        asked = query("getbundle", heads=heads, common=ZERO)
    headers = {b"x-hgproto-1": proto} if proto else {}
    reply, expected = ask(ours, asked, headers), stock_reply(history, asked, headers)
    assert (reply.status, reply.media_type) == (expected.status, expected.media_type)
    assert reply.body[:6] == expected.body[:6]


def test_small_bundle_is_stocks_to_the_byte(plain: Stock) -> None:
    for asked in (
        query("getbundle"),
        query("getbundle", heads=all_nodes(plain)[1]),
        query("changegroup", roots=all_nodes(plain)[1]),
        query("changegroup", roots=ZERO),
        query("changegroupsubset", bases=all_nodes(plain)[1], heads=all_nodes(plain)[1]),
    ):
        for proto in (b"", b"0.2 comp=zlib"):
            headers = {b"x-hgproto-1": proto}
            assert ask(served(plain), asked, headers) == stock_reply(plain, asked, headers)


def test_stream_is_left_unpacked(plain: Stock) -> None:
    caps = "HG20,bundle2=" + quote("HG20\nstream=v2")
    asked = query("getbundle", stream="1", cg="0", bundlecaps=caps, heads="", common=ZERO)
    answered = answer(served(plain), Request("GET", asked, HEADERS))
    assert answered.engine == "none"
    assert isinstance(answered.body, Stream)
    assert b"".join(answered.body.blocks).startswith(b"\x04noneHG20")


def test_stream_out_is_stocks(plain: Stock) -> None:
    """File by file; the order is free."""
    reply, expected = ask(served(plain), b"cmd=stream_out"), stock_reply(plain, b"cmd=stream_out")
    assert reply.media_type == expected.media_type
    assert files_of_v1(reply.body) == files_of_v1(expected.body)


def test_answer_says_what_the_log_wants(plain: Stock) -> None:
    ours = served(plain)
    answered = answer(ours, Request("GET", b"cmd=heads", HEADERS))
    assert (answered.command, answered.engine) == ("heads", "")
    assert isinstance(answered.body, Bytes)
    answered = answer(ours, Request("GET", b"cmd=getbundle", HEADERS))
    assert (answered.command, answered.engine) == ("getbundle", "zstd")


def test_arguments_in_headers_body_and_query_are_one(plain: Stock) -> None:
    ours = served(plain)
    expected = b"un deux trois None None"
    assert ask(ours, b"cmd=debugwireargs&one=un&two=deux&three=trois").body == expected
    headers = {b"x-hgarg-1": b"one=un&two=de", b"x-hgarg-2": b"ux&three=trois"}
    assert ask(ours, b"cmd=debugwireargs", headers).body == expected
    body = b"one=un&two=deux&three=trois"
    headers = {b"x-hgargs-post": b"%d" % len(body)}
    assert ask(ours, b"cmd=debugwireargs", headers, "POST", body=body).body == expected


@pytest.mark.parametrize(
    "asked", ["eins zwei", "eins zwei four=vier", "a b three=c four=d five=e", " x b three=c  d"]
)
def test_debugwireargs_is_stocks(plain: Stock, asked: str) -> None:
    one, two, *others = asked.split(" ", 2)
    text = query("debugwireargs", one=one, two=two, **dict(o.split("=", 1) for o in others))
    assert ask(served(plain), text) == stock_reply(plain, text)


NOT_ZZ = b"not a changeset id: 'zz' (40 hex digits expected)\n"
FAULTS = {
    b"cmd=lookup": b"lookup: argument 'key' is missing\n",
    b"cmd=known": b"known: argument 'nodes' is missing\n",
    b"cmd=known&nodes=zz": NOT_ZZ,
    b"cmd=known&nodes=%00": b"not a changeset id: '\\x00' (40 hex digits expected)\n",
    b"cmd=batch&cmds=heads": b"batch: no space after the command in 'heads'\n",
    b"cmd=batch&cmds=nosuch+": b"batch: no such command: 'nosuch'\n",
    b"cmd=batch&cmds=getbundle+": b"batch: no such command: 'getbundle'\n",
    b"cmd=batch&cmds=batch+cmds%3Dheads+": b"batch: no such command: 'batch'\n",
    b"cmd=batch&cmds=known+nodes": b"batch: not name=value: 'nodes'\n",
    b"cmd=batch&cmds=lookup+": b"lookup: argument 'key' is missing\n",
    b"cmd=between&pairs=x": b"not a changeset id: 'x' (40 hex digits expected)\n",
    b"cmd=between&pairs=" + b"0" * 40: b"between: not a pair of changeset ids\n",
    b"cmd=branches&nodes=" + b"1" * 40: b"unknown revision '%s'\n" % (b"1" * 40),
    b"cmd=getbundle&heads=" + b"1" * 40: b"unknown revision '%s'\n" % (b"1" * 40),
    b"cmd=getbundle&heads=xyz": b"not a changeset id: 'xyz' (40 hex digits expected)\n",
    b"cmd=getbundle&bundlecaps=HG20&heads=zz": NOT_ZZ,
    b"cmd=getbundle&bundlecaps=HG20&common=zz": NOT_ZZ,
    b"cmd=getbundle&bundlecaps=HG20&listkeys=" + b"x" * 300: (
        b"getbundle: a namespace of more than 255 bytes\n"
    ),
    b"cmd=getbundle&cg=0": b"request for bundle10 must include changegroup\n",
    b"cmd=getbundle&phases=1": b"unsupported getbundle arguments: phases\n",
    b"cmd=changegroup&roots=zz": NOT_ZZ,
    b"cmd=changegroupsubset&heads=&bases=zz": NOT_ZZ,
    b"cmd=changegroupsubset&bases=&heads=zz": NOT_ZZ,
    b"cmd=branches&nodes=zz": NOT_ZZ,
    b"cmd=get_cached_bundle_inline": b"get_cached_bundle_inline: argument 'path' is missing\n",
    b"cmd=get_cached_bundle_inline&path=": b"clonebundle  is using an illegal path\n",
    b"cmd=get_cached_bundle_inline&path=../hgrc": (
        b"clonebundle ../hgrc is using an illegal path\n"
    ),
    b"cmd=get_cached_bundle_inline&path=%00": b"clonebundle '\\x00' does not exist\n",
    b"cmd=changegroup&roots=" + b"1" * 40: b"unknown revision '%s'\n" % (b"1" * 40),
    b"cmd=get_cached_bundle_inline&path=none": b"clonebundle none does not exist\n",
}


@pytest.mark.parametrize("asked", FAULTS, ids=lambda asked: asked[4:40].decode())
def test_fault_of_the_peer_is_one_line_that_its_user_sees(plain: Stock, asked: bytes) -> None:
    reply = ask(served(plain), asked, HEADERS)
    assert reply.status == 200
    assert reply.media_type == "application/hg-error"
    assert reply.body == FAULTS[asked]


@pytest.mark.parametrize("length", [b"x", b"-1", b"5"])
def test_bad_length_of_arguments_is_one_line(plain: Stock, length: bytes) -> None:
    reply = ask(served(plain), b"cmd=heads", {b"x-hgargs-post": length}, "POST")
    assert (reply.status, reply.media_type) == (200, "application/hg-error")
    assert reply.body.startswith(b"X-HgArgs-Post: ")


def test_unknown_command_is_400(plain: Stock) -> None:
    reply = ask(served(plain), b"cmd=nosuch%0a%ff")
    assert (reply.status, reply.media_type) == (400, "application/hg-error")
    assert reply.body == b"no such method: nosuch\\n\\xff\n"
    assert stock_reply(plain, b"cmd=nosuch").status == 400


def test_query_past_limit_is_414(plain: Stock) -> None:
    assert ask(served(plain), b"cmd=heads&x=" + b"y" * 70_000).status == 414


def test_requested_command() -> None:
    assert requested_command(b"cmd=heads") == b"heads"
    assert requested_command(b"style=raw") is None


@pytest.mark.parametrize("asked", [b"cmd=unbundle&heads=00", b"cmd=pushkey"])
def test_push_is_refused_with_stocks_words(plain: Stock, asked: bytes) -> None:
    reply, expected = ask(served(plain), asked), stock_reply(plain, asked)
    assert (reply.status, reply.body) == (expected.status, expected.body) == (405, reply.body)
    reply = ask(served(plain), asked, {}, "POST")
    assert (reply.media_type, reply.body) == ("application/hg-error", b"push not authorized\n")


def test_push_inside_a_batch_is_refused_too(plain: Stock) -> None:
    cmds = "heads ;pushkey namespace=bookmarks,key=x,old=,new=" + all_nodes(plain)[0]
    reply = ask(served(plain), query("batch", cmds=cmds), {}, "POST")
    assert (reply.media_type, reply.body) == ("application/hg-error", b"push not authorized\n")
    assert b"x" not in ask(served(plain), query("listkeys", namespace="bookmarks")).body


def test_hidden_changesets_take_permission(history: Stock) -> None:
    hidden = "".join(sorted(set(all_nodes(history)) - set(visible_nodes(history)))[0])
    asked = query("known", nodes=hidden)
    config = {"experimental.server.allow-hidden-access": "alice"}
    ours = served(Stock(history.path, history.config | config))
    secret = {node for node in all_nodes(history) if history.repo[bytes.fromhex(node)].phase() > 1}
    expected = b"0" if hidden in secret else b"1"
    assert ask(ours, asked + b"&access-hidden=1", user="bob").body == b"0"
    assert ask(ours, asked + b"&access-hidden=1").body == b"0"
    assert ask(ours, asked, user="alice").body == b"0"
    assert ask(ours, asked + b"&access-hidden=1", user="alice").body == expected


def test_view_of_configuration_is_served(history: Stock) -> None:
    immutable = Stock(history.path, history.config | {"server.view": "immutable"})
    asked = b"cmd=heads"
    reply = ask(served(history, view="immutable"), asked)
    assert reply == stock_reply(immutable, asked)


def test_new_commit_is_seen_at_once(plain: Stock) -> None:
    ours = served(plain)
    assert ask(ours, b"cmd=heads").body == stock_reply(plain, b"cmd=heads").body
    plain.commit(2)
    assert ask(ours, b"cmd=heads").body == stock_reply(plain, b"cmd=heads").body
    assert ask(ours, b"cmd=branchmap") == stock_reply(plain, b"cmd=branchmap")


def test_each_command_has_its_place_in_the_table() -> None:
    """All commands of stock, and their permissions."""
    from mercurial.wireprotov1server import commands

    from trunkline.hg.wire.table import COMMANDS

    ours = {
        name: (b" ".join(command.arguments), command.permission.value.encode())
        for name, command in COMMANDS.items()
    }
    stocks = {name: (entry.args, entry.permission) for name, entry in commands.items()}
    assert ours.pop(b"trunkline_bundle") == (b"name", b"pull")  # our own
    assert ours == {name: stocks[name] for name in ours}
    assert set(stocks) - set(ours) == set()


ENGINE = """
from trunkline.compression.engine import Engine

class Backwards(Engine):
    name = "backwards"
    wire_name = b"x-backwards"

    def compress(self, blocks, level):
        yield b"".join(blocks)[::-1]
"""


def test_engine_of_another_distribution_is_advertised_and_used(
    plain: Stock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site"
    info = folder / "backwards-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "backwards_engine.py").write_text(ENGINE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: backwards\nVersion: 1.0\n")
    entry = "[trunkline.compression]\nbackwards = backwards_engine:Backwards\n"
    (info / "entry_points.txt").write_text(entry)
    monkeypatch.syspath_prepend(str(folder))
    installed.cache_clear()
    try:
        ours = served(plain, compressionengines="backwards,zlib")
        words = ask(ours, b"cmd=capabilities").body.split()
        bundle = ask(ours, b"cmd=getbundle", {b"x-hgproto-1": b"0.2 comp=x-backwards"}).body
        zlib_bundle = ask(ours, b"cmd=getbundle", {b"x-hgproto-1": b"0.2 comp=zlib"}).body
    finally:
        installed.cache_clear()
    assert b"compression=x-backwards,zlib" in words
    assert bundle[:12] == b"\x0bx-backwards"
    assert bundle[12:][::-1] == zlib.decompress(zlib_bundle[5:])


# -- kept answers


def kept(ours: Served, asked: bytes, headers: dict[bytes, bytes] | None = None) -> Answer | None:
    """Ask, then look whether the answer was kept; what was kept is what was answered."""
    request = Request("GET", asked, headers or HEADERS)
    made, state = answer(ours, request), State(ours)
    found = kept_answer(state, request)
    if found is not None:
        assert found == made
        found.headers.append((b"server", b"x"))
        assert kept_answer(state, request) == made
    return found


@pytest.mark.parametrize(
    "asked",
    [
        "cmd=capabilities",
        "cmd=hello",
        "cmd=heads",
        "cmd=branchmap",
        "cmd=listkeys&namespace=phases",
        "cmd=lookup&key=tip",
        f"cmd=known&nodes={ZERO}",
        f"cmd=batch&cmds=heads+%3Bknown+nodes%3D{ZERO}",
    ],
)
def test_short_answers_are_kept(ours: Served, asked: str) -> None:
    assert kept(ours, asked.encode()) is not None


@pytest.mark.parametrize(
    "asked",
    [
        "cmd=clonebundles",
        "cmd=batch&cmds=heads+%3Bclonebundles+",
        f"cmd=getbundle&heads={ZERO}",
        "cmd=heads&access-hidden=1",
        "cmd=known",
        "cmd=nonsense",
    ],
)
def test_answers_that_rest_on_more_or_fail_are_not_kept(ours: Served, asked: str) -> None:
    assert kept(ours, asked.encode()) is None


def test_kept_answer_is_only_for_the_same_words(plain: Stock) -> None:
    ours = served(plain)
    assert kept(ours, b"cmd=heads") is not None
    state = State(ours)
    assert kept_answer(state, Request("GET", b"cmd=heads", HEADERS)) is not None
    for other in (
        Request("GET", b"cmd=heads&x=1", HEADERS),
        Request("GET", b"cmd=heads", {**HEADERS, b"x-hgarg-1": b"access-hidden=1"}),
        Request("GET", b"cmd=heads", {}),
        Request("GET", b"cmd=heads", HEADERS, body=b"x"),
        Request("GET", b"cmd=heads", HEADERS, user="alice"),
    ):
        assert kept_answer(state, other) is None


def test_kept_answer_ends_with_the_state(tmp_path: Path) -> None:
    repository = new(tmp_path / "r")
    commit(repository, "a", b"1", "one")
    config = HgConfig()
    ours = Served.open(str(repository), config, Bridge(str(repository), ()))
    request = Request("GET", b"cmd=heads")
    assert kept(ours, b"cmd=heads", {}) is not None
    node = commit(repository, "a", b"2", "two")
    assert kept_answer(State(ours), request) is None
    made = answer(ours, request, State(ours))
    assert made.body == Bytes(node.encode() + b"\n")
    assert kept(ours, b"cmd=capabilities", {}) is not None
    (repository / ".hg" / "clonebundles.manifest").write_bytes(b"http://x/\n")
    assert kept_answer(State(ours), Request("GET", b"cmd=capabilities")) is None
