"""docs/configuration.md, made from the table in `settings`.

`python -m trunkline.config.page` prints it; a test holds the two together.
"""

from __future__ import annotations

import json
from inspect import getdoc
from typing import Any, get_type_hints

import msgspec
from msgspec import Struct

from trunkline.config.auth import GROUPS, Rule
from trunkline.config.settings import Settings

HEAD = """\
# Configuration

<!-- Made by `python -m trunkline.config.page`; change src/trunkline/config/. -->

`trunkline serve --settings FILE.toml` reads a TOML file with these fields, none of which
is needed. Options of the command line win over the file. An unknown field or a bad value
is one line on stderr and exit status 2.

What Mercurial itself configures (`[web]`, `[server]` and the rest of hgrc files) stays
where it is: Trunkline asks the installed Mercurial. `--config` and `config` take those
names.

```toml
paths = ["/srv/hg"]
config = ["server.compressionengines=zstd,zlib"]

[server]
listen = "0.0.0.0:443"

[tls]
certificate = "/etc/trunkline/hg.example.org.pem"
key = "/etc/trunkline/hg.example.org.key"

[auth]
password_file = "/etc/trunkline/htpasswd"
token_file = "/etc/trunkline/tokens.json"

[groups]
dev = ["alice", "bob"]

[[access]]
repositories = ["team/**"]
read = ["*"]
write = ["@dev"]

[[access]]
repositories = ["**"]
write = ["alice"]

[log]
access = "/var/log/trunkline/access.log"
format = "json"
```
"""

SERVED = """\
## What is served where

| PATH | URL |
|---|---|
| one repository | `/` |
| one folder | each repository below it, at any depth, at its path in the folder; `/` lists them |
| several | each as above, under its own base name: `/srv/a /srv/b` are `/a/...` and `/b/...` |

A repository is looked up when it is asked for, so a new one is there at once, and a folder of
thousands costs no more than one of three. A symlink to a repository or a folder of them is followed
where it stays inside its PATH; the list has each repository once, at its path without symlinks.
Nothing of a store is read through one: to have it on another disk, make the repository a share
(`hg share`), whose source may lie anywhere. (`hg` itself, where it must be asked for a repository,
follows what it finds.)
`web.hidden` keeps a repository out of the list; it is served all the same. Who may read and pull is
decided by `[[access]]` below and by `web.allow_read`, `web.deny_read` and `web.allow-pull`, as in
hgweb; who may push, by `[[access]]`, `web.push_ssl`, `web.deny_push` and `web.allow-push`. Of a
repository that a visitor may not read, nothing tells that it is there: the answer is that of one
that isn't. `trunkline check` shows what comes of it all ([security.md](security.md)).

## Signals

SIGTERM and SIGINT let running replies end, for `stop_seconds` at most, and exit with 0. SIGHUP has
the access log opened anew, by each worker before its next line, and touches no reply. Settings are
read at the start alone; configuration of Mercurial's, whenever it changes.
A worker that dies is replaced; if its successor dies at once, the program ends with status 1.

## Behind a reverse proxy

Name it in `trusted_proxies`, let it set `X-Forwarded-For` and `X-Forwarded-Proto`, where it passes
on another `Host`, `X-Forwarded-Host`, and where it takes off a path, `X-Forwarded-Prefix`; and
have it speak HTTP/1.1 to Trunkline (nginx: `proxy_http_version 1.1`), without buffering whole
replies (`proxy_buffering off`), and without decoding `%2F` in paths. See
[operations.md](operations.md).

## The access log

One line for each request, written when it ends. Fields as text:

    TIME CLIENT USER "METHOD PATH" STATUS BYTES SECONDS COMMAND ENGINE OUTCOME "USER AGENT"

As JSON: `time`, `client`, `user`, `method`, `path`, `status`, `bytes`, `duration` (seconds),
`engine`, `command`, `outcome`, `user_agent`. `user` is who has logged in, and nobody (`-`, `null`)
where the login failed. `bytes` is of the body as it went out. `outcome` tells whether the answer
went out whole, and the status what it was: `ok` goes with a 404 as well; `aborted` is of a reply
that broke in the middle, whose reason stands on stderr, or that `stop_seconds` cut off; `gone`, of
a client that went away. Arguments of a request are never written.
"""


def render() -> str:
    """The whole page."""
    lines = [HEAD, SERVED, "## At the top", "", *render_table(Settings)]
    for section in msgspec.structs.fields(Settings):
        if isinstance(section.type, type) and issubclass(section.type, Struct):
            lines += render_section(f"[{section.name}]", section.type)
    lines += ["", "## [groups]", "", GROUPS, *render_section("[[access]]", Rule)]
    return "\n".join(lines) + "\n"


def render_section(head: str, struct: type[Struct]) -> list[str]:
    return ["", f"## {head}", "", getdoc(struct) or "", "", *render_table(struct)]


def render_table(struct: type[Struct]) -> list[str]:
    hints: dict[str, Any] = get_type_hints(struct, include_extras=True)
    lines = ["| field | default | unit | meaning |", "|---|---|---|---|"]
    for item in msgspec.structs.fields(struct):
        for meta in getattr(hints[item.name], "__metadata__", ()):
            default = item.default
            if default is msgspec.NODEFAULT:
                default = item.default_factory()
            extra = meta.extra or {}
            shown = f"`{toml(default, extra['unit'])}`"
            lines.append(f"| `{item.name}` | {shown} | {extra['unit']} | {meta.description} |")
    return lines


def toml(value: object, unit: str = "") -> str:
    """A default as it would stand in the file."""
    if value is None:
        return "not given"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and unit == "octal":
        return f"0o{value:o}"
    if isinstance(value, int):
        return f"{value:_}" if value >= 10_000 else str(value)
    return json.dumps(value) if isinstance(value, list | dict) else f'"{value}"'


if __name__ == "__main__":
    print(render(), end="")
