"""Reads and runs `run: {python: "module:function"}`; the function is imported at the first call.

The module is an installed one, or else one of the project.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
)
from contextlib import aclosing
from dataclasses import dataclass
from functools import lru_cache
from types import AsyncGeneratorType
from typing import Any, Final, cast

from pydantic_core import to_jsonable_python

from toolhaft.backends import process_worker
from toolhaft.core.context import ToolContext
from toolhaft.core.definition import context_parameter
from toolhaft.core.result import ToolResult
from toolhaft.core.tool import Tool
from toolhaft.define.running.parameters import Parameters, RunProblems, suggest
from toolhaft.define.running.project_modules import hidden_module, importable
from toolhaft.define.toolspec import ToolResponse
from toolhaft.errors import ToolError, ToolExecutionError
from toolhaft.schema.json_value import JSONObject

_NAME: Final = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_TARGET: Final = re.compile(rf"({_NAME}):({_NAME})")
_PLAIN = (str, int, float, bool, list, tuple)
_AS_THEY_ARE: Final[tuple[type, ...]] = (
    *(str, int, float, bytes),
    *(ToolResult, ToolResponse, ToolError),
    *(Iterator, AsyncIterator),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonPlan:
    """A function, by its module and its name in it."""

    module: str
    function: str
    returns: tuple[str, ...] | None
    nulls: tuple[str, ...]
    """The optional parameters with the default null, which the function gets as None."""


def read_python(fields: JSONObject, parameters: Parameters, problems: RunProblems) -> PythonPlan | None:
    """Parse the block; None if it is not `module:function`."""
    target = fields["python"]
    found = _TARGET.fullmatch(target) if isinstance(target, str) else None
    if found is None:
        problems.add(
            ("python",), "python does not name a function", 'write python: "package.module:function"'
        )
        return None
    returns = None if parameters.returns is None else tuple(parameters.returns)
    nulls = tuple(
        name
        for name, schema in parameters.inputs.items()
        if name not in parameters.required and schema.get("default", ...) is None
    )
    return PythonPlan(module=found[1], function=found[2], returns=returns, nulls=nulls)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PythonHandler:
    """The handler of a tool whose file has `run: {python: ...}`."""

    plan: PythonPlan
    project: str | None
    """The folder of the project's modules; None to find installed modules only."""

    def __call__(self, input: Mapping[str, object], context: ToolContext | None = None) -> object:
        """Call the function with the arguments as keywords, and with the context if it takes one."""
        if self.plan.nulls:
            input = {**dict.fromkeys(self.plan.nulls), **input}
        with importable(self.project):
            function = _find(self.plan, self.project)
            name = _context_name(function, input)
            value = function(**input) if name is None else function(**input, **{name: context})
        if inspect.isawaitable(value):
            return self._as_field_later(value)
        if self.project is not None and inspect.isgenerator(value):
            return self._generate(value)
        if self.project is not None and inspect.isasyncgen(value):
            return self._generate_later(value)
        return self._as_field(value)

    async def _as_field_later(self, value: Awaitable[object]) -> object:
        with importable(self.project):
            return self._as_field(await value)

    def _generate(self, values: Iterable[object]) -> Generator[object]:
        with importable(self.project):
            yield from values

    async def _generate_later(self, values: AsyncGeneratorType[object, Any]) -> AsyncGenerator[object]:
        async with aclosing(values):
            with importable(self.project):
                async for value in values:
                    yield value

    def _as_field(self, value: object) -> object:
        """Wrap a plain value as the only field that the tool returns."""
        returns = self.plan.returns
        if process_worker.is_worker and not isinstance(value, _AS_THEY_ARE):
            # the host does not import the function's module, and so does not know its types
            value = cast("object", to_jsonable_python(value))
        if returns is not None and len(returns) == 1 and isinstance(value, _PLAIN):
            return {returns[0]: cast("object", value)}
        return cast("object", value)


def find_function(plan: PythonPlan, project: str | None = None) -> Callable[..., object]:
    """Return the function that a plan names; for a tool, its handler.

    Args:
        plan: names the function.
        project: the folder of the project's modules, which are found after the installed ones.

    Raises:
        ToolExecutionError: if there is no such module or function, or the import fails.
    """
    with importable(project):
        return _find(plan, project)


def _find(plan: PythonPlan, project: str | None) -> Callable[..., object]:
    try:
        found: object = importlib.import_module(plan.module)
    except ImportError as error:
        hint = hidden_module(plan.module, project) or "install it, or run where it can be found"
        raise _not_found(
            f"the module {plan.module} cannot be imported: {error!s:.200}. Fix: {hint}"
        ) from error
    except SystemExit as error:
        raise ToolExecutionError(
            f"the module {plan.module} cannot be imported: it ends the program. Fix: call sys.exit() below "
            'if __name__ == "__main__" only'
        ) from error
    except Exception as error:
        raise ToolExecutionError(
            f"the module {plan.module} cannot be imported: {type(error).__name__}: {error!s:.200}"
        ) from error
    for part in plan.function.split("."):
        if not hasattr(found, part):
            names = [name for name in dir(found) if name[0] != "_"]
            fix = hidden_module(plan.module, project) or suggest(part, names, "check the name")
            raise _not_found(f"{plan.module} has no {plan.function!r:.80}; {fix}")
        found = cast("object", getattr(found, part))
    if isinstance(found, Tool):
        found = cast("object", found.handler)
    if not callable(found):
        raise _not_found(f"{plan.module}:{plan.function} is not a function")
    return found


def _not_found(message: str) -> ToolExecutionError:
    error = ToolExecutionError(message)
    error.nothing_happened = True
    return error


def takes_context(function: Callable[..., object]) -> bool:
    """True if a function has a parameter for the context."""
    return _context_name(function, {}) is not None


def _context_name(function: Callable[..., object], given: Mapping[str, object]) -> str | None:
    """Return the parameter that takes the context: by type, or by name if no argument has that name."""
    try:
        found, by_name = _context_rule(function)
    except TypeError:  # not hashable
        found, by_name = _context_rule.__wrapped__(function)
    return "context" if by_name and "context" not in given else found


@lru_cache(maxsize=1_000)
def _context_rule(function: Callable[..., object]) -> tuple[str | None, bool]:
    """Return the parameter of the context's type, and whether one is named `context`; slow."""
    found = context_parameter(function)
    if found is not None:
        return found, False
    try:
        return None, "context" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # a function written in C
        return None, False
