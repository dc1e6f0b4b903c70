"""How long a change waits for a path that another call is changing."""

from __future__ import annotations

import random
import sys
import time
from typing import Final

from toolhaft.core.limits import Deadline

_NO_CALL_S: Final = 2.0
"""The longest wait outside a call."""
_FIRST_S: Final = 0.001
_LONGEST_S: Final = 0.02
_PART: Final = 0.9
"""Of the time that a call has left: the rest is for a failed result that says what it waited for."""


class ClaimWait:
    """Waits, in growing steps, until shortly before the deadline of the call.

    A call that has claimed other paths gives up earlier, at a random time: two calls that wait for each other
    would otherwise both fail. An event loop is never blocked.

    Args:
        deadline: of the call; None outside a call.
        holds_others: True if other calls may be waiting for this one.
    """

    __slots__ = ("_began", "_longest_s", "_step_s", "is_on_loop")

    def __init__(self, deadline: Deadline | None, *, holds_others: bool) -> None:
        longest_s = _NO_CALL_S if deadline is None else deadline.remaining() * _PART
        if holds_others:
            longest_s *= random.uniform(0.3, 0.7)  # noqa: S311 -- spreads load, guards nothing
        self.is_on_loop = _is_on_event_loop()
        self._longest_s = 0.0 if self.is_on_loop else longest_s
        self._began = time.monotonic()
        self._step_s = _FIRST_S

    @property
    def waited_s(self) -> float:
        """Seconds so far."""
        return time.monotonic() - self._began

    def sleep(self) -> bool:
        """Wait a moment; False if there is no time left."""
        left_s = self._longest_s - self.waited_s
        if left_s <= 0:
            return False
        time.sleep(min(self._step_s, left_s))
        self._step_s = min(2 * self._step_s, _LONGEST_S)
        return True


def _is_on_event_loop() -> bool:
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None  # noqa: SLF001 -- its public twin raises
