"""Large files (LFS) under rules of access: who logs in, who may read, who may write."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.compat.pushing import said
from tests.compat.rawhttp import request
from tests.compat.serving import serving
from tests.compat.test_access import Site, auth
from tests.compat.warm import WARM

BIG = bytes(range(256)) * 4000
NAME = hashlib.sha256(BIG).hexdigest()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """`private/large`: alice writes, bob reads."""
    one = Site(tmp_path_factory.mktemp("site"))
    repository = one.folder / "repos/private/large"
    repository.parent.mkdir(parents=True)
    WARM("init", repository)
    cache = one.folder / "servers-cache"
    hgrc = f"[extensions]\nlfs =\n[lfs]\ntrack = all()\nusercache = {cache}\n"
    (repository / ".hg/hgrc").write_text(hgrc)
    (repository / "big").write_bytes(BIG)
    WARM("commit", "-q", "-A", "-m", "big", "-d", "0 0", cwd=repository)
    one.write()
    with serving(one.repos, one.folder / "server", "--settings", str(one.settings)) as server:
        one.server, one.url = server, server.url
        yield one


def test_contents_go_by_the_rules_of_their_repository(site: Site, tmp_path: Path) -> None:
    url = f"{site.url}/private/large"
    hg = WARM.with_config(
        "extensions.lfs=", "lfs.track=all()", f"lfs.usercache={tmp_path / 'clients-cache'}"
    )
    hg("clone", "--noninteractive", url, tmp_path / "clone", *auth(url, "bob"))
    assert (tmp_path / "clone/big").read_bytes() == BIG
    (tmp_path / "clone/new").write_bytes(BIG[1:])
    hg("commit", "-q", "-A", "-m", "new", "-d", "0 0", cwd=tmp_path / "clone")
    name = hashlib.sha256(BIG[1:]).hexdigest()
    kept = site.folder / "repos/private/large/.hg/store/lfs/objects" / name[:2] / name[2:]
    push = ("push", "--noninteractive", url)
    failed = hg.run(*push, *auth(url, "bob"), cwd=tmp_path / "clone", expect=None)
    assert b"HTTP Error 403" in said(failed)
    assert not kept.exists()
    hg(*push, *auth(url, "alice"), cwd=tmp_path / "clone")
    assert kept.read_bytes() == BIG[1:]


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_who_has_not_logged_in_is_asked_to_and_learns_nothing(site: Site, method: str) -> None:
    assert site.server is not None
    statuses = {
        request(
            site.server.address, f"/private/{name}/.hg/lfs/objects/{NAME}", {}, method, b"x"
        ).status
        for name in ("large", "missing")
    }
    assert statuses == {401}
