"""What an operator can set: one table, read from TOML and shown in docs/configuration.md."""

from __future__ import annotations

import os
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from trunkline.config.auth import Auth, Rule, Tls, check_groups
from trunkline.config.bundles import Bundles, BundleStore, check_public_url
from trunkline.config.fields import unit, words
from trunkline.config.mistakes import explain
from trunkline.config.networks import Networks
from trunkline.errors import SettingsError
from trunkline.work import WALK_LIMIT

KiB = 1024
MiB = 1024 * KiB
GiB = 1024 * MiB

Section = TypeVar("Section", bound=Struct)

WORKERS_LIMIT = 1024  # processes
REQUEST_LINE_LIMIT = 65_534  # bytes of path and query together, of the HTTP library


class Server(Struct, frozen=True, forbid_unknown_fields=True):
    """How the program runs."""

    listen: Annotated[
        str,
        words(
            "`HOST:PORT`, `[IPv6]:PORT` or `unix:/path/of/socket`. Port 0 takes a free port, "
            "which the line on stdout names. (`--listen`)"
        ),
    ] = "127.0.0.1:8000"
    socket_mode: Annotated[
        int,
        unit(
            "octal",
            "Permissions of a unix socket. Who may write to it may connect: put the proxy's "
            "account into the group of ours, or say `0o666`.",
            le=0o777,
        ),
    ] = 0o660
    workers: Annotated[
        int,
        unit(
            "processes",
            "Worker processes; 0 is one for each core, 4 at most. (`--workers`)",
            le=WORKERS_LIMIT,
        ),
    ] = 0
    threads: Annotated[
        int,
        unit("threads", "Threads of a worker that make replies. A slow reader holds none.", ge=1),
    ] = 16
    bridge_threads: Annotated[
        int,
        unit(
            "threads",
            "Threads of a worker for replies that the installed Mercurial makes: they wait for its "
            "processes, and nobody else shall wait for them.",
            ge=1,
        ),
    ] = 16
    push_threads: Annotated[
        int,
        unit(
            "threads",
            "Threads of a worker that take pushes: each is held while its client sends. A push "
            "beyond them is told to come again (503).",
            ge=1,
        ),
    ] = 8
    page_threads: Annotated[
        int,
        unit("threads", "Threads of a worker that make pages for browsers.", ge=1),
    ] = 2
    handles: Annotated[
        int,
        unit("repositories", "That a worker keeps open, least recently used out.", ge=1),
    ] = 256
    handles_bytes: Annotated[
        int,
        unit(
            "bytes",
            "Of the changelog and manifest indexes of the repositories that a worker keeps open; "
            "one is kept whatever its size. They take about three times this in memory.",
            ge=1,
        ),
    ] = 64 * MiB
    public_url: Annotated[
        str,
        words(
            "Where clients find `/`, such as `https://www.example.org/hg`, for the URLs of clone "
            "bundles. Without it: `web.baseurl`, or what the client calls us, for which a trusted "
            "proxy must pass `Host` or `X-Forwarded-Host` on."
        ),
    ] = ""
    stop_seconds: Annotated[
        int,
        unit("seconds", "SIGTERM and SIGINT let running replies go on for so long.", ge=1),
    ] = 30
    trusted_proxies: Annotated[
        list[str],
        words(
            "Addresses of reverse proxies, or networks such as `10.0.0.0/8`. Only from these are "
            "`X-Forwarded-For`, `X-Forwarded-Proto` (of both the last word) and `X-Forwarded-Host` "
            "(its first one) believed: for the log, for `requests_per_address`, for hooks, for "
            "`web.push_ssl` and for URLs of ours, which begin with `X-Forwarded-Prefix`, the path "
            "that the proxy has taken off; and what `auth.user_header` and "
            "`auth.certificate_header` name. A proxy that comes in through a unix socket is named "
            "`unix`."
        ),
    ] = field(default_factory=list)

    def __post_init__(self) -> None:
        Networks(self.trusted_proxies, "trusted_proxies")
        check_public_url("public_url", self.public_url)


class Index(Struct, frozen=True, forbid_unknown_fields=True):
    """The page that lists repositories. A repository is served whether the list has it or not."""

    repositories: Annotated[
        int, unit("repositories", "The list is cut at so many, and says so.", ge=1)
    ] = 10_000
    entries: Annotated[
        int, unit("directory entries", "Looked at for one list; then it is cut, too.", ge=1)
    ] = 1_000_000
    cache_seconds: Annotated[
        int,
        unit(
            "seconds",
            "A list is good for twenty times what it took to make, and for no longer than this.",
        ),
    ] = 30


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
            "Of a request's head: 431. The HTTP library refuses a head of about twice that, and "
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


NEAR = (
    "127.0.0.0/8",
    "::1/128",
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "169.254.0.0/16",
    "fc00::/7",
    "fe80::/10",
    "unix",
)


class Hg(Struct, frozen=True, forbid_unknown_fields=True):
    """Mercurial repositories, beside what they say themselves."""

    stream: Annotated[
        Literal["auto", "always", "never"],
        words(
            "Who is told that stream clones are preferred, and clones so unless it says `--pull`: "
            "clients in `stream_networks`, all, or none. They are larger, and cost both ends a "
            "fraction of the CPU. `server.preferuncompressed` in a repository's hgrc or in "
            "`config` wins."
        ),
    ] = "auto"
    stream_networks: Annotated[
        list[str],
        words(
            "Addresses and networks whose links are fast; `unix` is who comes through a unix "
            "socket. A request that a proxy has passed on counts by `X-Forwarded-For`, if it comes "
            "from one of `server.trusted_proxies`, and is of none of these networks else."
        ),
    ] = field(default_factory=lambda: list(NEAR))

    def __post_init__(self) -> None:
        Networks(self.stream_networks, "stream_networks")


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


class Log(Struct, frozen=True, forbid_unknown_fields=True):
    """What is written where. Troubles go to stderr in any case."""

    access: Annotated[
        str,
        words(
            'Path of the access log, relative to the file; `-` is stderr, `""` is none. It is '
            "appended to by all workers, in whole lines; SIGHUP has it opened anew."
        ),
    ] = "-"
    format: Annotated[Literal["text", "json"], words("Of the access log.")] = "text"


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


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    paths: Annotated[
        list[str],
        words(
            "What to serve, when no PATH is given on the command line; relative to the file. None "
            "at all is the current folder."
        ),
    ] = field(default_factory=list)
    config: Annotated[
        list[str],
        words(
            "`SECTION.NAME=VALUE` of Mercurial's own configuration, over what the repositories "
            "say. (`--config`, which wins)"
        ),
    ] = field(default_factory=list)
    allow_write: Annotated[
        Literal["authenticated", "anonymous"],
        words(
            "Who may write. `anonymous` lets everyone who may read write to all that is served, "
            "whatever `web.allow-push`, `web.deny_push` and `web.push_ssl` say; it is refused on "
            "an address that others can reach, unless `insecure` is set. (`--allow-write`)"
        ),
    ] = "authenticated"
    insecure: Annotated[bool, words("See `allow_write`. (`--insecure`)")] = False
    groups: Annotated[
        dict[str, list[str]],
        words('For `[[access]]`: `[groups]` with lines such as `dev = ["alice", "bob"]`.'),
    ] = field(default_factory=dict)
    access: Annotated[list[Rule], words("Rules, see below.")] = field(default_factory=list)
    auth: Auth = field(default_factory=Auth)
    tls: Tls = field(default_factory=Tls)
    server: Server = field(default_factory=Server)
    index: Index = field(default_factory=Index)
    limits: Limits = field(default_factory=Limits)
    hg: Hg = field(default_factory=Hg)
    subversion: Subversion = field(default_factory=Subversion)
    spool: Spool = field(default_factory=Spool)
    bundles: Bundles = field(default_factory=Bundles)
    bundle_store: BundleStore = field(default_factory=BundleStore)
    log: Log = field(default_factory=Log)

    def __post_init__(self) -> None:
        check_groups(self.groups, self.access)


def read_settings(path: str) -> Settings:
    """Raises: SettingsError, one line that names file and field."""
    try:
        with open(path, "rb") as file:
            data = file.read()
        return settings_of(path, data)
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from None
    except SettingsError as error:
        raise SettingsError(f"{path}: {error.text}") from None


def settings_of(path: str, data: bytes) -> Settings:
    """Of a file that holds `data`. Raises: SettingsError."""
    settings = parse_settings(data)
    folder = os.path.dirname(os.path.abspath(path))
    return replace(
        settings,
        paths=[beside(folder, word) for word in settings.paths],
        auth=with_paths(settings.auth, folder, "password_file", "token_file"),
        tls=with_paths(settings.tls, folder, "certificate", "key", "client_ca"),
        log=replace(settings.log, access=beside_unless_stderr(folder, settings.log)),
        spool=with_paths(settings.spool, folder, "path"),
        bundles=with_paths(settings.bundles, folder, "path"),
        subversion=with_paths(settings.subversion, folder, "transactions", "access_file"),
    )


def with_paths(section: Section, folder: str, *names: str) -> Section:
    found = {name: getattr(section, name) for name in names}
    return replace(section, **{name: beside(folder, word) for name, word in found.items() if word})


def beside_unless_stderr(folder: str, log: Log) -> str:
    return log.access if log.access in ("", "-") else beside(folder, log.access)


def beside(folder: str, word: str) -> str:
    """A path of the file, which is relative to the `folder` that it stands in."""
    return os.path.join(folder, os.path.expanduser(word))


def parse_settings(data: bytes) -> Settings:
    try:
        return msgspec.toml.decode(data, type=Settings)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SettingsError(explain(str(error).replace("\n", " "), Settings)) from None
