"""Clone bundles in an object store: a real one, real clients, and what happens without it."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.compat.hg import ENVIRONMENT
from tests.compat.history import PUBLISHED, assert_same
from tests.compat.objectstore import KEYS, ObjectStore, object_store
from tests.compat.serving import Serve
from tests.compat.warm import WARM
from tests.unit.bundles.making import Made
from tests.unit.http.conftest import commit, run
from tests.unit.http.driving import get, make_app

from trunkline.bundles.object_store import ObjectStore as Client
from trunkline.bundles.refresh import Refresh
from trunkline.config.bundles import BundleStore
from trunkline.hg.wire.shelf import Edition


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with object_store(tmp_path_factory.mktemp("store")) as running:
        yield running


def of(store: ObjectStore, public_url: str = "") -> BundleStore:
    return BundleStore(
        url="s3://bundles/of/hg", endpoint=store.url, seconds=2, public_url=public_url
    )


def grow(made: Made, text: str) -> None:
    commit(made.repository, "b", text.encode(), text)
    run(made.repository, "phase", "-q", "--public", "tip")


def make(made: Made, client: Client) -> Edition:
    refresh = Refresh(made.bundles, made.shelf, client)
    edition = refresh.run(made.subject)
    refresh.close()
    assert edition is not None
    return edition


def test_client_clones_from_the_store(
    store: ObjectStore, serve_own: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
        monkeypatch.setitem(ENVIRONMENT, name, value)
    made = Made(tmp_path)
    make(made, Client(of(store)))
    settings = tmp_path / "trunkline.toml"
    settings.write_text(
        f'[bundles]\npath = "bundles"\n[bundle_store]\nurl = "s3://bundles/of/hg"\n'
        f'endpoint = "{store.url}"\nseconds = 2\n'
    )
    server = serve_own(made.repository, "--settings", str(settings))
    said = WARM("clone", "-U", server.url, tmp_path / "clone")
    assert f"applying clone bundle from {store.url}/bundles/of/hg/".encode() in said
    assert_same(WARM, tmp_path / "clone", made.repository, without=PUBLISHED)


def test_store_holds_what_is_listed_and_who_has_no_signature_gets_nothing(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    made, client = Made(tmp_path), Client(of(store))
    before = make(made, client)
    address = client.address(before.bundles[0])
    assert address is not None
    data = Path(made.shelf.path(before.bundles[0])).read_bytes()
    assert urllib.request.urlopen(address).read() == data
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(address.partition("?")[0])
    grow(made, "more")
    make(made, client)
    grow(made, "and more")
    last = make(made, client)  # the last edition but one goes
    assert Client(of(store)).address(before.bundles[0]) is None
    assert Client(of(store)).address(last.bundles[0]) is not None
    public = Client(of(store, public_url="https://cdn.example.org/x/"))
    name = last.bundles[0].name
    assert public.address(last.bundles[0]) == f"https://cdn.example.org/x/{name}.hg"
    assert re.fullmatch(r"of/hg/[0-9a-f]+-zstd-[0-9a-f]+\.hg", last.bundles[0].key)


def test_bundle_that_is_gone_from_the_store_comes_from_us(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    made, client = Made(tmp_path), Client(of(store))
    edition = make(made, client)
    bundles = replace(made.bundles, make="auto")
    settings = replace(made.settings, bundles=bundles, bundle_store=of(store))

    def places() -> list[str]:
        """Of the URLs, as a server says that hasn't asked the store yet."""
        body = get(make_app(made.repository, settings=settings), "/?cmd=clonebundles").text
        return [line.partition("/?")[0].partition("/bundles")[0] for line in body.split("\n\n")]

    assert places()[:3] == [store.url] * 3
    client.delete([edition.bundles[0].key])
    assert places()[:3] == ["http://hg.example", store.url, store.url]


def test_bundle_that_the_store_did_not_take_is_our_own_and_taken_later(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    made = Made(tmp_path)
    made.bundles = replace(made.bundles, kinds=["gzip"])
    edition = make(made, Client(of(store)))
    assert [bundle.key for bundle in edition.bundles] == [""]
    assert made.shelf.address(edition.bundles[0]) is None
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEYS["AWS_SECRET_ACCESS_KEY"])
    client = Client(of(store))
    refresh = Refresh(made.bundles, made.shelf, client)
    refresh.store_again(made.subject.root)
    refresh.close()
    assert client.address(made.edition.bundles[0]) is not None
