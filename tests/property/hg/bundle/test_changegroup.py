"""Whatever the history, a client that gets our changegroup is whole, and gets what stock sends."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.hg.bundle import histories
from tests.unit.hg.bundle.histories import Step

from trunkline.hg.bundle.changegroup import changegroup
from trunkline.hg.bundle.outgoing import make_outgoing

NAMES = [b"a", b"b", b"dir/c"]
FORMATS: list[dict[tuple[str, str], str]] = [
    {},
    {("format", "usegeneraldelta"): "no", ("format", "sparse-revlog"): "no"},
    {("format", "revlog-compression"): "zlib", ("format", "sparse-revlog"): "no"},
]
FILES = st.dictionaries(st.sampled_from(NAMES), st.one_of(st.none(), st.integers(0, 2)), max_size=2)


@st.composite
def steps(draw: st.DrawFn) -> list[Step]:
    found: list[Step] = []
    for number in range(draw(st.integers(2, 16))):
        near = st.integers(max(0, number - 6), max(0, number - 1))
        count = draw(st.sampled_from([1, 1, 1, 2, 2, 0])) if number else 0
        parents = tuple(dict.fromkeys(draw(near) for _ in range(count)))
        found.append(Step(parents, draw(FILES), draw(st.sampled_from([False] * 9 + [True]))))
    return found


@settings(max_examples=40)
@given(st.data())
def test_client_is_whole_and_gets_what_stock_sends(data: st.DataObject) -> None:
    history = data.draw(steps())
    version = data.draw(st.sampled_from([b"01", b"02", b"03"]))
    config = data.draw(st.sampled_from(FORMATS))
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "source"), Path(folder, "target")
        repo = histories.make(source, history, config)
        view = histories.view(source)
        visible = [view.node(rev) for rev in view.graph.all.tolist()]
        if not visible:
            return
        some = st.lists(st.sampled_from(visible), max_size=3, unique=True)
        heads, common = data.draw(some), data.draw(some)
        client = histories.open_repository(target, create=True)
        if common:
            start = histories.stock_changegroup(repo, common, [], b"02")
            histories.apply(client, start, b"02")
            client = histories.open_repository(target)
        ours = b"".join(changegroup(view, make_outgoing(view, heads, common), version))
        theirs = histories.stock_changegroup(repo, heads, common, version)
        compare(histories.unpack(ours, version), histories.unpack(theirs, version), client)
        if ours != theirs:
            assert len(ours) <= len(theirs)
        histories.apply(client, ours, version)
        assert histories.complaints(histories.open_repository(target)) == 0


def compare(
    ours: dict[bytes, histories.Group], theirs: dict[bytes, histories.Group], client: Any
) -> None:
    """The same, except that stock also sends some revisions that the client has already."""
    assert ours.keys() <= theirs.keys()
    for name, group in theirs.items():
        found = ours[name].revisions if name in ours else {}
        assert found.items() <= group.revisions.items()
        for node in group.revisions.keys() - found.keys():
            assert histories.has(client, name, node)
