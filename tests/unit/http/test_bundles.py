"""Clone bundles of our own making, as they go out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.unit.bundles.making import Made, copy_of
from tests.unit.http.conftest import commit, run
from tests.unit.http.driving import Client, Reply, ask, get, make_app

from trunkline.config.bundles import Bundles
from trunkline.config.settings import Server
from trunkline.hg.bundle.bundle_file import KINDS
from trunkline.hg.stock.configuration import close_readers
from trunkline.http.app import App

FILE = b"cmd=trunkline_bundle&name="


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """Not to be changed."""
    made = Made(tmp_path_factory.mktemp("bundles"))
    made.make()
    yield made
    close_readers()


@pytest.fixture
def own(made: Made, tmp_path: Path) -> Made:
    return copy_of(made, tmp_path)


def app_of(made: Made, **changes: object) -> App:
    """It makes none by itself: what there is was made by the test."""
    bundles = replace(made.bundles, make="auto")
    settings = replace(made.settings, bundles=bundles, **changes)
    return make_app(made.repository, settings=settings)


def manifest(app: App, *headers: tuple[bytes, bytes], command: str = "clonebundles") -> list[bytes]:
    return [line for line in get(app, f"/?cmd={command}", *headers).body.splitlines() if line]


def fetch(app: App, name: str, method: str = "GET", **headers: str) -> Reply:
    words = [(key.replace("_", "-").encode(), text.encode()) for key, text in headers.items()]
    return ask(app, Client(method, b"/?" + FILE + name.encode(), words))[0]


def test_list_is_in_the_order_in_which_clients_should_choose(made: Made) -> None:
    lines = manifest(app_of(made))
    assert [line.partition(b" ")[2].partition(b";requirements")[0] for line in lines] == [
        b"BUNDLESPEC=zstd-v2",
        b"BUNDLESPEC=gzip-v2",
        b"BUNDLESPEC=none-v2;stream=v2",
    ]
    assert all(line.startswith(b"http://hg.example/?" + FILE) for line in lines)
    inline = manifest(app_of(made), command="clonebundles_manifest")
    assert [line.partition(b" ")[2] for line in inline] == [
        line.partition(b" ")[2] for line in lines
    ]
    assert all(line.startswith(b"peer-bundle-cache://trunkline/") for line in inline)


def test_capability_is_there_with_the_bundles_alone(made: Made, tmp_path: Path) -> None:
    words = get(app_of(made), "/?cmd=capabilities").body.split()
    assert {b"clonebundles", b"clonebundles_manifest"} <= set(words)
    bundles = replace(made.bundles, path=str(tmp_path / "none"))
    words = get(made_with(made, bundles), "/?cmd=capabilities").body.split()
    assert b"clonebundles" not in words
    off = made_with(made, replace(made.bundles, make="off"))
    words = get(off, "/?cmd=capabilities").body.split()
    assert b"clonebundles" not in words


def made_with(made: Made, bundles: Bundles) -> App:
    return make_app(made.repository, settings=replace(made.settings, bundles=bundles))


@pytest.mark.parametrize(
    ("headers", "trusted", "public_url", "expected"),
    [
        ([], [], "", b"http://hg.example/?"),
        ([], [], "https://www.example.org/hg/", b"https://www.example.org/hg/?"),
        ([(b"x-forwarded-proto", b"https")], ["127.0.0.1"], "", b"https://hg.example/?"),
        (
            [(b"x-forwarded-host", b"www.example.org:8443"), (b"x-forwarded-proto", b"https")],
            ["127.0.0.1"],
            "",
            b"https://www.example.org:8443/?",
        ),
        # Of a proxy that we don't trust, Host may be its own name for us.
        ([(b"x-forwarded-host", b"www.example.org")], [], "", None),
        ([(b"via", b"1.1 somebody")], [], "", None),
        ([(b"x-forwarded-host", b"a b")], ["127.0.0.1"], "", None),
        ([(b"via", b"1.1 somebody")], [], "https://h", b"https://h/?"),
    ],
)
def test_url_is_the_one_by_which_the_client_comes(
    made: Made,
    headers: list[tuple[bytes, bytes]],
    trusted: list[str],
    public_url: str,
    expected: bytes | None,
) -> None:
    app = app_of(made, server=Server(trusted_proxies=trusted, public_url=public_url))
    lines = manifest(app, *headers)
    if expected is None:
        assert lines == []
        assert manifest(app, *headers, command="clonebundles_manifest")
    else:
        assert len(lines) == 3
        assert all(line.startswith(expected + FILE) for line in lines)


def test_file_goes_out_whole_with_a_strong_tag(made: Made) -> None:
    name, data = made.file()
    reply = fetch(app_of(made), name)
    assert (reply.status, reply.body, reply.is_whole) == (200, data, True)
    assert reply.header(b"content-length") == b"%d" % len(data)
    assert reply.header(b"etag") == b'"%s"' % name.encode()
    assert reply.header(b"accept-ranges") == b"bytes"
    head = fetch(app_of(made), name, "HEAD")
    assert (head.status, head.body) == (200, b"")
    assert head.header(b"content-length") == b"%d" % len(data)


def test_part_of_a_file(made: Made) -> None:
    name, data = made.file()
    size = len(data)
    reply = fetch(app_of(made), name, range="bytes=10-19")
    assert (reply.status, reply.body) == (206, data[10:20])
    assert reply.header(b"content-range") == b"bytes 10-19/%d" % size
    assert reply.header(b"content-length") == b"10"
    assert fetch(app_of(made), name, range="bytes=10-").body == data[10:]
    assert fetch(app_of(made), name, range="bytes=-7").body == data[-7:]
    beyond = fetch(app_of(made), name, range=f"bytes={size}-")
    assert (beyond.status, beyond.header(b"content-range")) == (416, b"bytes */%d" % size)
    assert fetch(app_of(made), name, range="bytes=0-1", if_range='"other"').body == data
    tag = f'"{name}"'
    assert fetch(app_of(made), name, range="bytes=0-1", if_range=tag).body == data[:2]
    same = fetch(app_of(made), name, if_none_match=tag)
    assert (same.status, same.body) == (304, b"")
    assert same.header(b"content-length") == b"%d" % size  # RFC 9110, section 8.6


def test_inline_form_is_length_and_bytes(made: Made) -> None:
    name, data = made.file("stream")
    reply = get(app_of(made), f"/?cmd=get_cached_bundle_inline&path=trunkline/{name}")
    assert reply.body.endswith(data)
    assert len(reply.body) - len(data) == 2  # of the uvarint


def test_no_other_file_is_given(made: Made) -> None:
    name, _ = made.file()
    for other in (name + "x", f"../bundles/{name}", "", "clock", f"{name}.whole"):
        assert fetch(app_of(made), other).status == 404


def test_who_may_not_read_the_repository_learns_of_no_bundle(own: Made) -> None:
    name, data = own.file()
    (own.repository / ".hg/hgrc").write_text("[web]\ndeny_read = *\n")
    app = app_of(own)
    for query in ("capabilities", "clonebundles", "clonebundles_manifest", "hello"):
        reply = get(app, f"/?cmd={query}")
        assert reply.status in (401, 403, 404)
        assert b"bundle" not in reply.body
    batch = get(app, "/?cmd=batch&cmds=clonebundles+")
    assert b"peer-bundle-cache" not in batch.body
    assert fetch(app, name).status in (401, 403, 404)
    inline = get(app, f"/?cmd=get_cached_bundle_inline&path=trunkline/{name}")
    assert data not in inline.body


def test_unreadable_bundle_is_off_the_list_at_once(own: Made) -> None:
    app = app_of(own)
    assert len(manifest(app)) == 3
    by_kind = {bundle.kind: own.shelf.path(bundle) for bundle in own.edition.bundles}
    Path(by_kind["zstd"]).unlink()
    assert [b"gzip-v2" in line for line in manifest(app)] == [True, False]
    assert fetch(app, own.file("gzip")[0]).status == 200
    Path(by_kind["gzip"]).chmod(0o600)
    Path(by_kind["gzip"]).write_bytes(b"HG20 cut")
    assert manifest(app) == []  # a stream alone isn't for everybody


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("pattern", ["*.list", "*.whole"])
def test_what_another_account_has_put_there_is_not_given(own: Made, pattern: str) -> None:
    """By default the folder may lie below `/tmp`, where others can be the first to make it."""
    name, _ = own.file()
    for path in Path(own.shelf.folder).glob(pattern):
        os.chown(path, 12345, -1)
    app = app_of(own)
    assert manifest(app) == []
    assert fetch(app, name).status == 404


def test_list_that_cannot_be_read_stops_no_clone(own: Made) -> None:
    Path(own.shelf.list_path(str(own.repository))).write_bytes(b"[")
    app = app_of(own)
    assert get(app, "/?cmd=clonebundles").status == 200
    assert manifest(app) == []
    own.make()
    assert len(manifest(app)) == 3


def test_bundle_of_what_is_public_no_more_is_given_to_nobody(own: Made) -> None:
    name, _ = own.file()
    app = app_of(own)
    run(own.repository, "phase", "-q", "--force", "--secret", "tip")
    assert manifest(app) == []
    assert fetch(app, name).status == 404
    inline = get(app, f"/?cmd=get_cached_bundle_inline&path=trunkline/{name}")
    assert b"does not exist" in inline.body


def test_operators_own_manifest_wins(own: Made) -> None:
    (own.repository / ".hg/clonebundles.manifest").write_text("https://h/x BUNDLESPEC=gzip-v2\n")
    assert manifest(app_of(own)) == [b"https://h/x BUNDLESPEC=gzip-v2"]


def test_kinds_are_those_of_the_table(made: Made) -> None:
    assert [bundle.kind for bundle in made.edition.bundles] == list(KINDS)


def test_who_has_nothing_is_sent_a_bundle_and_asks_again(own: Made) -> None:
    commit(own.repository, "b", b"3\n", "a draft")
    _, data = own.file()
    asked = "/?cmd=getbundle&bundlecaps=HG20,bundle2%3DHG20%250Achangegroup%253D01%252C02"
    heads = run(own.repository, "log", "-r", "tip", "-T", "{node}").decode()
    first = run(own.repository, "log", "-r", "0", "-T", "{node}").decode()
    proto = b"x-hgproto-1", b"0.1 0.2 comp=zstd,none partial-pull"
    app = app_of(own)
    assert get(app, f"{asked}&heads={heads}", proto).body == b"\x04none" + data
    plain = b"x-hgproto-1", b"0.1 0.2 comp=zstd,none"
    for other, header in (
        (f"&heads={heads}", plain),
        (f"&heads={heads}&common={first}", proto),
        (f"&heads={first}", proto),  # the bundle has more
    ):
        reply = get(app, asked + other, header)
        assert reply.status == 200
        assert reply.body != b"\x04none" + data
