"""Writes the golden commit streams byte by byte, with none of the encoder's code.

Run: python tests/golden/svn/commit_stream.py. Format: docs/commit-stream.md.
"""

from __future__ import annotations

import struct
from hashlib import sha256
from pathlib import Path

MD5 = bytes.fromhex("5d41402abc4b2a76b9719d911017c592")


def string(value: bytes) -> bytes:
    return struct.pack(">I", len(value)) + value


def record(kind: bytes, *fields: bytes) -> bytes:
    return kind + string(b"".join(fields))


def rev(number: int) -> bytes:
    return struct.pack(">q", number)


def ended(stream: bytes, releases: bool, operations: int) -> bytes:
    stream += b"E" + struct.pack(">I?Q", 41, releases, operations)
    return stream + sha256(stream).digest()


COMMIT = b"".join(
    [
        b"trunkline-commit 1\n",
        record(b"H", string(b"golden-1"), b"\x00"),
        record(b"R", string(b"svn:log"), string(b"Every record once\n")),
        record(b"L", string(b"/trunk/a b"), string(b"opaquelocktoken:0-1")),
        record(b"M", string("/trunk/\u00fc".encode())),
        record(b"D", string(b"/trunk/old"), rev(7)),
        record(b"C", string(b"/tags/1"), string(b"/trunk"), rev(8)),
        record(
            b"P",
            string(b"/trunk"),
            rev(8),
            string(b"svn:ignore"),
            b"\x01",
            string(b"*.o\n"),
            string(b"gone"),
            b"\x00",
        ),
        record(b"T", string(b"/trunk/new"), rev(-1), b"\x01\x00", b"\x00", b"\x10" + MD5),
        record(b"B", b"hel"),
        record(b"B", b"lo"),
        record(b"Z", struct.pack(">Q", 5)),
        record(b"T", string(b"/trunk/a b"), rev(8), b"\x02\x01", b"\x10" + MD5, b"\x00"),
        record(b"B", b"SVN\x00"),
        record(b"Z", struct.pack(">Q", 4)),
    ]
)
QUESTION = b"trunkline-commit 1\n" + record(b"H", string(b"golden-1"), b"\x01")

if __name__ == "__main__":
    folder = Path(__file__).parent
    (folder / "commit-1.stream").write_bytes(ended(COMMIT, True, 6))
    (folder / "question-1.stream").write_bytes(ended(QUESTION, False, 0))
