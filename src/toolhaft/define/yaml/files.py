"""Door 5: a YAML file, one tool each, kept as its author wrote it.

Knows files and how their fields become a tool; how such a tool is run is not known here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import cast

from toolhaft.core.conversion import to_tool
from toolhaft.define.yaml.document import Entry, Node, read_document
from toolhaft.define.yaml.events import Flaw, UnreadableError
from toolhaft.define.yaml.parsing import LARGEST_FILE, Remark, join_errors, make, remarks, shown, told_all
from toolhaft.define.yaml.text import write_file
from toolhaft.define.yaml.tool import YamlTool
from toolhaft.define.yaml.writing import write_tool
from toolhaft.errors import DefinitionError


def load_tool(path: str | os.PathLike[str]) -> YamlTool[dict[str, object], object]:
    """The tool that a YAML file defines.

    Raises:
        DefinitionError: with every problem of the file, a line each: `weather.yaml:12: ... Fix: ...`.
    """
    file = os.fspath(path)
    flaws: list[Flaw] = []
    cause: BaseException | None = None
    try:
        made = make(_read_file(file), f"file {shown(file)}", flaws, _folder(file))
    except UnreadableError as error:
        made, cause = None, error.__cause__
        flaws.append(error.flaw)
    if made is None:
        raise told_all(file, flaws) from cause
    return made


def load_tools(
    folder: str | os.PathLike[str], *, on_error: Callable[[DefinitionError], None] | None = None
) -> list[YamlTool[dict[str, object], object]]:
    """The tools of all `*.yaml` and `*.yml` files in a folder, by file name; hidden files are passed over.

    Args:
        folder: where the files are; folders inside it are not searched.
        on_error: called once for each bad file, and once for each id that several files claim (none of
            those is loaded); the other tools are returned.

    Raises:
        DefinitionError: without `on_error`, with the problems of all files, a line each.
    """
    root = os.fspath(folder)
    try:
        with os.scandir(root) as found:
            names = sorted(entry.name for entry in found)
    except (OSError, ValueError) as error:
        fix = "name a folder; load_tool(path) takes one file"
        raise DefinitionError(
            f"the folder cannot be read: {_reason(error)}", place=shown(root), fix=fix
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
    errors += [_told_claims(id, claimed) for id, claimed in claims.items() if len(claimed) > 1]
    for error in errors:
        if on_error is None:
            raise join_errors(errors)
        on_error(error)
    return [claimed[0][1] for claimed in claims.values() if len(claimed) == 1]


def dump_tool(tool: object, path: str | os.PathLike[str]) -> None:
    """Write a tool of any door to a YAML file, whole or not at all.

    A tool that was loaded keeps its text, but for the values that `replace` changed. A tool of another
    door gets a new text; where it has no title, its name stands for one. The handler is not written.

    Raises:
        DefinitionError: where the tool cannot be said in YAML, telling what, or the file cannot be written.
    """
    made = to_tool(tool)
    text = write_tool(made)
    try:
        write_file(os.fspath(path), text)
    except (OSError, ValueError) as error:
        what = f"the file cannot be written: {_reason(error)}"
        raise DefinitionError(
            what, tool=made.name, place=shown(os.fspath(path)), fix="check the folder"
        ) from error


def lint_file(path: str | os.PathLike[str]) -> list[Remark]:
    """Every problem of a file, errors and warnings, by line."""
    file = os.fspath(path)
    flaws: list[Flaw] = []
    try:
        make(_read_file(file), f"file {shown(file)}", flaws, None)
    except UnreadableError as error:
        flaws.append(error.flaw)
    return remarks(file, flaws)


def _folder(file: str) -> str:
    # now, since the working directory may be another when the tool is run
    return os.path.dirname(os.path.abspath(file))  # noqa: PTH100, PTH120 -- text for text


def _read_file(file: str) -> str:
    """The text of a file.

    Raises:
        UnreadableError: where there is none, or it is too large, or not UTF-8.
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
            data = stream.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise UnreadableError(1, "there is no such file", "check the path") from None
    except (OSError, ValueError) as error:
        raise UnreadableError(
            1, f"the file cannot be read: {_reason(error)}", "check the path and its rights"
        ) from error
    if len(data) > LARGEST_FILE:
        raise UnreadableError(1, "the file is larger than 1 MB", f"keep it within {LARGEST_FILE:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UnreadableError(line, "the text is not UTF-8", "save the file as UTF-8") from error


def _reason(error: OSError | ValueError) -> str:
    # without the path, which the message names as the caller wrote it
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


def _told_claims(id: str, claims: list[tuple[str, YamlTool[dict[str, object], object]]]) -> DefinitionError:
    places: list[str] = []
    for file, claimed in claims:
        root, _ = read_document(claimed.text)
        entries = cast("dict[str, Entry]", cast("Node", root).value)
        places.append(f"{shown(file)}:{entries['id'].line}")
    what = f"the id {id!r} is taken by {', '.join(places[:-1])}"
    return DefinitionError(what, place=places[-1], fix="give each file an id of its own")
