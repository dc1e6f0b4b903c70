"""What every verb needs: the project, its catalog and platform, and questions to the user."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import cached_property
from typing import cast

import click

from toolhaft.cli import output
from toolhaft.cli.errors import CommandError, Exit
from toolhaft.errors import ToolhaftError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from toolhaft.catalog.catalog import Catalog
    from toolhaft.catalog.platform import Platform
    from toolhaft.catalog.project import Project


class Shell:
    """One run of the program; the project, catalog and platform are loaded when first used.

    Args:
        program: the name of the program as typed, `lk` or `toolhaft`.
        folder: where to look for the project; None for the current folder.
        color: False to print without colors.
    """

    def __init__(self, *, program: str = "lk", folder: str | None = None, color: bool = True) -> None:
        self.program = program
        self.folder = folder
        self.color = color

    @cached_property
    def project(self) -> Project:
        """The project around the folder.

        Raises:
            ConfigError: if its toolhaft.toml is invalid.
            CommandError: if the folder of `-C` does not exist.
        """
        from toolhaft.catalog.project import Project as Found

        if self.folder is not None and not os.path.isdir(self.folder):  # noqa: PTH112 -- importing pathlib takes a tenth of the start-up time
            raise CommandError(f"-C {self.folder}: there is no such folder", next="--help")
        return Found.find(self.folder)

    @cached_property
    def catalog(self) -> Catalog:
        """Every tool that this project can find."""
        from toolhaft.catalog.catalog import Catalog as Found

        return Found(project=self.project)

    @cached_property
    def platform(self) -> Platform:
        """The platform that this project publishes to: the configured one, else the embedded one.

        Raises:
            ConfigError: if its settings are invalid.
        """
        return cast("Platform", self.catalog.platform)  # a project always has one

    def close(self) -> None:
        """Close the platform's connections, if they were opened; they open again when needed."""
        if "catalog" in vars(self):
            with suppress(ToolhaftError):  # invalid settings: nothing was opened
                self.platform.close()

    def suggest(self, command: str) -> None:
        """Print the command to run next, to standard error."""
        output.print_note(f"  next: {self.command_line(command)}")

    def command_line(self, words: str) -> str:
        """A command of this program as the user types it."""
        return f"{self.program} {words}"

    def table(self, headers: list[str], rows: list[list[str]]) -> None:
        """Print a table."""
        output.print_table(headers, rows, color=self.color)

    @property
    def is_interactive(self) -> bool:
        """True if the user can answer questions."""
        return output.is_terminal(sys.stdin) and output.is_terminal(sys.stderr)

    def confirm(self, question: str, *, hint: str) -> None:
        """Ask the user before something that cannot be undone.

        Raises:
            CommandError: if the answer is not yes, or there is no terminal.
        """
        if not self.is_interactive:
            raise CommandError(f"{question} There is no terminal to answer on", next=hint)
        answer = ask(f"{question} [y/N] ")
        if answer.strip().lower() not in ("y", "yes"):
            raise CommandError("nothing was changed", exit=Exit.FAILED)


def ask(question: str) -> str:
    """Ask the user for one line; the question goes to standard error.

    Raises:
        click.Abort: at the end of the input.
    """
    sys.stderr.write(question)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise click.Abort
    return line.rstrip("\n")


class _CompleteWith:
    """Completes a parameter with a function of `completion`, which is imported when it is needed."""

    def __init__(self, function: str) -> None:
        self._function = function

    def __call__(
        self, context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from toolhaft.cli import completion

        return getattr(completion, self._function)(context, parameter, incomplete)


pass_shell = click.make_pass_decorator(Shell)
id_argument = click.argument("id", shell_complete=_CompleteWith("complete_ids"))
own_id_argument = click.argument("id", shell_complete=_CompleteWith("complete_own_ids"))
"""The id of a tool that has a file in the project."""
published_id_argument = click.argument("id", shell_complete=_CompleteWith("complete_published_ids"))
file_option = click.option(
    "--file",
    "path",
    type=click.Path(),
    metavar="PATH",
    help="The file, if it is not local-kit/tools/ID.yaml.",
)
tag_option = click.option(
    "--tag", shell_complete=_CompleteWith("complete_field"), help="Only tools with this tag."
)
owner_option = click.option(
    "--owner", shell_complete=_CompleteWith("complete_field"), help="Only tools of this owner."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, also for an error.")
