"""`tool ls`: every tool that can be found from here.

Knows listings only; loads no tool.
"""

from __future__ import annotations

import click

from toolhaft.cli.output import say, say_json
from toolhaft.cli.shell import Shell, json_option, pass_shell
from toolhaft.cli.tool_rows import say_rows, warn_of_problems


@click.command("ls", help="List every tool that can be found from here.")
@click.option("--tag", help="Only tools with this tag.")
@click.option("--owner", help="Only tools of this owner.")
@click.option("--share", type=click.Choice(["private", "org", "public"]), help="Only tools shared so.")
@json_option
@pass_shell
def command(shell: Shell, *, tag: str | None, owner: str | None, share: str | None, as_json: bool) -> int:
    """List the tools."""
    entries = shell.catalog.entries(tag=tag, owner=owner, share=share)
    if as_json:
        say_json([entry.to_json() for entry in entries])
    elif entries:
        say_rows(shell, entries)
    else:
        say("no tools")
        shell.next("tool ls" if tag or owner or share else "tool new my-tool")
    return warn_of_problems(shell, as_json=as_json)
