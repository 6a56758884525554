"""Whether a clone may be a stream of the store's own files, and what its reader must understand.

Source: hg 7.2.4, mercurial/streamclone.py (allowservergeneration, streamed_requirements),
requirements.py (STREAM_IGNORABLE_REQUIREMENTS), bundle2.py (_formatrequirementsspec).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.store.phases import SECRET

if TYPE_CHECKING:
    from trunkline.hg.store.repository import Repository
    from trunkline.hg.store.snapshot import Snapshot

# Of the working copy, or of how files are named on disk: the reader chooses its own.
IGNORABLE: Final = frozenset(
    {
        "dirstate-tracked-key-v1",
        "dirstate-v2",
        "dotencode",
        "exp-sparse",
        "exp-very-fragile-and-unsafe-plain-store-encoding",
        "fileindex-v1",
        "fncache",
        "persistent-nodemap",
        "relshared",
        "share-safe",
        "shared",
        "store",
    }
)


def stream_allowed(snapshot: Snapshot, config: HgConfig) -> bool:
    """A stream can't leave changesets out, so one that must not leave forbids it unless configured.

    Mercurial looks at secret changesets only; internal, archived and hidden ones are as little
    for others' eyes. Raises: SettingsError, StoreError.
    """
    if not config.bool("server", "uncompressed", True, untrusted=True):
        return False
    return config.bool("server", "uncompressedallowsecret") or not keeps_back(snapshot, config)


def keeps_back(snapshot: Snapshot, config: HgConfig) -> bool:
    """Does the repository hold anything that peers don't see?"""
    if any(phase >= SECRET for phase in snapshot.phases.roots):
        return True
    return bool(snapshot.view(config.text("server", "view", "served")).filtered)


def offers_stream_parts(config: HgConfig) -> bool:
    """Are streams given inside of a bundle2 at all? `stream_out` doesn't ask."""
    return config.bool("server", "uncompressed", True, untrusted=True) and config.bool(
        "server", "bundle2.stream", True
    )


def stream_requirements(repository: Repository) -> frozenset[bytes]:
    return format_requirements(repository.requirements)


def format_requirements(requirements: frozenset[str]) -> frozenset[bytes]:
    return frozenset(name.encode() for name in requirements - IGNORABLE)


def requirements_parameter(requirements: frozenset[str]) -> bytes:
    """The value of the parts' parameter `requirements`: sorted, with commas, URL-quoted."""
    return quote(b",".join(sorted(format_requirements(requirements)))).encode()
