"""A commit being put together: each step checked against the tree as it is by then, and written
down; at the end all steps are replayed into one transaction of libsvn's.

Steps, as the journal has them (paths as text, values in base64):
    ["mkdir", path]  ["file", path]  ["delete", path]  ["copy", revision, source, path]
    ["put", path, body, is svndiff, base MD5, MD5]  ["props", path, [[name, value], ...]]
    ["revprops", [[name, value], ...]]  ["tokens", [[path, token], ...]]
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from hashlib import md5
from threading import Lock
from typing import Any

from trunkline.errors import PeerError
from trunkline.svn.repository import error as codes
from trunkline.svn.repository.commit import Committed, Transaction, svndiff_md5
from trunkline.svn.repository.error import SvnError
from trunkline.svn.repository.library import Pool, check, ffi, lib
from trunkline.svn.repository.nodes import Kind
from trunkline.svn.repository.session import Session
from trunkline.svn.txn.area import Record, Stored, pack, unpack
from trunkline.svn.txn.overlay import Body, Found, Origin, Overlay, origin_node

KEPT = 64  # transactions of which a worker remembers what it read

Props = list[tuple[bytes, bytes | None]]


class Known:
    """What the threads of a worker have read of one journal: each line once, whoever needs it."""

    def __init__(self, stored: Stored) -> None:
        self.overlay = Overlay(stored.head().base)
        self._offset = 0
        self._lock = Lock()

    def catch_up(self, stored: Stored) -> None:
        with self._lock:
            records, self._offset = stored.read(self._offset)
            for record in records:
                note(self.overlay, record)


class Memory:
    """Journals that were read so far, so that a step costs the steps since the last one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[str, Known] = OrderedDict()

    def of(self, stored: Stored) -> Known:
        with self._lock:
            known = self._kept.get(stored.path)
            if known is None:
                known = self._kept[stored.path] = Known(stored)
            self._kept.move_to_end(stored.path)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return known


MEMORY = Memory()


class Assembly:
    def __init__(self, session: Session, stored: Stored) -> None:
        self._session = session
        self.stored = stored
        self.base = stored.head().base
        self._known = MEMORY.of(stored)
        self._overlay = self._known.overlay
        self._known.catch_up(stored)

    def __enter__(self) -> Assembly:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def _add(self, record: Record) -> None:
        self.stored.append(record)
        self._known.catch_up(self.stored)

    def find(self, path: bytes) -> Found:
        return self._overlay.find(self._session, path)

    # -- steps. Each raises SvnError or PeerError for what can't be.

    def need(self, path: bytes) -> Found:
        found = self.find(path)
        if found.kind is Kind.NONE:
            raise self.missing(path)
        return found

    def missing(self, path: bytes) -> SvnError:
        name = self.stored.name.decode()
        text = f"File not found: transaction '{name}', path '{shown(path)}'"
        return SvnError(codes.FS_NOT_FOUND, text)

    def need_parent(self, path: bytes) -> None:
        parent = path.rpartition(b"/")[0] or b"/"
        kind = self.find(parent).kind
        if kind is Kind.NONE:
            raise self.missing(path)
        if kind is Kind.FILE:
            raise SvnError(codes.FS_NOT_DIRECTORY, f"'{shown(parent)}' is not a directory")

    def mkdir(self, path: bytes) -> None:
        if self.find(path).kind is not Kind.NONE:
            raise SvnError(codes.FS_ALREADY_EXISTS, f"Path already exists, path '{shown(path)}'")
        self.need_parent(path)
        self._add(["mkdir", path.decode()])

    def delete(self, path: bytes, version: int | None) -> None:
        self.check_version(path, self.need(path), version)
        self._add(["delete", path.decode()])

    def copy(self, source: Origin, path: bytes, overwrite: bool) -> bool:
        """Whether something was replaced."""
        kind = origin_node(self._session, source).kind()
        if kind is Kind.NONE:
            raise SvnError(codes.FS_NOT_FOUND, f"Path '{shown(source.path)}' not found")
        self.need_parent(path)
        is_there = self.find(path).kind is not Kind.NONE
        if is_there and not overwrite:
            raise PeerError("Destination is not empty and Overwrite is not 'T'", status=412)
        self._add(["copy", source.revision, source.path.decode(), path.decode(), int(kind)])
        return is_there

    def set_props(self, path: bytes, props: Props, version: int | None) -> None:
        self.check_version(path, self.need(path), version)
        self._add(["props", path.decode(), [[name.decode(), pack(value)] for name, value in props]])

    def set_revprops(self, props: Props) -> None:
        self._add(["revprops", [[name.decode(), pack(value)] for name, value in props]])

    def add_tokens(self, tokens: list[tuple[bytes, bytes]]) -> None:
        if tokens:
            self._add(["tokens", [[path.decode(), token.decode()] for path, token in tokens]])

    def put(
        self,
        path: bytes,
        blocks: Iterable[bytes],
        is_svndiff: bool,
        base_md5: bytes | None,
        result_md5: bytes | None,
        version: int | None,
    ) -> tuple[bool, bytes]:
        """Whether the file is new, and its MD5."""
        found = self.find(path)
        if found.kind is Kind.DIR:
            raise PeerError("PUT: there is a folder", status=405)
        if version is not None and found.kind is Kind.NONE:
            raise self.missing(path)  # that was opened, not added
        self.need_parent(path)
        self.check_version(path, found, version)
        name = self.stored.spool(blocks)
        try:
            digest = self._digest(found, name, is_svndiff, base_md5)
            if result_md5 and result_md5.lower() != digest:
                raise mismatch(path, result_md5, digest)
        except BaseException:
            self.stored.forget_body(name)
            raise
        is_new = found.kind is Kind.NONE
        base = None if base_md5 is None else base_md5.decode()
        word = "file" if is_new else "put"
        self._add([word, path.decode(), name, is_svndiff, base, digest.decode()])
        return is_new, digest

    def check_version(self, path: bytes, found: Found, version: int | None) -> None:
        """Whether the client knew the newest there is. Source: mod_dav_svn/repos.c."""
        if version is None or found.origin is None or found.kind is Kind.NONE:
            return
        created = origin_node(self._session, found.origin).created_rev()
        if version < created:
            what = "Directory" if found.kind is Kind.DIR else "File"
            raise SvnError(codes.RA_OUT_OF_DATE, f"{what} '{shown(path)}' is out of date")
        if version > self.base:
            raise SvnError(codes.FS_NO_SUCH_REVISION, f"No such revision {version}")

    @property
    def tokens(self) -> frozenset[bytes]:
        """Lock tokens that came with earlier steps."""
        return frozenset(self._overlay.tokens)

    # -- texts

    def _digest(self, found: Found, name: str, is_svndiff: bool, base_md5: bytes | None) -> bytes:
        blocks = self.stored.body(name)
        if not is_svndiff:
            whole = md5(usedforsecurity=False)
            for block in blocks:
                whole.update(block)
            return whole.hexdigest().encode()
        with Pool(self._session.pool) as pool:
            source = self._text(found, base_md5, pool)
            target = lib.svn_stream_empty(pool.handle)
            return svndiff_md5(self._session, source, blocks, target, pool)

    def _text(self, found: Found, base_md5: bytes | None, pool: Pool) -> Any:
        """A stream of what the file is now."""
        bodies = found.leaf.bodies if found.leaf else []
        if bodies:
            return self._put_text(found, pool)
        if found.origin is None or found.kind is Kind.NONE:
            return lib.svn_stream_empty(pool.handle)
        node = origin_node(self._session, found.origin)
        known = node.checksum(force=False)
        if base_md5 and known and base_md5.lower() != known:
            raise mismatch(found.origin.path, base_md5, known)
        out = ffi.new("svn_stream_t **")
        check(lib.svn_fs_file_contents(out, node.root, node.path, pool.handle))
        return out[0]

    def _put_text(self, found: Found, pool: Pool) -> Any:
        """Of a file that was put before in this transaction: made anew from its bodies."""
        assert found.leaf is not None
        body = found.leaf.bodies[-1]
        path = self.stored.body_path(body.name)
        if body.is_svndiff:
            before = Found(found.kind, found.origin, None)
            if len(found.leaf.bodies) > 1:
                raise PeerError("PUT: a file can be changed twice at most in one commit", 409)
            source = self._text(before, None, pool)
            path += "-text"
            out = ffi.new("svn_stream_t **")
            check(lib.svn_stream_open_writable(out, path.encode(), pool.handle, pool.handle))
            svndiff_md5(self._session, source, self.stored.body(body.name), out[0], pool)
        out = ffi.new("svn_stream_t **")
        check(lib.svn_stream_open_readonly(out, path.encode(), pool.handle, pool.handle))
        return out[0]

    # -- the end

    def revprops(self) -> dict[bytes, bytes]:
        props: dict[bytes, bytes] = {}
        for record in self.stored.read(0)[0]:
            if record[0] == "revprops":
                for name, value in record[1]:
                    if value is None:
                        props.pop(name.encode(), None)
                    else:
                        props[name.encode()] = unpack(value) or b""
        return props

    def commit(self, tokens: list[tuple[bytes, bytes]]) -> Committed:
        """Raises: SvnError; the transaction then stays."""
        records, _ = self.stored.read(0)
        for record in records:
            if record[0] == "tokens":
                tokens = [*tokens, *((path.encode(), token.encode()) for path, token in record[1])]
        self._session.add_lock_tokens(tokens)
        revprops = self.revprops()
        user = self.stored.head().user
        revprops.pop(b"svn:author", None)  # whoever a client says it is
        if user is not None:
            revprops[b"svn:author"] = user
        with Transaction(self._session, self.base, revprops) as transaction:
            for record in records:
                step = REPLAYS.get(record[0])
                if step is not None:
                    step(transaction, self.stored, record)
            return transaction.commit()


def shown(path: bytes) -> str:
    return path.decode("utf-8", "replace")


def mismatch(path: bytes, expected: bytes, actual: bytes) -> SvnError:
    return SvnError(
        codes.CHECKSUM_MISMATCH,
        f"Checksum mismatch for '{shown(path)}':\n"
        f"   expected:  {expected.decode('latin-1')}\n     actual:  {actual.decode()}\n",
    )


def note(overlay: Overlay, record: Record) -> None:
    """What a step does to the tree."""
    word, *rest = record
    if word == "mkdir":
        overlay.make(rest[0].encode(), Kind.DIR)
    elif word == "delete":
        overlay.delete(rest[0].encode())
    elif word == "copy":
        overlay.copy(Origin(rest[0], rest[1].encode()), Kind(rest[3]), rest[2].encode())
    elif word in ("file", "put"):
        path, name, is_svndiff, _, digest = rest
        if word == "file":
            overlay.make(path.encode(), Kind.FILE)
        overlay.put(path.encode(), Body(name, is_svndiff, digest.encode()))
    elif word == "tokens":
        overlay.tokens.update(token.encode() for _, token in rest[0])
    elif word == "props":
        overlay.touch(rest[0].encode())


def replay_text(transaction: Transaction, stored: Stored, record: Record) -> None:
    word, path, name, is_svndiff, base, digest = record
    if word == "file":
        transaction.make_file(path.encode())
    blocks = stored.body(name)
    if is_svndiff:
        base_md5 = None if base is None else base.encode()
        transaction.apply_svndiff(path.encode(), blocks, base_md5, digest.encode())
    else:
        transaction.set_text(path.encode(), blocks, digest.encode())


def replay_copy(transaction: Transaction, _stored: Stored, record: Record) -> None:
    transaction.copy(record[1], record[2].encode(), record[3].encode())


def replay_props(transaction: Transaction, _stored: Stored, record: Record) -> None:
    for name, value in record[2]:
        transaction.set_prop(record[1].encode(), name.encode(), unpack(value))


Replay = Callable[[Transaction, Stored, Record], None]

REPLAYS: dict[str, Replay] = {
    "mkdir": lambda transaction, _, record: transaction.make_dir(record[1].encode()),
    "delete": lambda transaction, _, record: transaction.delete(record[1].encode()),
    "copy": replay_copy,
    "file": replay_text,
    "put": replay_text,
    "props": replay_props,
}
