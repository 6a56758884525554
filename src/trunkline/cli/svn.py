"""`trunkline svn`: the installed `svn`, through a gateway of its own."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
from urllib.parse import urlsplit

import click

from trunkline.cli.failing import fail, say
from trunkline.errors import SettingsError

URL = re.compile(r"https?://[^\s]+")
HOST = "127.0.0.1"


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
    try:
        status = asyncio.run(run(program, words, servers))
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


async def run(program: str, words: tuple[str, ...], servers: list[str]) -> int:
    """`svn`'s own status. Raises: SettingsError, OSError."""
    from trunkline.svn.gateway.server import running
    from trunkline.svn.gateway.upstream import Upstream

    upstreams = [Upstream(server) for server in servers]
    warming = [asyncio.create_task(warm(upstream)) for upstream in upstreams]
    async with running(upstreams, HOST, 0) as port:
        process = await asyncio.create_subprocess_exec(
            program, *words, *proxy_options(port, upstreams)
        )
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):  # svn aborts its commit, then we end
            loop.add_signal_handler(number, send_signal, process, number)
        status = await process.wait()
    for task in warming:
        task.cancel()
    return status if status >= 0 else 128 - status


def send_signal(process: asyncio.subprocess.Process, number: int) -> None:
    if number == signal.SIGTERM and process.returncode is None:
        process.send_signal(number)  # that of a terminal has reached it already


async def warm(upstream: object) -> None:
    """The connection is made while `svn` starts."""
    from trunkline.svn.gateway.exchange import UpstreamLost
    from trunkline.svn.gateway.upstream import Upstream

    assert isinstance(upstream, Upstream)
    try:
        upstream.keep(await upstream.connect(fresh=True))
    except UpstreamLost:
        pass


def proxy_options(port: int, upstreams: object) -> list[str]:
    """For these hosts only: externals on others don't come here."""
    assert isinstance(upstreams, list)
    others = ",".join(all_but({upstream.asked_as[0] for upstream in upstreams}))
    options = (
        f"servers:global:http-proxy-host={HOST}",
        f"servers:global:http-proxy-port={port}",
        f"servers:global:http-proxy-exceptions={others}",
    )
    return [word for option in options for word in ("--config-option", option)]


def all_but(hosts: set[str]) -> list[str]:
    """Patterns that match every name but these: svn knows exceptions from a proxy only.

    Wire: those of fnmatch. "ab" gives: [!a]* a a[!b]* ab?*
    """
    patterns = []
    for start in sorted({host[:size] for host in hosts for size in range(len(host) + 1)}):
        if start and start not in hosts:
            patterns.append(start)
        follow = {host[len(start)] for host in hosts if host.startswith(start) and host != start}
        # A hyphen stands last, where it makes no range.
        letters = "".join(sorted(follow, key=lambda one: (one == "-", one)))
        patterns.append(f"{start}[!{letters}]*" if letters else f"{start}?*")
    return patterns
