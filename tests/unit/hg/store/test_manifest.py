from __future__ import annotations

from binascii import hexlify
from pathlib import Path

import pytest
from tests.unit.hg.store import repositories

from trunkline.errors import StoreError
from trunkline.hg.store.delta import make_delta
from trunkline.hg.store.manifest import delta_lines, find, lines

A, B = b"\x0a" * 20, b"\x0b" * 20
TEXT = b"".join(
    b"%b\0%b%b\n" % (path, hexlify(node), flag)
    for path, node, flag in [(b"a", A, b""), (b"a b\r", B, b"x"), (b"link", A, b"l")]
)


def test_lines_give_path_node_and_flag() -> None:
    assert list(lines(TEXT)) == [(b"a", A, b""), (b"a b\r", B, b"x"), (b"link", A, b"l")]
    assert list(lines(b"")) == []


def test_delta_lines_give_what_is_put_in() -> None:
    delta = make_delta(TEXT.replace(b"link", b"kink"), TEXT)
    assert list(delta_lines(delta)) == [(b"link", A, b"l")]
    assert list(delta_lines(make_delta(TEXT, b""))) == []
    assert list(delta_lines(b"")) == []


def test_find_gives_one_line() -> None:
    for path, node, flag in [(b"a", A, b""), (b"a b\r", B, b"x"), (b"link", A, b"l")]:
        assert find(TEXT, path) == (path, node, flag)
    for missing in (b"b", b"lin", b"ink", b""):
        assert find(TEXT, missing) is None
    assert find(b"", b"a") is None


@pytest.mark.parametrize("bad", [b"nonul\n", b"a\0short\n", b"a\0" + b"z" * 40 + b"\n", b"\n"])
def test_lines_refuse_what_is_no_manifest(bad: bytes) -> None:
    with pytest.raises(StoreError):
        list(lines(bad))


def test_delta_lines_refuse_a_delta_that_is_cut() -> None:
    delta = make_delta(b"", TEXT)
    for length in range(1, len(delta)):
        with pytest.raises(StoreError):
            list(delta_lines(delta[:length]))


def test_lines_are_mercurials(tmp_path: Path) -> None:
    path = repositories.sample(tmp_path / "repo")
    repo = repositories.oracle(path)
    manifest = repositories.opened(path).snapshot().manifest()
    for rev in range(manifest.count):
        read = repo.manifestlog[manifest.node(rev)].read()
        assert list(lines(manifest.text(rev))) == [tuple(item) for item in read.iterentries()]
