"""`tool agree`: shows which environment variables a tool sends to whom, and stores that the user agrees."""

from __future__ import annotations

import click

from toolhaft.cli.output import print_data, print_json, printable
from toolhaft.cli.shell import Shell, id_argument, json_option, pass_shell


@click.command(
    "agree",
    help=(
        "Show which environment variables a tool sends to which hosts and programs, and agree to that for"
        " this project. Until then, call sends none of them."
    ),
)
@id_argument
@click.option("--yes", is_flag=True, help="Agree without being asked.")
@json_option
@pass_shell
def command(shell: Shell, *, id: str, yes: bool, as_json: bool) -> None:
    """Agree to what the tool sends."""
    from toolhaft.cli.agreements import require_agreement, sendings_of
    from toolhaft.cli.forwarding import forwarding_chain

    tool = shell.catalog.get_tool(id)
    sendings = [one for step in forwarding_chain(shell, tool) for one in sendings_of(step)]
    require_agreement(shell, id, sendings, hint=f"tool agree {id} --yes", is_given=yes)
    if as_json:
        print_json({"id": id, "sends": [{"variable": one.variable, "to": one.receiver} for one in sendings]})
        return
    for one in sendings:
        print_data(printable(f"{id} may send {one}"))
    if not sendings:
        print_data(printable(f"{id} sends no environment variables"))
