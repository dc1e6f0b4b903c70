"""The context that a handler can receive: session, resources, limits, caller and progress of its call."""

from __future__ import annotations

from typing import Any, Protocol

from toolhaft.core.call import ToolCall
from toolhaft.core.limits import BudgetTracker, Deadline
from toolhaft.core.ports import Filesystem, Resources, SessionPort, ToolFinder
from toolhaft.core.principal import Principal
from toolhaft.errors import ResourceMissingError

_put = object.__setattr__


class Watcher(Protocol):
    """Receives heartbeats and progress from a running handler."""

    def raise_if_ended(self) -> None:
        """Raise CallEndedError if the call has ended."""
        ...

    def beat(self) -> None:
        """Receive a heartbeat; raises CallEndedError if the call has ended."""
        ...

    def progress(self, done: float | None, total: float | None, message: str) -> None:
        """Receive a progress report."""
        ...


class ToolContext:
    """The context of one call.

    Its session and resources belong to this call: after the call has ended, writing through them raises
    CallEndedError and changes nothing.
    """

    __slots__ = (
        "_finder",
        "_resources",
        "_watcher",
        "adapter",
        "budget_tracker",
        "call",
        "deadline",
        "principal",
        "prompt",
        "rendered_prompt",
        "session",
        "time_limit",
    )

    prompt: Any
    rendered_prompt: Any
    adapter: Any
    session: SessionPort
    deadline: Deadline | None
    """The deadline that the executor or the call was given; None if nobody set one."""
    time_limit: Deadline | None
    """When this call is stopped: after the tool's `timeout_s`, or at an earlier deadline; None if never."""
    budget_tracker: BudgetTracker | None
    principal: Principal | None
    call: ToolCall | None
    _resources: Resources | None
    _watcher: Watcher | None
    _finder: ToolFinder | None

    def __init__(
        self,
        *,
        prompt: object = None,
        rendered_prompt: object = None,
        adapter: object = None,
        session: object = None,
        deadline: Deadline | None = None,
        time_limit: Deadline | None = None,
        budget_tracker: BudgetTracker | None = None,
        resources: Resources | None = None,
        principal: Principal | None = None,
        call: ToolCall | None = None,
        watcher: Watcher | None = None,
        finder: ToolFinder | None = None,
    ) -> None:
        _put(self, "prompt", prompt)
        _put(self, "rendered_prompt", rendered_prompt)
        _put(self, "adapter", adapter)
        _put(self, "session", session)
        _put(self, "deadline", deadline)
        _put(self, "time_limit", deadline if time_limit is None else time_limit)
        _put(self, "budget_tracker", budget_tracker)
        _put(self, "principal", principal)
        _put(self, "call", call)
        _put(self, "_resources", resources)
        _put(self, "_watcher", watcher)
        _put(self, "_finder", finder)

    @property
    def resources(self) -> Resources:
        """The resources of this call, by type: `context.resources[Database]`.

        Raises:
            ResourceMissingError: if the executor has no resources.
        """
        if self._resources is None:
            raise ResourceMissingError(
                "no resources were given; give them as ToolExecutor(..., resources={Kind: instance})"
            )
        return self._resources

    @property
    def filesystem(self) -> Filesystem:
        """The call's view of the files.

        Raises:
            ResourceMissingError: if the executor has no filesystem.
        """
        return self.resources.get(Filesystem)

    @property
    def adds_found_tools(self) -> bool:
        """True if tools that `find_tools` finds are added to the executor; its host can then send them."""
        return self._finder is not None and self._finder.adds_tools

    def find_tools(self, text: str, *, limit: int = 5) -> tuple[object, ...]:
        """Find the tools of the executor's catalog that match a text best; they can be called from now on.

        Raises:
            ResourceMissingError: if the executor has no catalog that can be searched.
            CallEndedError: if the call has ended.
        """
        self.raise_if_ended()
        if self._finder is None:
            raise ResourceMissingError(
                "tools cannot be found from here: the handler runs in a process, or without an executor"
            )
        return self._finder.find_tools(text, limit=limit, principal=self.principal)

    def with_resources(self, resources: Resources) -> ToolContext:
        """The context of the same call, with other resources."""
        copy = object.__new__(ToolContext)
        for name in ToolContext.__slots__:
            _put(copy, name, getattr(self, name))
        _put(copy, "_resources", resources)
        return copy

    def raise_if_ended(self) -> None:
        """Find out whether the call has ended, without a heartbeat: for a handler that waits for others.

        Raises:
            CallEndedError: if the call timed out or was cancelled; further work has no effect.
        """
        if self._watcher is not None:
            self._watcher.raise_if_ended()

    def beat(self) -> None:
        """Send a heartbeat: a long-running handler calls it to show that it still works.

        The host sees it, and a tool with `stall_s` needs it to go on.

        Raises:
            CallEndedError: if the call timed out or was cancelled; further work has no effect.
        """
        if self._watcher is not None:
            self._watcher.beat()

    def progress(self, done: float | None = None, total: float | None = None, message: str = "") -> None:
        """Report progress to the caller that streams this call; also sends a heartbeat."""
        if self._watcher is not None:
            self._watcher.progress(done, total, message)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a ToolContext is read-only: {name!r} cannot be set")
