"""`trunkline svn`: the installed `svn`, through a gateway of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from urllib.parse import urlsplit

import click

from trunkline.cli.failing import fail, say
from trunkline.cli.gateway import CACHE_BYTES
from trunkline.errors import SettingsError

URL = re.compile(r"https?://[^\s]+")


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("words", metavar="ARGS...", nargs=-1, type=click.UNPROCESSED)
def svn(words: tuple[str, ...]) -> None:
    """Run `svn ARGS...` through a gateway: its commits are fast over a slow link.

    The working copy and its URL stay as they are. URLs of https go straight to the server; see
    docs/gateway.md for these.
    """
    program = shutil.which("svn")
    if program is None:
        fail("there is no `svn` on the PATH")
    servers = find_servers(program, words)
    if not servers:
        os.execv(program, [program, *words])
    run_by_running(program, words, servers)
    from trunkline.svn.gateway.wrapped import run_through

    try:
        status = run_through(program, words, servers, CACHE_BYTES)
    except (SettingsError, OSError) as error:
        fail(str(error))
    raise SystemExit(status)


def run_by_running(program: str, words: tuple[str, ...], servers: list[str]) -> None:
    """Through a `trunkline gateway` that goes to all of them; doesn't come back if there is one."""
    from trunkline.svn.gateway.announced import find
    from trunkline.svn.gateway.proxy_options import proxy_options

    parts = [urlsplit(server) for server in servers]
    found = find({(one.hostname or "", one.port or 80) for one in parts}, os.environ)
    if found is not None:
        hosts = {one.hostname or "" for one in parts}
        os.execv(program, [program, *words, *proxy_options(found.host, found.port, hosts)])


def find_servers(program: str, words: tuple[str, ...]) -> list[str]:
    """Those of http that the arguments, or else the folder, are about."""
    urls = [word for word in words if URL.match(word)]
    if not urls:
        places = [word for word in words if os.path.exists(word)] or ["."]
        command = [program, "info", "--show-item", "repos-root-url", "--no-newline", "--"]
        for place in [*places[:1], "."]:
            done = subprocess.run([*command, place], capture_output=True, text=True, check=False)
            urls += done.stdout.split()
            if urls:
                break
    parts = [urlsplit(url) for url in urls]
    if any(one.scheme == "https" for one in parts):
        say("https goes straight to the server, without a gateway: see docs/gateway.md")
    return sorted(
        {f"http://{one.netloc.rpartition('@')[2]}" for one in parts if one.scheme == "http"}
    )
