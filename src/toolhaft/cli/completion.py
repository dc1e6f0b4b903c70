"""`completion`: scripts for shells, and what they are answered while a person types.

Knows ids from the listing alone: no tool is loaded, no platform is asked.
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
    from toolhaft.catalog.listing import Listing

PROGRAMS: Final = ("lk", "toolhaft")
_ID: Final = re.compile("[A-Za-z0-9_.-]+")  # what a shell reads as one plain word
SHELLS: Final = ("bash", "zsh", "fish")
_HOMES: Final = {
    "bash": 'eval "$({program} completion bash)" in ~/.bashrc',
    "zsh": 'eval "$({program} completion zsh)" in ~/.zshrc, after compinit',
    "fish": "{program} completion fish > ~/.config/fish/completions/{program}.fish",
}


def shell_of(context: click.Context) -> Shell:
    """The run that a context belongs to; while completing, nothing has made one yet."""
    found = context.find_object(Shell)
    if found is None:
        root = context.find_root()
        found = root.obj = Shell(folder=root.params.get("folder"))
    return found


def listed(context: click.Context) -> list[Listing]:
    """Every tool that can be found from here without asking a platform elsewhere."""
    from toolhaft.catalog.catalog import Catalog  # noqa: PLC0415 -- scripts need no catalog

    project = shell_of(context).project
    is_embedded = project.platform_url is None
    return Catalog(project=project, platform=... if is_embedded else None).entries()


def items_of(context: click.Context, incomplete: str) -> list[CompletionItem]:
    """The ids that begin so; none where the project is broken: a person types, and other verbs tell that."""
    with suppress(ToolhaftError, OSError):
        return [
            CompletionItem(entry.id, help=output.show(" ".join(entry.description.split()))[:80])
            for entry in listed(context)
            if entry.id.startswith(incomplete) and _ID.fullmatch(entry.id)
        ]
    return []


def complete_ids(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """For the arguments of other verbs that are ids: `@click.argument("id", shell_complete=complete_ids)`."""
    given = context.params.get(param.name or "")
    taken = cast("tuple[str, ...]", given) if isinstance(given, tuple) else ()
    return [item for item in items_of(context, incomplete) if item.value not in taken]


def as_typed(context: click.Context, value: str) -> str:
    """A value of several words as it is handed to the shell that asks, so that it stays one."""
    asks = os.environ.get(f"_{context.find_root().info_name}_COMPLETE".upper(), "")
    # bash puts it on the line as it comes, after its script has taken one backslash; others quote it
    return value.replace(" ", r"\\ ") if asks.startswith("bash") else value


def script_of(shell: str, program: str) -> str:
    """The script that has a shell ask this program."""
    kind = cast("type[ShellComplete]", get_completion_class(shell))
    made = kind(click.Command(program), {}, program, f"_{program}_COMPLETE".upper())
    return ShellComplete.source(made)  # bash's own would start a bash only to learn its version


@click.command("completion", help="Print the script that completes verbs, tools and flags in a shell.")
@click.argument("shell", type=click.Choice(SHELLS), metavar="|".join(SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the script for both names of the program."""
    for program in PROGRAMS:
        output.say(script_of(shell, program))
    if output.is_terminal():
        typed = shell_of(context).program
        output.note(f"  to keep it: {_HOMES[shell].format(program=typed)}")
