"""Any edit of a tree survives encode, parse, apply; and no bytes make the parser fail otherwise."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import md5
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.svn.repositories import Core, make_core

from trunkline.errors import PeerError
from trunkline.svn.commit.encoder import Encoder
from trunkline.svn.commit.limits import Limits
from trunkline.svn.commit.names import MAGIC, MEDIA_TYPE
from trunkline.svn.commit.parser import Parser
from trunkline.svn.commit.record import Form, Mode
from trunkline.svn.repository.nodes import Kind, Node
from trunkline.svn.repository.session import Session

GOLDEN = Path(__file__).parents[2] / "golden" / "svn" / "commit-1.stream"
STREAM = GOLDEN.read_bytes()
NUMBERS = count()


@dataclass
class Tree:
    """What a folder or file should be. `text` None: a folder."""

    text: bytes | None = None
    props: dict[bytes, bytes] = field(default_factory=dict)
    children: dict[bytes, Tree] = field(default_factory=dict)

    def at(self, path: bytes) -> Tree | None:
        found: Tree | None = self
        for name in path.split(b"/"):
            if name and found is not None:
                found = found.children.get(name)
        return found

    def clone(self) -> Tree:
        below = {name: child.clone() for name, child in self.children.items()}
        return Tree(self.text, dict(self.props), below)


def read_tree(session: Session, path: bytes, revision: int) -> Tree:
    node = Node(session, session.root(revision), path)
    if node.kind() is Kind.FILE:
        return Tree(b"".join(node.text()), node.props())
    folder = path.rstrip(b"/")
    below = {name: read_tree(session, folder + b"/" + name, revision) for name, _ in node.entries()}
    return Tree(None, node.props(), below)


NAMES = st.sampled_from([b"a", b"b", b"c d", "\u00fc%".encode()])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(lambda names: b"/" + b"/".join(names))
TEXTS = st.binary(max_size=40) | st.integers(0, 400_000).map(bytes)
PROPS = st.dictionaries(
    st.sampled_from([b"p", b"q:r", b"svn:mime-type"]), st.none() | st.just(b"text/plain")
)
Edit = tuple[Any, ...]
EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("mkdir"), PATHS),
        st.tuples(st.just("put"), PATHS, TEXTS, st.booleans()),
        st.tuples(st.just("delete"), PATHS),
        st.tuples(st.just("copy"), PATHS, PATHS),
        st.tuples(st.just("props"), PATHS, PROPS),
    ),
    max_size=25,
)


@pytest.fixture(scope="module")
def core() -> Iterator[Core]:
    with tempfile.TemporaryDirectory() as folder:
        yield from make_core(Path(folder))


def svndiff(text: bytes) -> bytes:
    """Version 0, all of it new: one window after another."""

    def number(value: int) -> bytes:
        digits = [value & 127]
        while value := value >> 7:
            digits.append(value & 127 | 128)
        return bytes(reversed(digits))

    windows = [text[at : at + 100_000] for at in range(0, len(text), 100_000)]
    made = b"SVN\0"
    for data in windows:
        code = b"\x80" + number(len(data))
        made += number(0) + number(0) + number(len(data)) + number(len(code)) + number(len(data))
        made += code + data
    return made


EMPTY = Tree()


class Editor:
    """Edits a model and writes the stream for it; what can't be is left out."""

    def __init__(self, tree: Tree, revision: int) -> None:
        self.tree, self.before, self.revision = tree.clone(), tree, revision
        self.encoder = Encoder(b"key-%d" % next(NUMBERS))
        self.stream = self.encoder.begin() + self.encoder.revprop(b"svn:log", b"m")

    def place(self, path: bytes) -> tuple[Tree | None, bytes]:
        folder, _, name = path.rpartition(b"/")
        found = self.tree.at(folder)
        return (found if found is not None and found.text is None else None), name

    def mkdir(self, path: bytes) -> None:
        folder, name = self.place(path)
        if folder is not None and name not in folder.children:
            folder.children[name] = Tree()
            self.stream += self.encoder.mkdir(path)

    def put(self, path: bytes, text: bytes, is_svndiff: bool) -> None:
        folder, name = self.place(path)
        old = None if folder is None else folder.children.get(name)
        if folder is None or (old is not None and old.text is None):
            return
        mode = Mode.ADD if old is None else Mode.OPEN
        form = Form.SVNDIFF if is_svndiff else Form.WHOLE
        before = None if old is None else md5(old.text or b"").hexdigest().encode()
        digest = md5(text).hexdigest().encode()
        folder.children[name] = Tree(text, {} if old is None else old.props)
        self.stream += self.encoder.text(path, None, mode, form, before, digest)
        self.stream += self.encoder.data(svndiff(text) if is_svndiff else text)
        self.stream += self.encoder.end_text()

    def delete(self, path: bytes) -> None:
        folder, name = self.place(path)
        if folder is not None and folder.children.pop(name, EMPTY) is not EMPTY:
            self.stream += self.encoder.delete(path, None)

    def copy(self, source: bytes, path: bytes) -> None:
        folder, name = self.place(path)
        found = self.before.at(source)
        if folder is not None and name not in folder.children and found is not None:
            folder.children[name] = found.clone()
            self.stream += self.encoder.copy(source, self.revision, path)

    def props(self, path: bytes, changes: dict[bytes, bytes | None]) -> None:
        found = self.tree.at(path)
        if found is None:
            return
        for name, value in changes.items():
            if value is None:
                found.props.pop(name, None)
            else:
                found.props[name] = value
        self.stream += self.encoder.props(path, None, changes.items())


@settings(max_examples=60)
@given(edits=EDITS, cuts=st.lists(st.integers(1, 5000), max_size=8))
def test_any_edit_survives(core: Core, edits: list[Edit], cuts: list[int]) -> None:
    session = Session(core.served.path)
    revision = session.youngest()
    editor = Editor(read_tree(session, b"/", revision), revision)
    for word, *rest in edits:
        getattr(editor, word)(*rest)
    stream = editor.stream + editor.encoder.end(release_locks=False)
    got, answer = core.ask_in_blocks(
        "POST", b"/!svn/me", pieces(stream, cuts), content_type=MEDIA_TYPE
    )
    assert got.status == 200, answer
    assert read_tree(session, b"/", session.youngest()) == editor.tree
    session.close()


def pieces(data: bytes, cuts: list[int]) -> Iterator[bytes]:
    for size in cuts:
        yield data[:size]
        data = data[size:]
    yield data


def is_sound(blocks: list[bytes]) -> bool:
    parser = Parser(Limits(record=1000, text=1000, stream=3000, operations=10))
    try:
        for block in blocks:
            parser.feed(block)
        parser.finish()
    except PeerError as error:
        return error.status not in (400, 413)
    return True


CHANGES = st.lists(
    st.tuples(st.integers(0, len(STREAM)), st.integers(0, 30), st.binary(max_size=12)),
    max_size=4,
)


@settings(max_examples=1500)
@given(changes=CHANGES, cut=st.integers(0, len(STREAM)))
def test_the_parser_says_what_is_wrong_and_nothing_else(
    changes: list[tuple[int, int, bytes]], cut: int
) -> None:
    data = bytearray(STREAM)
    for at, size, new in changes:
        data[at : at + size] = new
    is_same = bytes(data) == STREAM
    assert is_sound([bytes(data[:cut]), bytes(data[cut:])]) == is_same


@settings(max_examples=500)
@given(kinds=st.lists(st.tuples(st.sampled_from(list(b"HRLMDCPTBZE?")), st.binary(max_size=60))))
def test_records_of_any_bytes(kinds: list[tuple[int, bytes]]) -> None:
    head = MAGIC + b"H\0\0\0\6\0\0\0\1k\0"
    body = b"".join(bytes([kind]) + len(data).to_bytes(4, "big") + data for kind, data in kinds)
    for start in (b"", MAGIC, head):
        assert not is_sound([start + body])  # nobody guesses a SHA-256


@settings(max_examples=60)
@given(changes=CHANGES)
def test_a_server_is_never_at_fault(core: Core, changes: list[tuple[int, int, bytes]]) -> None:
    data = bytearray(STREAM)
    for at, size, new in changes:
        data[at : at + size] = new
    got, answer = core.ask("POST", b"/!svn/me", bytes(data), content_type=MEDIA_TYPE)
    assert got.status in (400, 404, 405, 409, 413), answer
