"""Histories made and bundles applied inside this process by Mercurial's own code, so that there
can be many; and what a changegroup holds, as Mercurial reads it."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mercurial import changegroup as stock
from mercurial import context, exchange, initialization, mdiff, phases
from mercurial import hg as hg_module
from mercurial import ui as ui_module
from mercurial import verify as verify_module
from mercurial.revlogutils.constants import DELTA_BASE_REUSE_FORCE

from trunkline.hg.store.repository import Repository
from trunkline.hg.store.view import View

QUIET = {
    ("ui", "quiet"): "yes",
    ("phases", "publish"): "yes",
    ("devel", "all-warnings"): "no",
}
# Twelve files that never change, so that a manifest is worth a delta.
GROUND = {b"ground/%02d" % n: b"".join(b"%d\n" % (n * k) for k in range(40)) for n in range(12)}


@dataclass(frozen=True)
class Step:
    """One changeset. `parents` are positions in the list of steps; `files` give each file one of a
    few contents (None: removed), so that branches bring the very same file revisions.
    """

    parents: tuple[int, ...]
    files: Mapping[bytes, int | None]
    is_secret: bool = False
    branch: bytes = b"default"
    is_closing: bool = False


def content(number: int) -> bytes:
    return b"".join(
        b"line %d of %d\n" % (k, number if k % 7 == number % 7 else 0) for k in range(60)
    )


initialization.init()


def open_repository(
    path: Path, config: Mapping[tuple[str, str], str] = {}, create: bool = False
) -> Any:
    os.environ["HGRCPATH"] = ""
    ui = ui_module.ui.load()
    for (section, name), value in {**QUIET, **config}.items():
        ui.setconfig(section.encode(), name.encode(), value.encode(), b"tests")
    return hg_module.repository(ui, os.fsencode(path), create=create).unfiltered()


def make(path: Path, steps: Sequence[Step], config: Mapping[tuple[str, str], str] = {}) -> Any:
    """Mercurial's repository object; revision numbers are the positions of the steps."""
    repo = open_repository(path, config, create=True)
    with repo.wlock(), repo.lock(), repo.transaction(b"tests") as transaction:
        for number, step in enumerate(steps):
            commit(repo, number, step)
        secret = [repo[n].node() for n, step in enumerate(steps) if step.is_secret]
        if secret:
            phases.retractboundary(repo, transaction, phases.secret, secret)
    repo.invalidateall()
    return open_repository(path, config)


def commit(repo: Any, number: int, step: Step) -> None:
    files = {name: None if n is None else content(n) for name, n in step.files.items()}
    if not step.parents:
        files = {**GROUND, **files}
    parents = [repo[parent].node() for parent in step.parents]
    first = repo[parents[0]] if parents else repo[-1]
    files = {name: data for name, data in files.items() if data is not None or name in first}

    def file(_repo: Any, changeset: Any, name: bytes) -> Any:
        data = files[name]
        return None if data is None else context.memfilectx(repo, changeset, name, data)

    repo.commitctx(
        context.memctx(
            repo,
            [*parents, None, None][:2] if parents else [repo.nullid, None],
            b"step %d" % number,
            sorted(files),
            file,
            user=b"test",
            date=(number, 0),
            extra={b"branch": step.branch, **({b"close": b"1"} if step.is_closing else {})},
        )
    )


def view(path: Path, name: str = "served") -> View:
    return Repository(str(path)).snapshot().view(name)


@dataclass
class Group:
    """node -> (p1, p2, link, flags), and node -> base; in the order of the bundle."""

    revisions: dict[bytes, tuple[bytes, bytes, bytes, int]] = field(default_factory=dict)
    bases: dict[bytes, bytes] = field(default_factory=dict)
    size: int = 0


def unpack(data: bytes, version: bytes) -> dict[bytes, Group]:
    """b"" is the changelog, b"\\0" the manifest. Everything must be read to the last byte."""
    file = io.BytesIO(data)
    reader = stock.getunbundler(version, file, b"UN")
    groups: dict[bytes, Group] = {}
    reader.changelogheader()
    groups[b""] = read_group(reader)
    reader.manifestheader()
    groups[b"\0"] = read_group(reader)
    if version == b"03":
        assert file.read(4) == bytes(4), "no directories"
    while header := reader.filelogheader():
        assert header[b"filename"] not in groups
        groups[header[b"filename"]] = read_group(reader)
    assert file.read() == b""
    return groups


def read_group(reader: Any) -> Group:
    group = Group()
    for revision in reader.deltaiter():
        assert revision.node not in group.revisions
        group.revisions[revision.node] = (
            revision.p1,
            revision.p2,
            revision.link_node,
            revision.flags or 0,
        )
        group.bases[revision.node] = revision.delta_base
        group.size += len(revision.delta)
    return group


def stock_changegroup(
    repo: Any,
    heads: Iterable[bytes],
    common: Iterable[bytes],
    version: bytes,
    name: bytes | None = b"served",
) -> bytes:
    repo = repo.filtered(name) if name else repo
    outgoing = exchange._computeoutgoing(repo, list(heads), list(common))
    return b"".join(stock.makestream(repo, outgoing, version, b"serve"))


def swap_last_manifests(repo: Any) -> bytes:
    """A changegroup 02 of everything whose last two manifests have changed places, the first one
    being made a delta against the other.
    """
    data = stock_changegroup(repo, [], [], b"02", None)
    groups = split_groups(data)
    first, second = groups[1][-2:]
    old, new = (repo.manifestlog.getstorage(b"").revision(chunk[:20]) for chunk in (second, first))
    header = first[:60] + second[:20] + first[80:100]
    groups[1][-2:] = [second, header + mdiff.textdiff(old, new)]
    return join_groups(groups)


def split_groups(data: bytes) -> list[list[bytes]]:
    groups: list[list[bytes]] = [[]]
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from(">i", data, at)
        if length:
            groups[-1].append(data[at + 4 : at + length])
        else:
            groups.append([])
        at += max(length, 4)
    return groups[:-1]


def join_groups(groups: list[list[bytes]]) -> bytes:
    return b"".join(
        b"".join(struct.pack(">i", len(chunk) + 4) + chunk for chunk in group) + bytes(4)
        for group in groups
    )


def apply(repo: Any, data: bytes, version: bytes, keeps_deltas: bool = False) -> None:
    """As a pull does; `keeps_deltas`: store the very deltas that are sent."""
    reader = stock.getunbundler(version, io.BytesIO(data), b"UN")
    with repo.lock(), repo.transaction(b"pull") as transaction:
        policy = DELTA_BASE_REUSE_FORCE if keeps_deltas else None
        reader.apply(repo, transaction, b"pull", b"test:", delta_base_reuse_policy=policy)


def has(repo: Any, name: bytes, node: bytes) -> bool:
    """Has it a revision of a group as `unpack` names it?"""
    if name == b"\0":
        return bool(repo.manifestlog.getstorage(b"").get_revlog().hasnode(node))
    return bool(repo.file(name).hasnode(node))


def complaints(repo: Any) -> int:
    """What `hg verify` counts."""
    repo.invalidateall()
    return int(verify_module.verify(repo))
