"""One total limit of time for everything that a fetch does.

Does not know what is being done.
"""

from __future__ import annotations

from toolhaft.core.limits import Deadline
from toolhaft.errors import HttpTimeoutError


class Timer:
    """What is left of a fetch's time."""

    __slots__ = ("_deadline", "_total_s")

    def __init__(self, timeout_s: float, deadline: Deadline | None) -> None:
        self._deadline = Deadline.after(timeout_s) if deadline is None else deadline.within(timeout_s)
        self._total_s = min(timeout_s, self._deadline.remaining())

    def left(self, doing: str) -> float:
        """Seconds left, more than 0.

        Raises:
            HttpTimeoutError: where none are, saying what was being done.
        """
        left_s = self._deadline.remaining()
        if left_s <= 0:
            raise self.over(doing)
        return left_s

    def over(self, doing: str) -> HttpTimeoutError:
        """The time is up."""
        return HttpTimeoutError(f"timed out {doing}: there were {self._total_s:.3g} s for everything")
