"""Makes the parts of a tool from a function, for `@tool` and for plain functions among the tools."""

from __future__ import annotations

import sys
from types import FunctionType, MethodType

from toolhaft import core, schema
from toolhaft.core.tool import Tool
from toolhaft.errors import DefinitionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, cast
else:
    from toolhaft._typing import cast

_REMEMBERED = "__toolhaft_tool__"
"""The attribute of a plain function that has its tool: it lives as long as the function, and no longer."""
_CONTRACT = "__toolhaft_contract__"


def name_of(function: object) -> str:
    """The name of the tool that a function defines."""
    named = function
    while not hasattr(named, "__name__") and hasattr(named, "func"):  # a partial
        named = getattr(named, "func")  # noqa: B009 -- not on every object
    return str(getattr(named, "__name__", type(named).__name__))


def source_of(function: object) -> str:
    """Where a function was defined."""
    module = getattr(function, "__module__", None) or type(function).__module__
    return f"function {module}.{getattr(function, '__qualname__', type(function).__qualname__)}"


def compile_contract(
    function: Callable[..., object],
    *,
    context: bool | str | None = None,
    names: Mapping[str, object] | None = None,
    is_static: bool = False,
) -> schema.FunctionContract:
    """Compile the contract of the tool that a function defines.

    Raises:
        DefinitionError: if it cannot be a tool; it does not name the tool yet.
    """
    from toolhaft.core.content import PART_TYPES  # noqa: PLC0415 -- `import toolhaft` need not load it

    if not is_static:
        _refuse_unbound(function)
    return schema.compile_function(
        function,
        context=context,
        context_types=(core.ToolContext,),
        result_type=core.ToolResult,
        part_types=PART_TYPES,
        names=names,
    )


def tool_from_function(function: Callable[..., object]) -> Tool[Any, Any]:
    """The tool of a plain function; it is compiled once, and remembered as long as the function lives.

    Raises:
        DefinitionError: if it cannot be a tool.
    """
    attributes = cast("dict[str, object]", getattr(function, "__dict__", {}))
    known = attributes.get(_REMEMBERED)
    # functools.wraps copies the attributes of one function to another
    if isinstance(known, Tool) and known.handler is function:
        return cast("Tool[Any, Any]", known)
    try:
        contract = _method_contract(function) if isinstance(function, MethodType) else _contract(function)
    except DefinitionError as error:
        raise error.of(name_of(function)) from error.__cause__
    made: Tool[Any, Any] = object.__new__(Tool)
    made._fill(  # noqa: SLF001 -- a Tool like any other # pyright: ignore[reportPrivateUsage] -- the same
        name=name_of(function),
        description=contract.description,
        contract=contract.contract,
        output=contract.output,
        handler=function,
        source=source_of(function),
        options={},
        context_name=contract.context_name,
        takes="keywords",
    )
    if not isinstance(function, MethodType):  # a new one is made each time that a method is read
        attributes[_REMEMBERED] = made
    return made


def _contract(function: Callable[..., object]) -> schema.FunctionContract:
    return compile_contract(function, names=_enclosing_names(function))


def _method_contract(method: MethodType) -> schema.FunctionContract:
    """The contract of a bound method, remembered by its function for objects of the same class."""
    attributes = cast("dict[str, object]", getattr(method.__func__, "__dict__", {}))
    owner, known = cast(
        "tuple[object, schema.FunctionContract | None]", attributes.get(_CONTRACT, (None, None))
    )
    if known is None or owner is not type(method.__self__):
        known = _contract(method)
        attributes[_CONTRACT] = type(method.__self__), known
    return known


def _enclosing_names(function: object) -> Mapping[str, object] | None:
    """The local names of the running function that defines a nested one, if annotations in text need them."""
    outer, nested, _ = getattr(function, "__qualname__", "").rpartition(".<locals>.")
    if not nested or not any(
        hint.__class__ is str for hint in getattr(function, "__annotations__", {}).values()
    ):
        return None
    frame = sys._getframe(1)  # noqa: SLF001 -- the only way to the caller's names # pyright: ignore[reportPrivateUsage] -- the same
    while frame is not None:
        if frame.f_code.co_qualname == outer:
            return dict(frame.f_locals)
        frame = frame.f_back
    return None


def _refuse_unbound(function: object) -> None:
    if not isinstance(function, FunctionType):
        return
    first = function.__code__.co_varnames[: function.__code__.co_argcount][:1]
    owner = function.__qualname__.rpartition(".")[0].rpartition(".")[2]
    if owner not in ("", "<locals>") and first in (("self",), ("cls",)):
        raise DefinitionError(
            "it is a method without its object",
            place="parameter 'self'",
            fix=f"use {owner}(...).{function.__name__}",
        )
