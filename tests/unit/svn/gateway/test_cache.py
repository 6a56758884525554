"""What is kept of reads, for whom, and how much."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trunkline.errors import StoreError
from trunkline.svn.gateway.cache import Cache
from trunkline.svn.gateway.message import Head, Headers, Request
from trunkline.svn.gateway.upstream import Repository

MiB = 1 << 20
TARGET = b"/r/!svn/rvr/7/trunk/a"
ALICE = (b"Authorization", b"Basic YWxpY2U6b25l")


def repository(uuid: bytes = b"u") -> Repository:
    special = b"/r/!svn/"
    return Repository(
        root=b"/r",
        me=special + b"me",
        txn=special + b"txn",
        txr=special + b"txr",
        vtxn=special + b"vtxn",
        vtxr=special + b"vtxr",
        rvr=special + b"rvr",
        youngest=7,
        posts=frozenset(),
        uuid=uuid,
    )


def get(target: bytes = TARGET, *headers: tuple[bytes, bytes], method: bytes = b"GET") -> Request:
    return Request(method, target, list(headers))


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(str(tmp_path / "cache"), MiB)


def test_reads_what_was_kept(cache: Cache) -> None:
    name = cache.name(get(), repository())
    assert cache.read(name) is None
    headers: Headers = [
        (b"ETag", b'"7"'),
        (b"Set-Cookie", b"x"),
        (b"Transfer-Encoding", b"chunked"),
    ]
    cache.keep(name, Head(200, headers), b"text")
    assert cache.read(name) == b'HTTP/1.1 200 OK\r\nETag: "7"\r\nContent-Length: 4\r\n\r\ntext'


@pytest.mark.parametrize(
    "other",
    [
        get(b"/r/!svn/rvr/8/trunk/a"),
        get(b"/r/!svn/rvr/7/trunk/a?x"),
        get(TARGET, ALICE),
        get(TARGET, (b"Authorization", ALICE[1] + b"x")),
        get(TARGET, (b"Accept-Encoding", b"svndiff1")),
        get(TARGET, (b"X-SVN-VR-Base", b"/r/!svn/rvr/6/trunk/a")),
    ],
)
def test_other_questions_and_users_have_other_answers(cache: Cache, other: Request) -> None:
    assert cache.name(other, repository()) not in ("", cache.name(get(), repository()))


def test_other_repositories_have_other_answers(cache: Cache) -> None:
    assert cache.name(get(), repository(b"v")) != cache.name(get(), repository())


@pytest.mark.parametrize(
    "request_",
    [
        get(b"/r/trunk/a"),
        get(b"/r/!svn/rvrx/7/a"),
        get(method=b"PROPFIND"),
        get(TARGET, (b"Range", b"bytes=1-")),
        get(TARGET, (b"If-None-Match", b'"7"')),
    ],
)
def test_what_can_change_or_is_a_part_is_not_kept(cache: Cache, request_: Request) -> None:
    assert cache.name(request_, repository()) == ""


def test_names_stay_the_same_and_tell_no_password(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    names = {Cache(str(folder), MiB).name(get(TARGET, ALICE), repository()) for _ in range(2)}
    assert len(names) == 1
    assert (folder / "secret").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


def test_the_longest_unread_makes_room(cache: Cache, tmp_path: Path) -> None:
    names = [cache.name(get(TARGET + b"%d" % at), repository()) for at in range(8)]
    for at, name in enumerate(names):
        cache.keep(name, Head(200, []), bytes(256 * 1024))
        os.utime(tmp_path / "cache" / name, (at, at))
    cache.read(names[0])
    cache.sweep()
    left = [name for name in names if cache.read(name) is not None]
    assert names[0] in left
    assert names[7] in left
    assert 2 <= len(left) <= 4
    assert (tmp_path / "cache" / "secret").exists()


def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    with pytest.raises(StoreError):
        Cache(str(tmp_path / "cache"), MiB)
