from __future__ import annotations

import gzip
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from hashlib import md5
from pathlib import Path

import pytest
import zstandard
from tests.unit.svn.repositories import Core, core, make_core

from trunkline.errors import ClientGone
from trunkline.svn.commit.encoder import Encoder, encode_question
from trunkline.svn.commit.limits import Limits
from trunkline.svn.commit.names import MEDIA_TYPE
from trunkline.svn.commit.record import Form, Mode
from trunkline.svn.dav.request import Answer
from trunkline.svn.dav.stream import key_name
from trunkline.svn.repository.commit import Transaction
from trunkline.svn.repository.fingerprint import (
    is_revision,
    of_changes,
    of_revprops,
    of_transaction,
)
from trunkline.svn.repository.nodes import raw_revprops
from trunkline.svn.repository.session import Session
from trunkline.svn.txn.outcome import Intent

__all__ = ["core"]

Steps = Callable[[Encoder], list[bytes]]


def stream(*steps: Steps, key: bytes = b"k", release: bool = False) -> bytes:
    encoder = Encoder(key)
    pieces = [encoder.begin()]
    for step in steps:
        pieces += step(encoder)
    return b"".join([*pieces, encoder.end(release)])


def put(path: bytes, text: bytes, base: int | None = None, mode: Mode = Mode.EITHER) -> Steps:
    return lambda encoder: [
        encoder.text(path, base, mode, Form.WHOLE, None, md5(text).hexdigest().encode()),
        encoder.data(text),
        encoder.end_text(),
    ]


def log(message: bytes) -> Steps:
    return lambda encoder: [encoder.revprop(b"svn:log", message)]


def mkdir(path: bytes) -> Steps:
    return lambda encoder: [encoder.mkdir(path)]


def delete(path: bytes, base: int | None = None) -> Steps:
    return lambda encoder: [encoder.delete(path, base)]


def post(core: Core, body: bytes, **headers: bytes) -> tuple[Answer, bytes]:
    return core.ask("POST", b"/!svn/me", body, content_type=MEDIA_TYPE, **headers)


def look(core: Core, *words: str) -> bytes:
    return subprocess.run(["svnlook", *words], check=True, capture_output=True).stdout


def is_clean(core: Core) -> bool:
    """No transaction is left, and nothing that says one is made."""
    transactions = subprocess.run(
        ["svnadmin", "lstxns", str(core.disk)], check=True, capture_output=True
    ).stdout
    return not transactions and not list((core.disk.parent / "area").rglob("*.live/*"))


def test_a_commit_in_one_post(core: Core) -> None:
    body = stream(
        log(b"hello"),
        mkdir(b"/d"),
        put(b"/d/f", b"text"),
        lambda encoder: [encoder.copy(b"/trunk", 1, b"/c"), encoder.delete(b"/c/a", 1)],
        put(b"/trunk/a", b"two\n", base=1, mode=Mode.OPEN),
        lambda encoder: [encoder.props(b"/trunk", 1, [(b"p", b"v"), (b"q", None)])],
    )
    core.user = b"alice"
    got, answer = post(core, body)
    assert got.status == 200, answer
    assert b"<D:version-name>2</D:version-name>" in answer
    assert b"<D:creator-displayname>alice</D:creator-displayname>" in answer
    assert look(core, "changed", str(core.disk)) == (
        b"A   c/\nD   c/a\nA   d/\nA   d/f\n_U  trunk/\nU   trunk/a\n"
    )
    assert look(core, "log", str(core.disk)) == b"hello\n"
    assert look(core, "cat", str(core.disk), "d/f") == b"text"
    assert is_clean(core)


def test_a_warning_of_libsvn_ends_nothing(core: Core, caplog: pytest.LogCaptureFixture) -> None:
    """By default it ends the process: two that create one rep-cache at once did so."""
    cache = core.disk / "db" / "rep-cache.db"
    cache.unlink(missing_ok=True)
    cache.mkdir()
    got, answer = post(core, stream(put(b"/f", b"text of a new file\n")))
    assert got.status == 200, answer
    cache.rmdir()
    assert "rep-cache" in caplog.text
    assert is_clean(core)


# -- what can't be


def test_what_has_no_folder_is_named_itself(core: Core) -> None:
    for step in (mkdir(b"/no/d"), put(b"/no/d", b"x")):
        got, answer = post(core, stream(step))
        assert (got.status, b"'/no/d' not found" in answer) == (404, True), answer


REFUSED = [
    (put(b"/trunk/a", b"x", mode=Mode.ADD), 405, 160020, b"/trunk/a"),
    (put(b"/trunk/no", b"x", mode=Mode.OPEN), 404, 160013, b"/trunk/no"),
    (put(b"/trunk", b"x"), 409, 160017, b"/trunk"),
    (put(b"/no/f", b"x"), 404, 160013, b"/no/f"),
    (put(b"/trunk/a/f", b"x"), 409, 160016, b"/trunk/a/f"),
    (put(b"/trunk/a", b"x", base=0), 409, 170004, b"/trunk/a"),
    (put(b"/trunk/a", b"x", base=7), 404, 160006, b"/trunk/a"),
    (mkdir(b"/trunk"), 405, 160020, b"/trunk"),
    (mkdir(b"/no/d"), 404, 160013, b"/no/d"),
    (delete(b"/no"), 404, 160013, b"/no"),
    (delete(b"/trunk", base=0), 409, 170004, b"/trunk"),
    (delete(b"/"), 400, 200004, b"/"),
    (lambda encoder: [encoder.copy(b"/no", 1, b"/c")], 404, 160013, b"/c"),
    (lambda encoder: [encoder.copy(b"/trunk", 9, b"/c")], 404, 160006, b"/c"),
    (lambda encoder: [encoder.copy(b"/trunk", 1, b"/trunk/a")], 405, 160020, b"/trunk/a"),
    (lambda encoder: [encoder.props(b"/no", None, [(b"p", b"v")])], 404, 160013, b"/no"),
    (lambda encoder: [encoder.props(b"/", 1, [(b"svn:log", b"\xff")])], 500, 125005, b"/"),
]


@pytest.mark.parametrize(("step", "status", "code", "path"), REFUSED)
def test_the_first_error_names_its_path(
    core: Core, step: Steps, status: int, code: int, path: bytes
) -> None:
    got, answer = post(core, stream(mkdir(b"/1"), step, mkdir(b"/1")))
    assert b'errcode="%d"' % code in answer
    assert got.status == status
    headers = dict(got.headers)
    assert headers[b"trunkline-commit-path"] == path
    assert headers[b"trunkline-commit-operation"] == b"1"
    assert str(core.disk).encode() not in answer
    assert look(core, "youngest", str(core.disk)) == b"1\n"
    assert is_clean(core)


def test_a_conflict_at_the_end_names_its_path(core: Core) -> None:
    """Somebody else commits while the stream comes in."""
    body = stream(put(b"/trunk/a", b"mine"), key=b"mine")

    def blocks() -> Iterator[bytes]:
        yield body[:-60]
        assert post(core, stream(put(b"/trunk/a", b"theirs"), key=b"theirs"))[0].status == 200
        yield body[-60:]

    got, answer = core.ask_in_blocks("POST", b"/!svn/me", blocks(), content_type=MEDIA_TYPE)
    assert got.status == 409
    assert b'errcode="160024"' in answer
    assert dict(got.headers)[b"trunkline-commit-path"] == b"/trunk/a"
    assert is_clean(core)


def test_checksums_are_held_to(core: Core) -> None:
    for base, result in [(None, b"1" * 32), (b"1" * 32, None)]:

        def lie(
            encoder: Encoder, base: bytes | None = base, result: bytes | None = result
        ) -> list[bytes]:
            form = Form.WHOLE if result else Form.SVNDIFF
            data = b"x" if result else b"SVN\0"
            head = encoder.text(b"/trunk/a", 1, Mode.OPEN, form, base, result)
            return [head, encoder.data(data), encoder.end_text()]

        got, answer = post(core, stream(lie))
        assert (got.status, b'errcode="200014"' in answer) == (500, True), answer
        assert dict(got.headers)[b"trunkline-commit-path"] == b"/trunk/a"
    assert is_clean(core)


def test_a_stream_cut_anywhere_commits_nothing(core: Core) -> None:
    body = stream(log(b"m"), put(b"/f", b"text"), mkdir(b"/d"))
    for cut in range(0, len(body), 7):
        got, _ = post(core, body[:cut])
        assert got.status == 400
    assert post(core, body + b"x")[0].status == 400
    assert look(core, "youngest", str(core.disk)) == b"1\n"
    assert is_clean(core)
    assert post(core, body)[0].status == 200


def test_a_client_that_goes_away_leaves_nothing(core: Core) -> None:
    def blocks() -> Iterator[bytes]:
        yield stream(put(b"/f", b"x" * 1000))[:-500]
        raise ClientGone("the client went away")

    got, _ = core.ask_in_blocks("POST", b"/!svn/me", blocks(), content_type=MEDIA_TYPE)
    assert got.status == 400
    assert is_clean(core)


def test_content_codings(core: Core) -> None:
    def packed(at: int, pack: Callable[[bytes], bytes]) -> bytes:
        return pack(stream(put(b"/f%d" % at, bytes(3_000_000)), key=b"%d" % at))

    zstd = zstandard.ZstdCompressor().compress
    assert post(core, packed(1, zstd), content_encoding=b"zstd")[0].status == 200
    assert post(core, packed(2, gzip.compress), content_encoding=b"gzip")[0].status == 200
    assert post(core, packed(3, zstd), content_encoding=b"br")[0].status == 415
    assert post(core, packed(3, zstd), content_encoding=b"gzip")[0].status == 400
    assert post(core, packed(3, gzip.compress), content_encoding=b"zstd")[0].status == 400
    for pack, coding in ((zstd, b"zstd"), (gzip.compress, b"gzip")):
        for cut in (1, 5, 30):
            got, _ = post(core, packed(3, pack)[:-cut], content_encoding=coding)
            assert got.status in (200, 400)
            assert got.status == 400 or cut < 5  # a checksum of the coding itself
    assert len(look(core, "cat", str(core.disk), "f1")) == 3_000_000


def test_past_a_limit_is_refused(core: Core) -> None:
    small = Limits(record=100, text=50, stream=1000, operations=3, tokens=1, revprops=1)
    core.served = replace(core.served, commit_limits=small)
    token = b"opaquelocktoken:x"
    for step in (
        put(b"/f", b"x" * 51),
        log(b"x" * 100),
        lambda encoder: [encoder.mkdir(b"/d%d" % at) for at in range(4)],
        lambda encoder: [encoder.lock_token(b"/a", token), encoder.lock_token(b"/b", token)],
        lambda encoder: [encoder.revprop(b"a", b""), encoder.revprop(b"b", b"")],
        lambda encoder: [encoder.revprop(b"a", b"x" * 80)] * 20,
    ):
        assert post(core, stream(step))[0].status == 413
    assert is_clean(core)


# -- keys


def test_a_repeated_key_gives_the_first_outcome(core: Core) -> None:
    core.user = b"alice"
    first, answer = post(core, stream(mkdir(b"/d")))
    again, same = post(core, stream(mkdir(b"/e")))
    assert (first.status, again.status, same) == (200, 200, answer)
    assert (b"trunkline-commit-outcome", b"repeated") in again.headers
    assert post(core, encode_question(b"k"))[1] == answer
    refused, _ = post(core, stream(put(b"/d", b""), key=b"2"))
    assert refused.status == 409
    assert post(core, encode_question(b"2"))[0].status == 404  # it wasn't a whole stream
    core.user = b"bob"
    assert post(core, encode_question(b"k"))[0].status == 404
    assert look(core, "youngest", str(core.disk)) == b"2\n"


def test_a_refusal_at_the_end_is_an_outcome(core: Core) -> None:
    hook = core.disk / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho 'no!' >&2; exit 1\n")
    hook.chmod(0o755)
    got, answer = post(core, stream(mkdir(b"/d")))
    assert (got.status, b'errcode="165001"' in answer, b"no!" in answer) == (500, True, True)
    hook.unlink()
    assert post(core, stream(mkdir(b"/d")))[1] == answer
    assert post(core, stream(mkdir(b"/d"), key=b"other"))[0].status == 200


def died_with(core: Core, key: bytes, is_committed: bool) -> None:
    """As a worker leaves it that dies between the commit and the note of it, or just before."""
    got, _ = post(core, stream(log(b"m"), mkdir(b"/d"), put(b"/d/f", b"x"), key=b"real"))
    assert got.status == 200
    outcomes = core.served.area.outcomes(core.served.path, Session(core.served.path).uuid)
    session = Session(core.served.path)
    root = session.root(2 if is_committed else 1)
    props = raw_revprops(session, 2)
    with outcomes.hold(key_name(None, key), 0) as held:
        held.write(Intent(1, of_revprops(props), of_changes(session, root)))


@pytest.mark.parametrize("is_committed", [True, False])
def test_what_a_dead_worker_committed_is_found(core: Core, is_committed: bool) -> None:
    died_with(core, b"dead", is_committed)
    post(core, stream(mkdir(b"/later"), key=b"later"))
    got, answer = post(core, encode_question(b"dead"))
    assert got.status == (200 if is_committed else 404)
    assert (b"<D:version-name>2</D:version-name>" in answer) == is_committed
    got, again = post(core, stream(mkdir(b"/new"), key=b"dead"))
    assert (got.status, again == answer) == (200, is_committed)


def test_the_mark_of_a_transaction_is_its_revision_s(core: Core) -> None:
    """Copies, replacements, properties, merged with what others committed meanwhile."""
    session = Session(core.served.path)
    with Transaction(session, 1, {b"svn:log": b"m", b"svn:txn-user-agent": b"x"}) as made:
        made.copy(1, b"/trunk", b"/c")
        made.set_text(b"/c/a", [b"new"], None)
        made.delete(b"/trunk/a")
        made.make_dir(b"/trunk/a")
        made.set_prop(b"/trunk", b"p", b"v")
        post(core, stream(mkdir(b"/meanwhile")))
        mark = of_transaction(session, made)
        done = made.commit()
    assert done.revision == 3
    assert [is_revision(session, at, mark) for at in range(4)] == [False, False, False, True]
    session.close()


def test_what_a_dead_worker_was_filling_is_removed(core: Core) -> None:
    session = Session(core.served.path)
    live = core.served.area.live(core.served.path, session.uuid)
    left = Transaction(session, 1, {})
    with suppress(KeyError), live.filling(left.name):
        post(core, stream(mkdir(b"/d")))
        assert not is_clean(core)  # somebody fills it
        raise KeyError
    folder = next((core.disk.parent / "area").glob("*.live"))
    (folder / left.name.decode()).touch()
    post(core, stream(mkdir(b"/e"), key=b"2"))
    assert is_clean(core)
    session.close()


# -- locks, hooks, access

LOCK = (
    b'<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>'
    b"<D:locktype><D:write/></D:locktype></D:lockinfo>"
)


def test_locks(core: Core) -> None:
    core.user = b"alice"
    got, _ = core.ask("LOCK", b"/trunk/a", LOCK)
    token = dict(got.headers)[b"lock-token"].strip(b"<>")
    give: Steps = lambda encoder: [encoder.lock_token(b"/trunk/a", token)]  # noqa: E731
    for step, code in ((put(b"/trunk/a", b"x"), 160038), (delete(b"/trunk"), 160037)):
        got, answer = post(core, stream(step))
        assert (got.status, b'errcode="%d"' % code in answer) == (423, True), answer
    core.user = b"bob"
    got, answer = post(core, stream(give, put(b"/trunk/a", b"x")))
    assert got.status == 423
    core.user = b"alice"
    assert post(core, stream(give, put(b"/trunk/a", b"x"), key=b"1"))[0].status == 200
    assert look(core, "lock", str(core.disk), "/trunk/a")
    body = stream(give, put(b"/trunk/a", b"y"), key=b"2", release=True)
    assert post(core, body)[0].status == 200
    assert not look(core, "lock", str(core.disk), "/trunk/a")


def test_hooks_see_what_they_see_of_a_stock_commit(core: Core) -> None:
    for name, words in (
        ("start-commit", 'echo "start $2 $3" >>"$1/said"'),
        ("pre-commit", 'svnlook propget -t "$2" --revprop "$1" svn:txn-user-agent >>"$1/said"'),
        ("post-commit", 'echo "post $2" >>"$1/said"; echo oh >&2; exit 1'),
    ):
        path = core.disk / "hooks" / name
        path.write_text("#!/bin/sh\nPATH=/usr/bin:/bin:/usr/local/bin\n" + words + "\n")
        path.chmod(0o755)
    core.user = b"alice"
    agent: Steps = lambda encoder: [encoder.revprop(b"svn:txn-user-agent", b"it")]  # noqa: E731
    liar: Steps = lambda encoder: [encoder.revprop(b"svn:author", b"bob")]  # noqa: E731
    got, answer = post(core, stream(agent, liar, mkdir(b"/d")), dav=b"http://x")
    assert (got.status, b"post-commit-err" in answer, b"oh" in answer) == (200, True, True)
    assert (core.disk / "said").read_text() == "start alice \nitpost 2\n"
    props = look(core, "proplist", "--revprop", str(core.disk)).split()
    assert sorted(props) == [b"svn:author", b"svn:date"]
    assert look(core, "author", str(core.disk)) == b"alice\n"


RULES = "[/]\n* = rw\n[/trunk]\n* = r\n[/secret]\n* =\n"


def test_each_operation_is_judged(tmp_path: Path) -> None:
    for judged in make_core(tmp_path, RULES):
        core = judged
        assert post(core, stream(mkdir(b"/secret2")))[0].status == 200
        for at, step in enumerate(
            [
                put(b"/trunk/a", b"x"),
                put(b"/trunk/new", b"x"),
                mkdir(b"/trunk/d"),
                mkdir(b"/secret"),
                delete(b"/trunk"),
                lambda encoder: [encoder.props(b"/trunk", 1, [(b"p", b"v")])],
                lambda encoder: [encoder.copy(b"/secret", 1, b"/c")],
                lambda encoder: [encoder.copy(b"/trunk", 1, b"/secret")],
            ]
        ):
            got, answer = post(core, stream(step, key=b"%d" % at))
            assert (got.status, b'errcode="175013"' in answer) == (403, True), at
        core.served = replace(core.served, has_logins=True)
        assert post(core, stream(mkdir(b"/trunk/d"), key=b"x"))[0].status == 401
        assert is_clean(core)


def test_it_is_advertised(core: Core) -> None:
    got, _ = core.ask("OPTIONS", b"/")
    assert (b"svn-supported-posts", b"trunkline-commit-1") in got.headers


def test_a_revision_is_as_stock_writes_it(core: Core, tmp_path: Path) -> None:
    stock = tmp_path / "stock"
    subprocess.run(["svnadmin", "hotcopy", str(core.disk), str(stock)], check=True)
    (tmp_path / "text").write_bytes(b"text")
    words = ["mkdir", "d", "put", str(tmp_path / "text"), "d/f", "cp", "1", "trunk", "c"]
    words += ["rm", "c/a", "propset", "p", "v", "trunk", "put", str(tmp_path / "text"), "trunk/a"]
    command = ["svnmucc", "--username", "alice", "-m", "m", "-U", stock.as_uri(), *words]
    subprocess.run(command, check=True, capture_output=True)
    core.user = b"alice"
    body = stream(
        log(b"m"),
        mkdir(b"/d"),
        put(b"/d/f", b"text"),
        lambda encoder: [encoder.copy(b"/trunk", 1, b"/c"), encoder.delete(b"/c/a", None)],
        lambda encoder: [encoder.props(b"/trunk", None, [(b"p", b"v")])],
        put(b"/trunk/a", b"text"),
    )
    assert post(core, body)[0].status == 200
    assert dump(core.disk) == dump(stock)


def dump(disk: Path) -> list[bytes]:
    """Without the dates."""
    command = ["svnadmin", "dump", "-q", "-r2", "--incremental", str(disk)]
    lines = subprocess.run(command, check=True, capture_output=True).stdout.splitlines()
    return [line for line in lines if not line.startswith((b"20", b"UUID"))]
