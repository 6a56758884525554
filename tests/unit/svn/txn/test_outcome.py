from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from trunkline.errors import PeerError, StoreError
from trunkline.svn.txn.outcome import Intent, Outcome, Outcomes

DONE = Outcome(200, [["a", "b"]], "\xff")


def test_what_is_written_is_known_to_others(tmp_path: Path) -> None:
    folder = str(tmp_path / "o")
    assert Outcomes(folder).known("k") is None
    with Outcomes(folder).hold("k", 0) as held:
        assert held.read() is None
        held.write(Intent(1, "a", "b"))
        assert (held.read(), Outcomes(folder).known("k")) == (Intent(1, "a", "b"), None)
        held.write(DONE)
    assert Outcomes(folder).known("k") == DONE


def test_one_holds_a_key_at_a_time(tmp_path: Path) -> None:
    outcomes = Outcomes(str(tmp_path))
    with outcomes.hold("k", 0), outcomes.hold("other", 0):
        with pytest.raises(PeerError) as caught, outcomes.hold("k", 0.2):
            pass
        assert caught.value.status == 503
    with outcomes.hold("k", 0):
        pass


def test_what_is_old_is_forgotten_unless_it_is_held(tmp_path: Path) -> None:
    outcomes = Outcomes(str(tmp_path))
    for key in ("old", "held", "new"):
        with outcomes.hold(key, 0) as held:
            held.write(DONE)
    for name in ("old.lock", "held.lock"):
        os.utime(tmp_path / name, (0, 0))
    with outcomes.hold("held", 0):
        os.utime(tmp_path / "held.lock", (0, 0))
        outcomes.sweep(time.time() - 60)
    assert [outcomes.known(key) for key in ("old", "held", "new")] == [None, DONE, DONE]
    assert not list(tmp_path.glob("old*"))


def test_a_damaged_one_is_our_fault(tmp_path: Path) -> None:
    (tmp_path / "k").write_text("{")
    with pytest.raises(StoreError):
        Outcomes(str(tmp_path)).known("k")
