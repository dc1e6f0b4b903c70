"""The tools that searches added to an executor; the least recently used ones are closed beyond a limit."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from types import CoroutineType
from typing import Any, Final, ParamSpec

from toolhaft.core.conversion import AnyResult, AnyTool

DEFAULT_FOUND: Final = 50
_MOST_CLOSED: Final = 1_000
"""How many names of closed tools are remembered, to explain why they cannot be called."""
_TIMES: Final = count()

ArgsP = ParamSpec("ArgsP")


class ToolUse:
    """When a found tool was last used, and how many of its calls are running."""

    __slots__ = ("_running", "last_used", "tool")

    def __init__(self, tool: AnyTool) -> None:
        self.tool = tool
        self.last_used = next(_TIMES)
        self._running: deque[None] = deque()  # adding and removing are atomic, unlike `+= 1`

    @property
    def is_running(self) -> bool:
        """True while a call of the tool runs."""
        return bool(self._running)

    def touch(self) -> None:
        """Count the tool as used now."""
        self.last_used = next(_TIMES)

    def track(
        self, run: Callable[ArgsP, AnyResult | CoroutineType[Any, Any, AnyResult]]
    ) -> Callable[ArgsP, AnyResult | CoroutineType[Any, Any, AnyResult]]:
        """A function that runs calls of the tool, and counts them."""
        running = self._running

        async def finish(answer: CoroutineType[Any, Any, AnyResult]) -> AnyResult:
            try:
                return await answer
            finally:
                running.pop()

        def tracked(
            *args: ArgsP.args, **named: ArgsP.kwargs
        ) -> AnyResult | CoroutineType[Any, Any, AnyResult]:
            self.touch()
            running.append(None)
            try:
                answer = run(*args, **named)
            except BaseException:
                running.pop()
                raise
            if type(answer) is CoroutineType:
                return finish(answer)
            running.pop()
            return answer

        return tracked


class FoundTools:
    """The open tools that were found, and the names of those that were closed; replaced, never changed.

    Args:
        most: how many may be open; None sets no limit, 0 adds none.
        uses: the open ones by name.
        closed: the names of those that were closed last.
    """

    __slots__ = ("closed", "most", "uses")

    def __init__(
        self, most: int | None = None, uses: Mapping[str, ToolUse] | None = None, closed: Iterable[str] = ()
    ) -> None:
        self.most = most
        self.uses: Mapping[str, ToolUse] = uses or {}
        self.closed: Mapping[str, None] = dict.fromkeys(closed)

    def beside(self, given: dict[str, AnyTool]) -> tuple[dict[str, AnyTool], FoundTools]:
        """All tools of an executor, and the found ones, for other given tools, which replace found ones."""
        uses = {name: use for name, use in self.uses.items() if name not in given}
        tools = {**given, **{name: use.tool for name, use in uses.items()}}
        return tools, FoundTools(self.most, uses, self.closed)

    def add(
        self, found: Iterable[AnyTool], tools: Mapping[str, AnyTool]
    ) -> tuple[dict[str, AnyTool], FoundTools] | None:
        """All tools of an executor, and the found ones, after a search; None if none came or went.

        Beyond the limit, those are closed that were not used for the longest time. What this search found,
        and tools with running calls, stay open.
        """
        by_name = {tool.name: tool for tool in found}
        for name in by_name.keys() & self.uses.keys():
            self.uses[name].touch()
        new = {name: ToolUse(tool) for name, tool in by_name.items() if name not in tools}
        if not new:
            return None
        idle = [name for name, use in self.uses.items() if name not in by_name and not use.is_running]
        idle.sort(key=lambda name: self.uses[name].last_used)
        excess = 0 if self.most is None else len(self.uses) + len(new) - self.most
        closed = frozenset(idle[: max(0, excess)])
        uses = {name: use for name, use in (*self.uses.items(), *new.items()) if name not in closed}
        kept = {name: tool for name, tool in tools.items() if name not in closed}
        names = [*(name for name in self.closed if name not in new), *closed][-_MOST_CLOSED:]
        return {**kept, **{name: by_name[name] for name in new}}, FoundTools(self.most, uses, names)
