"""Each kind of file, damaged in each way: the log names it, the client gets words or less.

What Mercurial passes over (a bookmark's line that is none, any cache) is passed over here.
"""

from __future__ import annotations

import logging
import random
import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.compat.warm import WARM
from tests.unit.hg.store.repositories import commit, sample, writing
from tests.unit.http.driving import Client, ask, make_app

CAPS = (
    "bundlecaps=HG20,bundle2%3Dchangegroup%253D01%252C02%252C03%250Abookmarks%250Aphases%253Dheads"
    "%250Alistkeys%250Aobsmarkers%253DV0%252CV1%250Astream%253Dv2%250Arev-branch-cache"
)
ASKS = {
    "heads": "heads",
    "branchmap": "branchmap",
    "tag": "lookup&key=v1",
    "phases": "listkeys&namespace=phases",
    "markers": "listkeys&namespace=obsolete",
    "clone": f"getbundle&{CAPS}&cg=1&phases=1&obsmarkers=1&bookmarks=1&tagsfnodescache=1",
    "pull": f"getbundle&{CAPS}&cg=1&common=OLD&heads=NEW&phases=1",
    "old pull": "getbundle&common=OLD&heads=NEW",
    "stream_out": "stream_out",
    "stream": f"getbundle&stream=1&cg=0&{CAPS}&obsmarkers=1",
}
ALL = " ".join(name.replace(" ", "_") for name in ASKS)
WORDS = {
    b"the repository can't be read; the server's log says why\n",
    b"the repository's configuration can't be used; the server's log says why\n",
}

Damage = Callable[[bytes], bytes]


def empty(_: bytes) -> bytes:
    return b""


def short(data: bytes) -> bytes:
    return data[:-1]


def one_less(data: bytes) -> bytes:
    """An inline index that has lost its last revision, chunk and all."""
    at = last = 0
    while at < len(data):
        last, at = at, at + 64 + int.from_bytes(data[at + 8 : at + 12], "big")
    return data[:last]


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def zeros(data: bytes) -> bytes:
    return bytes(len(data))


def garbage(data: bytes) -> bytes:
    return random.Random(len(data)).randbytes(len(data))


def longer(data: bytes) -> bytes:
    return data + b"\xff" * 37


def entry(field: int, value: int, number: int = 1) -> Damage:
    """An index entry with another number in one of its fields (bytes from its start)."""

    def damage(data: bytes) -> bytes:
        at = 0
        for _ in range(number):
            (length,) = struct.unpack_from(">i", data, at + 8)
            at += 64 + (length if data[1] & 1 else 0)
        return data[: at + field] + struct.pack(">i", value) + data[at + field + 4 :]

    damage.__name__ = f"entry-{number}-{field}-{value}"
    return damage


LENGTH, BASE, LINK, P1, P2 = 8, 16, 20, 24, 28
GENERAL = (empty, short, half, zeros, garbage, longer)
ENTRIES = tuple(
    entry(field, value) for field in (LENGTH, BASE, LINK, P1, P2) for value in (-7, 2**31 - 1)
)

# File, damage, what can't be answered any more, and whether the log can tell at which byte.
TABLE: list[tuple[str, Damage, str, bool]] = [
    ("store/00changelog.i", empty, ALL, True),
    ("store/00changelog.i", half, "heads clone stream", True),
    ("store/00changelog.i", garbage, ALL, True),
    ("store/00changelog.i", entry(P1, 1000), ALL, True),
    ("store/00changelog.i", entry(P2, -7), ALL, True),
    ("store/00changelog.i", entry(LENGTH, -7, 0), "clone", True),
    ("store/00changelog.d", half, "clone pull stream", True),
    ("store/00changelog.d", garbage, "clone pull", True),
    ("store/00manifest.i", empty, "clone pull", True),
    ("store/00manifest.i", one_less, "clone pull", True),
    ("store/00manifest.i", half, "clone pull", True),
    ("store/00manifest.i", garbage, "clone pull", True),
    ("store/00manifest.i", entry(LINK, 1000), "clone pull", True),
    ("store/00manifest.i", entry(BASE, 1000), "clone", True),
    ("store/00manifest.i", entry(P1, 1000), "clone pull", True),
    ("store/data/a.i", empty, "clone", False),
    ("store/data/a.i", half, "clone", True),
    ("store/data/a.i", garbage, "clone", True),
    ("store/data/a.i", zeros, "clone stream_out stream", True),
    ("store/data/a.i", entry(LENGTH, -7), "clone", True),
    ("store/data/a.i", entry(BASE, 1000), "clone", True),
    ("store/data/a.i", entry(BASE, -2), "clone", True),
    ("store/data/a.i", entry(LINK, 1000), "clone", True),
    ("store/data/a.i", entry(P1, 1000), "clone", True),
    ("store/data/big.i", half, "clone", True),
    ("store/data/big.i", entry(LENGTH, -7), "clone", True),
    ("store/data/big.d", empty, "clone stream", True),
    ("store/data/big.d", half, "clone stream", True),
    ("store/data/big.d", garbage, "clone", True),
    ("store/phaseroots", garbage, "phases clone pull", True),
    ("store/phaseroots", longer, "phases clone pull", True),
    ("store/obsstore", short, "heads markers clone", True),
    ("store/obsstore", garbage, "heads markers clone", True),
    ("store/fncache", short, "stream_out stream", True),
    ("store/requires", garbage, ALL, False),
    ("requires", garbage, ALL, False),
    # Passed over.
    ("store/phaseroots", empty, "", False),
    ("store/obsstore", empty, "", False),
    ("bookmarks", garbage, "", False),
    ("dirstate", garbage, "", False),
    ("cache/rbc-names-v2", garbage, "", False),
    ("cache/rbc-revs-v2", garbage, "", False),
    ("cache/hgtagsfnodes1", half, "", False),
    ("cache/branch2-served", garbage, "", False),
    ("cache/tags2-visible", garbage, "", False),
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Drafts, markers, tags, a bookmark, a split changelog, all caches; streams hide nothing."""
    path = sample(tmp_path_factory.mktemp("sound") / "r")
    with writing(path, "experimental.evolution=all") as hg:
        hg("tag", "-r", "1", "v1")
        hg("bookmark", "-r", "2", "mark")
        hg("update", "-q", "tip")
        commit(hg, path, {"x": b"1"}, "to be amended")
        commit(hg, path, {"x": b"2"}, "amended", "--amend")
        commit(hg, path, {"x": b"3"}, random.Random(1).randbytes(100_000).hex())
        hg("debugupdatecaches")
    (path / ".hg/hgrc").write_text(
        "[experimental]\nevolution = all\n[phases]\npublish = no\n"
        "[server]\nuncompressedallowsecret = yes\n"
    )
    return path


class Findings(NamedTuple):
    """What couldn't be answered, and what the log has about it."""

    failed: set[str]
    lines: list[str]


class Patient:
    """A copy of the sound one, whose files are damaged and mended again."""

    def __init__(self, sound: Path, folder: Path, log: pytest.LogCaptureFixture) -> None:
        self.path = folder / "served" / "r"
        shutil.copytree(sound, self.path, symlinks=True)
        old, new = WARM("log", "-r", "3+tip", "-T", "{node} ", cwd=sound).decode().split()
        self._asks = {
            name: "/r?cmd=" + words.replace("OLD", old).replace("NEW", new)
            for name, words in ASKS.items()
        }
        self._app = make_app(self.path.parent)
        self._log = log

    def examine(self, name: str, damage: Damage) -> Findings:
        """Nothing is ever told badly."""
        path = self.path / ".hg" / name
        data = path.read_bytes()
        path.write_bytes(damage(data))
        self._log.clear()
        try:
            replies = ask(self._app, *(Client("GET", target) for target in self._asks.values()))
        finally:
            path.write_bytes(data)
        lines = [record.getMessage() for record in self._log.records]
        assert "Traceback" not in self._log.text, self._log.text
        assert not any(bytes(self.path) in reply.body for reply in replies)
        failed = {
            name: reply
            for name, reply in zip(self._asks, replies, strict=True)
            if not (reply.status == 200 and reply.is_whole)
        }
        assert all(reply.status == 200 or reply.body in WORDS for reply in failed.values())
        assert len([line for line in lines if str(self.path) in line]) == len(failed), lines
        return Findings(set(failed), lines)


@pytest.fixture
def patient(sound: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Patient:
    return Patient(sound, tmp_path, caplog)


@pytest.mark.parametrize(
    ("name", "damage", "refused", "has_offset"),
    TABLE,
    ids=[f"{name}-{damage.__name__}" for name, damage, *_ in TABLE],
)
def test_damage_is_named_and_refused(
    name: str, damage: Damage, refused: str, has_offset: bool, patient: Patient
) -> None:
    found = patient.examine(name, damage)
    wanted = {word.replace("_p", " p") for word in refused.split()}
    assert wanted <= found.failed, found
    assert refused or not found.failed
    place = rf"\[{re.escape(str(patient.path))}/\.hg/{re.escape(name[:-1])}\w at byte \d+\]"
    assert all(re.search(place, line) for line in found.lines if has_offset), found.lines


def test_what_was_in_the_making_is_read_once_more(
    patient: Patient, caplog: pytest.LogCaptureFixture
) -> None:
    """A strip that runs beside a request shows it half of the old state; nobody hears of it."""

    class Restoring(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(record.getMessage())
            changelog.write_bytes(data)

    changelog = patient.path / ".hg/store/00changelog.d"
    data, seen = changelog.read_bytes(), list[str]()
    changelog.write_bytes(half(data))
    log, restoring = logging.getLogger("trunkline.http.app"), Restoring()
    log.addHandler(restoring)
    with caplog.at_level(logging.INFO, log.name):
        (reply,) = ask(make_app(patient.path.parent), Client("GET", "/r?cmd=" + ASKS["clone"]))
    log.removeHandler(restoring)
    assert (reply.status, reply.is_whole, len(seen)) == (200, True, 1)
    assert f"[{changelog} at byte " in seen[0]


def test_any_damage_is_told_with_its_path_and_never_badly(patient: Patient) -> None:
    """Every file that Mercurial left there, and every field of every index."""
    files = [file for file in (patient.path / ".hg").rglob("*") if file.is_file()]
    names = sorted(str(file.relative_to(patient.path / ".hg")) for file in files)
    names = [name for name in names if "undo" not in name and name != "hgrc"]
    assert len(names) > 20
    for name in names:
        data = (patient.path / ".hg" / name).read_bytes()
        is_index = name.endswith(".i") and len(data) > 192 and name.startswith("store/")
        damages: list[Damage] = [*(GENERAL if data else ()), *(ENTRIES if is_index else ())]
        for damage in damages:
            patient.examine(name, damage)


def test_requirement_that_nobody_knows_is_told_and_may_go_again(patient: Patient) -> None:
    found = patient.examine("requires", lambda data: data + b"exp-of-the-future\n")
    assert found.failed == set(ASKS)
    assert all("exp-of-the-future" in line for line in found.lines)
    assert patient.examine("requires", lambda data: data).failed == set()
    found = patient.examine("store/requires", lambda data: data + b"exp-of-the-future\n")
    assert found.failed == set(ASKS)
    assert all("exp-of-the-future" in line for line in found.lines)
    assert patient.examine("requires", lambda data: data).failed == set()
