from __future__ import annotations

from pathlib import Path

from trunkline.svn.txn.live import Live


def test_only_what_nobody_fills_is_purged(tmp_path: Path) -> None:
    live, purged = Live(str(tmp_path / "live")), list[bytes]()
    live.sweep(purged.append)
    with live.filling(b"1-1"):
        (tmp_path / "live" / "1-2").touch()
        (tmp_path / "live" / ".new-1-3").touch()  # about to be there
        live.sweep(purged.append)
        live.sweep(purged.append)
    assert purged == [b"1-2"]
    live.sweep(purged.append)
    assert purged == [b"1-2"]
