"""Door 5: a YAML file, one tool each, kept as its author wrote it.

Knows files and how their fields become a tool; how such a tool is run is not known here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Final, Literal, TypeVar, cast

from toolhaft.core.doors import to_tool
from toolhaft.core.options import Options
from toolhaft.core.tool import OPTION_NAMES, Tool
from toolhaft.define.yaml.definition import Definition, read_fields
from toolhaft.define.yaml.document import Entry, Node, read_document
from toolhaft.define.yaml.events import Flaw, UnreadableError
from toolhaft.define.yaml.fields import FIELDS, OWN_FIELDS, check_field
from toolhaft.define.yaml.said import cannot_say, fields_of, has_same_schemas, is_same, words_of
from toolhaft.define.yaml.text import change_text, write_file, write_mapping
from toolhaft.errors import DefinitionError

ParamsT = TypeVar("ParamsT")
ResultT = TypeVar("ResultT")

LARGEST_FILE: Final = 1_000_000
MOST_TOLD: Final = 100
"""Problems of one file; a thousand lines help nobody."""
_put = object.__setattr__


class YamlTool(Tool[ParamsT, ResultT]):
    """A tool from a YAML file: its `id` is the tool's name, its `name` the title.

    Beside what every tool has, it has the fields of the file that no other door knows, and the `text`
    itself, so that `dump_tool` keeps comments, quotes and the order of keys.
    """

    __slots__ = (*OWN_FIELDS, "text")

    owner: str | None
    share: Literal["private", "org", "public"]
    created_at: str | None
    updated_at: str | None
    is_active: bool
    endpoint: str | None
    text: str

    def __init__(self, *, definition: Definition, text: str, source: str) -> None:
        fields = definition.fields
        options = {key: value for key, value in fields.items() if key in OPTION_NAMES}
        super().__init__(
            name=cast("str", fields["id"]),
            description=cast("str", fields["description"]),
            input_schema=definition.input_schema,
            output_schema=definition.output_schema,
            **cast("Options", {**options, "title": fields["name"]}),
        )
        for key, (_, default) in OWN_FIELDS.items():
            _put(self, key, fields.get(key, default))
        _put(self, "text", text)
        _put(self, "source", source)

    def replace(self, **changes: object) -> YamlTool[ParamsT, ResultT]:
        """The same tool with other words, policy or fields of its file; its parameters stay as they are."""
        try:
            own = {key: check_field(key, changes.pop(key)) for key in OWN_FIELDS if key in changes}
        except DefinitionError as error:
            raise error.of(self.name) from error.__cause__
        copy = cast("YamlTool[ParamsT, ResultT]", super().replace(**changes))
        for key, value in own.items():
            _put(copy, key, value)
        return copy

    def _blank(self) -> Tool[ParamsT, ResultT]:
        copy = super()._blank()
        for slot in YamlTool.__slots__:
            _put(copy, slot, getattr(self, slot))
        return copy


def load_tool(path: str | os.PathLike[str]) -> YamlTool[dict[str, object], object]:
    """The tool that a YAML file defines.

    Raises:
        DefinitionError: with every problem of the file, a line each: `weather.yaml:12: ... Fix: ...`.
    """
    file = os.fspath(path)
    flaws: list[Flaw] = []
    try:
        made = _make(_read_file(file), f"file {_shown(file)}", flaws)
    except UnreadableError as error:
        made = None
        flaws.append(error.flaw)
    if made is None:
        flaws.sort(key=lambda flaw: flaw.line)
        errors = [_told(file, flaw) for flaw in flaws[:MOST_TOLD]]
        if len(flaws) > MOST_TOLD:
            errors.append(DefinitionError(f"and {len(flaws) - MOST_TOLD} more", place=_shown(file)))
        raise _join(errors)
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
            f"the folder cannot be read: {_reason(error)}", place=_shown(root), fix=fix
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
            raise _join(errors)
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
    text = _write(made)
    _check_said(made, text)
    try:
        write_file(os.fspath(path), text)
    except (OSError, ValueError) as error:
        what = f"the file cannot be written: {_reason(error)}"
        raise DefinitionError(
            what, tool=made.name, place=_shown(os.fspath(path)), fix="check the folder"
        ) from error


def _write(tool: Tool[ParamsT, ResultT]) -> str:
    if not isinstance(tool, YamlTool):
        return write_mapping(fields_of(tool))
    text = tool.text
    root, _ = read_document(text)
    before = words_of(cast("Tool[object, object]", _make(text, tool.source, [])))
    changes = {key: value for key, value in words_of(tool).items() if not is_same(value, before[key])}
    return change_text(text, cast("Node", root), changes, tuple(FIELDS)) if changes else text


def _check_said(tool: Tool[ParamsT, ResultT], text: str) -> None:
    """Nothing is written that does not read back as the same tool."""
    flaws: list[Flaw] = []
    again = _make(text, tool.source, flaws)
    if again is None:
        raise cannot_say(tool.name, flaws)
    told, read = words_of(tool), words_of(again)
    changed = [key for key, value in told.items() if not is_same(value, read[key])]
    if not has_same_schemas(tool, cast("Tool[ParamsT, ResultT]", again)):
        changed.append("parameters")
    if changed:
        fix = "write the file by hand, without anchors around that"
        raise cannot_say(
            tool.name, [Flaw(line=0, what=f"{key} would read back as another", fix=fix) for key in changed]
        )


def _make(text: str, source: str, flaws: list[Flaw]) -> YamlTool[dict[str, object], object] | None:
    """The tool that a text defines, or None and its flaws."""
    root, found = read_document(text)
    flaws += found
    if root is None:
        return None
    definition = read_fields(root, flaws)
    if flaws:
        return None
    try:
        return YamlTool(definition=definition, text=text, source=source)
    except DefinitionError as error:
        key = "examples" if error.place.startswith("example") else error.place
        line = definition.lines.get(key, root.line)
        fix = error.fix or f"mend {key}, or leave it out"
        flaws.append(Flaw(line=line, what=f"{error.place}: {error.problem}", fix=fix))
        return None


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


def _shown(file: str) -> str:
    return file if file.isprintable() else ascii(file)


def _told(file: str, flaw: Flaw) -> DefinitionError:
    return DefinitionError(flaw.what, place=f"{_shown(file)}:{flaw.line}", fix=flaw.fix)


def _told_claims(id: str, claims: list[tuple[str, YamlTool[dict[str, object], object]]]) -> DefinitionError:
    places: list[str] = []
    for file, claimed in claims:
        root, _ = read_document(claimed.text)
        entries = cast("dict[str, Entry]", cast("Node", root).value)
        places.append(f"{_shown(file)}:{entries['id'].line}")
    what = f"the id {id!r} is taken by {', '.join(places[:-1])}"
    return DefinitionError(what, place=places[-1], fix="give each file an id of its own")


def _join(errors: list[DefinitionError]) -> DefinitionError:
    return errors[0] if len(errors) == 1 else DefinitionError("\n".join(str(error) for error in errors))
