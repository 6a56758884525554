"""Stream clones by Mercurial's own code, and bundle files of ours that a real `hg` applies."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mercurial import hg as hg_module
from mercurial import streamclone
from mercurial import ui as ui_module

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.bundle.bundle2 import Part, write_bundle
from trunkline.hg.bundle.stream import format_requirements
from trunkline.hg.bundle.stream_v1 import stream_v1
from trunkline.hg.store.snapshot import Snapshot

SLOW_NODEMAP = ("storage", "revlog.persistent-nodemap.slow-path", "allow")


def configured(**values: str) -> HgConfig:
    """`server_uncompressed="no"` is `server.uncompressed=no`."""
    items = {}
    for name, value in values.items():
        section, _, key = name.partition("_")
        items[section, key.replace("__", "-")] = value
    return HgConfig(items, items)


def stock_repository(path: Path, **values: str) -> Any:
    os.environ["HGRCPATH"] = ""
    ui = ui_module.ui.load()
    ui.quiet = True
    for (section, name), value in {
        SLOW_NODEMAP[:2]: SLOW_NODEMAP[2],
        **configured(**values).trusted,
    }.items():
        ui.setconfig(section.encode(), name.encode(), value.encode())
    return hg_module.repository(ui, os.fsencode(path))


def stock_v1(path: Path, **values: str) -> bytes:
    return b"".join(streamclone.generatev1wireproto(stock_repository(path, **values)))


class Stream2(NamedTuple):
    files: int
    size: int
    payload: bytes


def stock_v2(path: Path, obsmarkers: bool = False, **values: str) -> Stream2:
    count, size, blocks = streamclone.generatev2(stock_repository(path, **values), None, obsmarkers)
    return Stream2(count, size, b"".join(blocks))


def stock_v3(path: Path, obsmarkers: bool = False, **values: str) -> bytes:
    return b"".join(streamclone.generatev3(stock_repository(path, **values), None, obsmarkers))


def payload(part: Part) -> bytes:
    return b"".join(part.payload)


def names_of_v1(stream: bytes) -> list[bytes]:
    """The files of a `stream_out` reply, in order."""
    return list(files_of_v1(stream))


def files_of_v1(stream: bytes) -> dict[bytes, bytes]:
    """The files of a `stream_out` reply and their bytes, in order."""
    files = {}
    status, counts, rest = stream.split(b"\n", 2)
    assert status == b"0"
    for _ in range(int(counts.split()[0])):
        head, _, rest = rest.partition(b"\n")
        name, size = head.split(b"\0")
        assert name not in files
        files[name], rest = rest[: int(size)], rest[int(size) :]
        assert len(files[name]) == int(size)
    assert rest == b""
    assert sum(map(len, files.values())) == int(counts.split()[1])
    return files


def files_of_v2(stream: bytes) -> dict[bytes, bytes]:
    """Letter, slash and name -> bytes, of a whole `stream2` payload."""
    files, at = {}, 0
    while at < len(stream):
        source = stream[at : at + 1]
        lengths = []
        at += 1
        for _ in range(2):
            number = shift = 0
            while True:
                byte = stream[at]
                at += 1
                number |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    break
            lengths.append(number)
        name = stream[at : at + lengths[0]]
        at += lengths[0]
        files[source + b"/" + name] = stream[at : at + lengths[1]]
        at += lengths[1]
    assert at == len(stream)
    return files


def bundle_of_v1(snapshot: Snapshot, config: HgConfig) -> Iterator[bytes]:
    """A file for `hg debugapplystreamclonebundle`. Source: streamclone.py, generatebundlev1."""
    blocks = stream_v1(snapshot, config)
    status, counts, rest = next(blocks).split(b"\n", 2)
    assert status == b"0"
    requirements = b",".join(sorted(format_requirements(snapshot.layout.requirements))) + b"\0"
    yield b"HGS1UN" + struct.pack(">QQ", *map(int, counts.split()))
    yield struct.pack(">H", len(requirements)) + requirements + rest
    yield from blocks


def bundle_of(part: Part) -> Iterator[bytes]:
    """A file for `hg unbundle`."""
    return write_bundle([part])
