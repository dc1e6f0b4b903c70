"""`tool ls` and `tool search`: print listings of tools, without loading the tools."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import click

from toolhaft.cli.errors import CommandError, Exit, describe_error
from toolhaft.cli.output import print_data, print_json, print_note, printable, to_json
from toolhaft.cli.shell import Shell, json_option, owner_option, pass_shell, tag_option
from toolhaft.errors import DefinitionError, ToolhaftError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.catalog.listing import Listing


@click.command("ls", help="List every tool that this project can find.")
@tag_option
@owner_option
@click.option(
    "--share", type=click.Choice(["private", "org", "public"]), help="Only tools with this sharing level."
)
@json_option
@pass_shell
def ls(shell: Shell, *, tag: str | None, owner: str | None, share: str | None, as_json: bool) -> int:
    """List the tools."""
    entries = shell.catalog.entries(tag=tag, owner=owner, share=share)
    if as_json:
        print_json([entry.to_json() for entry in entries])
    elif entries:
        print_listings(shell, entries)
    else:
        print_data("no tools")
        shell.suggest("tool ls" if tag or owner or share else "tool new my-tool")
    return print_problems(shell, as_json=as_json)


@click.command("search", help="Search tools by words, the best match first. Exits with 1 if there is none.")
@click.argument("words", nargs=-1, required=True)
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=10,
    show_default=True,
    help="The maximum number of tools.",
)
@tag_option
@json_option
@pass_shell
def search(shell: Shell, *, words: tuple[str, ...], limit: int, tag: str | None, as_json: bool) -> int:
    """Search the tools."""
    text = " ".join(words)
    if not text.strip():
        raise CommandError("there are no words to search for", next="tool ls")
    found = shell.catalog.search(text, limit=limit, tag=tag)
    if as_json:
        print_json([entry.to_json() for entry in found])
    elif found:
        print_listings(shell, found)
    else:
        print_note("no tool matches these words")
        shell.suggest("tool ls")
    return print_problems(shell, as_json=as_json) or (Exit.OK if found else Exit.FAILED)


_FILE: Final = re.compile(r"\.ya?ml(:[0-9]+)?$")


def print_listings(shell: Shell, entries: Sequence[Listing]) -> None:
    """Print a table of the tools."""
    shell.table(
        ["ID", "STORE", "ACTIVE", "SHARE", "TAGS", "DESCRIPTION"],
        [
            [
                entry.id,
                _store(entry),
                "yes" if entry.is_active else "no",
                entry.share,
                ", ".join(entry.tags),
                entry.description,
            ]
            for entry in entries
        ],
    )


def _store(entry: Listing) -> str:
    hidden = f", hides {'; '.join(entry.shadows)}" if entry.shadows else ""
    return f"{entry.store}{hidden}"


def print_problems(shell: Shell, *, as_json: bool) -> int:
    """Print what could not be read.

    Returns the exit code: an unreachable platform is a failure, since its tools are missing from the list;
    an invalid file is only a warning, since `tool check` reports it.
    """
    problems = shell.catalog.problems
    code = 0
    for problem in problems:
        report = None if isinstance(problem, DefinitionError) else describe_error(problem)
        first, *rest = str(problem).splitlines()
        text = f"{first} (and {len(rest)} more)" if rest else first
        if report is not None:
            code = max(code, report.exit)
        if not as_json:
            print_note(printable(f"warning: {text}"))
        elif report is None:
            print_note(to_json({"warning": text}))
        else:
            print_note(
                to_json({"error": text, "fix": shell.command_line("doctor"), "exit": int(report.exit)})
            )
    if not as_json:
        for command in sorted({_next_after(problem) for problem in problems}, reverse=True):
            shell.suggest(command)
    return code


def _next_after(problem: ToolhaftError) -> str:
    """The command that reports more: `tool check` for a file, else `doctor`."""
    is_file = isinstance(problem, DefinitionError) and _FILE.search(problem.problems[0].place)
    return "tool check" if is_file else "doctor"
