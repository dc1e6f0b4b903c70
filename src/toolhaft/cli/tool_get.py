"""`tool get`: activates a file of the project in place, or adds any other tool as a YAML file."""

from __future__ import annotations

from pathlib import Path
from typing import Final, cast

import click

from toolhaft.cli.errors import CommandError, Exit
from toolhaft.cli.forwarding import has_no_handler
from toolhaft.cli.output import print_data, print_json, print_note, printable
from toolhaft.cli.shell import Shell, id_argument, json_option, pass_shell
from toolhaft.cli.tool_files import (
    check_id,
    create_file,
    display_path,
    file_of,
    remember_endpoint,
    replace_file,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.catalog.published import AnyYamlTool
    from toolhaft.catalog.yaml_export import ActivatedYaml
    from toolhaft.core.conversion import AnyTool
    from toolhaft.schema.json_value import JSONObject, JSONValue

_PLATFORM_FIELDS: Final = ("created_at", "updated_at", "is_active", "endpoint")


@click.command(
    "get",
    help="Activate a file of the project, or add any other tool as a YAML file; with NEW_ID, as a copy.",
)
@id_argument
@click.argument("new_id", required=False)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option("--agree", is_flag=True, help="Agree to the environment variables that it sends.")
@json_option
@pass_shell
def command(shell: Shell, *, id: str, new_id: str | None, force: bool, agree: bool, as_json: bool) -> None:
    """Activate or fetch the tool."""
    wanted = new_id or id
    _check(id, new_id)
    file = file_of(shell, wanted)
    if wanted == id and not force and _switch_on(shell, file, id, as_json=as_json):
        return
    from toolhaft.catalog.yaml_export import activated_yaml
    from toolhaft.cli.agreements import require_agreement, sendings_of

    source, is_published = _find(shell, id, is_copy=wanted != id)
    if source is None:  # only the project has it, so there is nothing to replace it with
        if not (force and _switch_on(shell, file, id, as_json=as_json)):
            _confirm_active(shell, file, as_json=as_json)
        return
    again = f"tool get {id}{f' {new_id}' if new_id else ''}"
    created = activated_yaml(source, id=wanted, url=shell.platform.url)
    if file.exists() and not force:
        _compare(shell, file, created, next=f"{again} --force", as_json=as_json)
        return
    hint = f"{again}{' --force' if force else ''} --agree"
    # before there is a file that can be called
    require_agreement(shell, wanted, sendings_of(source), hint=hint, is_given=agree)
    notes = [*created.notes, *_warnings(shell, source)]
    if is_published and wanted != id and (own := file_of(shell, id)).exists():
        notes.append(f"it is a copy of the published tool, not of {display_path(own)}")
    if force:
        replace_file(file, created.text)
    else:
        create_file(file, created.text, wanted)
    if wanted == id:
        remember_endpoint(shell, id, created.endpoint)
    _report_clone(shell, wanted, file, created, notes, as_json=as_json)


def _report_clone(
    shell: Shell, id: str, file: Path, created: ActivatedYaml, notes: list[str], *, as_json: bool
) -> None:
    if as_json:
        print_json(
            {
                "id": id,
                "file": display_path(file),
                "endpoint": created.endpoint,
                "is_active": created.is_active,
                "notes": notes,
            }
        )
        return
    if created.is_active:
        state = f"active at {created.endpoint}" if created.endpoint else "active"
    else:
        state = "not active: " + ("it is switched off" if created.is_run else "nothing runs it")
    print_data(f"{display_path(file)}: written, {state}")
    for line in notes:
        print_note(f"note: {line}")
    shell.suggest(f"call {id} --help" if created.is_active else f"tool get {id}")


def _switch_on(shell: Shell, file: Path, id: str, *, as_json: bool) -> bool:
    """Take `is_active: false` out of a file; False if it is not there, or nothing would run the tool.

    Raises:
        CommandError: if the file defines another tool, or was changed meanwhile.
    """
    tool = _read(file)
    if tool is not None and tool.name != id:
        raise CommandError(
            f"{display_path(file)} defines {tool.name!r}, not {id!r}",
            next=f"tool get {tool.name}",
            exit=Exit.CONFIGURATION,
        )
    if tool is None or tool.is_active_in_file is not False:
        return False
    switched_on = tool.replace(is_active=None)
    if has_no_handler(shell, switched_on):
        return False
    from toolhaft.define.yaml import write_tool
    from toolhaft.errors import DefinitionError

    try:
        text = write_tool(switched_on)
    except DefinitionError as error:  # another value is an alias of it
        raise CommandError(
            f"{display_path(file)}: take is_active: false out by hand, since another value refers to it",
            next=f"tool check {display_path(file)}",
            exit=Exit.FAILED,
        ) from error
    if file.read_bytes() != tool.text.encode():
        raise CommandError(
            f"{display_path(file)} changed meanwhile", next=f"tool get {tool.name}", exit=Exit.FAILED
        )
    replace_file(file, text)
    following = f"tool set {tool.name}" if tool.updated_at else f"call {tool.name} --help"
    _report_active(
        shell, file, switched_on, "activated: is_active: false was removed", following, as_json=as_json
    )
    return True


def _confirm_active(shell: Shell, file: Path, *, as_json: bool) -> None:
    """Report that a file of the project is active.

    Raises:
        DefinitionError: with the problems of the file.
        CommandError: if nothing runs its tool; it says what to add.
    """
    from toolhaft.define.yaml import load_definition

    tool = load_definition(display_path(file))
    if has_no_handler(shell, tool.replace(is_active=None)):
        raise CommandError(_what_to_add(tool, file), next=f"tool get {tool.name}", exit=Exit.FAILED)
    if tool.is_active_in_file is False:  # a copy that exists: only its own id activates it
        raise CommandError(
            f"exists: {display_path(file)}, and it is switched off",
            next=f"tool get {tool.name}",
            exit=Exit.FAILED,
        )
    _report_active(shell, file, tool, "already active", f"call {tool.name} --help", as_json=as_json)


def _report_active(
    shell: Shell, file: Path, tool: AnyYamlTool, what: str, following: str, *, as_json: bool
) -> None:
    path = display_path(file)
    if as_json:
        notes: list[str] = []
        print_json(
            {"id": tool.name, "file": path, "endpoint": tool.endpoint, "is_active": True, "notes": notes}
        )
        return
    print_data(f"{path}: {what}")
    shell.suggest(following)


def _what_to_add(tool: AnyYamlTool, file: Path) -> str:
    """Why nothing runs a tool, with the lines that would, for its own parameters."""
    from toolhaft.define.running.activation import why_inactive
    from toolhaft.define.yaml.emitter import write_flow
    from toolhaft.schema.json_schema import argument_schemas

    names = argument_schemas(cast("JSONObject", tool.input_schema))
    marks: dict[str, JSONValue] = {name: f"${{{name}}}" for name in names}
    function = tool.name.replace("-", "_")
    why = why_inactive(tool.replace(is_active=None))
    return "\n".join(
        (
            f"nothing runs {tool.name}: {why}. Write one of these lines into {display_path(file)}:",
            f"    run: {{argv: {write_flow(['PROGRAM', *marks.values()])}}}",
            f'    run: {{python: "MODULE:{function}"}}',
            f'    run: {{http: {{method: POST, url: "https://HOST/PATH", body: {write_flow(marks)}}}}}',
            f'    endpoint: "https://HOST/{tool.name}"',
        )
    )


def _compare(shell: Shell, file: Path, created: ActivatedYaml, *, next: str, as_json: bool) -> None:  # noqa: A002 -- as in CommandError
    """Show how an existing file differs from what would be written.

    Raises:
        CommandError: if it differs.
    """
    from toolhaft.define.yaml import parse_tool, tool_fields

    own, written = _read(file), parse_tool(created.text)
    if own is not None:
        ours, theirs = (
            {key: value for key, value in tool_fields(one).items() if key not in _PLATFORM_FIELDS}
            for one in (own, written)
        )
        if ours == theirs:
            _confirm_active(shell, file, as_json=as_json)
            return
    path = display_path(file)
    if not as_json:
        from toolhaft.cli.tool_diff import diff_lines, print_diff

        old = file.read_text(encoding="utf-8", errors="replace")
        print_diff(shell, diff_lines(old, created.text, path, f"{path} with --force"))
    if own is not None and own.updated_at is not None and own.updated_at == written.updated_at:
        raise CommandError(
            f"exists: {path}, and it has changes that are not published; --force discards them",
            next=f"tool set {own.name}",
            exit=Exit.FAILED,
        )
    raise CommandError(
        f"exists: {path}, and it differs from what would be written; --force replaces it",
        next=next,
        exit=Exit.FAILED,
    )


def _read(file: Path) -> AnyYamlTool | None:
    """The tool of a file; None if there is none, or it has errors."""
    from toolhaft.define.yaml import load_definition
    from toolhaft.errors import DefinitionError

    try:
        return load_definition(file) if file.exists() else None
    except DefinitionError:
        return None


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
        check_id(id if new_id is None else new_id, verb="get")
    except CommandError as error:
        _, verb, close = error.next.split()  # the id that the error suggests
        words = f"{'get' if verb == 'get' else 'search'} {close}"  # get for the name of a file
        if new_id:
            words = f"get {id} {f'my-{id}'[:50] if close == 'my-tool' else close}"
        raise CommandError(str(error), next=f"tool {words}") from None


def _find(shell: Shell, id: str, *, is_copy: bool) -> tuple[AnyTool | None, bool]:
    """The tool to add, and whether it is published; None if only a file of the project has the id.

    A published tool takes precedence over an installed one; a copy may be of a file that is not published.
    """
    from toolhaft.catalog.installed import installed_tool
    from toolhaft.errors import UnknownToolError

    try:
        return shell.platform.get(id).tool, True
    except UnknownToolError:
        pass
    own = file_of(shell, id)
    if is_copy and own.exists():
        from toolhaft.define.yaml import load_definition

        return load_definition(display_path(own)), False
    installed = installed_tool(id)
    if installed is not None or own.exists():
        return installed, False
    # raises with the nearest name, unless the tool was just published
    return shell.catalog.get_tool(id), False
