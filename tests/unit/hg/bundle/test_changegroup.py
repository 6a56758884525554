"""Changegroups held to the very bytes of Mercurial's own packer, and to its `verify`."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from mercurial import changegroup as stock
from tests.unit.hg.bundle import histories
from tests.unit.hg.bundle.histories import Step
from tests.unit.hg.store import repositories

from trunkline.errors import StoreError
from trunkline.hg.bundle.changegroup import changegroup
from trunkline.hg.bundle.outgoing import make_outgoing, outgoing_from_roots
from trunkline.hg.bundle.packing import BLOCK
from trunkline.hg.node import Node
from trunkline.hg.store.delta import apply_patches
from trunkline.hg.store.view import View

VERSIONS = [b"01", b"02", b"03"]


def pack(
    view: View, version: bytes, heads: list[Node] | None = None, common: list[Node] | None = None
) -> bytes:
    return b"".join(changegroup(view, make_outgoing(view, heads or [], common or []), version))


@pytest.fixture(scope="module", params=repositories.FORMATS)
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("changegroup") / request.param
    return repositories.sample(path, *repositories.FORMATS[request.param])


@pytest.mark.parametrize("version", VERSIONS)
def test_clone_is_stocks_to_the_byte(sample: Path, version: bytes) -> None:
    repo = histories.open_repository(sample)
    assert pack(histories.view(sample), version) == histories.stock_changegroup(
        repo, [], [], version
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_each_pull_is_stocks_to_the_byte(sample: Path, version: bytes) -> None:
    repo, view = histories.open_repository(sample), histories.view(sample)
    nodes = [view.node(rev) for rev in range(view.graph.count)]
    for at in range(len(nodes)):
        ours = pack(view, version, nodes[-1:], [nodes[at]])
        assert ours == histories.stock_changegroup(repo, nodes[-1:], [nodes[at]], version)


def test_blocks_are_large_and_few(tmp_path: Path) -> None:
    noise = [os.urandom(2000).hex().encode() + b"\n" for _ in range(3000)]
    repositories.make(tmp_path)
    with repositories.writing(tmp_path) as hg:
        for n in range(8):
            files = {"a": b"".join(noise[n * 300 :]), f"small{n}": b"x"}
            repositories.commit(hg, tmp_path, files, str(n))
    view = histories.view(tmp_path)
    sizes = [len(b) for b in changegroup(view, make_outgoing(view, [], []), b"03")]
    assert sum(sizes) > 8 * BLOCK
    assert max(sizes) < 2 * BLOCK
    assert len(sizes) < 2 * sum(sizes) / BLOCK + 2
    repo = histories.open_repository(tmp_path)
    assert pack(view, b"03") == histories.stock_changegroup(repo, [], [], b"03")


# -- revisions that an outside changeset brought first


def twins() -> list[Step]:
    """Steps 1 and 2 bring the same file revision (and the same manifest) beside each other."""
    same = {b"a": 1, b"b": 2}
    return [
        Step((), {b"a": 0, b"b": 0, b"c": 0}),
        Step((0,), same),
        Step((0,), same),
        Step((2,), {b"c": 1}),
    ]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("is_secret", [False, True])
def test_twin_of_an_outside_changeset_is_whole(
    tmp_path: Path, version: bytes, is_secret: bool
) -> None:
    steps = twins()
    steps[1] = Step((0,), steps[1].files, is_secret)
    repo = histories.make(tmp_path / "source", steps)
    view = histories.view(tmp_path / "source")
    head = Node(repo[3].node())
    groups = histories.unpack(pack(view, version, [] if is_secret else [head]), version)
    assert [len(groups[name].revisions) for name in (b"", b"\0", b"a", b"c")] == [3, 3, 2, 2]
    link = next(reversed(groups[b"a"].revisions.values()))[2]
    assert link == repo[2].node()
    theirs = histories.stock_changegroup(repo, [head], [], version)
    assert groups == histories.unpack(theirs, version)
    client = histories.open_repository(tmp_path / "client", create=True)
    histories.apply(client, pack(view, version, [head]), version)
    assert histories.complaints(histories.open_repository(tmp_path / "client")) == 0


def test_twin_is_found_whichever_side_is_larger(tmp_path: Path) -> None:
    """Few outside changesets: their files are looked at; many: the files of the sent ones."""
    steps = twins()[:2] + [Step((1,), {b"far": n % 3}) for n in range(9)] + [Step((0,), {b"a": 1})]
    repo = histories.make(tmp_path, steps)
    view = histories.view(tmp_path)
    head = Node(repo[len(steps) - 1].node())
    groups = histories.unpack(pack(view, b"02", [head]), b"02")
    assert groups == histories.unpack(histories.stock_changegroup(repo, [head], [], b"02"), b"02")
    assert len(groups[b"a"].revisions) == 2


def test_manifests_out_of_order_do_not_hide_a_twin(tmp_path: Path) -> None:
    """Step 2's manifest stands after step 3's, as a delta against it: old servers left that."""
    steps = [
        Step((), {b"a": 0, b"b": 0, b"c": 0}),
        Step((0,), {b"a": 1}, is_secret=True),
        Step((0,), {b"a": 1, b"b": 1}),
        Step((0,), {b"a": 1, b"c": 2}),
    ]
    origin = histories.make(tmp_path / "origin", steps)
    data = histories.swap_last_manifests(origin)
    repo = histories.open_repository(tmp_path / "source", create=True)
    histories.apply(repo, data, b"02", keeps_deltas=True)
    view = histories.view(tmp_path / "source")
    manifest = view.snapshot.manifest()
    assert [manifest.linkrev(rev) for rev in range(4)] == [0, 1, 3, 2]
    assert manifest.base(3) == 2
    heads = [Node(origin[2].node()), Node(origin[3].node())]
    groups = histories.unpack(pack(view, b"02", heads), b"02")
    assert groups[b"a"].revisions[origin[2].filenode(b"a")][2] == origin[2].node()


# -- what can't be a delta


@pytest.fixture
def censored(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    repositories.make(path)
    with repositories.writing(path) as hg:
        for n in range(4):
            text = b"".join(b"%d\n" % k for k in range(n, n + 400))
            repositories.commit(hg, path, {"a": text, f"other{n}": b"x"}, str(n))
        hg("--config", "extensions.censor=", "censor", "-r", "1", "--no-check-heads", "a")
    return path


@pytest.mark.parametrize("version", [b"02", b"03"])
def test_censored_revision_goes_as_its_tombstone(
    censored: Path, tmp_path: Path, version: bytes
) -> None:
    repo, data = histories.open_repository(censored), pack(histories.view(censored), version)
    assert data == histories.stock_changegroup(repo, [], [], version)
    histories.apply(histories.open_repository(tmp_path / "c", create=True), data, version)
    filelog = histories.open_repository(tmp_path / "c").file(b"a")
    assert [filelog.node(rev) for rev in filelog] == [repo[n].filenode(b"a") for n in range(4)]
    assert filelog.iscensored(filelog.rev(repo[1].filenode(b"a")))
    assert filelog.read(repo[3].filenode(b"a")) == repo[3][b"a"].data()


def test_censored_revision_is_replaced_as_a_whole_in_version_01(censored: Path) -> None:
    """Stock's own packer fails here. No delta is made from a tombstone's lines, so that a client
    can tell that it is one.
    """
    repo = histories.open_repository(censored)
    groups = histories.split_groups(pack(histories.view(censored), b"01"))
    chunks = next(group[1:] for group in groups if group and group[0] == b"a")
    texts = [b""]
    for chunk in chunks[:4]:
        texts.append(apply_patches(texts[-1], [chunk[80:]]))
    assert texts[2].startswith(b"\1\ncensored:")
    assert texts[3:] == [repo[n][b"a"].data() for n in (2, 3)]
    assert [len(chunks[n]) - 92 for n in (1, 2)] == [len(texts[2]), len(texts[3])]


# -- the commands before getbundle


def test_descendants_of_roots(tmp_path: Path) -> None:
    repo = histories.make(tmp_path, [*twins(), Step((1,), {b"c": 2}), Step((3, 4), {b"b": 1})])
    view = histories.view(tmp_path)
    node = [Node(repo[n].node()) for n in range(6)]
    outgoing = outgoing_from_roots(view, [node[2]], [node[5]])
    assert outgoing.sent.tolist() == [2, 3, 5]
    assert sorted(outgoing.common) == [0, 4]
    everything = outgoing_from_roots(view, [Node(bytes(20))], [])
    assert everything.sent.tolist() == list(range(6))
    data = b"".join(changegroup(view, outgoing, b"01"))
    client = histories.open_repository(tmp_path / "client", create=True)
    histories.apply(client, histories.stock_changegroup(repo, [node[4]], [], b"02"), b"02")
    histories.apply(histories.open_repository(tmp_path / "client"), data, b"01")
    assert histories.complaints(histories.open_repository(tmp_path / "client")) == 0


# -- damage and change


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    histories.make(tmp_path, twins())
    return tmp_path


def test_missing_filelog_breaks_the_stream(plain: Path) -> None:
    view = histories.view(plain)
    (plain / ".hg/store/data/b.i").unlink()
    with pytest.raises(StoreError, match=r"no revisions of a file .*/\.hg/store/data/b\.i\]"):
        pack(view, b"03")


def test_file_of_a_changeset_that_is_not_there_breaks_the_stream(plain: Path) -> None:
    view = histories.view(plain)
    index = plain / ".hg/store/data/b.i"
    data = bytearray(index.read_bytes())
    data[20:24] = b"\xff\xff\xff\xfe"
    index.write_bytes(data)
    with pytest.raises(StoreError, match=r"changeset -2, which isn't there .*b\.i at byte 0\]"):
        pack(view, b"03")


def test_parent_that_is_not_there_breaks_the_stream(plain: Path) -> None:
    index = plain / ".hg/store/data/b.i"
    data = bytearray(index.read_bytes())
    data[24:28] = b"\0\0\0\x70"
    index.write_bytes(data)
    with pytest.raises(StoreError, match=r"a parent that isn't there .*b\.i at byte 0\]"):
        pack(histories.view(plain), b"03")


def test_strip_in_mid_stream_is_seen_before_the_last_block(plain: Path) -> None:
    view = histories.view(plain)
    blocks = changegroup(view, make_outgoing(view, [], []), b"03")
    index = plain / ".hg/store/00changelog.i"
    index.write_bytes(index.read_bytes()[:200])
    with pytest.raises(StoreError, match="stripped"):
        list(blocks)


def test_nothing_to_send_is_four_empty_groups(plain: Path) -> None:
    view = histories.view(plain)
    tips = list(view.heads)
    assert pack(view, b"02", tips, tips) == bytes(12)
    assert pack(view, b"03", tips, tips) == bytes(16)
    reader = stock.getunbundler(b"03", io.BytesIO(bytes(16)), b"UN")
    assert list(reader.deltaiter()) == []


RAW = {("format", "revlog-compression"): "none"}


@pytest.mark.parametrize("version", [b"01", b"02", b"03"])
@pytest.mark.parametrize("log", ["00changelog", "00manifest", "data/b"])
def test_changed_bytes_of_a_full_text_break_the_stream(
    tmp_path: Path, log: str, version: bytes
) -> None:
    """Chunks are stored as they are, so nothing but the hash can tell."""
    histories.make(tmp_path / "r", [Step((), {b"b": 1}), Step((0,), {b"b": 2})], RAW)
    index = tmp_path / f"r/.hg/store/{log}.i"
    data = index.with_suffix(".d") if index.with_suffix(".d").exists() else index
    damaged = bytearray(data.read_bytes())
    at = (0 if data != index else 64) + 45
    damaged[at] ^= 1
    data.write_bytes(damaged)
    start = 0 if data != index else 64
    where = rf"isn't what its node says \[.*/{data.name} at byte {start}\]"
    with pytest.raises(StoreError, match=where):
        pack(histories.view(tmp_path / "r"), version)
