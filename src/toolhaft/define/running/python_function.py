"""Reads and runs `run: {python: "module:function"}`; the function is imported at the first call."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.definition import context_parameter
from toolhaft.core.tool import Tool
from toolhaft.define.running.parameters import Parameters, RunProblems, suggest
from toolhaft.errors import ToolExecutionError
from toolhaft.schema.json_value import JSONObject

_NAME: Final = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_TARGET: Final = re.compile(rf"({_NAME}):({_NAME})")
_PLAIN = (str, int, float, bool, list, tuple)


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonPlan:
    """A function, by its module and its name in it."""

    module: str
    function: str
    returns: tuple[str, ...] | None


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
    return PythonPlan(module=found[1], function=found[2], returns=returns)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PythonHandler:
    """The handler of a tool whose file has `run: {python: ...}`."""

    plan: PythonPlan

    def __call__(self, input: Mapping[str, object], context: ToolContext | None = None) -> object:
        """Call the function with the arguments as keywords, and with the context if it takes one."""
        function = find_function(self.plan)
        name = _context_name(function, input)
        try:
            value = function(**input) if name is None else function(**input, **{name: context})
        except SystemExit as error:
            raise self._exit_error(error) from error
        return self._as_field_later(value) if inspect.isawaitable(value) else self._as_field(value)

    async def _as_field_later(self, value: Awaitable[object]) -> object:
        try:
            return self._as_field(await value)
        except SystemExit as error:
            raise self._exit_error(error) from error

    def _exit_error(self, error: SystemExit) -> ToolExecutionError:
        """Turn `sys.exit()` into a failure of this tool, so that it does not end the program."""
        return ToolExecutionError(
            f"{self.plan.module}:{self.plan.function} called sys.exit({error.code!r:.80}). "
            "Fix: return a value, or raise an error"
        )

    def _as_field(self, value: object) -> object:
        """Wrap a plain value as the only field that the tool returns."""
        returns = self.plan.returns
        if returns is not None and len(returns) == 1 and isinstance(value, _PLAIN):
            return {returns[0]: cast("object", value)}
        return value


def find_function(plan: PythonPlan) -> Callable[..., object]:
    """Return the function that a plan names; for a tool, its handler.

    Raises:
        ToolExecutionError: if there is no such module or function, or the import fails.
    """
    try:
        found: object = importlib.import_module(plan.module)
    except ImportError as error:
        raise _not_found(
            f"the module {plan.module} cannot be imported: {error!s:.200}. Fix: install it, or run where it "
            "can be found"
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
            fix = suggest(part, [name for name in dir(found) if name[0] != "_"], "check the name")
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
