"""`files`: restores the files of calls that were interrupted."""

from __future__ import annotations

from shlex import quote

import click

from toolhaft.cli import output
from toolhaft.cli.errors import CommandError, Exit
from toolhaft.cli.shell import json_option
from toolhaft.errors import FilesystemError


@click.group("files", help="Restore files after an interrupted call.")
def command() -> None:
    """Group the verbs of files."""


@command.command("recover", help="Undo the calls in a folder that were interrupted, such as by kill -9.")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option(
    "--accept",
    is_flag=True,
    help="Also undo calls whose journal was copied, or written by another user or on another machine.",
)
@click.option("--drop", is_flag=True, help="Forget what cannot be restored; the files stay as they are now.")
@json_option
def recover(*, folder: str, accept: bool, drop: bool, as_json: bool) -> None:
    """Undo interrupted calls and print how many there were."""
    from toolhaft.resources.host import recover_folder

    try:
        found = recover_folder(folder, accept=accept, drop=drop)
    except FilesystemError as error:
        raise CommandError(str(error)) from None
    if as_json:
        output.print_json({"undone": found.undone, "stuck": found.stuck, "aside": found.aside})
    else:
        output.print_data(f"{output.count_of(found.undone, 'interrupted call')} undone")
    if found.aside:
        output.print_note(
            f"set aside, because they were copied here or written by another user or on another machine: "
            f"{output.count_of(found.aside, 'journal')}; --accept undoes their calls"
        )
    if found.stuck:
        raise CommandError(
            f"cannot restore {output.printable(found.stuck[0])}: remove what is in the way, or create the "
            "folder that is missing, and repeat; or keep the files as they are",
            next=f"files recover {quote(folder)} --drop",
            exit=Exit.FAILED,
        )
