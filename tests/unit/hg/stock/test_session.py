from __future__ import annotations

import pytest
from tests.unit.hg.stock.conftest import Repository

from trunkline.errors import PeerError
from trunkline.hg.stock.bridge import Bridge
from trunkline.hg.stock.pool import Pool


def test_calls_see_the_state_of_the_first(repository: Repository, pool: Pool) -> None:
    first = repository.commit("a")
    bridge = Bridge(str(repository.root), [], pool)
    with bridge.session() as session:
        assert session.call(b"lookup", {b"key": b"tip"}) == b"1 " + first + b"\n"
        second = repository.commit("b")
        repository.hg("bookmark", "-r", "0", "mark")
        assert session.call(b"heads", {}) == first + b"\n"
        assert session.call(b"listkeys", {b"namespace": b"bookmarks"}) == b""
    assert bridge.call(b"heads", {}) == second + b"\n"
    assert bridge.call(b"listkeys", {b"namespace": b"bookmarks"}) == b"mark\t" + first


def test_a_session_that_asks_nothing_starts_nothing(repository: Repository, pool: Pool) -> None:
    with Bridge(str(repository.root), [], pool).session():
        pass
    assert not pool.pids


def test_after_a_fault_the_process_serves_others(repository: Repository, pool: Pool) -> None:
    bridge = Bridge(str(repository.root), [], pool)
    with bridge.session() as session:
        session.call(b"heads", {})
        pids = pool.pids
        with pytest.raises(PeerError):
            session.call(b"lookup", {})
        bridge.call(b"heads", {})
    assert pool.pids == pids
