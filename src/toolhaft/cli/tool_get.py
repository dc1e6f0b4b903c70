"""`tool get`: adds a tool to the project as an active YAML file, with its endpoint."""

from __future__ import annotations

import click

from toolhaft.cli.errors import CommandError, Exit
from toolhaft.cli.output import print_data, print_json, print_note, printable
from toolhaft.cli.shell import Shell, id_argument, json_option, pass_shell
from toolhaft.cli.tool_files import already_exists, check_id, create_file, display_path, file_of, replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.core.conversion import AnyTool


@click.command(
    "get", help="Add a tool to the project as an active YAML file; with NEW_ID, a copy of your own."
)
@id_argument
@click.argument("new_id", required=False)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option("--agree", is_flag=True, help="Agree to the environment variables that it sends.")
@json_option
@pass_shell
def command(shell: Shell, *, id: str, new_id: str | None, force: bool, agree: bool, as_json: bool) -> None:
    """Fetch the tool."""
    wanted = new_id or id
    _check(id, new_id)
    file = file_of(shell, wanted)
    if file.exists() and not force:
        raise already_exists(file, wanted)
    from toolhaft.catalog.yaml_export import activated_yaml
    from toolhaft.cli.agreements import require_agreement, sendings_of

    source, is_published = _find(shell, id, is_copy=wanted != id)
    created = activated_yaml(source, id=wanted, url=shell.platform.url)
    again = f"tool get {id}{f' {new_id}' if new_id else ''}{' --force' if force else ''} --agree"
    # before there is a file that can be called
    require_agreement(shell, wanted, sendings_of(source), hint=again, is_given=agree)
    notes = [*created.notes, *_warnings(shell, source)]
    if is_published and wanted != id and (own := file_of(shell, id)).exists():
        notes.append(f"it is a copy of the published tool, not of {display_path(own)}")
    if force:
        replace_file(file, created.text)
    else:
        create_file(file, created.text, wanted)
    if as_json:
        print_json({"id": wanted, "file": display_path(file), "endpoint": created.endpoint, "notes": notes})
        return
    print_data(f"{display_path(file)}: written, active at {created.endpoint}")
    for line in notes:
        print_note(f"note: {line}")
    shell.suggest(f"call {wanted} --help")


def _warnings(shell: Shell, source: AnyTool) -> list[str]:
    """What the tool sends to which host, and whether it runs code on this machine."""
    from toolhaft.cli.agreements import sendings_of

    run = getattr(source, "run", None)
    if run is None:
        return []
    hosts = ", ".join(getattr(source, "hosts", ()))
    notes = [f"it sends requests to {hosts}"] if hosts else []
    notes += [f"it sends {one}" for one in sendings_of(source)]
    if run.kind != "http" and not shell.platform.is_embedded:
        notes.append(f"it runs {run.kind} on this machine when it is called: read the file first")
    return [printable(note) for note in notes]


def _check(id: str, new_id: str | None) -> None:
    """Check the id of the new file; the error suggests a valid command."""
    try:
        check_id(id if new_id is None else new_id)
    except CommandError as error:
        close = error.next.split()[-1]  # the id that the error suggests
        words = (
            f"get {id} {f'my-{id}'[:50] if close == 'my-tool' else close}" if new_id else f"search {close}"
        )
        raise CommandError(str(error), next=f"tool {words}") from None


def _find(shell: Shell, id: str, *, is_copy: bool) -> tuple[AnyTool, bool]:
    """The tool to add, and whether it is published.

    A published tool takes precedence over an installed one; a copy may be of a file that is not published.
    """
    from toolhaft.catalog.installed import InstalledTools, load_entry_point
    from toolhaft.errors import UnknownToolError

    try:
        return shell.platform.get(id).tool, True
    except UnknownToolError:
        pass
    own = file_of(shell, id)
    if is_copy and own.exists():
        from toolhaft.define.yaml import load_tool

        return load_tool(display_path(own)), False
    entry = next((entry for entry in InstalledTools().entry_points if entry.id == id), None)
    if entry is not None:
        return load_entry_point(entry), False
    if own.exists():
        raise CommandError(
            f"{id} is already in this project, and it is neither published nor installed",
            next=f"tool set {id}",
            exit=Exit.FAILED,
        )
    # raises with the nearest name, unless the tool was just published
    return shell.catalog.get_tool(id), False
