from __future__ import annotations

import os
from pathlib import Path

from trunkline.hg.stock.watch import FILES_LIMIT, sign, with_includes


def test_sign_changes_when_a_file_appears_changes_is_replaced_or_vanishes(tmp_path: Path) -> None:
    path = tmp_path / "hgrc"
    seen = [sign([str(path)])]
    path.write_text("a")
    seen.append(sign([str(path)]))
    path.write_text("ab")
    seen.append(sign([str(path)]))
    found = path.stat()
    other = tmp_path / "other"
    other.write_text("ba")
    os.utime(other, ns=(found.st_mtime_ns, found.st_mtime_ns))
    other.replace(path)
    seen.append(sign([str(path)]))
    path.unlink()
    assert len(set(seen)) == len(seen)
    assert sign([str(path)]) == seen[0] == (None,)


def test_includes_are_followed_there_or_not(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in ("first", "sub/second", "sub/third"))
    second.parent.mkdir()
    first.write_text("[a]\nb = c\n%include sub/second\n %include not/this\n")
    second.write_text("%include third\n%include /absolute/one  \n")
    assert with_includes([str(first)]) == (str(first), str(second), str(third), "/absolute/one")


def test_includes_that_go_round_end(tmp_path: Path) -> None:
    path = tmp_path / "hgrc"
    path.write_text("%include hgrc\n" + "".join(f"%include {n}\n" for n in range(10_000)))
    assert len(with_includes([str(path)])) == FILES_LIMIT
