"""The command `trunkline`: one file a sub-command."""

from __future__ import annotations

import click

from trunkline import __version__
from trunkline.cli.bundle import bundle
from trunkline.cli.check import check
from trunkline.cli.gateway import gateway
from trunkline.cli.serve import serve
from trunkline.cli.spool import spool
from trunkline.cli.svn import svn
from trunkline.cli.token import token


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="trunkline")
def main() -> None:
    """A fast HTTP server for Mercurial repositories."""


main.add_command(bundle)
main.add_command(check)
main.add_command(gateway)
main.add_command(serve)
main.add_command(spool)
main.add_command(svn)
main.add_command(token)
