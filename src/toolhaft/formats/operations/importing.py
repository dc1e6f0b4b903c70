"""Reads a provider's list of tools as tools without handlers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, cast

from toolhaft.core.conversion import AnyTool
from toolhaft.core.tool import Tool
from toolhaft.errors import DefinitionError, WireError
from toolhaft.formats.description_text import DescriptionParts, fallback_description, split_description
from toolhaft.formats.losses import Refusal
from toolhaft.formats.names import NameRule, fit_name
from toolhaft.formats.operations.exporting import Export
from toolhaft.formats.payload_cursor import PayloadCursor, plain
from toolhaft.formats.provider_format import (
    OWN_FIELDS,
    PROVIDER_TOOL,
    ImportedTool,
    ProviderFormat,
    ProviderTool,
    ReadTool,
    UnreadTool,
)
from toolhaft.formats.registry import get_format
from toolhaft.schema.invisible import refuse_invisible
from toolhaft.schema.json_value import JSONObject

_NAMES: Final = NameRule(re.compile("[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}"), re.compile("[^A-Za-z0-9_.-]"), 128)


class ImportedTools(list[AnyTool]):
    """The tools of a payload, without handlers; `refused` lists those that could not be imported.

    A tool that the provider itself defines (a web search, code execution) has its declaration in
    `metadata["wire"]["provider_tool"]`: it is exported to the same format unchanged, and to no other.
    """

    __slots__ = ("refused",)

    def __init__(self, tools: Iterable[AnyTool] = (), refused: Iterable[Refusal] = ()) -> None:
        super().__init__(tools)
        self.refused: tuple[Refusal, ...] = tuple(refused)
        """The name of each tool that was not imported, and the reason."""


def import_tools(payload: object, format: str) -> ImportedTools:
    """The tools that a payload declares, without handlers: to inspect them or export them again.

    Each tool is read separately: a bad one is listed in `refused`, and the others are imported.

    Args:
        payload: an export or its payload, a list of tools, or one tool; as objects or as text.
        format: one of `toolhaft.formats.FORMATS`.

    Raises:
        WireError: if the payload is not of this format: it has no list of tools, or nothing in the list
            looks like a tool of this format.
    """
    provider = get_format(format)
    if isinstance(payload, Export):
        payload = payload.payload
    try:
        found = list(provider.read_tools(PayloadCursor(plain(payload, format), format)))
    except RecursionError:
        raise WireError("nested too deep", format=format, expected="at most 200 levels") from None
    unread = [tool for tool in found if isinstance(tool, UnreadTool)]
    if unread and len(unread) == len(found) and not any(tool.is_of_format for tool in unread):
        raise unread[0].error
    return _tools(provider, found)


def _tools(provider: ProviderFormat, found: list[ReadTool]) -> ImportedTools:
    tools: dict[str, AnyTool] = {}
    refused: list[Refusal] = []
    # the names of functions are taken even if they come after a tool of the provider
    functions = {tool.name for tool in found if isinstance(tool, ImportedTool)}
    for one in found:
        try:
            if isinstance(one, UnreadTool):
                raise one.error
            if isinstance(one, ProviderTool):
                tool = _provider_tool(one, provider.name, functions | tools.keys())
            else:
                tool = _imported_tool(one, provider, tools)
            tools[tool.name] = tool
        except WireError as error:
            refused.append(Refusal(one.name, str(error)))
        except DefinitionError as error:
            refused.append(Refusal(one.name, _explained(error, one, provider.name)))
        except RecursionError:
            refused.append(Refusal(one.name, "nested too deep; expected at most 200 levels"))
    return ImportedTools(tools.values(), refused)


def _explained(error: DefinitionError, found: ReadTool, format: str) -> str:
    """Why a tool of a payload is not valid."""
    place = f"{error.place}: " if error.place else ""
    expected = f"a valid tool: {error.fix}" if error.fix else "a valid tool"
    path = "" if isinstance(found, UnreadTool) else found.at
    return str(WireError(f"{place}{error.problem}", format=format, path=path, expected=expected))


def _provider_tool(found: ProviderTool, format: str, taken: Collection[str]) -> AnyTool:
    """A tool without handler or schema that holds the provider's declaration."""
    refuse_invisible(found.declaration)
    first = name = fit_name(found.name, _NAMES)
    number = 1
    while name in taken:
        number += 1
        name = fit_name(f"{first}_{number}", _NAMES)
    return Tool(
        name=name,
        description=f"Defined by the provider ({format}).",
        input_schema={"type": "object", "additionalProperties": True},
        metadata={"wire": {**found.hints, PROVIDER_TOOL: {format: found.declaration}}},
    )


def _imported_tool(found: ImportedTool, provider: ProviderFormat, taken: Collection[str]) -> AnyTool:
    declared = {"description": found.description, "input_schema": found.schema}
    texts = {**found.more, **found.hints, **found.fields, "name": found.name, **declared}
    refuse_invisible(cast("JSONObject", texts))
    tool = _tool_with_good_examples(found, provider, taken)
    if tool.name in taken:
        raise WireError(
            f"a second tool {tool.name!r}", format=provider.name, path=found.at, expected="unique names"
        )
    return tool


def _tool_with_good_examples(
    found: ImportedTool, provider: ProviderFormat, taken: Collection[str]
) -> AnyTool:
    """The tool; examples that do not fit its schema stay where they were: the caller did not write them."""
    text = found.description or ""
    whole = DescriptionParts(text, None, None, [])
    has_output = "output_schema" in found.fields
    # split only if the format has no fields for the parts
    parts = whole if "when_to_use" in provider.fields else split_description(text, has_output=has_output)
    try:
        return _to_tool(found, parts, provider.name, taken)
    except DefinitionError as error:
        if not error.place.startswith("example"):
            raise
        fields = {key: value for key, value in found.fields.items() if key != "examples"}
        examples = cast("list[JSONObject]", found.fields.get("examples", []))
        more = dict(found.more)
        if provider.examples_field and examples:
            more[provider.examples_field] = [example["input"] for example in examples]
        return _to_tool(found._replace(fields=fields, more=more), whole, provider.name, taken)


def _to_tool(found: ImportedTool, parts: DescriptionParts, format: str, taken: Collection[str]) -> AnyTool:
    fields = dict(found.fields)
    if "when_to_use" not in fields and parts.when_to_use is not None:
        fields["when_to_use"] = parts.when_to_use
    if parts.returns is not None:
        fields["output_schema"] = {"description": parts.returns}
    if parts.examples:
        fields.setdefault("examples", parts.examples)
    name, hints = fit_name(found.name, _NAMES), found.hints
    hints = {**hints, OWN_FIELDS: {format: found.more}} if found.more else hints
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
        parts.description if parts.description.strip() else fallback_description(name, fields.get("title"))
    )
    fields["input_schema"] = found.schema
    return Tool(**cast("dict[str, Any]", fields))
