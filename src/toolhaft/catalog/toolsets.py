"""Functions that prefix, filter, rename and combine lists of tools, which may be nested."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from toolhaft.catalog.registry import ToolRegistry
from toolhaft.core.conversion import AnyTool, flatten, to_tool
from toolhaft.errors import DefinitionError
from toolhaft.schema.nearest import nearest


def prefix(tools: object, text: str) -> list[AnyTool]:
    """The tools with a prefix before each name, so that two sets do not clash: `prefix(github, "gh_")`.

    Raises:
        DefinitionError: if a member is not a tool, or a new name is invalid.
    """
    return [tool.replace(name=f"{text}{tool.name}") for tool in _listed(tools)]


def keep(tools: object, test: Callable[[AnyTool], object]) -> list[AnyTool]:
    """The tools that pass a test: `keep(tools, lambda tool: tool.effect == "read")`.

    Raises:
        DefinitionError: if a member is not a tool.
    """
    return [tool for tool in _listed(tools) if test(tool)]


def rename(tools: object, names: Mapping[str, str]) -> list[AnyTool]:
    """The tools, some with new names: `rename(tools, {"search": "search_notes"})`.

    Raises:
        DefinitionError: if a member is not a tool, a name is unknown or invalid, or two tools get one name.
    """
    listed = _listed(tools)
    known = [tool.name for tool in listed]
    for old in names:
        if old not in known:
            close = nearest(str(old), known)
            fix = f"did you mean {close!r}?" if close else "name tools of the set"
            raise DefinitionError("there is no such tool to rename", tool=str(old), fix=fix)
    return combine(tool.replace(name=names[tool.name]) if tool.name in names else tool for tool in listed)


def combine(*toolsets: object) -> list[AnyTool]:
    """All tools of several sets as one list, in their order.

    Raises:
        DefinitionError: if a member is not a tool, or two have the same name, apart from `-` and `_`.
    """
    return list(ToolRegistry(toolsets))


def _listed(tools: object) -> list[AnyTool]:
    return [to_tool(thing) for thing in flatten(tools)]
