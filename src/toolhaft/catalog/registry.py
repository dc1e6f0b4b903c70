"""A set of tools by name, and the JSON documents (specs) that describe them."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, cast

from toolhaft.core.conversion import AnyTool, flatten, to_tool
from toolhaft.core.tool import Tool
from toolhaft.errors import DefinitionError, UnknownToolError
from toolhaft.formats.native import REQUIRED, document_of, full_document_of, unknown_field
from toolhaft.schema.json_schema import argument_schemas
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.nearest import nearest


class ToolRegistry:
    """Tools by name; two names that differ only in `-` and `_` count as the same."""

    def __init__(self, tools: object = ()) -> None:
        self._tools: dict[str, AnyTool] = {}
        self._by_plain_name: dict[str, AnyTool] = {}
        self.process_tools(tools)

    @property
    def registry(self) -> Mapping[str, AnyTool]:
        """A read-only view of the tools by name."""
        return MappingProxyType(self._tools)

    def process_tools(self, tools: object) -> list[str]:
        """Register all tools in nested lists, or none if one is refused; return their names.

        Raises:
            DefinitionError: for the first member that is not a valid tool, or whose name is taken.
        """
        new: dict[str, AnyTool] = {}
        for number, thing in enumerate(flatten(tools), 1):
            try:
                tool = to_tool(thing)
                self._check_name(tool, new)
            except DefinitionError as error:
                place = f"item {number}" + (f", {error.place}" if error.place else "")
                raise DefinitionError(error.problem, tool=error.tool, place=place, fix=error.fix) from error
            new[_plain(tool.name)] = tool
        for tool in new.values():
            self._add(tool)
        return [tool.name for tool in new.values()]

    def register_tool(self, tool: object) -> AnyTool:
        """Register one tool, however it was defined, and return it as a Tool.

        Raises:
            DefinitionError: if it is not a valid tool, or its name is taken.
        """
        converted = to_tool(tool)
        self._check_name(converted, {})
        self._add(converted)
        return converted

    def _add(self, tool: AnyTool) -> None:
        self._tools[tool.name] = tool
        self._by_plain_name[_plain(tool.name)] = tool

    def _check_name(self, new: AnyTool, others: Mapping[str, AnyTool]) -> None:
        """Raise if another tool has the same name, apart from `-` and `_`."""
        same = self._by_plain_name.get(_plain(new.name)) or others.get(_plain(new.name))
        if same is not None:
            known = f"as {same.name!r} " if same.name != new.name else ""
            raise DefinitionError(
                f"the name already exists {known}({same.source} and {new.source})",
                tool=new.name,
                fix="rename one of them",
            )

    def get_tool(self, name: str) -> AnyTool:
        """The tool with that name.

        Raises:
            UnknownToolError: (a KeyError) names the nearest tool.
        """
        found = self._tools.get(name)
        if found is None:
            close = nearest(str(name), self._tools)
            hint = f"; did you mean {close!r}?" if close else ""
            raise UnknownToolError(f"no tool {name!r:.140}{hint}")
        return found

    def get_all_tool_specs(self) -> list[JSONObject]:
        """The JSON document of every tool, in the order of registration; a copy."""
        return [copy.deepcopy(document_of(tool)) for tool in self._tools.values()]

    def validate_tool_spec(self, spec: object) -> tuple[bool, str | None]:
        """Whether a document describes a valid tool, and if not, why."""
        problem = spec_problem(spec)
        return problem is None, problem

    def to_spec_dict(self) -> JSONObject:
        """All tools as one JSON document, with every option that is not the default, without handlers."""
        specs: list[JSONValue] = [copy.deepcopy(full_document_of(tool)) for tool in self._tools.values()]
        return {"tools": specs}

    @classmethod
    def from_spec_dict(cls, document: Mapping[str, object]) -> ToolRegistry:
        """A registry from a document that `to_spec_dict` wrote; its tools have no handlers.

        Raises:
            DefinitionError: if the document or a tool in it is invalid.
        """
        specs = document.get("tools") if isinstance(document, Mapping) else None  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        if not isinstance(specs, list):
            raise DefinitionError(
                "the document has no list 'tools'", fix='write {"tools": [{"name": ..., ...}]}'
            )
        listed = enumerate(cast("list[object]", specs))
        return cls([tool_from_spec(spec, f"tools[{number}]") for number, spec in listed])

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[AnyTool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __repr__(self) -> str:
        return f"<ToolRegistry of {len(self._tools)} tools>"


def _plain(name: str) -> str:
    return name.replace("-", "_")


def tool_from_spec(spec: object, place: str = "") -> AnyTool:
    """The tool of a document, without a handler.

    Raises:
        DefinitionError: if the document is invalid.
    """
    problem = spec_problem(spec)
    if problem is not None:
        name = cast("Mapping[str, object]", spec).get("name") if isinstance(spec, Mapping) else None
        raise DefinitionError(problem, tool=name if isinstance(name, str) else "", place=place)
    return Tool(**cast("Mapping[str, Any]", spec))


def spec_problem(spec: object) -> str | None:
    """What is wrong with a document, in one sentence; None if it is valid."""
    if not isinstance(spec, Mapping):
        return f"A tool spec must be an object, not {type(spec).__name__}"
    document = cast("Mapping[str, object]", spec)
    for field in REQUIRED:
        if field not in document:
            return f"Missing required field '{field}'"
    for field in ("name", "description"):
        if not isinstance(document[field], str) or not cast("str", document[field]).strip():
            return f"Field '{field}' must be a non-empty string"
    problem = _schema_problem(document["input_schema"])
    if problem is not None:
        return problem
    unknown = unknown_field(str(key) for key in document)
    return f"Unknown field {unknown}" if unknown is not None else _tool_problem(document)


def _schema_problem(schema: object) -> str | None:
    if not isinstance(schema, Mapping) or cast("Mapping[str, object]", schema).get("type") != "object":
        return "input_schema must be of type 'object'"
    fields = cast("Mapping[str, object]", schema)
    properties = fields.get("properties")
    if not isinstance(properties, Mapping):
        return "input_schema must have an object 'properties'"
    required = fields.get("required", [])
    if not isinstance(required, list):
        return "input_schema 'required' must be a list of names"
    known = list(argument_schemas(cast("JSONObject", fields)))
    for name in cast("list[object]", required):
        if name not in known:
            return f"Required parameter '{name}' not found in properties"
    return None


def _tool_problem(document: Mapping[str, object]) -> str | None:
    """A problem that only building the tool finds: its name, its schemas, its options."""
    try:
        Tool(**cast("Mapping[str, Any]", document))
    except DefinitionError as error:
        return f"{error.place}: {error.problem}" if error.place else error.problem
    return None
