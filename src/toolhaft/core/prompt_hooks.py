"""What a prompt can add to calls: tool policies and feedback providers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from toolhaft.core.call import ToolCall
from toolhaft.core.context import ToolContext
from toolhaft.core.limits import Deadline
from toolhaft.core.ports import SessionPort
from toolhaft.core.result import ToolResult
from toolhaft.core.tool import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDecision:
    """Whether a call may run and, where it may not, the reason that the model reads."""

    allowed: bool
    reason: str = ""

    @staticmethod
    def allow() -> PolicyDecision:
        """Allow the call."""
        return PolicyDecision(allowed=True)

    @staticmethod
    def deny(reason: str) -> PolicyDecision:
        """Refuse the call; the reason should say what to do first."""
        return PolicyDecision(allowed=False, reason=reason)


@runtime_checkable
class ToolPolicy(Protocol):
    """A rule about the order of calls, whose state is in the session.

    `params` are what the handler receives: an object for a typed tool, a mapping for others. Both methods run
    on the caller's thread, which may be that of an event loop: they should not block, cannot be async, and
    cannot call tools.
    """

    @property
    def name(self) -> str:
        """The name in messages and logs."""
        ...

    def check(self, tool: Tool[Any, Any], params: Any, *, context: ToolContext) -> PolicyDecision:  # noqa: ANN401 -- it depends on the tool
        """Decide whether this call may run now; the context can be read, not written.

        If it raises, or returns anything but a PolicyDecision, the call is not run.
        """
        ...

    def on_result(
        self,
        tool: Tool[Any, Any],
        params: Any,  # noqa: ANN401 -- it depends on the tool
        result: ToolResult[Any],
        *,
        context: ToolContext,
    ) -> None:
        """Receive the result of a call that ran, failed or not; writes to `context.session` are committed.

        It is also called when a recorded result is returned, and with a failure of kind `cancelled` when the
        handler was interrupted. If it raises, its writes are discarded.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackContext:
    """What a feedback provider sees: the call that has just ended, and when it last gave feedback.

    Calls are counted per session and prompt name; calls that handlers make there are not counted.
    """

    session: SessionPort
    """Read-only, and only valid while the provider runs."""
    prompt: Any
    deadline: Deadline | None
    """The end of the run, None if it has none."""
    call: ToolCall
    result: ToolResult[Any]
    calls: int
    """Calls so far, including this one."""
    seconds: float = 0.0
    """Seconds since the first of them ended."""
    calls_since: int | None = None
    """Calls since this provider last gave feedback, including this one; None if it never did."""
    seconds_since: float | None = None
    """Seconds since then."""


@runtime_checkable
class FeedbackProvider(Protocol):
    """Watches the calls of a run, and sometimes adds a text for the model to a result."""

    @property
    def name(self) -> str:
        """The name that the model reads; unique in a prompt."""
        ...

    def provide(self, context: FeedbackContext) -> str | None:
        """The text to add below the result of the call, None for nothing.

        It runs on the caller's thread, which may be that of an event loop: it should not block.
        """
        ...
