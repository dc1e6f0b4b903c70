"""The events of calls: one ToolInvoked per call; progress, beats and chunks while it runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from toolhaft.core.effect import Effect
from toolhaft.core.result import FailureKind, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolInvoked:
    """One call, from its arguments to its outcome; dispatched for every call, including failed ones."""

    tool: str
    """The name in the call, even if there is no such tool."""
    call_id: str
    success: bool
    version: str | None = None
    principal: str = ""
    arguments: str = "{}"
    """JSON text; secrets masked, cut if it is long."""
    kind: FailureKind | None = None
    message: str = ""
    """The message that the model got, without the value; secrets masked, cut if it is long."""
    attempt: int = 1
    """1 plus the number of failed attempts at this tool since the last success of any tool."""
    changed: tuple[tuple[str, str, str], ...] = ()
    """Each argument that differs from the previous failed attempt: its name, its old and new value as JSON
    (empty if it was not given); secrets masked."""
    repeats: tuple[str, ...] = ()
    """The message of each failed try before an automatic retry."""
    is_replay: bool = False
    """True if a recorded or cached result was returned and nothing ran."""
    started_at: float = 0.0
    """Seconds since the epoch."""
    duration_s: float = 0.0
    effect: Effect | None = None
    outcome: Outcome = "done"
    event_id: str = ""
    run_id: str = ""
    session_id: str = ""
    parent_id: str | None = None
    """The `event_id` of the call whose handler made this one."""

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary that JSON can hold."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of a running call."""

    call_id: str
    done: float | None = None
    total: float | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """A sign that the handler of a running call still works."""

    call_id: str
    running_s: float = 0.0
    """Seconds since the handler was started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A part of a result, sent before the rest is complete."""

    call_id: str
    value: Any
