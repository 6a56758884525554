"""`trunkline gateway`: a long-running gateway for stock `svn` clients of this machine."""

from __future__ import annotations

import logging

import click

from trunkline.cli.failing import OneLine, fail
from trunkline.errors import SettingsError
from trunkline.http.listen import Address, parse_listen

CACHE_BYTES = 1 << 30


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
@click.option(
    "--cache-bytes",
    default=CACHE_BYTES,
    show_default=True,
    type=click.IntRange(0),
    help="Of texts of files that were read, on disk; 0 keeps none.",
)
def gateway(upstreams: tuple[str, ...], listen: str, ca_file: str | None, cache_bytes: int) -> None:
    """Make commits of stock `svn` clients fast over a slow link.

    Clients name it as their http-proxy-host and http-proxy-port; their URLs stay as they are. An
    https upstream is reached by its http:// URL. See docs/gateway.md.
    """
    from trunkline.svn.gateway.server import serve

    logging.basicConfig(format="trunkline: %(message)s", level=logging.WARNING)
    try:
        address = find_address(listen)
        serve(upstreams, address.host, address.port, ca_file, cache_bytes, click.echo)
    except SettingsError as error:
        fail(error.text)
    except OSError as error:
        fail(f"{listen}: {error.strerror}")


def find_address(listen: str) -> Address:
    """Raises: SettingsError."""
    address = parse_listen(listen)
    if not address.is_local or not address.host:
        raise SettingsError(f"--listen {listen}: a gateway listens on loopback only")
    return address
