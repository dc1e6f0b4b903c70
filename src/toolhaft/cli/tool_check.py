"""`tool check`: lists every problem of YAML files, with line and fix, and of the texts of Python tools."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Final, Literal, cast

import click

from toolhaft.cli.errors import CommandError, Exit
from toolhaft.cli.forwarding import has_no_handler
from toolhaft.cli.output import count_of, print_data, print_json, print_note, printable
from toolhaft.cli.shell import Shell, json_option, pass_shell
from toolhaft.cli.tool_files import ENDINGS, display_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.catalog.installed import ToolEntryPoint
    from toolhaft.catalog.published import AnyYamlTool
    from toolhaft.core.conversion import AnyTool
    from toolhaft.define.yaml import LintProblem
    from toolhaft.schema.json_value import JSONObject

_PYTHON_TOOL: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_TEXTS: Final = (
    "name",
    "title",
    "description",
    "when_to_use",
    "tags",
    "version",
    "metadata",
    "input_schema",
    "output_schema",
)
"""The fields of a tool whose texts may reach a model; its examples, too."""


@click.command(
    "check",
    help="List every problem of YAML files; without PATH, of the project's files and of installed packages. "
    "MODULE:NAME checks the texts of tools that are written in Python.",
)
@click.argument("paths", metavar="[PATH|MODULE:NAME]...", nargs=-1, type=click.Path())
@json_option
@pass_shell
def command(shell: Shell, *, paths: tuple[str, ...], as_json: bool) -> int:
    """Check the files; exits with 1 if there is an error, not for warnings."""
    from toolhaft.catalog.installed import InstalledTools

    named = [path for path in paths if _PYTHON_TOOL.fullmatch(path) and not Path(path).exists()]
    files = [] if paths and len(named) == len(paths) else list(_files(shell, paths, named))
    installed = InstalledTools().entry_points
    owners = {entry.id: entry.owner for entry in reversed(installed)}
    remarks = list(_check_named(shell, named) if paths else _check_installed(installed))
    files_by_id: dict[tuple[Path, str], Path] = {}
    for file in files:
        found, id = _check_file(shell, file, owners)
        remarks += found
        if id is not None and (first := files_by_id.setdefault((file.parent, id), file)) is not file:
            what = f"the id {id!r} is taken by {display_path(first)}"
            remarks.append(_remark(file, what, "give each tool a different id"))
    errors = sum(remark.level == "error" for remark in remarks)
    if as_json:
        print_json([asdict(remark) for remark in remarks])
    else:
        for remark in remarks:
            print_data(printable(f"{remark.place}: {remark.level}: {remark.problem}. Fix: {remark.fix}"))
        counts = {"file": len(files), "error": errors, "warning": len(remarks) - errors}
        print_note(", ".join(count_of(number, noun) for noun, number in counts.items()))
    if not files and not named:
        shell.suggest("tool new my-tool")
    return Exit.FAILED if errors else Exit.OK


def _files(shell: Shell, paths: tuple[str, ...], skipped: list[str]) -> Iterator[Path]:
    if not paths:
        yield from _in_folder(shell.project.tools_folder)
    for path in (Path(path) for path in paths if path not in skipped):
        if path.is_dir():
            yield from _in_given_folder(path)
        elif path.exists():
            yield path
        else:
            raise CommandError(f"there is no file or folder {path}", next="tool check")


def _in_given_folder(folder: Path) -> list[Path]:
    """The files of a folder that the user named; for a project's folder, those of the project.

    Raises:
        CommandError: if there are none.
    """
    candidates = (
        folder / "local-kit" / "tools",
        *([folder / "tools"] if folder.resolve().name == "local-kit" else []),
    )
    files = list(_in_folder(next((one for one in candidates if one.is_dir()), folder)))
    if not files:
        raise CommandError(f"there is no YAML file in {folder}", next="tool new my-tool")
    return files


def _in_folder(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        names = sorted(os.listdir(folder))  # noqa: PTH208 -- sorted by name
        yield from (folder / name for name in names if name.endswith(ENDINGS) and not name.startswith("."))


def _check_file(shell: Shell, file: Path, owners: Mapping[str, str]) -> tuple[list[LintProblem], str | None]:
    """The problems of a file, and its tool's id if it has no errors; `owners` have the installed tools."""
    from toolhaft.define.yaml import lint_file, load_definition

    if file.is_dir():
        what = "this is a folder, not a file"
        return [_remark(file, what, "rename it, or move it elsewhere")], None
    path = display_path(file)
    remarks = lint_file(path)
    if any(remark.level == "error" for remark in remarks):
        return remarks, None
    tool = load_definition(path)
    id = tool.name
    if id != file.stem:
        what = f"the file is named {file.name}, but its tool {id!r}"
        remarks.append(_remark(file, what, f"name it {id}.yaml", level="warning"))
    if id in owners and not _is_copy(shell, tool):
        what = f"it replaces the tool {id!r} of {owners[id]}, which has the same id"
        remarks.append(
            _remark(file, what, "give it another id, unless that is what you want", level="warning")
        )
    if has_no_handler(shell, tool):
        fix = f"add a run: block, or publish it with: {shell.command_line(f'tool set {id} --endpoint URL')}"
        remarks.append(_remark(file, "nothing runs it", fix, level="warning"))
    return remarks, id


def _is_copy(shell: Shell, tool: AnyYamlTool) -> bool:
    """True for a file of `tool get`, which the platform's tool of the same id answers."""
    from toolhaft.catalog.addresses import tool_id_at

    return tool.run is None and tool_id_at(shell.platform.url, tool.endpoint) == tool.name


def _check_installed(entries: Iterable[ToolEntryPoint]) -> Iterator[LintProblem]:
    """The suspicious texts of the tools that other distributions bring."""
    from toolhaft.catalog.installed import load_entry_point
    from toolhaft.errors import DefinitionError

    for entry in entries:
        if entry.store != "built-in":
            try:
                yield from _suspicious_texts(f"{entry.id} of {entry.owner}", load_entry_point(entry))
            except DefinitionError as error:
                fix = error.fix or f"repair or remove {entry.owner}"
                yield _remark(f"{entry.id} of {entry.owner}", error.problem, fix, level="warning")


def _check_named(shell: Shell, places: Iterable[str]) -> Iterator[LintProblem]:
    """The suspicious texts of tools that the user named."""
    from toolhaft.cli.prompt import load_object
    from toolhaft.core.conversion import flatten, to_tool
    from toolhaft.define.running.project_modules import importable
    from toolhaft.errors import DefinitionError

    for place in places:
        try:
            with importable(str(shell.project.root)):
                tools = [to_tool(thing) for thing in flatten(load_object(shell, place))]
                remarks = [remark for tool in tools for remark in _suspicious_texts(place, tool)]
            yield from remarks
        except DefinitionError as error:
            raise CommandError(f"{place}: {error}", exit=Exit.FAILED, next="tool check --help") from error


def _suspicious_texts(place: str, tool: AnyTool) -> Iterator[LintProblem]:
    from toolhaft.define.yaml.suspicious import NAME_FIX, PARAMETER_NAME, wrong_name
    from toolhaft.schema.invisible import MAX_LISTED, invisible_in
    from toolhaft.schema.json_schema import argument_schemas
    from toolhaft.schema.json_text import read_json, to_json_text

    examples = [[example.description, example.input, example.output] for example in tool.examples]
    fields = {**{name: getattr(tool, name) for name in _TEXTS}, "examples": examples}
    found = list(invisible_in(read_json(to_json_text(fields))))
    for where, character in found[: MAX_LISTED * 4]:
        what = f"tool {tool.name!r}: {where} has an invisible character: {character.name}"
        yield _remark(place, what, "take it out: people do not see it", level="warning")
    for name in argument_schemas(cast("JSONObject", tool.input_schema)):
        if not PARAMETER_NAME.fullmatch(name):
            yield _remark(place, f"tool {tool.name!r}: {wrong_name(name)}", NAME_FIX, level="warning")


def _remark(
    where: Path | str, problem: str, fix: str, *, level: Literal["error", "warning"] = "error"
) -> LintProblem:
    """A remark on a file as a whole, or on a tool that has no file."""
    from toolhaft.define.yaml import LintProblem as Made

    line = int(isinstance(where, Path))
    place = where if isinstance(where, str) else f"{display_path(where)}:1"
    return Made(place=place, line=line, problem=problem, fix=fix, level=level)
