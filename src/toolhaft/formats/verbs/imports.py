"""Tools in: what another system declared on a wire, as Tools without handlers.

Knows what every wire shows of a tool; where it stands is the wire's to say.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final, cast

from toolhaft.core.conversion import AnyTool
from toolhaft.core.tool import Tool
from toolhaft.errors import DefinitionError, WireError
from toolhaft.formats.names import NameRule, fit
from toolhaft.formats.registry import wire_of
from toolhaft.formats.shapes import Shape, plain
from toolhaft.formats.verbs.exports import Export
from toolhaft.formats.wire import Imported, Wire
from toolhaft.formats.words import Words, split_words
from toolhaft.schema.json_value import JSONObject

_NAMES: Final = NameRule(re.compile("[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}"), re.compile("[^A-Za-z0-9_.-]"), 128)


def import_tools(payload: object, format: str) -> list[AnyTool]:
    """The tools that a payload declares, without handlers: to hand on in another format, or to look at.

    Args:
        payload: an export or its payload, a list of tools, or one tool; as objects or as text.
        format: one of `toolhaft.formats.FORMATS`.

    Raises:
        WireError: where the payload does not have the format's shape, or declares what cannot be a tool.
    """
    wire = wire_of(format)
    if isinstance(payload, Export):
        payload = payload.payload
    try:
        return _tools(wire, Shape(plain(payload, format), format))
    except RecursionError:
        raise WireError("nested too deep", format=format, expected="at most 200 levels") from None


def _tools(wire: Wire, payload: Shape) -> list[AnyTool]:
    format, has_place = wire.name, "when_to_use" in wire.fields
    tools: dict[str, AnyTool] = {}
    for shown in wire.read_tools(payload):
        tool = _tool(shown, _words(shown, has_place=has_place), format, tools)
        if tools.setdefault(tool.name, tool) is not tool:
            raise WireError(
                f"a second tool {tool.name!r}", format=format, path=shown.at, expected="a name of its own"
            )
    return list(tools.values())


def _words(found: Imported, *, has_place: bool) -> Words:
    """The description, parted from what was joined to it where the wire has no place for that."""
    said = found.description or ""
    return Words(said, None, []) if has_place else split_words(said)


def _tool(found: Imported, words: Words, format: str, taken: Collection[str]) -> AnyTool:
    fields = dict(found.fields)
    if "when_to_use" not in fields and words.when_to_use is not None:
        fields["when_to_use"] = words.when_to_use
    if words.examples:
        fields.setdefault("examples", words.examples)
    name, hints = fit(found.name, _NAMES), found.hints
    if name != found.name:
        hints = {**hints, "name": found.name}
        if name in taken:
            name = fit(found.name, _NAMES, is_taken=True)
    if hints:
        said = fields.get("metadata")  # where it is no mapping, making the tool says so
        if said is None or isinstance(said, Mapping):
            fields["metadata"] = {**cast("Mapping[str, object]", said or {}), "wire": hints}
    fields["name"] = name
    fields["description"] = words.description if words.description.strip() else _named(fields, name)
    fields["input_schema"] = _object_schema(found.schema)
    try:
        return _made(cast("dict[str, Any]", fields))
    except DefinitionError as error:
        place = f"{error.place}: " if error.place else ""
        expected = f"a tool that can be made: {error.fix}" if error.fix else "a tool that can be made"
        raise WireError(f"{place}{error.problem}", format=format, path=found.at, expected=expected) from error


def _made(fields: dict[str, Any]) -> AnyTool:
    """The tool, without its examples where they do not fit: what others wrote beside it is no part of it."""
    try:
        return Tool(**fields)
    except DefinitionError as error:
        if not error.place.startswith("example"):
            raise
        fields["examples"] = ()
        return Tool(**fields)


def _named(fields: dict[str, object], name: str) -> str:
    """What stands for a description that nobody wrote."""
    title = fields.get("title")
    return title if isinstance(title, str) and title.strip() else name


def _object_schema(schema: JSONObject) -> JSONObject:
    return schema if "type" in schema else {"type": "object", **schema}
