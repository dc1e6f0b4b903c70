"""What every verb is given: the project it works in, its catalog and platform, and how to print.

Does not know the verbs; loads a room only when a verb asks for it.
"""

from __future__ import annotations

import os
import sys
from functools import cached_property
from typing import cast

import click

from toolhaft.cli import output
from toolhaft.cli.errors import CommandError
from toolhaft.cli.exits import Exit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from toolhaft.catalog.catalog import Catalog
    from toolhaft.catalog.platform import Platform
    from toolhaft.catalog.project import Project


class Shell:
    """One run of the program.

    Args:
        program: the name that was typed, `lk` or `toolhaft`.
        folder: where to look for the project; None for the current folder.
        color: False if the person wants none.
    """

    def __init__(self, *, program: str = "lk", folder: str | None = None, color: bool = True) -> None:
        self.program = program
        self.folder = folder
        self.color = color

    @cached_property
    def project(self) -> Project:
        """The project around the folder.

        Raises:
            ConfigError: where its toolhaft.toml is broken.
            CommandError: where the folder of `-C` is not there.
        """
        from toolhaft.catalog.project import Project as Found  # noqa: PLC0415 -- verbs like `version` need none

        if self.folder is not None and not os.path.isdir(self.folder):  # noqa: PTH112 -- pathlib costs a tenth of the start
            raise CommandError(f"-C {self.folder}: there is no such folder", next="--help")
        return Found.find(self.folder)

    @cached_property
    def catalog(self) -> Catalog:
        """Everything that can be found from here."""
        from toolhaft.catalog.catalog import Catalog as Found  # noqa: PLC0415 -- the same

        return Found(project=self.project)

    @cached_property
    def platform(self) -> Platform:
        """Where this project publishes: the one that is configured, else the embedded one.

        Raises:
            ConfigError: where its settings make no sense.
        """
        return cast("Platform", self.catalog.platform)  # a project always has one

    def next(self, command: str) -> None:
        """Tell which command comes next; on standard error, where it is no part of the data."""
        output.note(f"  next: {self.command(command)}")

    def command(self, words: str) -> str:
        """A command of this program as the person types it."""
        return f"{self.program} {words}"

    def table(self, headers: list[str], rows: list[list[str]]) -> None:
        """Print a table."""
        output.say_table(headers, rows, color=self.color)

    @property
    def is_interactive(self) -> bool:
        """True if a person can be asked."""
        return output.is_terminal(sys.stdin) and output.is_terminal(sys.stderr)

    def confirm(self, question: str, *, hint: str) -> None:
        """Ask before something that cannot be undone.

        Raises:
            CommandError: where the answer is not yes, or there is nobody to ask.
        """
        if not self.is_interactive:
            raise CommandError(f"{question} Nobody is here to answer", next=hint)
        answer = ask(f"{question} [y/N] ")
        if answer.strip().lower() not in ("y", "yes"):
            raise CommandError("nothing was changed", exit=Exit.FAILED)


def ask(question: str) -> str:
    """A line that the person types; the question goes to standard error, so that data stays data.

    Raises:
        click.Abort: at the end of the input.
    """
    sys.stderr.write(question)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise click.Abort
    return line.rstrip("\n")


def _complete_ids(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from toolhaft.cli.completion import complete_ids  # noqa: PLC0415 -- only where a shell asks

    return complete_ids(context, parameter, begun)


pass_shell = click.make_pass_decorator(Shell)
id_argument = click.argument("id", shell_complete=_complete_ids)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON; an error is JSON too.")
