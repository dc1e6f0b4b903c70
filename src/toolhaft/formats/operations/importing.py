"""Reads a provider's list of tools as tools without handlers."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final, cast

from toolhaft.core.conversion import AnyTool
from toolhaft.core.tool import Tool
from toolhaft.errors import DefinitionError, WireError
from toolhaft.formats.description_text import DescriptionParts, split_description
from toolhaft.formats.names import NameRule, fit_name
from toolhaft.formats.operations.exporting import Export
from toolhaft.formats.payload_cursor import PayloadCursor, plain
from toolhaft.formats.provider_format import ImportedTool, ProviderFormat
from toolhaft.formats.registry import get_format
from toolhaft.schema.invisible import refuse_invisible
from toolhaft.schema.json_value import JSONObject

_NAMES: Final = NameRule(re.compile("[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}"), re.compile("[^A-Za-z0-9_.-]"), 128)


def import_tools(payload: object, format: str) -> list[AnyTool]:
    """The tools that a payload declares, without handlers: to inspect them or export them again.

    Args:
        payload: an export or its payload, a list of tools, or one tool; as objects or as text.
        format: one of `toolhaft.formats.FORMATS`.

    Raises:
        WireError: if the payload is not of this format, or declares an invalid tool.
    """
    provider = get_format(format)
    if isinstance(payload, Export):
        payload = payload.payload
    try:
        return _tools(provider, PayloadCursor(plain(payload, format), format))
    except RecursionError:
        raise WireError("nested too deep", format=format, expected="at most 200 levels") from None


def _tools(provider: ProviderFormat, payload: PayloadCursor) -> list[AnyTool]:
    format, has_field = provider.name, "when_to_use" in provider.fields
    tools: dict[str, AnyTool] = {}
    for found in provider.read_tools(payload):
        text = found.description or ""
        # split only if the format has no fields for the parts
        parts = DescriptionParts(text, None, []) if has_field else split_description(text)
        tool = _to_tool(found, parts, format, tools)
        if tools.setdefault(tool.name, tool) is not tool:
            raise WireError(
                f"a second tool {tool.name!r}", format=format, path=found.at, expected="unique names"
            )
    return list(tools.values())


def _to_tool(found: ImportedTool, parts: DescriptionParts, format: str, taken: Collection[str]) -> AnyTool:
    fields = dict(found.fields)
    if "when_to_use" not in fields and parts.when_to_use is not None:
        fields["when_to_use"] = parts.when_to_use
    if parts.examples:
        fields.setdefault("examples", parts.examples)
    name, hints = fit_name(found.name, _NAMES), found.hints
    if name != found.name:
        hints = {**hints, "name": found.name}
        if name in taken:
            name = fit_name(found.name, _NAMES, is_taken=True)
    if hints:
        metadata = fields.get("metadata")  # anything but a mapping is refused by Tool
        if metadata is None or isinstance(metadata, Mapping):
            fields["metadata"] = {**cast("Mapping[str, object]", metadata or {}), "wire": hints}
    fields["name"] = name
    fields["description"] = (
        parts.description if parts.description.strip() else _fallback_description(fields, name)
    )
    fields["input_schema"] = found.schema
    try:
        refuse_invisible(cast("JSONObject", {**fields, "name": found.name}))
        return _tool_without_bad_examples(cast("dict[str, Any]", fields))
    except DefinitionError as error:
        place = f"{error.place}: " if error.place else ""
        expected = f"a valid tool: {error.fix}" if error.fix else "a valid tool"
        raise WireError(f"{place}{error.problem}", format=format, path=found.at, expected=expected) from error


def _tool_without_bad_examples(fields: dict[str, Any]) -> AnyTool:
    """The tool; without its examples if they are invalid: the caller did not write them."""
    try:
        return Tool(**fields)
    except DefinitionError as error:
        if not error.place.startswith("example"):
            raise
        fields["examples"] = ()
        return Tool(**fields)


def _fallback_description(fields: dict[str, object], name: str) -> str:
    """The description of a tool that has none: its title or name."""
    title = fields.get("title")
    return title if isinstance(title, str) and title.strip() else name
