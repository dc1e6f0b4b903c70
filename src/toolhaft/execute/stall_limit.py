"""The time limit of a handler with `stall_s`: every sign of life moves it."""

from __future__ import annotations

from math import inf
from time import monotonic
from typing import Final

from toolhaft.core.conversion import AnyTool
from toolhaft.core.limits import Deadline
from toolhaft.core.options import DEFAULT_TIMEOUT_S

SHORTEST_START_S: Final = DEFAULT_TIMEOUT_S


class StallLimit:
    """By when the handler of a call must end: at its time limit, or `stall_s` after its last sign of life.

    Until its thread or process has begun, the handler cannot beat, and only its time limit applies.
    """

    __slots__ = ("_ends_at", "_last_sign", "_start_by", "stall_s", "start_limit_s")

    def __init__(self, tool: AnyTool, deadline: Deadline | None) -> None:
        now = monotonic()
        limit_s = inf if tool.timeout_s is None else tool.timeout_s
        self.stall_s = tool.stall_s or inf
        self.start_limit_s = start_limit_s(tool)
        self._ends_at = now + (limit_s if deadline is None else min(limit_s, deadline.remaining()))
        self._start_by = now + self.start_limit_s
        self._last_sign = inf

    def begin(self) -> None:
        """The handler has begun: from now on it has to beat."""
        self._last_sign = monotonic()

    def extend(self, now: float) -> None:
        """The handler has given a sign of life."""
        self._last_sign = now

    def until(self) -> float:
        """When the handler is stopped, by the monotonic clock, unless it gives a sign of life before."""
        if self._last_sign == inf:
            return min(self._ends_at, self._start_by)
        return min(self._ends_at, self._last_sign + self.stall_s)

    def left_s(self) -> float:
        """Seconds until the handler may have to be stopped; negative if it should have been."""
        left = self.until() - monotonic()
        # it may begin at any moment, and stall from then on
        return min(left, self.stall_s) if self._last_sign == inf else left

    @property
    def is_stall(self) -> bool:
        """True if the lack of a sign of life, not the time limit, is what stops the handler first."""
        return self._last_sign + self.stall_s < self._ends_at


def start_limit_s(tool: AnyTool) -> float:
    """How long a call may wait until its handler can begin."""
    if tool.timeout_s is not None:
        return tool.timeout_s
    return max(SHORTEST_START_S, tool.stall_s or 0.0)
