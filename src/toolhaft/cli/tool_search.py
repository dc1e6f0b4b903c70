"""`tool search`: tools by words, the best first.

Knows listings only; loads no tool.
"""

from __future__ import annotations

import click

from toolhaft.cli.errors import CommandError
from toolhaft.cli.exits import Exit
from toolhaft.cli.output import note, say_json
from toolhaft.cli.shell import Shell, json_option, pass_shell
from toolhaft.cli.tool_rows import say_rows, warn_of_problems


@click.command("search", help="Find tools by words, the best first. Exits with 1 where there is none.")
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="At most so many.")
@click.option("--tag", help="Only tools with this tag.")
@json_option
@pass_shell
def command(shell: Shell, *, words: tuple[str, ...], limit: int, tag: str | None, as_json: bool) -> int:
    """Search the tools."""
    text = " ".join(words)
    if not text.strip():
        raise CommandError("there are no words to search for", next="tool ls")
    found = shell.catalog.search(text, limit=limit, tag=tag)
    if as_json:
        say_json([entry.to_json() for entry in found])
    elif found:
        say_rows(shell, found)
    else:
        note("no tool has these words")
        shell.next("tool ls")
    return warn_of_problems(shell, as_json=as_json) or (Exit.OK if found else Exit.FAILED)
