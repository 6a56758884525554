"""Replies to `getbundle` beside those of Mercurial's own server code."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from mercurial import bundle2, error, exchange
from mercurial import ui as ui_module
from tests.unit.hg.bundle import histories
from tests.unit.hg.bundle.histories import Step
from tests.unit.hg.store import repositories

from trunkline.config.hgconfig import HgConfig
from trunkline.errors import PeerError
from trunkline.hg.bundle.getbundle import getbundle
from trunkline.hg.bundle.request import parse_getbundle
from trunkline.hg.node import NULL_NODE, format_nodes
from trunkline.hg.store.repository import Repository
from trunkline.hg.store.view import View

CAPABILITIES = {
    b"HG20": (),
    b"bookmarks": (),
    b"changegroup": (b"01", b"02", b"03"),
    b"error": (b"abort",),
    b"hgtagsfnodes": (),
    b"listkeys": (),
    b"obsmarkers": (b"V0", b"V1"),
    b"phases": (b"heads",),
    b"rev-branch-cache": (),
    b"stream": (b"v2",),
}
ALL = {b"bookmarks": b"1", b"phases": b"1", b"obsmarkers": b"1"}
EVOLVE = ("experimental.evolution=all",)
Parts = list[tuple[bytes, dict[bytes, bytes], bytes, bool]]


def bundlecaps(without: Iterable[bytes] = (), **changes: tuple[bytes, ...]) -> bytes:
    capabilities = {k: v for k, v in CAPABILITIES.items() if k not in without}
    capabilities |= {name.encode(): values for name, values in changes.items()}
    return b"HG20,bundle2=" + quote(bundle2.encodecaps(capabilities)).encode()


def ask(view: View, arguments: dict[bytes, bytes], config: HgConfig | None = None) -> bytes:
    bundle = getbundle(view, parse_getbundle(arguments), config or HgConfig())
    return b"".join(bundle.blocks)


def ask_stock(repo: Any, arguments: dict[bytes, bytes]) -> bytes:
    """What wireprotov1server makes of the same arguments."""
    asked: dict[str, Any] = {}
    for name, value in arguments.items():
        key = name.decode()
        if key in ("heads", "common"):
            asked[key] = [bytes.fromhex(word.decode()) for word in value.split()]
        elif key == "bundlecaps":
            asked[key] = set(value.split(b","))
        elif key == "listkeys":
            asked[key] = value.split(b",")
        else:
            asked[key] = value != b"0"
    _info, blocks = exchange.getbundlechunks(repo.filtered(b"served"), b"serve", **asked)
    return b"".join(blocks)


def parts(data: bytes) -> Parts:
    reader = bundle2.getunbundler(ui_module.ui(), io.BytesIO(data))
    return [(p.type, dict(p.params), p.read(), p.mandatory) for p in reader.iterparts()]


def comparable(found: Parts, view: View) -> Parts:
    """Keys are in no order, nor are tags; and stock lists roots of phases that nobody may see."""
    return [
        (kind, params, b"".join(sorted(RECORDS[kind](payload, view))), is_mandatory)
        if kind in RECORDS
        else (kind, params, payload, is_mandatory)
        for kind, params, payload, is_mandatory in found
    ]


def visible_keys(payload: bytes, view: View) -> list[bytes]:
    def is_visible(key: bytes) -> bool:
        return len(key) != 40 or view.has(bytes.fromhex(key.decode()))

    return [line for line in payload.split(b"\n") if is_visible(line.split(b"\t")[0])]


def pairs(payload: bytes, _view: View) -> list[bytes]:
    return [payload[at : at + 40] for at in range(0, len(payload), 40)]


RECORDS = {b"listkeys": visible_keys, b"hgtagsfnodes": pairs}


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Branches, closed ones, bookmarks, tags, drafts, a secret and obsolete changesets."""
    path = tmp_path_factory.mktemp("getbundle") / "rich"
    repositories.make(path)
    with repositories.writing(path, *EVOLVE) as hg:
        repositories.commit(hg, path, {"a": b"a\n"}, "public")
        hg("tag", "-u", "test", "-d", "0 0", "one")
        hg("phase", "-p", "-r", ".")
        hg("bookmark", "-r", "0", "book/\u00e9")
        hg("branch", "-q", "other")
        first = repositories.commit(hg, path, {"b": b"b\n"}, "draft")
        repositories.commit(hg, path, {"b": b"b\nb\n"}, "closing", "--close-branch")
        hg("update", "-q", "default")
        old = repositories.commit(hg, path, {"c": b"c\n"}, "old")
        hg("update", "-q", "default~1")
        new = repositories.commit(hg, path, {"c": b"c\nc\n"}, "new")
        hg("debugobsolete", "-d", "0 0", old, new)
        hg("debugobsolete", "-d", "0 0", "--record-parents", "ff" * 20, first)
        hg("bookmark", "-r", new, "live", "live@remote")
        secret = repositories.commit(hg, path, {"d": b"d\n"}, "secret")
        hg("phase", "-s", "-f", "-r", secret)
        hg("bookmark", "-r", secret, "hidden")
        hg("debugupdatecaches")
    return path


@pytest.mark.parametrize("publish", ["yes", "no"])
@pytest.mark.parametrize("keys", [b"", b"bookmarks", b"phases,bookmarks,unheard-of"])
@pytest.mark.parametrize("kind", ["clone", "pull", "nothing", "no cg", "no heads"])
def test_parts_are_stocks(rich: Path, kind: str, keys: bytes, publish: str) -> None:
    config = HgConfig(*[{("phases", "publish"): publish}] * 2)
    view = Repository(str(rich), config).snapshot().view("served")
    heads = view.heads
    arguments = {b"bundlecaps": bundlecaps(), **ALL} | ({b"listkeys": keys} if keys else {})
    common = {"pull": [view.node(0)], "nothing": heads}.get(kind, [NULL_NODE])
    arguments[b"common"] = format_nodes(common)
    if kind != "no heads":
        arguments[b"heads"] = format_nodes(heads)
    if kind == "no cg":
        arguments[b"cg"] = b"0"
    repo = histories.open_repository(
        rich, {("phases", "publish"): publish, ("experimental", "evolution"): "all"}
    )
    ours, theirs = parts(ask(view, arguments, config)), parts(ask_stock(repo, arguments))
    assert comparable(ours, view) == comparable(theirs, view)


def test_parts_stand_in_stocks_order(rich: Path) -> None:
    arguments = {b"bundlecaps": bundlecaps(), **ALL, b"listkeys": b"bookmarks"}
    assert [part[0] for part in parts(ask(histories.view(rich), arguments))] == [
        b"changegroup",
        b"bookmarks",
        b"listkeys",
        b"obsmarkers",
        b"phase-heads",
        b"hgtagsfnodes",
        b"cache:rev-branch-cache",
    ]


def test_nothing_secret_or_hidden_is_in_any_part(rich: Path) -> None:
    repo = histories.open_repository(rich, {("experimental", "evolution"): "all"})
    away = [changeset.node() for changeset in repo.set(b"secret() or obsolete()")]
    assert len(away) == 2
    arguments = {b"bundlecaps": bundlecaps(), **ALL, b"listkeys": b"bookmarks,phases"}
    data = ask(histories.view(rich), arguments)
    for kind, _params, payload, _must in parts(data):
        for node in away:
            if kind != b"obsmarkers":  # a marker's predecessor is to be told
                assert node not in payload
                assert node.hex().encode() not in payload


# -- versions and capabilities


@pytest.mark.parametrize(
    ("offered", "version"),
    [((b"01",), b"01"), ((b"01", b"02"), b"02"), ((b"02", b"03", b"04", b"zz"), b"03")],
)
def test_newest_version_of_both_is_taken(
    rich: Path, offered: tuple[bytes, ...], version: bytes
) -> None:
    arguments = {b"bundlecaps": bundlecaps(changegroup=offered)}
    found = parts(ask(histories.view(rich), arguments))[0]
    assert (found[0], found[1][b"version"]) == (b"changegroup", version)
    repo = histories.open_repository(rich)
    assert found[2] == histories.stock_changegroup(repo, [], [], version)


@pytest.mark.parametrize("without", [{b"changegroup"}, set()])
def test_no_version_named_is_01_without_a_word(rich: Path, without: set[bytes]) -> None:
    caps = bundlecaps(without) if without else bundlecaps(changegroup=())
    kind, params, payload, _ = parts(ask(histories.view(rich), {b"bundlecaps": caps}))[0]
    assert (kind, list(params)) == (b"changegroup", [b"nbchanges"])
    repo = histories.open_repository(rich)
    assert payload == histories.stock_changegroup(repo, [], [], b"01")


def test_no_capabilities_no_changegroup(rich: Path) -> None:
    assert parts(ask(histories.view(rich), {b"bundlecaps": b"HG20"})) == []


def test_advisory_parts_are_left_out_where_not_taken(rich: Path) -> None:
    caps = bundlecaps({b"hgtagsfnodes", b"rev-branch-cache"})
    found = parts(ask(histories.view(rich), {b"bundlecaps": caps}))
    assert [part[0] for part in found] == [b"changegroup"]


def test_old_markers_go_to_who_reads_only_them(rich: Path) -> None:
    caps = bundlecaps(obsmarkers=(b"V0",))
    found = parts(ask(histories.view(rich), {b"bundlecaps": caps, b"obsmarkers": b"1"}))
    payload = next(part[2] for part in found if part[0] == b"obsmarkers")
    assert payload[0] == 0


# -- refusals, told inside the bundle


def refusal(data: bytes) -> dict[bytes, bytes]:
    ((kind, params, payload, is_mandatory),) = parts(data)
    assert (kind, payload, is_mandatory) == (b"error:abort", b"", True)
    return params


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({b"heads": b"11" * 20}, b"unknown revision '1111111111111111111111111111111111111111'"),
        ({b"bundlecaps": bundlecaps(changegroup=(b"09",))}, b"no common changegroup version"),
        (
            {b"bundlecaps": bundlecaps({b"bookmarks"}), b"bookmarks": b"1"},
            b"no common bookmarks exchange method",
        ),
        (
            {b"bundlecaps": bundlecaps({b"phases"}), b"phases": b"1"},
            b"no common phases exchange method",
        ),
        (
            {b"bundlecaps": bundlecaps({b"obsmarkers"}), b"obsmarkers": b"1"},
            b"bundler does not support common obsmarker format",
        ),
        (
            {b"bundlecaps": bundlecaps({b"stream"}), b"stream": b"1", b"cg": b"0"},
            b"stream data requested but server does not allow this feature",
        ),
    ],
)
def test_refusal_is_a_part_and_is_stocks(
    rich: Path, arguments: dict[bytes, bytes], words: bytes
) -> None:
    arguments = {b"bundlecaps": bundlecaps(), **arguments}
    said = refusal(ask(histories.view(rich), arguments))
    assert said[b"message"] == words
    repo = histories.open_repository(rich, {("experimental", "evolution"): "all"})
    # Where stock falls over instead, that is a traceback and status 500.
    with pytest.raises((error.Abort, error.LookupError, ValueError, TypeError)) as failed:
        ask_stock(repo, arguments)
    if isinstance(failed.value, error.Abort):
        assert (failed.value.message, failed.value.hint) == (words, said.get(b"hint"))


def test_hidden_head_is_as_unknown_as_any(rich: Path) -> None:
    repo = histories.open_repository(rich)
    secret = next(repo.set(b"secret()")).hex()
    said = refusal(ask(histories.view(rich), {b"bundlecaps": bundlecaps(), b"heads": secret}))
    assert said[b"message"] == b"unknown revision '" + secret + b"'"


@pytest.mark.parametrize("kind", ["clone", "no heads", "pull", "one head", "no cg"])
def test_full_bundle_is_refused_where_configured(rich: Path, kind: str) -> None:
    view = histories.view(rich)
    arguments = {b"bundlecaps": bundlecaps(), b"common": b"0" * 40}
    if kind != "no heads":
        arguments[b"heads"] = format_nodes(view.heads[:1] if kind == "one head" else view.heads)
    if kind == "pull":
        arguments[b"common"] = view.node(0).hex().encode()
    if kind == "no cg":
        arguments[b"cg"] = b"0"
    config = HgConfig({("server", "disablefullbundle"): "yes"})
    data = ask(view, arguments, config)
    if kind in ("clone", "no heads"):
        assert refusal(data) == {
            b"message": b"server has pull-based clones disabled",
            b"hint": b"remove --pull if specified or upgrade Mercurial",
        }
    else:
        assert all(part[0] != b"error:abort" for part in parts(data))


# -- clients from before bundle2


def test_bundle1_is_a_bare_changegroup(rich: Path) -> None:
    view = histories.view(rich)
    arguments = {b"heads": format_nodes(view.heads), b"common": view.node(0).hex().encode()}
    repo = histories.open_repository(rich)
    assert ask(view, arguments) == ask_stock(repo, arguments)
    assert ask(view, {**arguments, b"bundlecaps": b"HG10"}) == ask_stock(repo, arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({b"cg": b"0"}, "must include changegroup"),
        ({b"listkeys": b"phases", b"phases": b"1"}, "unsupported getbundle arguments: listkeys, "),
        ({b"heads": b"22" * 20}, "unknown revision"),
    ],
)
def test_bundle1_refusals_are_raised(rich: Path, arguments: dict[bytes, bytes], words: str) -> None:
    with pytest.raises(PeerError, match=words):
        ask(histories.view(rich), arguments)


@pytest.mark.parametrize(
    ("settings", "is_allowed"),
    [
        ({}, True),
        ({"bundle1": "no"}, False),
        ({"bundle1.pull": "no"}, False),
        ({"bundle1gd": "no"}, False),
        ({"bundle1gd.pull": "no", "bundle1": "yes"}, False),
        ({"bundle1": "no", "bundle1gd.pull": "yes"}, True),
        ({"bundle1": "no", "bundle1.pull": "yes", "bundle1gd": "no"}, True),
        ({"bundle1.push": "no"}, True),
    ],
)
def test_bundle1_is_refused_where_configured(
    rich: Path, settings: dict[str, str], is_allowed: bool
) -> None:
    config = HgConfig({("server", name): value for name, value in settings.items()})
    if is_allowed:
        assert ask(histories.view(rich), {}, config)
    else:
        with pytest.raises(PeerError, match="bundle2 required"):
            ask(histories.view(rich), {}, config)


# -- streams, in the small: their contents are tested beside `stream_v2`


def test_stream_is_a_part_and_is_best_left_unpacked(tmp_path: Path) -> None:
    histories.make(tmp_path, [Step((), {b"a": 1})])
    view = histories.view(tmp_path)
    arguments = {b"bundlecaps": bundlecaps(), b"stream": b"1", b"cg": b"0"}
    bundle = getbundle(view, parse_getbundle(arguments), HgConfig())
    assert bundle.prefer_uncompressed
    assert [part[0] for part in parts(b"".join(bundle.blocks))] == [b"stream2"]
    narrow = {**arguments, b"includepats": b"path:a"}
    assert refusal(ask(view, narrow))[b"message"] == b"server does not support narrow stream clones"


def test_empty_repository_has_little_to_say(tmp_path: Path) -> None:
    repositories.make(tmp_path)
    arguments = {b"bundlecaps": bundlecaps({b"rev-branch-cache"}), b"phases": b"1"}
    found = parts(ask(histories.view(tmp_path), arguments))
    assert [part[0] for part in found] == [b"phase-heads"]
