"""The command `trunkline`: one file a sub-command, which is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

import click

COMMANDS = ("bundle", "check", "gateway", "serve", "spool", "svn", "token")


class Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = getattr(import_module(f"{__name__}.{cmd_name}"), cmd_name)
        return found


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="trunkline", prog_name="trunkline")
def main() -> None:
    """A fast HTTP server for Mercurial repositories."""
