"""`tool new`: writes a new tool's file; a person at a terminal is asked, a script gets a template.

Does not know what the fields mean: the YAML door checks what is written.
"""

from __future__ import annotations

import click

from toolhaft.cli.errors import CommandError
from toolhaft.cli.output import note, say, say_json
from toolhaft.cli.shell import Shell, json_option, pass_shell
from toolhaft.cli.tool_draft import Kind, template_of
from toolhaft.cli.tool_files import check_id, file_of, seen_from_here, taken, write_new


@click.command("new", help="Write a new tool: asked for at a terminal, from a template elsewhere.")
@click.argument("id")
@click.option("--http", "kinds", flag_value="http", multiple=True, help="A tool that calls a web service.")
@click.option("--argv", "kinds", flag_value="argv", multiple=True, help="A tool that runs a program.")
@click.option("--python", "kinds", flag_value="python", multiple=True, help="A tool that calls a function.")
@click.option("--template", is_flag=True, help="Do not ask, also at a terminal.")
@json_option
@pass_shell
def command(shell: Shell, *, id: str, kinds: tuple[Kind, ...], template: bool, as_json: bool) -> None:
    """Write the tool."""
    check_id(id)
    if len(kinds) > 1:
        raise CommandError(
            "a tool runs one thing: give one of --http, --argv, --python", next="tool new --help"
        )
    file = file_of(shell, id)
    if file.exists():
        raise taken(file, id)
    kind = kinds[0] if kinds else None
    if shell.is_interactive and not template:
        from toolhaft.cli.tool_questions import ask_draft  # noqa: PLC0415 -- only where somebody answers

        text = ask_draft(id, kind).to_text()
    else:
        text = template_of(id, kind).to_text()
    _warn_of_shadow(shell, id)
    write_new(file, text, id)
    if as_json:
        say_json({"id": id, "file": seen_from_here(file)})
        return
    say(f"{seen_from_here(file)}: written")
    shell.next(f"tool check {seen_from_here(file)}")


def _warn_of_shadow(shell: Shell, id: str) -> None:
    from toolhaft.catalog.catalog import Catalog  # noqa: PLC0415 -- whoever mistyped does not wait for it

    others = Catalog(project=shell.project, platform=None)
    if id in others:
        note(f"note: it takes the place of the {others.listing(id).store} tool of that id")
