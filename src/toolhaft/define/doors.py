"""Takes an object from any door and gives the Tool that it is.

Knows every door; makes nothing that a door has not defined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import MethodType
from typing import Any, cast

from toolhaft.core.tool import Tool
from toolhaft.define.config import ToolConfig, create_tool
from toolhaft.define.decorator import FunctionTool
from toolhaft.define.toolspec import BaseTool
from toolhaft.errors import DefinitionError
from toolhaft.schema.problems import InvalidArguments

AnyTool = Tool[Any, Any]


def to_tool(thing: object) -> AnyTool:
    """The compiled tool behind an object of any door.

    Raises:
        DefinitionError: where it is no tool, or one that cannot be made as written.
    """
    if isinstance(thing, MethodType) and isinstance(thing.__func__, FunctionTool):
        # from Python 3.13 on, a classmethod around a tool binds it like a plain function
        thing = cast("FunctionTool[..., object]", thing.__func__).__get__(thing.__self__)
    if isinstance(thing, Tool):
        made = cast("AnyTool", thing)
        made.validate  # noqa: B018 -- a function is compiled, and so checked, by its first use
        return made
    if isinstance(thing, BaseTool):
        return thing.tool
    if isinstance(thing, ToolConfig):
        return create_tool(thing)
    raise DefinitionError(f"{thing!r:.80} is not a tool", fix=_hint(thing))


def _hint(thing: object) -> str:
    if BaseTool in getattr(thing, "__mro__", ()):
        return f"make one: {getattr(thing, '__name__', thing)}()"
    if callable(thing):
        return "decorate it with @tool"
    if isinstance(thing, dict):
        return "a spec becomes tools through ToolRegistry.from_spec_dict({'tools': [...]})"
    return "use @tool, a BaseTool, Tool[Params, Result], create_tool(...) or load_tool(...)"


def flatten(things: object) -> Iterator[object]:
    """The members of nested lists, toolkits and registries, one after the other."""
    is_many = isinstance(things, Iterable) and not isinstance(things, str | bytes | dict | Tool | BaseTool)
    if is_many and not isinstance(things, type):
        for thing in cast("Iterable[object]", things):
            yield from flatten(thing)
    else:
        yield things


def validate_tool_input(tool: object, value: object) -> str | None:
    """None if the value is valid input for the tool, else the message that a model would get."""
    verdict = to_tool(tool).validate(value)
    return verdict.message if isinstance(verdict, InvalidArguments) else None


def validate_tool_output(tool: object, value: object) -> str | None:
    """None if the value is valid output of the tool, else what is wrong with it."""
    return to_tool(tool).check_output(value)
