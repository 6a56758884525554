"""Repositories with very many entries, made in no time: files are one node, folders another.

libsvn reads them as any, though none of its tools would write such.
Source: subversion 1.14, libsvn_fs_fs/structure ("Revision file format", physical addressing).
"""

from __future__ import annotations

import re
import subprocess
from hashlib import md5
from pathlib import Path


class Revision:
    """A revision's file, while it is put together."""

    def __init__(self) -> None:
        self.data = b""

    def node(self, name: bytes, kind: bytes, path: bytes, more: bytes = b"") -> bytes:
        """What entries call it."""
        known = b"%s.r1/%d" % (name, len(self.data))
        self.data += b"id: %s\ntype: %s\n%scpath: %s\ncopyroot: 0 /\n\n" % (known, kind, more, path)
        return kind + b" " + known

    def folder(self, name: bytes, path: bytes, entries: dict[bytes, bytes], more: bytes) -> bytes:
        text = b"".join(
            b"K %d\n%s\nV %d\n%s\n" % (len(key), key, len(value), value)
            for key, value in entries.items()
        )
        text += b"END\n"
        digest = md5(text, usedforsecurity=False).hexdigest().encode()
        where = len(self.data)
        self.data += b"PLAIN\n%sENDREP\n" % text
        words = b"%stext: 1 %d %d %d %s\n" % (more, where, len(text), len(text), digest)
        return self.node(name, b"dir", path, words)


def make_wide(path: Path, folders: int, files: int) -> None:
    """`/d0`, `/d1` and so on, each with `f0`, `f1` and so on, which are empty. One revision."""
    words = ["svnadmin", "create", "--compatible-version", "1.8", str(path)]
    subprocess.run(words, check=True)
    db = path / "db"
    found = re.search(rb"id: (0\.0\.r0/\d+)", (db / "revs" / "0" / "0").read_bytes())
    assert found
    revision = Revision()
    file = revision.node(b"1-1.0", b"file", b"/d0/f0", b"count: 0\n")
    entries = {b"f%d" % number: file for number in range(files)}
    folder = revision.folder(b"0-1.0", b"/d0", entries, b"count: 0\n")
    tops = {b"d%d" % number: folder for number in range(folders)}
    root = revision.folder(b"0.0", b"/", tops, b"pred: %s\ncount: 1\n" % found[1])
    changes = len(revision.data)
    added = folder.split()[1]
    revision.data += b"%s add-dir false false /d0\n\n" % added
    revision.data += b"\n%s %d\n" % (root.rpartition(b"/")[2], changes)
    (db / "revs" / "0" / "1").write_bytes(revision.data)
    (db / "revprops" / "0" / "1").write_bytes(b"END\n")
    (db / "current").write_text("1\n")
