"""Sets of tools made from others: prefixed, filtered, renamed, put together.

Takes tools of any door, nested as they come, and gives lists; does not know what the tools do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from toolhaft.catalog.registry import ToolRegistry
from toolhaft.core.conversion import AnyTool, flatten, to_tool
from toolhaft.errors import DefinitionError
from toolhaft.schema.nearest import nearest


def prefix(tools: object, text: str) -> list[AnyTool]:
    """The tools with a text before each name, so that two sets do not meet: `prefix(github, "gh_")`.

    Raises:
        DefinitionError: where a member is no tool, or a name would be none.
    """
    return [tool.replace(name=f"{text}{tool.name}") for tool in _listed(tools)]


def keep(tools: object, test: Callable[[AnyTool], object]) -> list[AnyTool]:
    """The tools that pass a test: `keep(tools, lambda tool: tool.effect == "read")`.

    Raises:
        DefinitionError: where a member is no tool.
    """
    return [tool for tool in _listed(tools) if test(tool)]


def rename(tools: object, names: Mapping[str, str]) -> list[AnyTool]:
    """The tools, some under other names: `rename(tools, {"search": "search_notes"})`.

    Raises:
        DefinitionError: where a member or a name is none, or two would have one name.
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
    """All tools of several sets in one, in their order.

    Raises:
        DefinitionError: where a member is no tool, or two have one name, but for `-` and `_`.
    """
    return list(ToolRegistry(toolsets))


def _listed(tools: object) -> list[AnyTool]:
    return [to_tool(thing) for thing in flatten(tools)]
