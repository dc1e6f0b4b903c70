"""`tool versions` and `tool rollback`: list the published versions of a tool, and restore one of them."""

from __future__ import annotations

from collections.abc import Sequence

import click

from toolhaft.cli.errors import CommandError, Exit
from toolhaft.cli.output import print_data, print_json, print_note, printable
from toolhaft.cli.shell import Shell, json_option, pass_shell, published_id_argument
from toolhaft.cli.tool_files import display_path, file_of
from toolhaft.define.running.activation import why_inactive
from toolhaft.errors import ConflictError, ForbiddenError, UnknownToolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.catalog.tool_versions import ToolVersion


@click.command("versions", help="List the published versions of a tool, the newest first.")
@published_id_argument
@json_option
@pass_shell
def versions(shell: Shell, *, id: str, as_json: bool) -> None:
    """List the versions that the platform keeps."""
    found = _versions(shell, id)
    if as_json:
        print_json([version.to_json() for version in found])
        return
    shell.table(
        ["NUMBER", "WHEN", "WHO", "VERSION", "CHANGE"],
        [
            [
                f"{version.number}{' (current)' if version.is_current else ''}",
                f"{version.updated_at[:19]}Z",
                version.published_by or "",
                version.version or "",
                version.change,
            ]
            for version in found
        ],
    )
    if len(found) > 1:
        shell.suggest(f"tool rollback {id}")


@click.command("rollback", help="Publish an earlier version of a tool again, as a new version.")
@published_id_argument
@click.option(
    "--to",
    type=click.IntRange(min=1),
    metavar="N",
    help="The number of the version; by default the one before the current one.",
)
@json_option
@pass_shell
def rollback(shell: Shell, *, id: str, to: int | None, as_json: bool) -> None:
    """Restore the version."""
    found = _versions(shell, id)
    older = next((version.number for version in found if not version.is_current), None)
    number = older if to is None else to
    current = next((version.updated_at for version in found if version.is_current), ...)
    try:
        published = shell.platform.rollback(id, to=number, base=current)
    except ConflictError as error:
        raise CommandError(
            f"{id} was published again meanwhile, and was not changed",
            next=f"tool versions {id}",
            exit=Exit.FAILED,
        ) from error
    except UnknownToolError as error:  # there is no such version
        raise CommandError(str(error), next=f"tool versions {id}", exit=Exit.FAILED) from error
    file = file_of(shell, id)
    if as_json:
        print_json({"id": id, "restored": number, "updated_at": published.updated_at})
        return
    tool = published.tool
    state = f" at {tool.endpoint}" if tool.is_active else f", not active: {why_inactive(tool)}"
    print_data(printable(f"{id}: version {number} is published again{state}"))
    if file.exists():  # its author decides what happens to it
        print_note(f"note: {display_path(file)} was not changed; to replace it, get the tool")
    shell.suggest(f"tool get {id} --force" if file.exists() else f"tool versions {id}")


def _versions(shell: Shell, id: str) -> Sequence[ToolVersion]:
    """The versions of a published tool.

    Raises:
        CommandError: if the tool is not published.
    """
    try:
        return shell.platform.versions(id)
    except (ForbiddenError, UnknownToolError) as error:
        listing = next((one for one in shell.catalog.entries() if one.id == id), None)
        is_own = listing is not None and listing.store == "project"
        # the platform may have somebody else's tool under the id of the file
        if listing is None or listing.store == "platform" or (is_own and isinstance(error, ForbiddenError)):
            raise
        raise CommandError(
            f"{id} is not published, so it has no versions: it is "
            f"{'only a file of the project' if is_own else listing.store}",
            next=f"tool set {id}" if is_own else f"tool show {id}",
            exit=Exit.FAILED,
        ) from error
