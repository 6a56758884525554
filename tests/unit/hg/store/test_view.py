"""Views against Mercurial's own answers, on random histories with everything that hides."""

from __future__ import annotations

import random

import pytest
from mercurial import obsutil, phases, pushkey
from tests.unit.hg.store.stock import NULL, Stock, random_repository

from trunkline.errors import PeerError
from trunkline.hg.node import Node
from trunkline.hg.store.snapshot import Snapshot
from trunkline.hg.store.view import View
from trunkline.work import Work

VIEWS = ["served", "served.hidden", "visible", "immutable", "base", None]
SEEDS = range(8)


@pytest.fixture(scope="module", params=SEEDS)
def stock(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Stock:
    return random_repository(tmp_path_factory.mktemp("random") / "repo", request.param)


@pytest.fixture(params=VIEWS)
def name(request: pytest.FixtureRequest) -> str | None:
    view: str | None = request.param
    return view


@pytest.fixture(scope="module")
def snapshot(stock: Stock) -> Snapshot:
    return stock.repository().snapshot()


@pytest.fixture
def view(snapshot: Snapshot, name: str | None) -> View:
    return View(snapshot, name)


def test_filters_what_stock_filters(stock: Stock, name: str | None, view: View) -> None:
    assert view.filtered == frozenset(stock.filtered(name).changelog.filteredrevs)


def test_heads_are_in_stocks_order(stock: Stock, name: str | None, view: View) -> None:
    assert view.heads == stock.filtered(name).heads()
    assert view.tip == stock.filtered(name).changelog.tip()


def test_phases_are_stocks(stock: Stock, view: View) -> None:
    phase = stock.repo._phasecache.phase
    count = len(stock.repo)
    found = [view.snapshot.phases.phase(rev) for rev in range(-1, count)]
    assert found == [phase(stock.repo, rev) for rev in range(-1, count)]


def test_branch_heads_are_stocks(stock: Stock, name: str | None, view: View) -> None:
    theirs = stock.filtered(name).branchmap()
    expected = {branch: theirs.branchheads(branch, closed=True) for branch in theirs}
    assert view.branch_heads() == expected
    assert list(view.branch_heads()) == sorted(expected)
    for branch in theirs:
        tip = view.branch_map.tip(branch)
        assert tip is not None
        assert view.node(tip) == theirs.branchtip(branch)


def test_tags_are_stocks(stock: Stock, name: str | None, view: View) -> None:
    expected = stock.filtered(name).tags()
    del expected[b"tip"]
    assert view.tags == {tag: node for tag, node in expected.items() if node != NULL}


@pytest.mark.parametrize("publish", ["yes", "no"])
def test_listkeys_are_stocks(stock: Stock, name: str | None, publish: str) -> None:
    again = Stock(stock.path, {**stock.config, "phases.publish": publish})
    repo, view = again.filtered(name), View(again.repository().snapshot(), name)
    for namespace in (b"namespaces", b"bookmarks", b"nonesuch"):
        assert view.listkeys(namespace) == sorted(pushkey.list(repo, namespace).items())
    hidden = {repo.unfiltered().changelog.node(rev).hex().encode() for rev in view.filtered}
    roots = {
        key: value for key, value in pushkey.list(repo, b"phases").items() if key not in hidden
    }
    assert view.listkeys(b"phases") == sorted(roots.items())


@pytest.mark.parametrize("publish", ["yes", "no"])
def test_phase_heads_are_stocks(stock: Stock, publish: str) -> None:
    again = Stock(stock.path, {**stock.config, "phases.publish": publish})
    repo, view = again.filtered("served"), View(again.repository().snapshot(), "served")
    chance = random.Random(1)
    for heads in (
        [],
        [chance.choice(list(repo))],
        chance.sample(list(repo), 4),
        repo.changelog.headrevs(),
    ):
        nodes = [repo.changelog.node(rev) for rev in heads]
        assert view.phase_heads(nodes) == stock_phase_heads(repo, nodes)


def stock_phase_heads(repo: object, heads: list[bytes]) -> list[tuple[int, bytes]]:
    """What the part of a stock bundle says."""
    import io

    from mercurial import bundle2, exchange

    bundler = bundle2.bundle20(repo.ui)  # type: ignore[attr-defined]
    exchange._getbundlephasespart(
        bundler, repo, b"serve", b2caps={b"phases": (b"heads",)}, heads=heads, phases=True
    )
    decoded = phases.binarydecode(io.BytesIO(bundler._parts[0].data))
    return [(phase, node) for phase in phases.allphases for node in decoded[phase]]


def test_missing_is_stocks(stock: Stock, name: str | None, view: View) -> None:
    chance = random.Random(2)
    revs = list(stock.filtered(name))
    for _ in range(20 if revs else 0):
        heads, common = chance.choices(revs, k=3), chance.choices(revs, k=2)
        found = view.missing(view.nodes(common), view.nodes(heads))
        assert found.tolist() == stock.only(name, heads, common)


def test_old_discovery_is_stocks(stock: Stock, name: str | None, view: View) -> None:
    repo = stock.filtered(name)
    chance = random.Random(3)
    nodes = [repo.changelog.node(rev) for rev in chance.choices([-1, *repo], k=12)]
    assert [tuple(segment) for segment in view.segments(nodes)] == repo.branches(nodes)
    assert [tuple(segment) for segment in view.segments([])] == repo.branches([])
    pairs = list(zip(nodes[::2], nodes[1::2], strict=True))
    assert view.between(pairs) == repo.between(pairs)


def test_segments_count_as_work(view: View) -> None:
    node = view.tip
    assert len(view.segments([node, node], Work(2))) == 2
    with pytest.raises(PeerError, match="more than 1 revisions"):
        view.segments([node, node], Work(1))


def test_relevant_markers_are_stocks(stock: Stock, name: str | None, view: View) -> None:
    repo = stock.filtered(name)
    chance = random.Random(4)
    for revs in (chance.choices(list(repo) or [-1], k=2), repo.changelog.headrevs()):
        owned = repo.unfiltered().changelog.ancestors(revs, inclusive=True)
        expected = obsutil.sortedmarkers(repo.obsstore.relevantmarkers(revs=owned))
        assert [tuple(m) for m in view.relevant_markers(view.nodes(revs))] == expected
    everything = obsutil.sortedmarkers(repo.obsstore.relevantmarkers(revs=list(repo)))
    assert [tuple(m) for m in view.relevant_markers()] == everything


def test_known_tells_only_what_is_in_the_view(stock: Stock, name: str | None, view: View) -> None:
    nodes = [stock.repo.changelog.node(rev) for rev in range(-1, len(stock.repo))]
    nodes.append(b"\x12" * 20)
    assert view.known(nodes) == stock.filtered(name).known(nodes)
    assert [view.has(node) for node in nodes] == stock.filtered(name).known(nodes)


def symbols(stock: Stock) -> list[bytes]:
    count = len(stock.repo)
    hexes = [stock.repo.changelog.node(rev).hex().encode() for rev in range(count)]
    names = [
        b"tip",
        b"null",
        b".",
        b"",
        b"x",
        b"nonesuch",
        b"00",
        b"f",
        b"ff",
        b"f" * 40,
        b"0" * 40,
    ]
    names += [b"f" * 41, b"-0", b"+1", b"007", b"2147483647", b"99999999999999999999", b" 1"]
    names += list(stock.repo._bookmarks) + list(stock.repo.tags()) + list(stock.repo.branchmap())
    numbers = [b"%d" % rev for rev in range(-count - 2, count + 2)]
    prefixes = [text[:length] for text in hexes for length in (2, 3, 12, 39)]
    return [
        *names,
        *numbers,
        *hexes,
        *prefixes,
        *(b"x" + prefix for prefix in prefixes[::7]),
        *(text.upper() for text in hexes[::5]),
    ]


def as_prefix(symbol: bytes, hexes: list[bytes]) -> bytes | str:
    """What a prefix means where there are only `hexes` and the working copy."""
    prefix = symbol.removeprefix(b"x").lower()
    matches = [text for text in hexes if text.startswith(prefix)]
    if len(matches) > 1 or (matches and not prefix.strip(b"f")):
        return f"00changelog@{prefix.decode()}: ambiguous identifier"
    if matches:
        return bytes.fromhex(matches[0].decode())
    return f"unknown revision '{symbol.decode()}'"


def test_lookup_is_stocks_but_for_what_is_filtered(
    stock: Stock, name: str | None, view: View
) -> None:
    repo = stock.filtered(name)
    visible = [repo.changelog.node(rev).hex().encode() for rev in [-1, *repo]]
    for symbol in symbols(stock):
        expected = stock.lookup(name, symbol)
        if isinstance(expected, bytes) and not view.has(Node(expected)):
            expected = f"unknown revision '{symbol.decode()}'"  # stock tells a secret "."
        elif isinstance(expected, str) and not expected.startswith("unknown revision"):
            # Stock says that something is filtered, or counts it as an ambiguity.
            expected = as_prefix(symbol, visible)
        try:
            found: bytes | str = view.lookup(symbol)
        except PeerError as error:
            found = error.text
        assert found == expected, symbol


def test_a_filtered_changeset_is_looked_up_as_one_that_never_was(stock: Stock) -> None:
    view = View(stock.repository().snapshot(), "served")
    for rev in view.filtered:
        text = stock.repo.changelog.node(rev).hex()
        for symbol in (text, text[:12], text[:39], f"x{text[:20]}"):
            with pytest.raises(PeerError) as caught:
                view.lookup(symbol.encode())
            assert caught.value.text == f"unknown revision '{symbol}'"
