"""Secret, hidden and obsolete changesets never leave; phases and markers arrive."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest
from tests.compat.conftest import Host
from tests.compat.hg import Hg
from tests.compat.history import assert_same, bookmarks, nodes, phases, verify
from tests.compat.rawhttp import request
from tests.compat.serving import Serve, Serving
from tests.compat.sources import Source
from tests.compat.warm import WARM

EVOLUTION = "experimental.evolution=all"


@pytest.fixture
def repository(source: Source) -> Path:
    return source("drafts")


@pytest.fixture
def server(repository: Path, serve: Serve) -> Serving:
    return serve(repository)


def unseen(repository: Path) -> list[str]:
    """Hashes that nobody may learn: secret ones and hidden ones."""
    found = nodes(WARM, repository, "secret() or hidden()", hidden=True)
    assert len(found) >= 4
    return found


@pytest.mark.parametrize("how", [(), ("--pull",), ("--stream",)], ids=["plain", "pull", "stream"])
@pytest.mark.parametrize("config", [(), (EVOLUTION,)], ids=["no markers", "markers"])
def test_clone_holds_what_is_visible(
    hg: Hg,
    how: tuple[str, ...],
    config: tuple[str, ...],
    repository: Path,
    server: Serving,
    tmp_path: Path,
) -> None:
    """A stream would carry secrets, so a client that wants one gets a bundle instead."""
    clone, client = tmp_path / "clone", hg.with_config(*config)
    said = client("clone", "--noupdate", *how, server.url, clone)
    assert b"streaming all changes" not in said
    assert_same(
        client, clone, repository, "not secret()", [b"bookmark", b"obsolete", b"instability"]
    )
    assert not set(nodes(hg, clone, hidden=True)) & set(unseen(repository))
    expected = phases(WARM, repository)
    assert phases(hg, clone) == {node: expected[node] for node in nodes(hg, clone)}
    names = bookmarks(hg, clone)
    assert b"on-orphan" in names
    assert b"hush" not in names


def test_markers_arrive(hg: Hg, repository: Path, server: Serving, tmp_path: Path) -> None:
    """The clone gets the markers of what it holds, and hides what they make obsolete."""
    clone, client = tmp_path / "clone", hg.with_config(EVOLUTION)
    client("clone", "--noupdate", server.url, clone)
    theirs = markers(WARM.with_config(EVOLUTION), repository)
    ours = markers(client, clone)
    assert ours
    assert ours <= theirs
    assert nodes(client, clone, "orphan()") == nodes(WARM, repository, "orphan()")


def asks_for_stream(client: Hg, url: str, clone: Path) -> bytes:
    done = client.run("clone", "--noupdate", "--stream", url, clone)
    return done.out + done.err


@pytest.mark.parametrize("config", [(), (EVOLUTION,)], ids=["no evolution", "evolution"])
def test_hidden_changesets_alone_forbid_streams(
    hg: Hg, config: tuple[str, ...], source: Source, serve: Serve, tmp_path: Path
) -> None:
    """Nothing is secret. A client that asks for a stream gets a normal clone."""
    repository, clone, client = source("rewritten"), tmp_path / "clone", hg.with_config(*config)
    assert b"streaming all changes" not in asks_for_stream(client, serve(repository).url, clone)
    verify(client, clone)
    assert nodes(hg, clone, hidden=True) == nodes(WARM, repository, "not hidden()")


def test_no_reply_to_a_stream_client_holds_what_is_hidden(source: Source, serve: Serve) -> None:
    repository = source("rewritten")
    hidden = nodes(WARM, repository, "hidden()", hidden=True)
    texts = [b"hidden: ", b"a text that was a mistake", b"a text that was pruned"]
    assert len(hidden) == 2
    address, proto = serve(repository).address, {"X-HgProto-1": "0.2 comp=none"}
    caps = "HG20,bundle2=HG20%0Astream%3Dv2%0Achangegroup%3D02"
    for query in (
        "capabilities",
        "stream_out",
        "getbundle&stream=1&cg=0&bundlecaps=" + caps.replace("%", "%25"),
        "getbundle&cg=1&bundlecaps=" + caps.replace("%", "%25"),
        "changegroup&roots=" + "0" * 40,
    ):
        body = request(address, "/?cmd=" + query, proto).body
        assert b"stream=" not in body
        assert b"streamreqs" not in body
        for what in [*map(str.encode, hidden), *map(bytes.fromhex, hidden), *texts]:
            assert what not in body, (query, what)
    query = "/?cmd=getbundle&stream=1&bundlecaps=" + caps.replace("%", "%25")
    refusal = request(address, query, proto)
    assert b"server does not allow this feature" in refusal.body
    assert request(address, "/?cmd=stream_out").body == b"1\n"


@pytest.mark.parametrize("config", [(), (EVOLUTION,)], ids=["no evolution", "evolution"])
def test_markers_alone_do_not_forbid_streams(
    hg: Hg, config: tuple[str, ...], source: Source, serve: Serve, tmp_path: Path
) -> None:
    """Where nothing is hidden, a client without evolution streams and does without markers."""
    repository, clone, client = source("far_markers"), tmp_path / "clone", hg.with_config(*config)
    assert b"streaming all changes" in asks_for_stream(client, serve(repository).url, clone)
    verify(client, clone)
    assert nodes(hg, clone, hidden=True) == nodes(WARM, repository, hidden=True)
    expected = markers(WARM.with_config(EVOLUTION), repository) if config else set()
    assert markers(hg.with_config(EVOLUTION), clone) == expected


def test_stream_parts_that_are_switched_off_are_refused_in_words(
    source: Source, serve_own: Serve, tmp_path: Path
) -> None:
    server = serve_own(source("rich"), "--config", "server.bundle2.stream=no")
    caps = "HG20,bundle2=HG20%250Astream%253Dv2"
    query = f"/?cmd=getbundle&stream=1&bundlecaps={caps}"
    body = request(server.address, query, {"X-HgProto-1": "0.2 comp=none"}).body
    assert b"HG20" in body
    assert b"ERROR:ABORT" in body
    assert b"stream data requested but server does not allow this feature" in body


def markers(hg: Hg, repository: Path) -> set[bytes]:
    """Markers of changesets that are not secret, one a line."""
    return set(hg("debugobsolete", "--rev", "not secret()", cwd=repository).splitlines())


@pytest.mark.parametrize("length", [40, 12, 6])
@pytest.mark.parametrize("command", ["identify", "clone", "incoming", "pull"])
def test_asking_by_hash_or_prefix_gives_nothing(
    hg: Hg, command: str, length: int, repository: Path, server: Serving, tmp_path: Path
) -> None:
    local = tmp_path / "local"
    hg("init", local)
    for node in unseen(repository)[:2]:
        options = ["--rev", node[:length], server.url]
        target = [tmp_path / "clone"] if command == "clone" else []
        done = hg.run(command, *options, *target, cwd=local, expect=None)
        assert done.status != 0
        assert b"unknown revision" in done.out + done.err or b"hidden" in done.out + done.err
    assert nodes(hg, local) == []


def test_a_bookmark_on_a_secret_changeset_is_unknown(
    hg: Hg, server: Serving, tmp_path: Path
) -> None:
    done = hg.run("identify", "--rev", "hush", server.url, expect=None)
    assert done.status != 0
    assert b"unknown revision 'hush'" in done.out + done.err


def test_no_command_names_a_hidden_hash(repository: Path, server: Serving) -> None:
    """Whatever is asked, plainly or by force, a reply adds nothing to the question's own words."""
    hidden = unseen(repository)
    heads = " ".join(hidden)
    base = "0" * 40
    queries = [
        "heads",
        "branchmap",
        "capabilities",
        "stream_out",
        f"branches&nodes={heads}",
        "listkeys&namespace=bookmarks",
        "listkeys&namespace=phases",
        "listkeys&namespace=namespaces",
        *(f"lookup&key={node}" for node in hidden),
        *(f"lookup&key={node[:8]}" for node in hidden),
        *(f"lookup&key={number}" for number in range(15)),
        "lookup&key=tip",
        "lookup&key=hush",
        f"between&pairs={hidden[0]}-{base}",
        *(f"getbundle&heads={node}&common={base}" for node in hidden),
        f"getbundle&heads={heads}&common={base}",
        f"getbundle&common={base}",
        f"changegroup&roots={base}",
        *(f"changegroupsubset&bases={base}&heads={node}" for node in hidden),
        *(f"changegroup&roots={node}" for node in hidden),
    ]
    never = secret_words(repository, hidden)
    for query in queries:
        path = "/?cmd=" + query.replace(" ", "+")
        body = request(server.address, path, {"X-HgProto-1": "0.2 comp=none"}).body
        for node in sorted({*hidden, *(node[:8] for node in hidden)}, key=len, reverse=True):
            if node in query:  # a refusal may say back what was asked, and no more than that
                body = body.replace(node.encode(), b"")
        for node in hidden:
            assert node.encode() not in body, (query, node)
            assert node[:12].encode() not in body, (query, node)
            assert bytes.fromhex(node) not in body, (query, node)
        for word in never:
            assert word not in body, (query, word)
    known = request(server.address, "/?cmd=known&nodes=" + heads.replace(" ", "+")).body
    assert known == b"0" * len(hidden)


def secret_words(repository: Path, hidden: list[str]) -> set[bytes]:
    """What those changesets alone say: the raw nodes of their manifests, a bookmark, a file."""
    told = "secret() or hidden()"
    manifests = WARM(
        "log", "--hidden", "--rev", told, "--template", "{manifest.node}\n", cwd=repository
    ).split()
    visible = WARM(
        "log", "--rev", "not secret()", "--template", "{manifest.node}\n", cwd=repository
    ).split()
    own = {bytes.fromhex(node.decode()) for node in set(manifests) - set(visible)}
    assert len(own) >= 3
    return own | {b"hush\t", b"never tell"}


def test_markers_name_no_secret(repository: Path, server: Serving) -> None:
    """A marker names what it hides, by its nature; no secret changeset is a part of any."""
    secrets = nodes(WARM, repository, "secret()")
    body = request(server.address, "/?cmd=listkeys&namespace=obsolete").body
    (line,) = body.splitlines()
    raw = base64.b85decode(line.split(b"\t")[1])
    gone = nodes(WARM, repository, "hidden() and not secret()", hidden=True)
    assert any(bytes.fromhex(node) in raw for node in gone)
    for node in secrets:
        assert bytes.fromhex(node) not in raw
        assert node.encode() not in body


def test_forced_getbundle_sends_no_secret(repository: Path, server: Serving) -> None:
    """Asked for by its hash, a secret changeset is an unknown head."""
    (secret, *_) = nodes(WARM, repository, "secret()")
    query = f"/?cmd=getbundle&heads={secret}&common={'0' * 40}"
    reply = request(server.address, query, {"X-HgProto-1": "0.2 comp=none"})
    assert b"never tell" not in reply.body
    assert re.search(rb"unknown revision|not found|unknown", reply.body) or reply.status >= 400


def test_publishing_server_makes_public(
    hg: Hg, source: Source, serve: Serve, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    hg("clone", "--noupdate", serve(source("rich")).url, clone)
    assert set(phases(hg, clone).values()) == {"public"}


def test_phase_moves_are_pulled(hg: Hg, source: Source, host: Host, tmp_path: Path) -> None:
    """Draft becomes public, secret becomes draft: the next pull says so."""
    (repository, url), clone = host.take(source("drafts")), tmp_path / "clone"
    hg("clone", "--noupdate", url, clone)
    WARM("phase", "--public", "--rev", "desc('draft 1')", cwd=repository)
    WARM("phase", "--draft", "--rev", "secret()", cwd=repository)
    hg("pull", cwd=clone)
    verify(hg, clone)
    expected = phases(WARM, repository)
    assert phases(hg, clone) == expected
    assert b"hush" in bookmarks(hg, clone)


PRIVATE = WARM.with_config(
    "format.use-internal-phase=yes",
    "format.exp-archived-phase=yes",
    "shelve.store=internal",
    "extensions.strip=",
)


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One public changeset, one in the archived phase, one shelved in an internal phase."""
    repository = tmp_path_factory.mktemp("private") / "repository"
    PRIVATE("init", repository)
    with PRIVATE.session(repository) as work:
        work.write("file", b"public\n")
        work.commit("public")
        work.write("file", b"archived words\n")
        work.commit("archived")
        work("strip", "--soft", "--rev", ".")
        work.write("file", b"shelved words\n")
        work("shelve")
    log = ("log", "--hidden", "--rev", "all()", "--template", "{phase} ")
    assert PRIVATE(*log, cwd=repository) == b"draft archived internal "
    return repository


@pytest.mark.parametrize("how", [(), ("--stream",)], ids=["plain", "stream"])
def test_internal_and_archived_changesets_never_leave(
    hg: Hg, how: tuple[str, ...], private: Path, serve: Serve, tmp_path: Path
) -> None:
    """Neither by a clone, nor by a pull, nor for those who know their hashes."""
    server, clone = serve(private), tmp_path / "clone"
    hg("clone", "--noupdate", *how, server.url, clone)
    assert_same(hg, clone, private, "0", [b"phase"])
    assert b"no changes found" in hg("pull", server.url, cwd=clone)
    public, *unseen = nodes(PRIVATE, private, hidden=True)
    assert nodes(hg, clone, hidden=True) == [public]
    for node in unseen:
        for query in (f"lookup&key={node}", f"getbundle&heads={node}&common={'0' * 40}"):
            reply = request(server.address, f"/?cmd={query}", {"X-HgProto-1": "0.2 comp=none"})
            assert bytes.fromhex(node) not in reply.body
            assert b"words" not in reply.body
            assert (
                b"unknown revision" in reply.body
                or b"hidden" in reply.body
                or (b"not found" in reply.body)
            )
