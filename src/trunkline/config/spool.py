"""The spool: where its files lie, and how much room they have."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from trunkline.config.fields import GiB, MiB, unit, words


class Spool(Struct, frozen=True, forbid_unknown_fields=True):
    """Costly replies that many ask for are made once, into a file that all of them are sent from.

    Several servers may have one folder, also on a shared disk. It may be deleted at any time.
    `trunkline spool` lists it.
    """

    path: Annotated[
        str,
        words(
            'The folder, relative to the file; nobody else may write to it. `""` is `spool` '
            "below `$CACHE_DIRECTORY`, or `trunkline/spool` below `$XDG_CACHE_HOME` or "
            "`~/.cache`, or `trunkline-spool-UID` in the folder of temporary files."
        ),
    ] = ""
    bytes: Annotated[
        int,
        unit(
            "bytes",
            "Of all its files; the least recently used make room, never one in use. A reply that "
            "doesn't fit is streamed. 0: no spool.",
        ),
    ] = 8 * GiB
    free_bytes: Annotated[int, unit("bytes", "To be left free on its disk.")] = 1 * GiB
    age_seconds: Annotated[
        int, unit("seconds", "After its last use a file is removed, when a new one is made.", ge=1)
    ] = 24 * 3600
    smallest_bytes: Annotated[
        int, unit("bytes", "A reply estimated to be smaller is streamed.", ge=1)
    ] = 1 * MiB
    builders: Annotated[
        int,
        unit(
            "processes",
            "That make such files at once, on one machine; 0 is one for each core. Others wait.",
        ),
    ] = 0
    queue: Annotated[
        int,
        unit(
            "builds",
            "That wait in a worker; a request for one more is told to come again (503).",
            ge=1,
        ),
    ] = 64
