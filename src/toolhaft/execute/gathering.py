"""Reads what an executor was given into tools, names and calls, and says what is wrong with it.

Knows the doors; does not know how calls are run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Any, Final

from toolhaft.core.call import ToolCall
from toolhaft.core.conversion import AnyTool, flatten, to_tool
from toolhaft.core.limits import Budget, BudgetTracker, Deadline, RetryPolicy
from toolhaft.core.principal import Principal
from toolhaft.errors import DefinitionError
from toolhaft.execute.ledger import CircuitBreaker
from toolhaft.session import Session


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
    # names that no tool has are fine: one list may serve executors with different tools
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


def check_options(options: Mapping[str, object]) -> None:
    """Refuse what would fail at every call, and say what to write instead.

    Raises:
        TypeError: for an option of the wrong type.
        ValueError: for one that makes no sense.
    """
    for name, (kind, hint) in _WANTED.items():
        given = options.get(name)
        if given is not None and not isinstance(given, kind):
            raise TypeError(f"{name} does not take {given!r:.80}; write {hint}")
    policy = options.get("policy")
    if policy is not None and not callable(policy):
        raise TypeError(
            f"policy does not take {policy!r:.80}; write a function that gives 'allow', 'deny' or 'ask'"
        )
    for name in ("max_repeats", "max_output_chars", "max_threads", "max_processes", "process_memory_bytes"):
        given = options.get(name)
        if given is None:
            continue
        if isinstance(given, bool) or not isinstance(given, int):
            raise TypeError(f"{name} does not take {given!r:.80}; write a whole number")
        if given < 1:
            raise ValueError(f"{name} is {given}; it must be at least 1")


_WANTED: Final[Mapping[str, tuple[type | UnionType, str]]] = {
    "session": (Session, "session=Session()"),
    "principal": (Principal, "principal=Principal(id='...')"),
    "deadline": (Deadline, "deadline=Deadline.after(seconds)"),
    "budget": (Budget | BudgetTracker, "budget=Budget(max_calls=...)"),
    "retry": (RetryPolicy, "retry=RetryPolicy(max_attempts=...)"),
    "breaker": (CircuitBreaker, "breaker=CircuitBreaker(failures=...)"),
    "runtime": (Mapping, "runtime={'name': value}"),
}
