"""Converts an object from any of the ways to define a tool into its Tool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import MethodType, ModuleType
from typing import Any, TypeGuard, cast

from toolhaft.core.ports import Door
from toolhaft.core.result import ToolResult
from toolhaft.core.tool import Tool
from toolhaft.errors import DefinitionError

AnyTool = Tool[Any, Any]
AnyResult = ToolResult[Any]


def to_tool(thing: object) -> AnyTool:
    """The compiled tool behind an object of any door.

    Raises:
        DefinitionError: where it is no tool, or one that cannot be made as written.
    """
    if isinstance(thing, MethodType) and isinstance(thing.__func__, Tool):
        # from Python 3.13 on, a classmethod around a tool binds it like a plain function
        bind = getattr(cast("object", thing.__func__), "__get__", None)
        thing = thing if bind is None else bind(thing.__self__)
    if isinstance(thing, Tool):
        made = cast("AnyTool", thing)
        made.validate  # noqa: B018 -- a function is compiled, and so checked, by its first use
        return made
    if _is_door(thing):
        behind = thing.tool  # once: it may be made anew each time
        if isinstance(behind, Tool):
            return to_tool(cast("object", behind))
    raise DefinitionError(f"{thing!r:.80} is not a tool", fix=_hint(thing))


def _is_door(thing: object) -> TypeGuard[Door]:
    """True for an object that stands for one tool, which is not made yet by being looked for.

    A method that is called `tool` makes tools, and a class makes such objects.
    """
    declared = getattr(type(thing), "tool", None)
    if declared is not None:
        return not callable(declared)
    return "tool" in getattr(thing, "__dict__", ()) and not isinstance(thing, ModuleType | type)


def _hint(thing: object) -> str:
    if isinstance(thing, type) and hasattr(thing, "tool"):
        return f"make one: {thing.__name__}()"
    if callable(thing):
        return "decorate it with @tool, or call it if it makes tools"
    if isinstance(thing, dict):
        return "a spec becomes tools through ToolRegistry.from_spec_dict({'tools': [...]})"
    return "use @tool, a BaseTool, Tool[Params, Result], create_tool(...) or load_tool(...)"


def flatten(things: object) -> Iterator[object]:
    """The members of nested lists, toolkits and registries, one after the other."""
    is_many = isinstance(things, Iterable) and not isinstance(things, str | bytes | dict | Tool | type)
    if is_many and not _is_door(cast("object", things)):
        for thing in cast("Iterable[object]", things):
            yield from flatten(thing)
    else:
        yield things
