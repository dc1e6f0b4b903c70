"""`import`: writes YAML files from tools that are declared in a provider's format."""

from __future__ import annotations

import re
from typing import BinaryIO, Final, NamedTuple, cast

import click

from toolhaft.cli import output
from toolhaft.cli.errors import CommandError, Exit
from toolhaft.cli.export import format_option
from toolhaft.cli.shell import Shell, json_option, pass_shell
from toolhaft.errors import DefinitionError, UnknownToolError, WireError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from toolhaft.core.conversion import AnyTool
    from toolhaft.schema.json_value import JSONObject

_MAX_BYTES: Final = 50_000_000
_ID: Final = re.compile("[a-z][a-z0-9_-]{0,49}")


@click.command("import", help="Write one YAML file into the project per tool that FILE (or -) declares.")
@click.argument("file", type=click.File("rb"))
@format_option
@click.option("--force", is_flag=True, help="Replace existing files.")
@click.option("--rename", "renames", multiple=True, metavar="NAME=ID", help="Import a tool under another id.")
@json_option
@pass_shell
def command(
    shell: Shell,
    *,
    file: BinaryIO,
    format: str,
    force: bool,
    renames: tuple[str, ...],
    as_json: bool,
) -> int:
    """Write the tools that YAML can express; report the others, with exit status 1 if there are any."""
    from toolhaft.formats import import_tools
    from toolhaft.formats.operations.tool_entries import is_provider_tool

    try:
        tools = import_tools(_read(file), format)
    except WireError as error:
        raise CommandError(f"{file.name}: {error}", exit=Exit.FAILED, next="import --help") from None
    if not tools and not tools.refused:
        raise CommandError(f"{file.name}: it declares no tools", exit=Exit.FAILED, next="import --help")
    ids = _ids(renames, [tool.name for tool in tools])
    report = _ImportReport(written={}, notes={}, problems={}, next={})
    for tool in tools:
        if is_provider_tool(tool):
            report.notes[tool.name] = "the provider defines it, so it has no file"
            continue
        try:
            notes: list[str] = []
            converted = _to_yaml_tool(tool, ids[tool.name], notes)
            report.written[converted.name] = _write_tool(shell, converted, force=force)
            report.notes.update({tool.name: "; ".join(notes)} if notes else {})
        except DefinitionError as error:
            report.problems[tool.name] = str(error).removeprefix(f"tool {ids[tool.name]!r}: ")
        except CommandError as error:
            report.problems[tool.name] = str(error)
            report.next.setdefault(error.next)
    _add_advice(shell, report)
    report.problems.update(tools.refused)
    _print_report(shell, report, as_json=as_json)
    return Exit.FAILED if report.problems else Exit.OK


class _ImportReport(NamedTuple):
    """The outcome for each tool."""

    written: dict[str, str]
    notes: dict[str, str]
    problems: dict[str, str]
    next: dict[str, None]
    """What to do next about the problems, without repetition."""


def _read(file: BinaryIO) -> str:
    data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        message = f"{file.name}: larger than {_MAX_BYTES:,} bytes"
        raise CommandError(message, exit=Exit.FAILED, next="import --help")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{file.name}: not UTF-8, starting at byte {error.start}"
        raise CommandError(message, exit=Exit.FAILED, next="import --help") from None


def _ids(renames: tuple[str, ...], names: list[str]) -> dict[str, str]:
    """The id of each tool: its name, or the one that --rename gives it.

    Raises:
        CommandError: for an unknown name, or an id that two tools would have.
    """
    from toolhaft.schema.nearest import nearest

    ids = {name: name for name in names}
    for rename in renames:
        name, equals, id = rename.partition("=")
        if not equals or not name or not id:
            raise CommandError(f"--rename {rename}: write NAME=ID", next="import --help")
        if name not in ids:
            close = nearest(name, names)
            hint = f"; did you mean {close!r}?" if close else ""
            raise CommandError(f"--rename {rename}: there is no tool {name!r}{hint}", next="import --help")
        ids[name] = id
    twice = [id for id in ids.values() if list(ids.values()).count(id) > 1]
    if twice:
        raise CommandError(f"two tools would have the id {twice[0]!r}", next="import --help")
    return ids


def _to_yaml_tool(tool: AnyTool, id: str, notes: list[str]) -> AnyTool:
    """The tool under an id, simplified to what YAML can express.

    Raises:
        DefinitionError: if YAML cannot express it.
    """
    from toolhaft.catalog.yaml_export import yaml_compatible
    from toolhaft.cli.import_schemas import plain_input, plain_output
    from toolhaft.core.options import Options
    from toolhaft.core.tool import OPTION_NAMES, Tool
    from toolhaft.define.yaml import write_tool

    schema = plain_input(cast("JSONObject", tool.input_schema), notes)
    bare = [
        name
        for name, member in cast("JSONObject", schema["properties"]).items()
        if isinstance(member, dict) and not (member.get("description") or member.get("title"))
    ]
    if bare:
        notes.append(f"parameters without a description, described by their names: {', '.join(bare)}")
    plain = Tool(
        name=id,
        description=tool.description,
        input_schema=schema,
        output_schema=cast("JSONObject | None", plain_output(tool.output_schema, notes)),
        **cast("Options", {key: getattr(tool, key) for key in OPTION_NAMES}),
    )
    converted, more = yaml_compatible(plain)
    notes += more
    write_tool(converted)  # raises if YAML cannot express the tool
    return converted


def _write_tool(shell: Shell, tool: AnyTool, *, force: bool) -> str:
    """Write a tool to its file.

    Raises:
        CommandError: if its id is taken.
    """
    from toolhaft.cli.tool_files import display_path
    from toolhaft.define.yaml import dump_tool

    folder, id = shell.project.tools_folder, tool.name
    path = folder / f"{id}.yaml"
    taken = path if path.exists() else _file_with_id(shell, id)
    if taken and not force:
        raise CommandError(
            f"{output.printable(display_path(taken))} exists", next="the same with --force, to replace it"
        )
    if taken and taken != path:
        raise CommandError(
            f"{output.printable(display_path(taken))} has this id",
            next=f"{shell.command_line(f'tool rm {id}')}, to remove it",
        )
    folder.mkdir(parents=True, exist_ok=True)
    dump_tool(tool, path)
    return display_path(path)


def _file_with_id(shell: Shell, id: str) -> Path | None:
    """Another file of the project that defines a tool with this id."""
    from toolhaft.catalog.catalog import Catalog

    try:
        entry = Catalog(project=shell.project, platform=None).listing(id)
    except UnknownToolError:
        return None
    return shell.project.root / entry.place if entry.store == "project" else None


def _add_advice(shell: Shell, report: _ImportReport) -> None:
    odd = [name for name in report.problems if not _ID.fullmatch(name)]
    if odd:
        report.next.setdefault(f"the same with --rename {output.printable(odd[0])}=another_id")
    if report.problems and not report.next:
        report.next.setdefault(f"{shell.command_line('tool new ID')}, for a file to start from")


def _print_report(shell: Shell, report: _ImportReport, *, as_json: bool) -> None:
    if as_json:
        output.print_json({**report._asdict(), "next": list(report.next)})
        return
    for id, path in report.written.items():
        output.print_data(f"{id}  {output.printable(path)}")
    for name, note in report.notes.items():
        output.print_note(f"note: {output.printable(name)}: {output.printable(note)}")
    for name, problem in report.problems.items():
        output.print_note(f"error: {output.printable(name)}: {output.printable(problem)}")
    for command in report.next:
        output.print_note(f"  try: {command}")
    if report.written:
        output.print_note(f"The files have no `run` yet: write one, then {shell.command_line('tool check')}")
