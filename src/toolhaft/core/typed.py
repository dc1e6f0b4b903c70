"""The typed door's manners: its handler's shape, its words, and the contracts that two types make.

Does not know the Tool class that uses it, nor how handlers are run.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar, get_args, get_origin, get_type_hints

from toolhaft import schema
from toolhaft.core.result import ToolResult
from toolhaft.errors import DefinitionError

if TYPE_CHECKING:  # a dataclass: at run time it would load `inspect` with every import of toolhaft
    from toolhaft.core.context import ToolContext

ParamsT_contra = TypeVar("ParamsT_contra", contravariant=True)
ResultT_co = TypeVar("ResultT_co", covariant=True)
ResultT = TypeVar("ResultT")

_NAME = re.compile(r"[a-z0-9_-]{1,64}")
_LONGEST_TEXT = 200


class ToolHandler(Protocol[ParamsT_contra, ResultT]):
    """A typed handler: parameters in, result out, the context by keyword."""

    def __call__(self, params: ParamsT_contra, /, *, context: ToolContext) -> ToolResult[ResultT]:
        """Do the work."""
        ...


class AsyncToolHandler(Protocol[ParamsT_contra, ResultT]):
    """The same, awaited."""

    def __call__(self, params: ParamsT_contra, /, *, context: ToolContext) -> Awaitable[ToolResult[ResultT]]:
        """Do the work."""
        ...


class Handler(NamedTuple):
    """What a handler's own definition says about its tool."""

    name: str
    description: str
    params_type: object
    result_type: object


def check_typed_manners(name: object, description: object) -> None:
    """The typed door's narrower words: seed 003's limits on name and description."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise DefinitionError(
            f"{name!r:.140} is not a typed tool's name",
            place="name",
            fix="use 1 to 64 lowercase letters, digits, '_' or '-'",
        )
    if not isinstance(description, str) or not description.strip() or len(description) > _LONGEST_TEXT:
        length = len(description) if isinstance(description, str) else 0
        raise DefinitionError(
            f"the description has {length} characters", place="description", fix="write 1 to 200 characters"
        )


def typed_contracts(
    params_type: object, result_type: object
) -> tuple[schema.Contract, schema.OutputContract | None]:
    """The input and output contracts of `Tool[Params, Result]`."""
    output = (
        None if result_type is None or result_type is type(None) else schema.compile_type_output(result_type)
    )
    return schema.compile_type(params_type), output


def context_parameter(function: object) -> str | None:
    """The name of the parameter that is annotated with ToolContext, None where there is none."""
    from toolhaft.core.context import ToolContext as Context  # noqa: PLC0415 -- see the import above

    target = function if hasattr(function, "__code__") else getattr(type(function), "__call__", None)  # noqa: B004 -- its annotations are wanted, not whether it can be called
    target = getattr(function, "__func__", target)
    try:
        hints = get_type_hints(target)
    except (NameError, TypeError, AttributeError):
        return None
    hints.pop("return", None)
    for name, hint in hints.items():
        if hint is Context or Context in get_args(hint):
            return name
    return None


def read_handler(handler: Callable[..., object]) -> Handler:
    """A handler's name, docstring, Params and Result.

    Raises:
        DefinitionError: where it is not `handler(params: Params, *, context) -> ToolResult[Result]`.
    """
    name = str(getattr(handler, "__name__", type(handler).__name__))
    try:
        hints = get_type_hints(handler, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        raise DefinitionError(
            f"its annotations cannot be read: {error}", tool=name, fix="import the types that it names"
        ) from error
    returned = hints.pop("return", None)
    if get_origin(returned) in (Awaitable, Coroutine):
        returned = get_args(returned)[-1]
    if get_origin(returned) is not ToolResult:
        raise DefinitionError(
            "it does not return ToolResult[Result]",
            tool=name,
            place="return",
            fix="annotate -> ToolResult[Result]",
        )
    taken = [hint for parameter, hint in hints.items() if parameter != "context"]
    if len(taken) != 1 or "context" not in hints:
        raise DefinitionError(
            f"it takes {len(taken)} annotated parameters and {'a' if 'context' in hints else 'no'} context",
            tool=name,
            fix="write handler(params: Params, *, context: ToolContext) -> ToolResult[Result]",
        )
    (result_type,) = get_args(returned)
    return Handler(name, schema.read_docstring(handler.__doc__).description, taken[0], result_type)
