"""`tool get`: brings a tool into the project as a YAML file, active, with its endpoint.

Knows where tools come from; what a file can say of one is next door.
"""

from __future__ import annotations

import click

from toolhaft.cli.errors import CommandError
from toolhaft.cli.exits import Exit
from toolhaft.cli.output import note, say, say_json
from toolhaft.cli.shell import Shell, id_argument, json_option, pass_shell
from toolhaft.cli.tool_files import check_id, file_of, seen_from_here, taken, write_new, write_whole

TYPE_CHECKING = False  # a tool's own room is loaded when there is one to bring
if TYPE_CHECKING:
    from toolhaft.core.conversion import AnyTool


@click.command("get", help="Bring a tool into the project, active, as YAML; with NEW_ID, a copy of your own.")
@id_argument
@click.argument("new_id", required=False)
@click.option("--force", is_flag=True, help="Write over the file that is there.")
@json_option
@pass_shell
def command(shell: Shell, *, id: str, new_id: str | None, force: bool, as_json: bool) -> None:
    """Fetch the tool."""
    wanted = new_id or id
    _check(id, new_id)
    file = file_of(shell, wanted)
    if file.exists() and not force:
        raise taken(file, wanted)
    from toolhaft.catalog.said_in_yaml import active_text  # noqa: PLC0415 -- after what can go wrong at no cost

    source, is_published = _find(shell, id, is_copy=wanted != id)
    made = active_text(source, id=wanted, url=shell.platform.url)
    notes = [*made.notes, *_warnings(shell, source)]
    if is_published and wanted != id and (own := file_of(shell, id)).exists():
        notes.append(f"it is what is published, not {seen_from_here(own)}")
    if force:
        write_whole(file, made.text)
    else:
        write_new(file, made.text, wanted)
    if as_json:
        say_json({"id": wanted, "file": seen_from_here(file), "endpoint": made.endpoint, "notes": notes})
        return
    say(f"{seen_from_here(file)}: written, active at {made.endpoint}")
    for line in notes:
        note(f"note: {line}")
    shell.next(f"call {wanted} --help")


def _warnings(shell: Shell, source: AnyTool) -> list[str]:
    """A file from elsewhere that runs code on this machine is to be read first."""
    run = getattr(source, "run", None)
    if run is None or run.kind == "http" or shell.platform.is_embedded:
        return []
    return [f"it runs {run.kind} on this machine when it is called: read the file first"]


def _check(id: str, new_id: str | None) -> None:
    """Refuse an id that no file may have, with what to type in its place."""
    try:
        check_id(id if new_id is None else new_id)
    except CommandError as error:
        close = error.next.split()[-1]  # an id that is like it, where there is one
        words = (
            f"get {id} {f'my-{id}'[:50] if close == 'my-tool' else close}" if new_id else f"search {close}"
        )
        raise CommandError(str(error), next=f"tool {words}") from None


def _find(shell: Shell, id: str, *, is_copy: bool) -> tuple[AnyTool, bool]:
    """The tool to bring, and whether it is published.

    What is published comes before what is installed; a copy may be of a file that is not published.
    """
    from toolhaft.catalog.installed import Installed, load_offer  # noqa: PLC0415 -- as above
    from toolhaft.errors import UnknownToolError  # noqa: PLC0415 -- the same

    try:
        return shell.platform.get(id).tool, True
    except UnknownToolError:
        pass
    own = file_of(shell, id)
    if is_copy and own.exists():
        from toolhaft.define.yaml import load_tool  # noqa: PLC0415 -- the same

        return load_tool(seen_from_here(own)), False
    offer = next((offer for offer in Installed().offers if offer.id == id), None)
    if offer is not None:
        return load_offer(offer), False
    if own.exists():
        raise CommandError(
            f"{id} is in this project only: there is nothing to bring",
            next=f"tool set {id}",
            exit=Exit.FAILED,
        )
    return shell.catalog.get_tool(id), False  # raises, with the nearest name, unless it came this moment
