"""What the road of a call tells whoever listens.

Does not know the listeners.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from toolhaft.core.effect import Effect
from toolhaft.core.failure import FailureKind, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolInvoked:
    """One call, from its arguments to its outcome; dispatched for every call, failures included."""

    tool: str
    """As the call named it, also where no such tool exists."""
    call_id: str
    success: bool
    version: str | None = None
    principal: str = ""
    arguments: str = "{}"
    """JSON text, secrets masked, cut where it is long."""
    kind: FailureKind | None = None
    message: str = ""
    """What the model was told, without the value; secrets masked, cut where it is long."""
    attempt: int = 1
    """Which of the model's consecutive tries this was."""
    changed: tuple[tuple[str, str, str], ...] = ()
    """Each argument that differs from the failed attempt before: its name, what it was and what it is as JSON
    (empty where it was not given); secrets masked."""
    repeats: tuple[str, ...] = ()
    """Why each automatic try before the last one failed."""
    is_replay: bool = False
    """True where a recorded or cached result was given back and nothing ran."""
    started_at: float = 0.0
    """Seconds since the epoch."""
    duration_s: float = 0.0
    effect: Effect | None = None
    outcome: Outcome = "done"
    event_id: str = ""
    run_id: str = ""
    session_id: str = ""
    parent_id: str | None = None
    """The event of the call from whose handler this one was made."""

    def to_dict(self) -> dict[str, object]:
        """The fields as JSON has them."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a running call has come."""

    call_id: str
    done: float | None = None
    total: float | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A part of a result, given before the rest is there."""

    call_id: str
    value: object
