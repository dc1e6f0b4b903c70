"""The calls of an executor whose handlers run now."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

from toolhaft.core.call import ToolCall
from toolhaft.core.events import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCall:
    """A call whose handler runs, as it was when `executor.running` was read."""

    tool: str
    call_id: str
    started_at: float
    """Seconds since the epoch."""
    running_s: float
    """Seconds since the handler was started."""
    last_beat_at: float | None
    """When it last beat, reported progress or yielded a chunk, in seconds since the epoch; None if never."""
    silent_s: float
    """Seconds since then, or since the start."""
    progress: Progress | None
    """Its last progress report."""


class Running(Protocol):
    """What is known about a call while its handler runs; times are those of the monotonic clock."""

    call: ToolCall
    began_at: float
    beat_at: float
    """0 before the first sign of life."""
    last_progress: Progress | None
    took_s: float


class RunningCalls:
    """The running calls, oldest first; a dictionary, because its single operations need no lock."""

    __slots__ = ("calls",)

    def __init__(self) -> None:
        self.calls: dict[Running, None] = {}

    def begin(self, active: Running) -> None:
        """Add a call whose handler is started."""
        active.began_at = time.monotonic()
        self.calls[active] = None

    def end(self, active: Running) -> None:
        """Remove a call, and note how long its handler took."""
        active.took_s = time.monotonic() - active.began_at
        del self.calls[active]

    def list(self) -> tuple[RunningCall, ...]:
        """What is known about each of them."""
        now, epoch = time.monotonic(), time.time()
        return tuple(_view(active, now, epoch) for active in list(self.calls))


def _view(active: Running, now: float, epoch: float) -> RunningCall:
    beat_at = active.beat_at
    running_s = max(0.0, now - active.began_at)
    return RunningCall(
        tool=active.call.name,
        call_id=active.call.id,
        started_at=epoch - running_s,
        running_s=running_s,
        last_beat_at=epoch - (now - beat_at) if beat_at else None,
        silent_s=max(0.0, now - beat_at) if beat_at else running_s,
        progress=active.last_progress,
    )
