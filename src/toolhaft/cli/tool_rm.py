"""`tool rm`: removes a tool's file from the project, with --published also from the platform."""

from __future__ import annotations

from contextlib import suppress

import click

from toolhaft.cli.errors import CommandError, Exit
from toolhaft.cli.output import print_data, print_json
from toolhaft.cli.shell import Shell, json_option, own_id_argument, pass_shell
from toolhaft.cli.tool_files import display_path, file_of
from toolhaft.errors import UnknownToolError


@click.command("rm", help="Remove a tool's file from the project.")
@own_id_argument
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--published", is_flag=True, help="Also remove it from the platform.")
@json_option
@pass_shell
def command(shell: Shell, *, id: str, yes: bool, published: bool, as_json: bool) -> None:
    """Remove the tool."""
    file = file_of(shell, id)
    has_file = file.exists()
    if not has_file and not (published and _is_published(shell, id)):
        listing = shell.catalog.listing(id)  # raises with the nearest name
        raise CommandError(
            f"{id} is not in this project: it is {listing.store}",
            next=f"tool rm {id} --published" if listing.store == "platform" else f"tool show {id}",
            exit=Exit.FAILED,
        )
    what = " and ".join(
        [
            *([display_path(file)] if has_file else []),
            *([f"{id} on {shell.platform.url}"] if published else []),
        ]
    )
    if not yes:
        shell.confirm(f"Remove {what}?", hint=f"tool rm {id}{' --published' if published else ''} --yes")
    if published:
        with suppress(UnknownToolError):  # removed already
            shell.platform.remove(id)
    if has_file:
        file.unlink()
    if as_json:
        print_json({"id": id, "removed": what})
        return
    print_data(f"removed {what}")
    shell.suggest("tool ls")


def _is_published(shell: Shell, id: str) -> bool:
    try:
        shell.platform.get(id)
    except UnknownToolError:
        return False
    return True
