"""Special cases of lookup; what agrees with Mercurial in general: test_view."""

from __future__ import annotations

from pathlib import Path

import pytest
from mercurial import phases
from tests.unit.hg.store.stock import Stock

from trunkline.errors import PeerError
from trunkline.hg.node import NULL_NODE, Node
from trunkline.hg.store.view import View


@pytest.fixture
def stock(tmp_path: Path) -> Stock:
    return Stock(tmp_path / "repo")


def served(stock: Stock) -> View:
    return stock.repository().snapshot().view("served")


@pytest.mark.parametrize("symbol", [b"tip", b"null", b".", b"0", b"0" * 40])
def test_an_empty_repository_has_the_null_changeset(stock: Stock, symbol: bytes) -> None:
    assert served(stock).lookup(symbol) == NULL_NODE == stock.lookup("served", symbol)
    assert served(stock).heads == [NULL_NODE]
    assert served(stock).branch_heads() == {}


def test_a_secret_working_parent_isnt_told(stock: Stock) -> None:
    stock.commit(phase=phases.secret)
    stock.stand_on(0)
    for symbol in (b".", b"-1", b"1"):
        with pytest.raises(PeerError, match="unknown revision"):
            served(stock).lookup(symbol)
    for symbol in (b"tip", b"0"):  # as if there were nothing: "0" is a prefix of null
        assert served(stock).lookup(symbol) == NULL_NODE


def test_a_name_on_a_secret_changeset_gives_way_to_a_branch(stock: Stock) -> None:
    stock.commit(branch=b"name")
    stock.commit(0, phase=phases.secret)
    stock.bookmark(b"name", 1)
    assert served(stock).lookup(b"name") == stock.repo.changelog.node(0)
    assert served(stock).listkeys(b"bookmarks") == []


def test_a_bookmark_goes_before_a_tag_before_a_branch(stock: Stock) -> None:
    stock.commit(branch=b"name")
    stock.commit(0, files={b".hgtags": stock.tag_lines([b"name"], [0])})
    stock.commit(1, branch=b"name")
    assert served(stock).lookup(b"name") == stock.repo.changelog.node(0)
    stock.bookmark(b"name", 1)
    assert served(stock).lookup(b"name") == stock.repo.changelog.node(1)


def test_bytes_that_arent_utf8_come_back_in_the_error(stock: Stock) -> None:
    with pytest.raises(PeerError) as caught:
        served(stock).lookup(b"\xff\xfe")
    assert caught.value.text.encode("utf-8", "surrogateescape") == b"unknown revision '\xff\xfe'"


@pytest.mark.parametrize("question", ["between", "segments", "missing", "phase_heads"])
def test_a_node_that_isnt_there_is_the_peers_fault(stock: Stock, question: str) -> None:
    stock.config["phases.publish"] = "no"
    stock.commit()
    stock.commit(0, phase=phases.secret)
    view = served(stock)
    for node in (b"\x12" * 20, stock.repo.changelog.node(1)):
        with pytest.raises(PeerError, match=node.hex()):
            ask(view, question, Node(node))


def ask(view: View, question: str, node: Node) -> None:
    match question:
        case "between":
            view.between([(node, NULL_NODE)])
        case "segments":
            view.segments([node])
        case "missing":
            view.missing([], [node])
        case _:
            view.phase_heads([node])
