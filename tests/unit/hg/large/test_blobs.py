"""Large files on disk: what is found, what is kept, what is told apart by its digest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from trunkline.errors import PeerError, StoreError
from trunkline.hg.large.blobs import READ_SIZE, Blob, Blobs

DATA = bytes(range(256)) * 5000
NAME = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    store = tmp_path / "store"
    store.mkdir(mode=0o770)
    store.chmod(0o770)
    return Blobs(
        str(store / "lfs/objects"), str(tmp_path / "cache"), str(store), "sha256", is_split=True
    )


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def found(blobs: Blobs, name: str = NAME) -> Blob:
    blob = blobs.find(name)
    assert blob is not None
    return blob


@pytest.mark.parametrize("size", [0, 1, READ_SIZE - 1, READ_SIZE, READ_SIZE + 1, 3 * READ_SIZE])
def test_what_is_received_is_read_back(blobs: Blobs, size: int) -> None:
    data = (DATA * 2)[:size]
    name = hashlib.sha256(data).hexdigest()
    blobs.receive(name, iter([data[:7], b"", data[7:]]))
    blob = found(blobs, name)
    assert blob.size == size
    assert b"".join(blobs.read(name, blob)) == data
    assert blobs.is_sound(name, blob, lambda: None)


def test_permissions_are_those_of_the_store(blobs: Blobs) -> None:
    blobs.receive(NAME, iter([DATA]))
    path = Path(found(blobs).path)
    assert path.stat().st_mode & 0o777 == 0o660
    assert path.parent.stat().st_mode & 0o777 == 0o770


def test_the_cache_has_the_same_file(blobs: Blobs, tmp_path: Path) -> None:
    blobs.receive(NAME, iter([DATA]))
    own = Path(found(blobs).path)
    assert (tmp_path / "cache" / NAME[:2] / NAME[2:]).samefile(own)
    own.unlink()
    cached = found(blobs)
    assert cached.path.startswith(str(tmp_path / "cache"))
    blobs.adopt(NAME, cached)
    assert own.samefile(cached.path)


def test_other_contents_leave_no_file(blobs: Blobs, tmp_path: Path) -> None:
    for blocks in (iter([DATA, b"!"]), iter([DATA[:-1]]), iter([])):
        with pytest.raises(PeerError) as caught:
            blobs.receive(NAME, blocks)
        assert caught.value.status == 422
    assert files(tmp_path) == []


def test_an_upload_that_is_cut_leaves_no_file(blobs: Blobs, tmp_path: Path) -> None:
    def cut() -> Iterator[bytes]:
        yield DATA
        raise PeerError("gone")

    with pytest.raises(PeerError, match="gone"):
        blobs.receive(NAME, cut())
    assert files(tmp_path) == []


@pytest.mark.parametrize("damaged", [DATA[:-1], DATA[:-1] + b"!"])
def test_damage_is_told_before_the_last_block(blobs: Blobs, damaged: bytes) -> None:
    blobs.receive(NAME, iter([DATA]))
    blob = found(blobs)
    Path(blob.path).write_bytes(damaged)
    taken: list[bytes] = []
    with pytest.raises(StoreError):
        taken.extend(blobs.read(NAME, blob))
    assert len(b"".join(taken)) < len(DATA)
    assert not blobs.is_sound(NAME, found(blobs), lambda: None)


def test_no_link_is_followed_and_no_fifo_waited_for(blobs: Blobs, tmp_path: Path) -> None:
    blobs.receive(NAME, iter([DATA]))
    path = Path(found(blobs).path)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="symlink"):
        blobs.find(NAME)
    path.unlink()
    os.mkfifo(path)
    (tmp_path / "cache" / NAME[:2] / NAME[2:]).unlink()
    assert blobs.find(NAME) is None


@pytest.mark.parametrize(
    "name", ["", NAME[:-1], NAME + "0", NAME.upper(), "/" * 64, NAME[:-1] + "\n"]
)
def test_names(blobs: Blobs, name: str) -> None:
    assert blobs.is_name(NAME)
    assert not blobs.is_name(name)
