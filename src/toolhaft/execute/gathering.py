"""Reads what an executor was given into tools, names and calls, and says what is wrong with it.

Knows the doors; does not know how calls are run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolhaft.core.call import ToolCall
from toolhaft.define.doors import flatten, to_tool
from toolhaft.errors import DefinitionError
from toolhaft.execute.aliases import AnyTool


def gather_tools(tools: object, catalog: Any) -> dict[str, AnyTool]:  # noqa: ANN401 -- anything with `get_tool(id)`
    """Every tool by name, whatever door it came through.

    Raises:
        DefinitionError: where one is no tool, or two have one name.
    """
    found: dict[str, AnyTool] = {}
    for thing in flatten(tools):
        if isinstance(thing, str):
            if catalog is None:
                raise DefinitionError(
                    f"{thing!r} is the id of a tool, and there is no catalog to find it in",
                    fix="give ToolExecutor(..., catalog=...), or the tool itself",
                )
            tool = to_tool(catalog.get_tool(thing))
        else:
            tool = to_tool(thing)
        twin = found.get(tool.name)
        if twin is not None and twin is not tool:
            raise DefinitionError(
                f"two tools have this name: {twin.source} and {tool.source}",
                tool=tool.name,
                fix="give each tool a name of its own",
            )
        found[tool.name] = tool
    return found


def read_allowed(allow: Iterable[object]) -> frozenset[str]:
    """The names of the tools on an allow-list.

    Raises:
        TypeError: where it is one text.
    """
    if isinstance(allow, str):  # its letters would be taken for names
        raise TypeError(f"allow is a list of tool names, not the text {allow!r:.80}; write [{allow!r:.80}]")
    return frozenset(name if isinstance(name, str) else to_tool(name).name for name in allow)


def read_calls(calls: Iterable[ToolCall]) -> list[ToolCall]:
    """The calls of one turn.

    Raises:
        TypeError: where they are no list of calls.
    """
    if isinstance(calls, ToolCall):
        raise TypeError("execute_all takes a list of calls; for one call use execute")
    listed = list(calls)
    for call in listed:
        if not isinstance(call, ToolCall):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise not_a_call(call)
    return listed


def not_a_call(given: object) -> TypeError:
    """What to raise for something that is no call."""
    return TypeError(
        f"{given!r:.80} is not a call; write ToolCall(id='...', name='...', arguments='{{...}}')"
    )
