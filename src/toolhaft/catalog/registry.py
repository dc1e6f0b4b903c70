"""A set of tools by name, from any door.

Does not know where tools are stored or how they are called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import cast

from toolhaft.catalog.spec import full_spec_of, problem_of, spec_of, tool_from_spec
from toolhaft.core.conversion import AnyTool, flatten, to_tool
from toolhaft.errors import DefinitionError, UnknownToolError
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.nearest import nearest


class ToolRegistry:
    """Tools by name; two that a model could take for one another do not go in together."""

    def __init__(self, tools: object = ()) -> None:
        self._tools: dict[str, AnyTool] = {}
        self._by_plain_name: dict[str, AnyTool] = {}
        self.process_tools(tools)

    @property
    def registry(self) -> Mapping[str, AnyTool]:
        """The tools by name, to look at."""
        return MappingProxyType(self._tools)

    def process_tools(self, tools: object) -> list[str]:
        """Register tools of any door, from lists nested as deep as you like; all of them, or none.

        Raises:
            DefinitionError: for the first member that is no tool, is not sound, or has a name that is taken.
        """
        fresh: dict[str, AnyTool] = {}
        for number, thing in enumerate(flatten(tools), 1):
            try:
                made = to_tool(thing)
                self._refuse_twin(made, fresh)
            except DefinitionError as error:
                place = f"item {number}" + (f", {error.place}" if error.place else "")
                raise DefinitionError(error.problem, tool=error.tool, place=place, fix=error.fix) from error
            fresh[_plain(made.name)] = made
        for made in fresh.values():
            self._put(made)
        return [made.name for made in fresh.values()]

    def register_tool(self, tool: object) -> AnyTool:
        """Register one tool of any door.

        Raises:
            DefinitionError: where it is no tool, is not sound, or has a name that is taken.
        """
        made = to_tool(tool)
        self._refuse_twin(made, {})
        self._put(made)
        return made

    def _put(self, tool: AnyTool) -> None:
        self._tools[tool.name] = tool
        self._by_plain_name[_plain(tool.name)] = tool

    def _refuse_twin(self, new: AnyTool, fresh: Mapping[str, AnyTool]) -> None:
        """Raise for a tool whose name is another's, but for `-` and `_`."""
        twin = self._by_plain_name.get(_plain(new.name)) or fresh.get(_plain(new.name))
        if twin is not None:
            known = f"as {twin.name!r} " if twin.name != new.name else ""
            raise DefinitionError(
                f"the name already exists {known}({twin.source} and {new.source})",
                tool=new.name,
                fix="rename one of them",
            )

    def get_tool(self, name: str) -> AnyTool:
        """The tool of that name.

        Raises:
            UnknownToolError: (a KeyError) naming the nearest tool there is.
        """
        found = self._tools.get(name)
        if found is None:
            close = nearest(str(name), self._tools)
            hint = f"; did you mean {close!r}?" if close else ""
            raise UnknownToolError(f"no tool {name!r:.140}{hint}")
        return found

    def get_all_tool_specs(self) -> list[JSONObject]:
        """Every tool as the seed's JSON document, in the order of registration."""
        return [spec_of(tool) for tool in self._tools.values()]

    def validate_tool_spec(self, spec: object) -> tuple[bool, str | None]:
        """Whether a document describes a sound tool, and if not, why."""
        trouble = problem_of(spec)
        return trouble is None, trouble

    def to_spec_dict(self) -> JSONObject:
        """All tools as one JSON document, with everything that they say of themselves but their handlers."""
        specs: list[JSONValue] = [full_spec_of(tool) for tool in self._tools.values()]
        return {"tools": specs}

    @classmethod
    def from_spec_dict(cls, document: Mapping[str, object]) -> ToolRegistry:
        """The registry that such a document describes; its tools are declarations, without handlers.

        Raises:
            DefinitionError: where the document or a tool in it is not sound.
        """
        specs = document.get("tools") if isinstance(document, Mapping) else None  # pyright: ignore[reportUnnecessaryIsInstance] -- documents come from outside
        if not isinstance(specs, list):
            raise DefinitionError(
                "the document has no list 'tools'", fix='write {"tools": [{"name": ..., ...}]}'
            )
        return cls(
            [
                tool_from_spec(spec, f"tools[{number}]")
                for number, spec in enumerate(cast("list[object]", specs))
            ]
        )

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
