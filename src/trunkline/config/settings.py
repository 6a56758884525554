"""What an operator can set: one table, read from TOML and shown in docs/configuration.md."""

from __future__ import annotations

import os
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from trunkline.config.auth import Auth, Rule, Tls, check_groups
from trunkline.config.bundles import Bundles, BundleStore, check_public_url
from trunkline.config.fields import MiB, unit, words
from trunkline.config.hg import Hg
from trunkline.config.limits import Limits
from trunkline.config.mistakes import explain
from trunkline.config.networks import Networks
from trunkline.config.spool import Spool
from trunkline.config.subversion import Subversion
from trunkline.errors import SettingsError

Section = TypeVar("Section", bound=Struct)

WORKERS_LIMIT = 1024  # processes


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
    sendfile: Annotated[
        bool,
        words(
            "Large files of the spool and clone bundles go straight from the kernel's memory to "
            "the client, on connections that are closed afterwards (Linux, without TLS of our "
            "own). Costs a third of the CPU."
        ),
    ] = True
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
