"""Reads what an executor is given: tools, names, calls and options; finds more tools in its catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import BuiltinMethodType, MethodType, UnionType
from typing import Any, Final

from toolhaft.core.call import ToolCall
from toolhaft.core.conversion import AnyResult, AnyTool, flatten, to_tool
from toolhaft.core.limits import Budget, BudgetTracker, Deadline, RetryPolicy
from toolhaft.core.principal import Principal
from toolhaft.core.tool import OPTION_NAMES
from toolhaft.errors import DefinitionError, ResourceMissingError, ToolhaftError
from toolhaft.execute.attempts import CircuitBreaker
from toolhaft.session import Session

_FIRST_HITS: Final = 50
_MOST_HITS: Final = 10_000
"""The most hits to look through; the caller may be allowed to use only a few of them."""


def gather_tools(tools: object, catalog: Any) -> dict[str, AnyTool]:  # noqa: ANN401 -- anything with `get_tool(id)`
    """Every tool by name, however it was defined.

    Raises:
        DefinitionError: if something is not a tool, or two tools have the same name.
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
        other = found.get(tool.name)
        if other is not None and other is not tool:
            raise DefinitionError(
                f"two tools have this name: {other.source} and {tool.source}",
                tool=tool.name,
                fix="give each tool a different name",
            )
        found[tool.name] = tool
    return found


def read_allowed(allow: Iterable[object]) -> frozenset[str]:
    """The names of the tools on an allow-list.

    Raises:
        TypeError: if it is a text.
    """
    if isinstance(allow, str):  # a text is iterable too, letter by letter
        raise TypeError(f"allow is a list of tool names, not the text {allow!r:.80}; write [{allow!r:.80}]")
    # unknown names are fine: executors with different tools can share a list
    return frozenset(name if isinstance(name, str) else to_tool(name).name for name in allow)


def read_calls(calls: Iterable[ToolCall]) -> list[ToolCall]:
    """The calls of one model turn, checked.

    Raises:
        TypeError: if it is not a list of calls.
    """
    if isinstance(calls, ToolCall):
        raise TypeError("execute_all takes a list of calls; for one call use execute")
    listed = list(calls)
    for call in listed:
        if not isinstance(call, ToolCall):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise not_a_call(call)
    return listed


def not_a_call(given: object) -> TypeError:
    """The error for an object that is not a call."""
    return TypeError(
        f"{given!r:.80} is not a call; write ToolCall(id='...', name='...', arguments='{{...}}')"
    )


def check_options(options: Mapping[str, object]) -> None:
    """Check the options of an executor, or of a call.

    Raises:
        TypeError: for an option of the wrong type.
        ValueError: for a number that is too low.
    """
    for name, (kind, hint) in _WANTED.items():
        given = options.get(name)
        if given is not None and not isinstance(given, kind):
            raise TypeError(f"{name} does not take {given!r:.80}; write {hint}")
    policy = options.get("policy")
    if policy is not None and not callable(policy):
        raise TypeError(
            f"policy does not take {policy!r:.80}; write a function that returns 'allow', 'deny' or 'ask'"
        )
    for name, least in _NUMBERS.items():
        given = options.get(name)
        if given is None:
            continue
        if isinstance(given, bool) or not isinstance(given, int):
            raise TypeError(f"{name} does not take {given!r:.80}; write a whole number")
        if given < least:
            raise ValueError(f"{name} is {given}; it must be at least {least}")


_WANTED: Final[Mapping[str, tuple[type | UnionType, str]]] = {
    "session": (Session, "session=Session()"),
    "principal": (Principal, "principal=Principal(id='...')"),
    "deadline": (Deadline, "deadline=Deadline.after(seconds)"),
    "budget": (Budget | BudgetTracker, "budget=Budget(max_calls=...)"),
    "retry": (RetryPolicy, "retry=RetryPolicy(max_attempts=...)"),
    "breaker": (CircuitBreaker, "breaker=CircuitBreaker(failures=...)"),
    "runtime": (Mapping, "runtime={'name': value}"),
}
_NUMBERS: Final = {
    "max_repeats": 1,
    "max_output_chars": 1,
    "max_found_tools": 0,
    "max_threads": 1,
    "max_processes": 1,
    "process_memory_bytes": 1,
}
"""The lowest value of each option that is a number."""
_COMPARED: Final = tuple(name for name in OPTION_NAMES if name != "examples")
"""The options that an override in a prompt cannot change."""


def is_same_handler(one: object, other: object) -> bool:
    """True for the same function, or the same method of the same object."""
    # only methods are compared with ==: other callables may define equality in any way
    return one is other or (
        isinstance(one, MethodType | BuiltinMethodType) and type(one) is type(other) and one == other
    )


def is_same_tool(one: AnyTool, other: AnyTool) -> bool:
    """True if two tools have the same name, handler and options; their descriptions may differ."""
    if one is other:
        return True
    if one.name != other.name or any(getattr(one, name) != getattr(other, name) for name in _COMPARED):
        return False
    if one.handler is None or other.handler is None:
        return one.handler is other.handler and one.source == other.source
    return is_same_handler(one.handler, other.handler)


class CatalogSearch:
    """Finds tools for a caller.

    Args:
        catalog: an object with `search(text, limit=...)` and `get_tool(id)`, or with `find_tools`, which then
            does all of this.
        refusal: returns why a principal may not use a tool, None if it may.
        add_tools: adds tools to the executor, and returns all that it then has.
        most: how many found tools the executor may have; None for any number.
    """

    __slots__ = ("_add_tools", "_catalog", "_most", "_refusal")

    def __init__(
        self,
        catalog: Any,  # noqa: ANN401 -- any object with these methods
        refusal: Callable[[AnyTool, Principal | None], AnyResult | None],
        add_tools: Callable[[Iterable[AnyTool]], Mapping[str, AnyTool]],
        most: int | None,
    ) -> None:
        self._catalog = catalog
        self._refusal = refusal
        self._add_tools = add_tools
        self._most = most

    @property
    def adds_tools(self) -> bool:
        """True if what is found is added to an executor, from which the host sends it to the model."""
        if hasattr(self._catalog, "find_tools"):
            return hasattr(self._catalog, "tools")  # another executor
        return self._most != 0

    def find_tools(self, text: str, *, limit: int, principal: Principal | None) -> tuple[AnyTool, ...]:
        """Find the tools that match a text best and that this caller may use, and add them to the executor.

        A tool that cannot be loaded, or is not active, is skipped.

        Raises:
            ResourceMissingError: if there is no catalog that can be searched.
            TypeError: if the text is not a text, or the limit is not a number.
        """
        _check_search(text, limit)
        find_tools = getattr(self._catalog, "find_tools", None)
        if find_tools is not None:
            return find_tools(text, limit=limit, principal=principal)
        search = getattr(self._catalog, "search", None)
        if search is None:
            raise ResourceMissingError(
                "there is no catalog that can be searched; give ToolExecutor(..., catalog=Catalog())"
            )
        limit = min(limit, self._most or limit)  # one search must not close what it has just found
        found: dict[str, AnyTool] = {}
        for id in _ids(search, text, first=max(limit, _FIRST_HITS)):
            if len(found) >= limit:
                break
            tool = self._load(id, principal)
            if tool is not None:
                found.setdefault(tool.name, tool)
        tools = self._add_tools(() if self._most == 0 else found.values())
        return tuple(tools.get(name, tool) for name, tool in found.items())

    def _load(self, id: str, principal: Principal | None) -> AnyTool | None:
        """The tool, if it is active and this caller may use it."""
        if principal is not None and principal.sees is not None and id not in principal.sees:
            return None
        try:
            tool = to_tool(self._catalog.get_tool(id))
        except ToolhaftError:  # not valid, removed meanwhile, or its platform is not reachable
            return None
        return tool if tool.handler is not None and self._refusal(tool, principal) is None else None


def _check_search(text: object, limit: object) -> None:
    if not isinstance(text, str):
        raise TypeError(f"find_tools takes a text, not {text!r:.80}; write find_tools('convert currency')")
    if not isinstance(limit, int):
        raise TypeError(f"limit does not take {limit!r:.80}; write a whole number")


def _ids(search: Callable[..., Sequence[Any]], text: str, *, first: int) -> Iterator[str]:
    """The ids of all hits, best first; searches again with a higher limit when they are used up."""
    seen, wanted = 0, first
    while wanted <= _MOST_HITS:
        hits = search(text, limit=wanted)
        yield from (hit.id for hit in hits[seen:])
        if len(hits) < wanted:
            return
        seen, wanted = len(hits), wanted * 4
