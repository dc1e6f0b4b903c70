"""What a tool policy is: checked before a call is run, told of it afterwards.

Knows no policy; those that come with Toolhaft are in the room `prompt`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from toolhaft.core.context import ToolContext
from toolhaft.core.result import ToolResult
from toolhaft.core.tool import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDecision:
    """Whether a call may be run, and what the model is told where it may not."""

    allowed: bool
    reason: str = ""

    @staticmethod
    def allow() -> PolicyDecision:
        """Let the call be run."""
        return PolicyDecision(allowed=True)

    @staticmethod
    def deny(reason: str) -> PolicyDecision:
        """Keep the call from being run; the reason says what to do first."""
        return PolicyDecision(allowed=False, reason=reason)


@runtime_checkable
class ToolPolicy(Protocol):
    """A rule about the order of calls, kept in the session.

    `params` are what the handler is handed: an object of the typed door, a mapping of names elsewhere. Both
    methods are called where the caller stands, on an event loop too: they should wait for nothing, cannot be
    async, and cannot call tools.
    """

    @property
    def name(self) -> str:
        """What it is known by."""
        ...

    def check(self, tool: Tool[Any, Any], params: object, *, context: ToolContext) -> PolicyDecision:
        """Say whether this call may be run now; through the context it may read, not write.

        Where it raises, or gives anything but a PolicyDecision, the call is not run.
        """
        ...

    def on_result(
        self, tool: Tool[Any, Any], params: object, result: ToolResult[Any], *, context: ToolContext
    ) -> None:
        """Hear what came of a call that was run, failed or not; what is written to `context.session` is kept.

        Heard again where a recorded result is given back; of a call that was cut off in its handler, as a
        failure of kind `cancelled`. Where it raises, what it wrote is dropped.
        """
        ...
