"""Defines tools from typed functions: `@tool`. Decorating stores the function; the first use compiles it."""

from __future__ import annotations

import sys
from types import FunctionType, MethodType

from toolhaft import core, schema
from toolhaft.core.functions import compile_contract, name_of, source_of
from toolhaft.core.tool import Tool
from toolhaft.errors import DefinitionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, Unpack, cast, overload

    from toolhaft.core.options import Options
else:
    from toolhaft._typing import Generic, ParamSpec, TypeVar, cast, overload

P = ParamSpec("P")
R = TypeVar("R")
BoundP = ParamSpec("BoundP")

_put = object.__setattr__
_LAZY = frozenset(Tool.__slots__)


class FunctionTool(Tool[object, R], Generic[P, R]):
    """A tool made from a function; it can still be called like the function."""

    __slots__ = ("__dict__", "_bind", "_bound_contract", "_names", "_options", "_unbound", "function")

    def __init__(
        self, function: Callable[P, R], options: dict[str, object], names: Mapping[str, object] | None = None
    ) -> None:
        # a static or class method may be decorated too, in any order of the decorators
        kind: type = function.__class__
        if kind is staticmethod or kind is classmethod:
            function = cast("staticmethod[P, R]", function).__func__
        _put(self, "function", function)
        _put(self, "_options", options)
        _put(self, "_names", names)
        _put(self, "_bind", kind)
        _put(self, "_unbound", None)
        _put(self, "_bound_contract", None)
        attributes: dict[str, object] = {"__wrapped__": function, "__doc__": function.__doc__}
        if isinstance(function, FunctionType | MethodType):
            attributes["__name__"] = function.__name__
            attributes["__qualname__"] = function.__qualname__
            attributes["__module__"] = function.__module__
        _put(self, "__dict__", attributes)

    if TYPE_CHECKING:
        function: Callable[P, R]
        _options: dict[str, object]
        _names: Mapping[str, object] | None
        _bind: type
        _unbound: FunctionTool[..., R] | None
        _bound_contract: schema.FunctionContract | None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself, without any checks."""
        return self.function(*args, **kwargs)

    # found in the class it may be static, a class method or not bound: a type checker cannot distinguish them
    @overload
    def __get__(self, instance: None, owner: type, /) -> FunctionTool[..., R]: ...
    @overload
    def __get__(
        self: FunctionTool[Concatenate[Any, BoundP], R], instance: object, owner: type | None = None, /
    ) -> FunctionTool[BoundP, R]: ...
    def __get__(self, instance: object, owner: type | None = None, /) -> FunctionTool[..., R]:
        """Bind the tool to an object, as a method is bound."""
        target = owner if self._bind is classmethod else instance
        if target is None or self._bind is staticmethod:
            return self
        bound: FunctionTool[..., R] = FunctionTool(
            cast("Callable[..., R]", MethodType(self.function, target)), self._options, self._names
        )
        _put(bound, "_unbound", self)
        return bound

    def _get_late(self, name: str) -> object:
        """Compile the tool at the first use of one of its fields; other names are the function's own."""
        if name not in _LAZY:
            return getattr(self.function, name)
        self._compile()
        return cast("object", object.__getattribute__(self, name))

    if not TYPE_CHECKING:  # a type checker would accept every name
        __getattr__ = _get_late

    def _blank(self) -> Self:
        return cast("Self", FunctionTool(self.function, self._options, self._names))

    def __repr__(self) -> str:
        return core.signature_text.function_line(self._own_name(), self.function, self._options)

    def __reduce__(self) -> str:
        """Pickle by name, as functions are pickled."""
        return str(getattr(self.function, "__qualname__", self._own_name()))

    def _own_name(self) -> str:
        given = self._options.get("name")
        if given is not None:
            return cast("str", given)
        return name_of(self.function)

    def _compile_function(self) -> schema.FunctionContract:
        try:
            return compile_contract(
                self.function,
                context=cast("bool | str | None", self._options.get("context")),
                names=self._names,
                is_static=self._bind is staticmethod,
            )
        except DefinitionError as error:
            raise error.of(self._own_name()) from error.__cause__

    def _contract(self) -> schema.FunctionContract:
        """Return the function's contract; a method is compiled once, not once per object."""
        unbound = self._unbound
        if unbound is None:
            return self._compile_function()
        if unbound._bound_contract is None:  # noqa: SLF001 -- its own class
            _put(unbound, "_bound_contract", self._compile_function())
        return cast("schema.FunctionContract", unbound._bound_contract)  # noqa: SLF001 -- its own class

    def _compile(self) -> None:
        contract = self._contract()
        description = self._options.get("description")
        options = {
            key: value
            for key, value in self._options.items()
            if key not in ("name", "description", "context")
        }
        self._fill(
            name=self._own_name(),
            description=contract.description if description is None else cast("str", description),
            contract=contract.contract,
            output=contract.output,
            handler=self.function,
            source=source_of(self.function),
            options=options,
            context_name=contract.context_name,
            takes="keywords",
        )


@overload
def tool(
    function: Callable[P, R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    context: bool | str | None = None,
    **options: Unpack[Options],
) -> FunctionTool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    context: bool | str | None = None,
    **options: Unpack[Options],
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(
    function: Callable[P, R] | None = None, /, **options: object
) -> FunctionTool[P, R] | Callable[[Callable[P, R]], FunctionTool[P, R]]:
    """Make a tool from a function: `@tool`, `@tool(...)` or `tool(function, ...)`.

    Name, description and parameters come from the function unless they are given here. Nothing is checked
    yet: registering, exporting or the first use compiles the tool, and raises a DefinitionError.

    Args:
        function: a function, method, static or class method, partial or callable object.
        options: `name`, `description`, `context` (True, or the name of the parameter that takes the
            context; one annotated with ToolContext is found automatically), and every option of a Tool.
    """
    if isinstance(function, str):
        raise DefinitionError(
            f"{function!r:.80} is not a function", fix=f"write @tool(name={function!r:.80})"
        )
    if function is None:
        return lambda later: FunctionTool(later, options, _local_names(later, 2))
    return FunctionTool(function, options, _local_names(function, 2))


def _local_names(function: object, depth: int) -> Mapping[str, object] | None:
    """Return the local names around a nested function, if its annotations are text and need them."""
    if "<locals>" not in getattr(function, "__qualname__", ""):
        return None
    if not any(hint.__class__ is str for hint in getattr(function, "__annotations__", {}).values()):
        return None
    return dict(sys._getframe(depth).f_locals)  # noqa: SLF001 -- the frame of the decorated function # pyright: ignore[reportPrivateUsage] -- the same
