"""`import`: YAML files from what another system declared in a provider's format.

Knows files; what a format says of a tool is the formats' business, what YAML can say is YAML's.
"""

from __future__ import annotations

import re
from typing import BinaryIO, Final, NamedTuple, cast

import click

from toolhaft.cli import output
from toolhaft.cli.errors import CommandError
from toolhaft.cli.exits import Exit
from toolhaft.cli.export import format_option
from toolhaft.cli.shell import Shell, json_option, pass_shell
from toolhaft.errors import DefinitionError, UnknownToolError, WireError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from toolhaft.core.doors import AnyTool
    from toolhaft.schema.json_value import JSONObject

_LARGEST: Final = 50_000_000
_ID: Final = re.compile("[a-z][a-z0-9_-]{0,49}")


@click.command("import", help="Write a YAML file into the project for each tool that FILE (or -) declares.")
@click.argument("file", type=click.File("rb"))
@format_option
@click.option("--force", is_flag=True, help="Replace files that are there.")
@click.option("--rename", "renames", multiple=True, metavar="NAME=ID", help="Give a tool another id.")
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
    """Write what can be said in YAML; tell the rest."""
    from toolhaft.formats import import_tools  # noqa: PLC0415 -- not for help

    try:
        tools = import_tools(_read(file), format)
    except WireError as error:
        raise CommandError(f"{file.name}: {error}", exit=Exit.FAILED, next="import --help") from None
    if not tools:
        raise CommandError(f"{file.name}: it declares no tools", exit=Exit.FAILED, next="import --help")
    ids = _ids(renames, [tool.name for tool in tools])
    found = _Found(written={}, notes={}, problems={})
    for tool in tools:
        try:
            found.written[ids[tool.name]] = _write(
                shell, _described(tool, found), ids[tool.name], force=force
            )
        except (DefinitionError, CommandError) as error:
            found.problems[tool.name] = str(error)
    _tell(shell, found, as_json=as_json)
    return Exit.FAILED if found.problems else Exit.OK


class _Found(NamedTuple):
    """What became of each tool."""

    written: dict[str, str]
    notes: dict[str, str]
    problems: dict[str, str]


def _read(file: BinaryIO) -> str:
    data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise CommandError(f"{file.name}: larger than {_LARGEST:,} bytes", exit=Exit.FAILED)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(f"{file.name}: not UTF-8, from byte {error.start} on", exit=Exit.FAILED) from None


def _ids(renames: tuple[str, ...], names: list[str]) -> dict[str, str]:
    """The id of each tool: its name, unless it was given another.

    Raises:
        CommandError: for a name that is not there, or an id that two tools would have.
    """
    from toolhaft.schema.nearest import nearest  # noqa: PLC0415 -- not for help

    ids = {name: name for name in names}
    for rename in renames:
        name, equals, id = rename.partition("=")
        if not equals or not name or not id:
            raise CommandError(f"--rename {rename}: write NAME=ID", next="import --help")
        if name not in ids:
            close = nearest(name, names)
            hint = f"; did you mean {close!r}?" if close else ""
            raise CommandError(f"--rename {rename}: there is no tool {name!r}{hint}")
        ids[name] = id
    twice = [id for id in ids.values() if list(ids.values()).count(id) > 1]
    if twice:
        raise CommandError(f"two tools would have the id {twice[0]!r}", next="import --help")
    return ids


def _described(tool: AnyTool, found: _Found) -> AnyTool:
    """The tool with a description for every parameter, which YAML wants and few wires have."""
    schema = cast("JSONObject", tool.input_schema)
    members = cast("JSONObject", schema.get("properties") or {})
    bare = {
        name: str(member.get("title") or name.replace("_", " "))
        for name, member in members.items()
        if isinstance(member, dict) and not member.get("description")
    }
    if not bare:
        return tool
    found.notes[tool.name] = f"described by their names alone: {', '.join(bare)}"
    return tool.with_words(parameters=bare)


def _write(shell: Shell, tool: AnyTool, id: str, *, force: bool) -> str:
    """Put a tool into its file.

    Raises:
        DefinitionError: where it cannot be said in YAML.
        CommandError: where its id is taken.
    """
    from toolhaft.define.yaml import dump_tool, write_tool  # noqa: PLC0415 -- not for help

    made = tool if tool.name == id else tool.replace(name=id)
    write_tool(made)  # before the folder is made: it raises where YAML cannot say the tool
    folder = shell.project.tools_folder
    path = folder / f"{id}.yaml"
    taken = path if path.exists() else _claims(shell, id)
    if taken and not force:
        raise CommandError(f"{output.show(str(taken))} is there: give --force to replace it")
    if taken and taken != path:
        raise CommandError(
            f"{output.show(str(taken))} has this id: {shell.command(f'tool rm {id}')} removes it"
        )
    folder.mkdir(parents=True, exist_ok=True)
    dump_tool(made, path)
    return str(path)


def _claims(shell: Shell, id: str) -> Path | None:
    """Another file of the project that has this id."""
    from toolhaft.catalog.catalog import Catalog  # noqa: PLC0415 -- not for help

    try:
        entry = Catalog(project=shell.project, platform=None).listing(id)
    except UnknownToolError:
        return None
    return shell.project.root / entry.place if entry.store == "project" else None


def _tell(shell: Shell, found: _Found, *, as_json: bool) -> None:
    if as_json:
        output.say_json(found._asdict())
        return
    for id, path in found.written.items():
        output.say(f"{id}  {output.show(path)}")
    for name, note in found.notes.items():
        if name not in found.problems:
            output.note(f"note: {output.show(name)}: {output.show(note)}")
    for name, problem in found.problems.items():
        output.note(f"error: {output.show(name)}: {output.show(problem)}")
    odd = [name for name in found.problems if not _ID.fullmatch(name)]
    if odd:
        output.note(f"  try: the same with --rename {output.show(odd[0])}=another_id")
    if found.written:
        output.note(f"They have no `run` yet: write one, then {shell.command('tool check')}")
