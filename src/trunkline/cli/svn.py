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
    from trunkline.svn.gateway.wrapped import run_through

    try:
        status = run_through(program, words, servers, CACHE_BYTES)
    except (SettingsError, OSError) as error:
        fail(str(error))
    raise SystemExit(status)


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
