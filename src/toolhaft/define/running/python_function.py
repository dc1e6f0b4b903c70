"""Runs `run: {python: "module:function"}`: imports the function at the first call, and calls it.

Knows functions and the tools made of them; does not know where modules come from.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from toolhaft.core.context import ToolContext
from toolhaft.core.tool import Tool
from toolhaft.core.typed import context_parameter
from toolhaft.define.running.faults import unknown
from toolhaft.define.running.python_plan import PythonPlan
from toolhaft.errors import ToolExecutionError

_PLAIN = (str, int, float, bool, list, tuple)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PythonHandler:
    """The handler of a tool whose file has `run: {python: ...}`."""

    plan: PythonPlan

    def __call__(self, input: Mapping[str, object], context: ToolContext | None = None) -> object:
        """Call the function with the arguments by keyword, and with the context where it takes one."""
        function = find_function(self.plan)
        name = _context_name(function, input)
        try:
            value = function(**input) if name is None else function(**input, **{name: context})
        except SystemExit as error:
            raise self._ended(error) from error
        return self._shaped_later(value) if inspect.isawaitable(value) else self._shaped(value)

    async def _shaped_later(self, value: Awaitable[object]) -> object:
        try:
            return self._shaped(await value)
        except SystemExit as error:
            raise self._ended(error) from error

    def _ended(self, error: SystemExit) -> ToolExecutionError:
        """What a function did that wants to end the program: a failure of its own, and of nobody else."""
        return ToolExecutionError(
            f"{self.plan.module}:{self.plan.function} called sys.exit({error.code!r:.80}). "
            "Fix: let it give back a value, or raise an error"
        )

    def _shaped(self, value: object) -> object:
        """A plain value as the one field that the tool returns."""
        returns = self.plan.returns
        if returns is not None and len(returns) == 1 and isinstance(value, _PLAIN):
            return {returns[0]: cast("object", value)}
        return value


def find_function(plan: PythonPlan) -> Callable[..., object]:
    """The function that a plan names; of a tool, the function that it was made of.

    Raises:
        ToolExecutionError: where there is no such module or function, or importing it fails.
    """
    try:
        found: object = importlib.import_module(plan.module)
    except ImportError as error:
        raise _unfound(
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
            fix = unknown(part, [name for name in dir(found) if name[0] != "_"], "check the name")
            raise _unfound(f"{plan.module} has no {plan.function!r:.80}; {fix}")
        found = cast("object", getattr(found, part))
    if isinstance(found, Tool):
        found = cast("object", found.handler)
    if not callable(found):
        raise _unfound(f"{plan.module}:{plan.function} is no function that could be called")
    return found


def _unfound(message: str) -> ToolExecutionError:
    error = ToolExecutionError(message)
    error.nothing_happened = True
    return error


def _context_name(function: Callable[..., object], given: Mapping[str, object]) -> str | None:
    """The parameter that takes the context: by its type, or by its name where no argument has it."""
    try:
        found, by_name = _manners(function)
    except TypeError:  # an object that cannot be kept in a cache
        found, by_name = _manners.__wrapped__(function)
    return "context" if by_name and "context" not in given else found


@lru_cache(maxsize=1_000)
def _manners(function: Callable[..., object]) -> tuple[str | None, bool]:
    """The parameter that takes the context by its type, and whether one is called so; slow to find out."""
    found = context_parameter(function)
    if found is not None:
        return found, False
    try:
        return None, "context" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # one that is written in C
        return None, False
