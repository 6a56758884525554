"""What a client can reach, each with a name and a unit."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from trunkline.config.fields import GiB, KiB, MiB, unit
from trunkline.work import WALK_LIMIT

REQUEST_LINE_LIMIT = 65_534  # bytes of path and query together, of the HTTP library


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """What a client can reach. Each is refused with words, and counted in each worker by itself."""

    query_bytes: Annotated[
        int,
        unit(
            "bytes",
            "Of the query in the request line: 414. The HTTP library itself allows 65,534 for "
            "path and query together.",
            ge=1,
            le=REQUEST_LINE_LIMIT,
        ),
    ] = 60_000
    path_bytes: Annotated[
        int, unit("bytes", "Of the path in the request line: 414.", ge=1, le=REQUEST_LINE_LIMIT)
    ] = 4 * KiB
    path_segments: Annotated[int, unit("segments", "Of that path: 404.", ge=1)] = 32
    header_bytes: Annotated[
        int,
        unit(
            "bytes",
            "Of a request's head: 431 (400 for `svn`, which sends its lock tokens in a body then). "
            "The HTTP library refuses a head of about twice that, and "
            "one of more than 100 headers, by itself: 431 without words. Only clients before 3.8, "
            "and all of them with `experimental.httppostargs=no`, name what they have in headers: "
            "41 bytes for each head of theirs and of the repository's.",
            ge=8 * KiB,
        ),
    ] = 176 * KiB
    head_seconds: Annotated[
        int,
        unit(
            "seconds",
            "Until a request's head is there in full, counted from the end of the request before "
            "it on the same connection: the connection is closed. A client that comes back later "
            "makes another.",
            ge=1,
        ),
    ] = 20
    connections: Annotated[
        int,
        unit(
            "connections",
            "At once in a worker, idle ones too; more wait to be taken. Never fewer than "
            "`requests`; bounded by the limit to open files, which is raised as far as it may be.",
            ge=1,
        ),
    ] = 4096
    post_args_bytes: Annotated[
        int, unit("bytes", "Of arguments in a body (`X-HgArgs-Post`): 413.", ge=1)
    ] = 16 * MiB
    post_args_bytes_per_address: Annotated[
        int,
        unit("bytes", "Of such arguments, as far as they have come, of one address: 503.", ge=1),
    ] = 64 * MiB
    all_post_args_bytes: Annotated[
        int,
        unit("bytes", "Of such arguments of all requests that are running: 503.", ge=1),
    ] = 128 * MiB
    post_args_idle_seconds: Annotated[
        int, unit("seconds", "Without a byte of such arguments: 408.", ge=1)
    ] = 30
    post_args_seconds: Annotated[
        int, unit("seconds", "For all of such arguments of one request: 408.", ge=1)
    ] = 300
    push_bytes: Annotated[
        int,
        unit(
            "bytes",
            "Of a pushed bundle, and of the contents of a large file that is sent: 413 if "
            "announced, else a cut push.",
            ge=1,
        ),
    ] = 16 * GiB
    lfs_batch_bytes: Annotated[
        int,
        unit(
            "bytes",
            "Of a list of large files (LFS) that a client asks for or is about to send: 413. Each "
            "takes about 100, and Mercurial sends one list for a whole push.",
            ge=1,
        ),
    ] = 8 * MiB
    other_body_bytes: Annotated[
        int, unit("bytes", "Of any other body, which nobody reads: 413.", ge=0)
    ] = 1 * MiB
    refused_push_bytes: Annotated[
        int,
        unit(
            "bytes",
            "Read of a push that is refused, so that the client gets to see why; past it, the "
            "connection is closed. Of one that is asked for a login, `push_bytes`.",
        ),
    ] = 64 * MiB
    body_idle_seconds: Annotated[
        int, unit("seconds", "Without a byte of any other body that we wait for: 408.", ge=1)
    ] = 300
    body_bytes_per_second: Annotated[
        int,
        unit(
            "bytes per second",
            "That must come of any body on average, while we wait for it and after the first "
            "`body_idle_seconds`: 408. A push holds one of `server.push_threads` while it comes.",
            ge=1,
        ),
    ] = 100
    send_idle_seconds: Annotated[
        int,
        unit("seconds", "That a client takes nothing of a reply: the connection is broken.", ge=1),
    ] = 600
    requests_per_address: Annotated[
        int,
        unit(
            "requests",
            "At once from one address: 503. An IPv6 address counts by its first 64 bits. Name "
            "your reverse proxy in `trusted_proxies`, or it counts as one client.",
            ge=1,
        ),
    ] = 256
    requests: Annotated[int, unit("requests", "At once in a worker: 503.", ge=1)] = 1024
    threads_per_address: Annotated[
        int,
        unit(
            "threads",
            "Of `server.threads` and of `server.bridge_threads` that work for one address at once, "
            "if it leaves as many to others; what it asks for beyond them waits. All addresses "
            "take turns in any case.",
            ge=1,
        ),
    ] = 8
    walked_revisions: Annotated[
        int,
        unit(
            "revisions",
            "That one request may have walked one by one, as clients before 1.9 have it "
            "(`between`, `branches`): an error.",
            ge=1,
        ),
    ] = WALK_LIMIT
