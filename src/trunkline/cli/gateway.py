"""`trunkline gateway`: a long-running gateway for stock `svn` clients of this machine."""

from __future__ import annotations

import asyncio
import logging
import signal

import click

from trunkline.cli.failing import OneLine, fail
from trunkline.errors import SettingsError
from trunkline.http.listen import parse_listen


@click.command(cls=OneLine)
@click.option(
    "--upstream",
    "upstreams",
    multiple=True,
    required=True,
    metavar="URL",
    help="http://HOST[:PORT] or https://HOST[:PORT] of a Subversion server; may be repeated.",
)
@click.option(
    "--listen",
    default="127.0.0.1:8118",
    show_default=True,
    metavar="HOST:PORT",
    help="A loopback address; port 0 takes a free one.",
)
@click.option("--ca-file", metavar="FILE", help="Authorities that https upstreams are trusted by.")
def gateway(upstreams: tuple[str, ...], listen: str, ca_file: str | None) -> None:
    """Make commits of stock `svn` clients fast over a slow link.

    Clients name it as their http-proxy-host and http-proxy-port; their URLs stay as they are. An
    https upstream is reached by its http:// URL. See docs/gateway.md.
    """
    logging.basicConfig(format="trunkline: %(message)s", level=logging.WARNING)
    try:
        asyncio.run(run(upstreams, listen, ca_file))
    except SettingsError as error:
        fail(error.text)
    except OSError as error:
        fail(f"{listen}: {error.strerror}")


async def run(urls: tuple[str, ...], listen: str, ca_file: str | None) -> None:
    """Until a signal comes. Raises: SettingsError, OSError."""
    from trunkline.svn.gateway.server import running
    from trunkline.svn.gateway.upstream import Upstream

    address = parse_listen(listen)
    if not address.is_local or not address.host:
        raise SettingsError(f"--listen {listen}: a gateway listens on loopback only")
    upstreams = [Upstream(url, ca_file) for url in urls]
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with running(upstreams, address.host, address.port) as port:
        click.echo(f"listening on http://{address.host}:{port}")
        await stop.wait()
