"""Loads, checks and saves tools in YAML files, one tool per file."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Final, cast

from toolhaft.core.conversion import to_tool
from toolhaft.core.ports import FileRunner
from toolhaft.define.running.platform_settings import RUN_PATH
from toolhaft.define.yaml.document import YamlEntry, YamlNode, read_document
from toolhaft.define.yaml.emitter import write_file
from toolhaft.define.yaml.events import UnreadableError, YamlProblem
from toolhaft.define.yaml.parsing import (
    MAX_FILE_SIZE,
    LintProblem,
    error_of,
    join_errors,
    lint_problems,
    make_tool,
    printable,
)
from toolhaft.define.yaml.tool import YamlTool
from toolhaft.define.yaml.tool_fields import quick_fields, write_tool
from toolhaft.errors import DefinitionError
from toolhaft.schema.json_value import JSONObject

_FILE_RUNNER: Final = "toolhaft.catalog.runnable"
"""The module that implements the port `FileRunner`: loaded by name, since it is in a higher layer."""


def load_quick_fields(file: str) -> JSONObject | None:
    """Return the fields of a YAML file without making its tool; None if only `load_tool` can check it."""
    try:
        return quick_fields(_read_file(file))
    except UnreadableError:
        return None


def load_tool(path: str | os.PathLike[str]) -> YamlTool[dict[str, object], object]:
    """Load the tool of a YAML file, to be run as the catalog of its project runs it.

    Raises:
        DefinitionError: with every problem of the file, one per line: `weather.yaml:12: ... Fix: ...`.
    """
    made = load_definition(path)
    # such as a file that `lk tool get calculator` wrote: no server is needed to run it
    if made.run is not None or RUN_PATH not in (made.endpoint or ""):
        return made
    runner = cast("FileRunner[YamlTool[dict[str, object], object]]", import_module(_FILE_RUNNER))
    return runner.run_file(made)


def load_definition(path: str | os.PathLike[str]) -> YamlTool[dict[str, object], object]:
    """Load the tool of a YAML file alone, without its project.

    Raises:
        DefinitionError: with every problem of the file.
    """
    file = os.fspath(path)
    problems: list[YamlProblem] = []
    cause: BaseException | None = None
    # absolute, since the working directory may change before the tool is run
    folder = os.path.dirname(os.path.abspath(file))  # noqa: PTH100, PTH120 -- the path is a string
    try:
        made = make_tool(_read_file(file), f"file {printable(file)}", problems, folder)
    except UnreadableError as error:
        made, cause = None, error.__cause__
        problems.append(error.problem)
    if made is None:
        raise error_of(file, problems) from cause
    return made


def load_tools(
    folder: str | os.PathLike[str], *, on_error: Callable[[DefinitionError], None] | None = None
) -> list[YamlTool[dict[str, object], object]]:
    """Load the tools of all `*.yaml` and `*.yml` files in a folder, by file name, without hidden files.

    Args:
        folder: where the files are; its subfolders are not searched.
        on_error: called once for each bad file, and once for each id that several files use (none of
            those is loaded); the other tools are returned.

    Raises:
        DefinitionError: without `on_error`, with the problems of all files, one per line.
    """
    root = os.fspath(folder)
    try:
        with os.scandir(root) as found:
            names = sorted(entry.name for entry in found)
    except (OSError, ValueError) as error:
        fix = "name a folder; load_tool(path) takes one file"
        raise DefinitionError(
            f"the folder cannot be read: {_reason(error)}", place=printable(root), fix=fix
        ) from error
    errors: list[DefinitionError] = []
    claims: dict[str, list[tuple[str, YamlTool[dict[str, object], object]]]] = {}
    for name in names:
        if name.endswith((".yaml", ".yml")) and not name.startswith("."):
            file = os.path.join(root, name)  # noqa: PTH118 -- a Path would drop the './' that the caller wrote
            try:
                made = load_tool(file)
                claims.setdefault(made.name, []).append((file, made))
            except DefinitionError as error:
                errors.append(error)
    errors += [_claimed_twice(id, claimed) for id, claimed in claims.items() if len(claimed) > 1]
    for error in errors:
        if on_error is None:
            raise join_errors(errors)
        on_error(error)
    return [claimed[0][1] for claimed in claims.values() if len(claimed) == 1]


def dump_tool(tool: object, path: str | os.PathLike[str]) -> None:
    """Write a tool, defined in any way, to a YAML file, atomically.

    A tool that was loaded from YAML keeps its text, except for the values that `replace` changed. Any other
    tool gets a new text; its name is used if it has no title, and the description of its result as a whole is
    appended to its description. The handler is not written.

    Raises:
        DefinitionError: if YAML cannot express the tool, or the file cannot be written.
    """
    made = to_tool(tool)
    text = write_tool(made)
    try:
        write_file(os.fspath(path), text)
    except (OSError, ValueError) as error:
        what = f"the file cannot be written: {_reason(error)}"
        raise DefinitionError(
            what, tool=made.name, place=printable(os.fspath(path)), fix="check the folder"
        ) from error


def lint_file(path: str | os.PathLike[str]) -> list[LintProblem]:
    """Return every problem of a file, errors and warnings, by line."""
    file = os.fspath(path)
    problems: list[YamlProblem] = []
    try:
        make_tool(_read_file(file), f"file {printable(file)}", problems, None)
    except UnreadableError as error:
        problems.append(error.problem)
    return lint_problems(file, problems)


def _read_file(file: str) -> str:
    """Read the text of a file.

    Raises:
        UnreadableError: if there is no such file, or it is too large, or not UTF-8.
    """
    try:
        facts = os.stat(file)  # noqa: PTH116 -- as the caller wrote it
        if S_ISDIR(facts.st_mode):
            raise UnreadableError(
                1, "this is a folder, not a file", "use load_tools(folder), or name a file in it"
            )
        if not S_ISREG(facts.st_mode):
            raise UnreadableError(1, "this is not a regular file", "name a file")
        with Path(file).open("rb") as stream:
            data = stream.read(min(facts.st_size, MAX_FILE_SIZE) + 1)  # a large buffer takes time
            if len(data) > facts.st_size:  # it has grown, or does not know its size
                data += stream.read(MAX_FILE_SIZE + 1 - len(data))
    except FileNotFoundError:
        raise UnreadableError(1, "there is no such file", "check the path") from None
    except (OSError, ValueError) as error:
        raise UnreadableError(
            1, f"the file cannot be read: {_reason(error)}", "check the path and its permissions"
        ) from error
    if len(data) > MAX_FILE_SIZE:
        raise UnreadableError(1, "the file is larger than 1 MB", f"keep it within {MAX_FILE_SIZE:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UnreadableError(line, "the text is not UTF-8", "save the file as UTF-8") from error


def _reason(error: OSError | ValueError) -> str:
    # without the path, which the message names as the caller wrote it
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


def _claimed_twice(id: str, claims: list[tuple[str, YamlTool[dict[str, object], object]]]) -> DefinitionError:
    places: list[str] = []
    for file, claimed in claims:
        root, _ = read_document(claimed.text)
        entries = cast("dict[str, YamlEntry]", cast("YamlNode", root).value)
        places.append(f"{printable(file)}:{entries['id'].line}")
    what = f"the id {id!r} is taken by {', '.join(places[:-1])}"
    return DefinitionError(what, place=places[-1], fix="give each file its own id")
