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

    from toolhaft.core.conversion import AnyTool
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
    found = _Found(written={}, notes={}, problems={}, next={})
    for tool in tools:
        try:
            notes: list[str] = []
            made = _said(tool, ids[tool.name], notes)
            found.written[made.name] = _write(shell, made, force=force)
            found.notes.update({tool.name: "; ".join(notes)} if notes else {})
        except DefinitionError as error:
            found.problems[tool.name] = str(error).removeprefix(f"tool {ids[tool.name]!r}: ")
        except CommandError as error:
            found.problems[tool.name] = str(error)
            found.next.setdefault(error.next)
    _tell(shell, found, as_json=as_json)
    return Exit.FAILED if found.problems else Exit.OK


class _Found(NamedTuple):
    """What became of each tool."""

    written: dict[str, str]
    notes: dict[str, str]
    problems: dict[str, str]
    next: dict[str, None]
    """What to type next for the problems, each once."""


def _read(file: BinaryIO) -> str:
    data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        message = f"{file.name}: larger than {_LARGEST:,} bytes"
        raise CommandError(message, exit=Exit.FAILED, next="import --help")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{file.name}: not UTF-8, from byte {error.start} on"
        raise CommandError(message, exit=Exit.FAILED, next="import --help") from None


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
            raise CommandError(f"--rename {rename}: there is no tool {name!r}{hint}", next="import --help")
        ids[name] = id
    twice = [id for id in ids.values() if list(ids.values()).count(id) > 1]
    if twice:
        raise CommandError(f"two tools would have the id {twice[0]!r}", next="import --help")
    return ids


def _said(tool: AnyTool, id: str, notes: list[str]) -> AnyTool:
    """The tool in words that YAML has, under an id.

    Raises:
        DefinitionError: where it cannot be said in YAML.
    """
    from toolhaft.catalog.said_in_yaml import sayable  # noqa: PLC0415 -- not for help
    from toolhaft.cli.import_schemas import plain_input, plain_output  # noqa: PLC0415 -- the same
    from toolhaft.core.options import Options  # noqa: PLC0415 -- the same
    from toolhaft.core.tool import OPTION_NAMES, Tool  # noqa: PLC0415 -- the same
    from toolhaft.define.yaml import write_tool  # noqa: PLC0415 -- the same

    schema = plain_input(cast("JSONObject", tool.input_schema), notes)
    bare = [
        name
        for name, member in cast("JSONObject", schema["properties"]).items()
        if isinstance(member, dict) and not (member.get("description") or member.get("title"))
    ]
    if bare:
        notes.append(f"described by their names alone: {', '.join(bare)}")
    plain: Tool[object, object] = Tool(
        name=id,
        description=tool.description,
        input_schema=schema,
        output_schema=cast("JSONObject | None", plain_output(tool.output_schema, notes)),
        **cast("Options", {key: getattr(tool, key) for key in OPTION_NAMES}),
    )
    made, more = sayable(plain)
    notes += more
    write_tool(made)  # it raises where YAML cannot say the tool
    return made


def _write(shell: Shell, tool: AnyTool, *, force: bool) -> str:
    """Put a tool into its file.

    Raises:
        CommandError: where its id is taken.
    """
    from toolhaft.cli.tool_files import seen_from_here  # noqa: PLC0415 -- not for help
    from toolhaft.define.yaml import dump_tool  # noqa: PLC0415 -- the same

    folder, id = shell.project.tools_folder, tool.name
    path = folder / f"{id}.yaml"
    taken = path if path.exists() else _claims(shell, id)
    if taken and not force:
        raise CommandError(
            f"{output.show(seen_from_here(taken))} is there", next="the same with --force replaces it"
        )
    if taken and taken != path:
        raise CommandError(
            f"{output.show(seen_from_here(taken))} has this id",
            next=f"{shell.command(f'tool rm {id}')} removes it",
        )
    folder.mkdir(parents=True, exist_ok=True)
    dump_tool(tool, path)
    return seen_from_here(path)


def _claims(shell: Shell, id: str) -> Path | None:
    """Another file of the project that has this id."""
    from toolhaft.catalog.catalog import Catalog  # noqa: PLC0415 -- not for help

    try:
        entry = Catalog(project=shell.project, platform=None).listing(id)
    except UnknownToolError:
        return None
    return shell.project.root / entry.place if entry.store == "project" else None


def _advise(shell: Shell, found: _Found) -> None:
    odd = [name for name in found.problems if not _ID.fullmatch(name)]
    if odd:
        found.next.setdefault(f"the same with --rename {output.show(odd[0])}=another_id")
    if found.problems and not found.next:
        found.next.setdefault(f"{shell.command('tool new ID')} writes a file to begin with")


def _tell(shell: Shell, found: _Found, *, as_json: bool) -> None:
    _advise(shell, found)
    if as_json:
        output.say_json({**found._asdict(), "next": list(found.next)})
        return
    for id, path in found.written.items():
        output.say(f"{id}  {output.show(path)}")
    for name, note in found.notes.items():
        output.note(f"note: {output.show(name)}: {output.show(note)}")
    for name, problem in found.problems.items():
        output.note(f"error: {output.show(name)}: {output.show(problem)}")
    for command in found.next:
        output.note(f"  try: {command}")
    if found.written:
        output.note(f"They have no `run` yet: write one, then {shell.command('tool check')}")
