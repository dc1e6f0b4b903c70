"""`completion`: prints completion scripts, and completes tool ids.

Ids come from listings: completion sends no request, and loads a tool only to complete its flags.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import Final, cast

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from toolhaft.cli import output
from toolhaft.cli.shell import Shell
from toolhaft.errors import ToolhaftError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.catalog.catalog import Catalog
    from toolhaft.catalog.listing import Listing

PROGRAMS: Final = ("lk", "toolhaft")
_ID: Final = re.compile("[A-Za-z0-9_.-]+")  # needs no quotes in a shell
SHELLS: Final = ("bash", "zsh", "fish")
_INSTRUCTIONS: Final = {
    "bash": 'eval "$({program} completion bash)" in ~/.bashrc',
    "zsh": 'eval "$({program} completion zsh)" in ~/.zshrc, after compinit',
    "fish": "{program} completion fish > ~/.config/fish/completions/{program}.fish",
}


def shell_of(context: click.Context) -> Shell:
    """The Shell of a click context; during completion none has been created yet."""
    found = context.find_object(Shell)
    if found is None:
        root = context.find_root()
        found = root.obj = Shell(folder=root.params.get("folder"))
    return found


def local_catalog(context: click.Context) -> Catalog:
    """The tools that can be found without a request to a platform or a database server."""
    shell = shell_of(context)
    project = shell.project
    if project.platform_url is None and project.database_url.startswith("sqlite"):
        return shell.catalog
    from toolhaft.catalog.catalog import Catalog as Found

    return Found(project=project, platform=None)


def local_listings(context: click.Context) -> list[Listing]:
    """Every tool of the local catalog."""
    try:
        return local_catalog(context).entries()
    finally:
        shell_of(context).close()  # after a completion nothing else closes it


def complete_tool_ids(
    context: click.Context, incomplete: str, *, stores: tuple[str, ...] = (), is_published: bool = False
) -> list[CompletionItem]:
    """The ids with this prefix, in some stores or in all; none if the project is broken."""
    with suppress(ToolhaftError, OSError):
        return [
            CompletionItem(entry.id, help=output.printable(" ".join(entry.description.split()))[:80])
            for entry in local_listings(context)
            if entry.id.startswith(incomplete)
            and _ID.fullmatch(entry.id)
            and (not stores or entry.store in stores)
            and (not is_published or entry.updated_at is not None)
        ]
    return []


def complete_ids(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete an argument that is a tool id: `@click.argument("id", shell_complete=complete_ids)`."""
    value = context.params.get(param.name or "")
    chosen = cast("tuple[str, ...]", value) if isinstance(value, tuple) else ()
    return [item for item in complete_tool_ids(context, incomplete) if item.value not in chosen]


def complete_own_ids(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 -- click's signature
    """Complete the id of a tool with a file in the project; with `--published`, also of a published one."""
    stores = ("project", "platform") if context.params.get("published") else ("project",)
    return complete_tool_ids(context, incomplete, stores=stores)


def complete_published_ids(
    context: click.Context,
    param: click.Parameter,  # noqa: ARG001 -- click's signature
    incomplete: str,
) -> list[CompletionItem]:
    """Complete the id of a published tool; the file of one has an `updated_at`."""
    return complete_tool_ids(context, incomplete, stores=("project", "platform"), is_published=True)


def complete_field(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete an option that selects tools by a field of their listings: `--tag` or `--owner`."""
    values: set[str] = set()
    with suppress(ToolhaftError, OSError):
        for entry in local_listings(context):
            values.update(entry.tags if param.name == "tag" else (entry.owner,))
    return [
        CompletionItem(value)
        for value in sorted(values)
        if value.startswith(incomplete) and _ID.fullmatch(value)
    ]


def escape_for_shell(context: click.Context, value: str) -> str:
    """A completion value with its spaces escaped as the calling shell needs it."""
    instruction = os.environ.get(f"_{context.find_root().info_name}_COMPLETE".upper(), "")
    # click's bash script removes one backslash, and bash does not quote the value; the other shells do
    return value.replace(" ", r"\\ ") if instruction.startswith("bash") else value


def completion_script(shell: str, program: str) -> str:
    """The script that makes a shell call this program for completions."""
    kind = cast("type[ShellComplete]", get_completion_class(shell))
    completer = kind(click.Command(program), {}, program, f"_{program}_COMPLETE".upper())
    return ShellComplete.source(completer)  # BashComplete.source would start bash to check its version


@click.command("completion", help="Print the script that completes verbs, tools and flags in a shell.")
@click.argument("shell", type=click.Choice(SHELLS), metavar="|".join(SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the script for both names of the program."""
    for program in PROGRAMS:
        output.print_data(completion_script(shell, program))
    if output.is_terminal():
        program = shell_of(context).program
        output.print_note(f"  to install it: {_INSTRUCTIONS[shell].format(program=program)}")
