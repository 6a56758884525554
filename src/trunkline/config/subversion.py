"""Subversion repositories."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from trunkline.config.fields import GiB, MiB, unit, words


class Subversion(Struct, frozen=True, forbid_unknown_fields=True):
    """Subversion repositories."""

    http_v2: Annotated[
        bool, words("Whether HTTP v2 is advertised. Without it clients speak HTTP v1.")
    ] = True
    bulk_updates: Annotated[
        Literal["Prefer", "On", "Off"],
        words(
            "Whether a checkout or update is one long answer (`Prefer`; a new tree of large files "
            "is a list all the same), or a list of files that the client gets one by one (`Off`); "
            "`On` leaves it to the client's configuration."
        ),
    ] = "Prefer"
    autoversioning: Annotated[
        bool,
        words(
            "Whether plain WebDAV clients may write: each PUT, MKCOL, DELETE, COPY, MOVE and "
            "PROPPATCH of a public URL is a commit of its own."
        ),
    ] = False
    index_stylesheet: Annotated[
        str,
        words(
            "URL of an XSLT stylesheet. With one, a folder is told to browsers and tools as XML "
            'that names it, as mod_dav_svn does with `SVNIndexXSLT`. `""`: as an HTML page.'
        ),
    ] = ""
    compression: Annotated[
        int,
        unit(
            "level",
            "Of texts on the wire: 0 none, 1 LZ4 where the client takes it, else zlib.",
            le=9,
        ),
    ] = 1
    transactions: Annotated[
        str,
        words(
            "Folder where commits are put together, relative to the file. All workers and machines "
            'that serve the same repositories must share it. `""`: in the account\'s own state '
            "folder (`XDG_STATE_HOME`)."
        ),
    ] = ""
    transaction_hours: Annotated[
        int, unit("hours", "That a commit which nobody goes on with is kept.", ge=1)
    ] = 48
    access_file: Annotated[
        str,
        words(
            "Access by path: a file in the stock authz format, relative to the file. Its sections "
            "name a repository by its path in the URL, without the first slash "
            "(`[team/project:/trunk]`). Rules of `[[access]]` are asked as well: what either "
            "refuses is refused. Where no rule is about a repository, the file alone decides which "
            'logged-in users write to it. `""`: what may be read of a repository may be read whole.'
        ),
    ] = ""
    sessions: Annotated[
        int, unit("sessions", "With repositories that a worker keeps open.", ge=1)
    ] = 32
    xml_bytes: Annotated[
        int, unit("bytes", "Of the XML of a request other than an update's report: 413.", ge=1)
    ] = 16 * MiB
    report_bytes: Annotated[
        int, unit("bytes", "Of an update's report: what a working copy has: 413.", ge=1)
    ] = 1 * GiB
    body_bytes: Annotated[int, unit("bytes", "Of one file in a commit: 413.", ge=1)] = 64 * GiB
    commit_bytes: Annotated[
        int,
        unit("bytes", "Of a commit that comes in one POST, packed and unpacked: 413.", ge=1),
    ] = 256 * GiB
    commit_operations: Annotated[
        int,
        unit("operations", "Of a commit that comes in one POST: 413.", ge=1),
    ] = 10_000_000
    commit_lock_tokens: Annotated[
        int,
        unit("tokens", "Of locks, with a commit that comes in one POST: 413.", ge=1),
    ] = 100_000
    commit_wait_seconds: Annotated[
        int,
        unit(
            "seconds",
            "That a commit asked for twice waits for the first to be made, before it is told to "
            "ask again: 503.",
            ge=1,
        ),
    ] = 60
