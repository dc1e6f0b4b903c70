"""Converts an object from any of the ways to define a tool into its Tool."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any, TypeGuard, cast

from toolhaft.core.functions import tool_from_function
from toolhaft.core.ports import HasTool, OffersTools
from toolhaft.core.result import ToolResult
from toolhaft.core.tool import Tool
from toolhaft.errors import DefinitionError

AnyTool = Tool[Any, Any]
AnyResult = ToolResult[Any]
_MAKES_TOOLS = re.compile(r"\b(?:BaseTool|FunctionTool|Tool|Toolkit)\b")
"""In the return annotation of a function that makes tools."""


def to_tool(thing: object) -> AnyTool:
    """The compiled tool of an object from any way to define a tool, or of a function with a docstring.

    Raises:
        DefinitionError: if it is not a tool, or its definition is not valid.
    """
    if isinstance(thing, MethodType) and isinstance(thing.__func__, Tool):
        # from Python 3.13 on, a classmethod around a tool binds it like a plain function
        bind = getattr(cast("object", thing.__func__), "__get__", None)
        thing = thing if bind is None else bind(thing.__self__)
    if isinstance(thing, Tool):
        made = cast("AnyTool", thing)
        made.validate  # noqa: B018 -- a function is compiled, and so checked, by its first use
        return made
    if _has_tool(thing):
        behind = thing.tool  # read once: each access may compile it again
        if isinstance(behind, Tool):
            return to_tool(cast("object", behind))
    if _is_function(thing) and _is_described(thing):
        return tool_from_function(thing)
    raise DefinitionError(f"{thing!r:.80} is not a tool", fix=_hint(thing))


def _is_function(thing: object) -> TypeGuard[Callable[..., object]]:
    return isinstance(thing, FunctionType | MethodType | partial)


def _is_described(function: Callable[..., object]) -> bool:
    """True for a function with a docstring, which describes its tool, unless it makes tools."""
    while isinstance(function, partial):
        function = function.func
    returned = getattr(function, "__annotations__", {}).get("return", "")
    return bool(function.__doc__ and function.__doc__.strip()) and not _MAKES_TOOLS.search(str(returned))


def _has_tool(thing: object) -> TypeGuard[HasTool]:
    """True for an object with a `tool` attribute, found without compiling the tool.

    A method called `tool` does not count, and neither does the attribute of a class or a module.
    """
    declared = getattr(type(thing), "tool", None)
    if declared is not None:
        return not callable(declared)
    return "tool" in getattr(thing, "__dict__", ()) and not isinstance(thing, ModuleType | type)


def _hint(thing: object) -> str:
    if isinstance(thing, type) and hasattr(thing, "tool"):
        return f"make one: {thing.__name__}()"
    if isinstance(thing, FunctionType | MethodType):
        return "decorate it with @tool, or write a docstring that describes it; call it if it makes tools"
    if callable(thing):
        return "decorate it with @tool, or call it if it makes tools"
    if isinstance(thing, dict):
        return "a spec becomes tools through ToolRegistry.from_spec_dict({'tools': [...]})"
    return "use @tool, a BaseTool, Tool[Params, Result], create_tool(...) or load_tool(...)"


def flatten(things: object) -> Iterator[object]:
    """The tools in nested lists, mappings, toolkits, registries, executors and catalogs, one by one."""
    if isinstance(things, Tool):  # first, because the check for an Iterable is slow
        yield cast("object", things)
        return
    if callable(getattr(type(things), "offered_tools", None)):
        things = cast("OffersTools", things).offered_tools()
    elif isinstance(things, Mapping) and _holds_tools(cast("Mapping[object, object]", things)):
        things = cast("Mapping[object, object]", things).values()
    is_many = isinstance(things, Iterable) and not isinstance(things, str | bytes | dict | type)
    if is_many and not _has_tool(cast("object", things)):
        for thing in cast("Iterable[object]", things):
            yield from flatten(thing)
    else:
        yield things


def _holds_tools(mapping: Mapping[object, object]) -> bool:
    """True for tools by name, and for an empty mapping; False for the document of a tool."""
    return not mapping or any(
        isinstance(value, Tool) or callable(value) or _has_tool(value) for value in mapping.values()
    )
