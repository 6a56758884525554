from __future__ import annotations

import pytest

from trunkline.errors import ClientGone, PeerError
from trunkline.work import Work


def test_work_ends_at_the_next_look_after_its_client_has_gone() -> None:
    work = Work()
    work.look()
    work.walk(1)
    work.leave()
    for step in (work.look, lambda: work.walk(1)):
        with pytest.raises(ClientGone):
            step()


def test_walks_are_limited_all_together() -> None:
    work = Work(10)
    work.walk(4)
    work.walk(6)
    with pytest.raises(PeerError, match="more than 10 revisions"):
        work.walk(1)
