from __future__ import annotations

import gzip
import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
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
