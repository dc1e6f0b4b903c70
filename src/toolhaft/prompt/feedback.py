"""The feedback that comes with Toolhaft: a reminder, and how much time is left.

Knows when it is time to speak; does not know how the model is told.
"""

from __future__ import annotations

from math import isfinite
from typing import Final

from toolhaft.core.feedback import FeedbackContext
from toolhaft.errors import PromptValidationError

_MINUTE_S: Final = 60
_HOUR_S: Final = 3600
_IN_SECONDS_S: Final = 3 * _MINUTE_S
"""Below this, minutes would be too coarse."""


class StaticFeedback:
    """Tells the model the same words now and then, or once.

    Args:
        text: the words.
        every_calls: how many calls after the first of a session, and after each time, it speaks.
        every_s: how many seconds after; with both, whichever comes first. With neither it speaks once, after
            the first call.
        name: what it is known by, to the model too.

    Raises:
        PromptValidationError: for an empty text or name, and for a pace that is none.
    """

    def __init__(
        self,
        text: str,
        *,
        every_calls: int | None = None,
        every_s: float | None = None,
        name: str = "static",
    ) -> None:
        self.name = _checked_text("name", name)
        self.text = _checked_text("text", text)
        self.every_calls = _checked_calls(every_calls)
        self.every_s = None if every_s is None else _checked_seconds("every_s", every_s)

    def provide(self, context: FeedbackContext) -> str | None:
        """The words, where it is time for them."""
        if self.every_calls is None and self.every_s is None:
            return self.text if context.calls_since is None else None
        is_due = _is_due(context, self.every_calls) or (
            self.every_s is not None
            and (context.seconds if context.seconds_since is None else context.seconds_since) >= self.every_s
        )
        return self.text if is_due else None

    def __repr__(self) -> str:
        return f"<StaticFeedback {self.name!r}>"


class DeadlineFeedback:
    """Tells the model how much time is left: now and then, and as soon as there is little.

    Without a deadline it says nothing.

    Args:
        warn_below_s: seconds that count as little time; it speaks up at the first call below.
        every_calls: after how many calls it speaks again.
        name: what it is known by, to the model too.

    Raises:
        PromptValidationError: for a number that makes no sense.
    """

    def __init__(self, *, warn_below_s: float = 120, every_calls: int = 10, name: str = "deadline") -> None:
        self.name = _checked_text("name", name)
        self.warn_below_s = _checked_seconds("warn_below_s", warn_below_s)
        self.every_calls = _checked_calls(every_calls)

    def provide(self, context: FeedbackContext) -> str | None:
        """How much time is left, where it is time to say so."""
        if context.deadline is None:
            return None
        left_s = context.deadline.remaining()
        is_little = left_s < self.warn_below_s
        # had it spoken when there was little already, it would have warned
        since_s = context.seconds_since
        is_news = is_little and (since_s is None or left_s + since_s >= self.warn_below_s)
        if not is_news and not _is_due(context, self.every_calls):
            return None
        if left_s <= 0:
            return "The time for this task is up. Give your answer now, with what you have."
        if is_little:
            return (
                f"Only {_span(left_s)} left for this task. Finish what you have begun, and give your answer."
            )
        return f"There is time left for this task: {_span(left_s)}."

    def __repr__(self) -> str:
        return f"<DeadlineFeedback {self.name!r}>"


def _is_due(context: FeedbackContext, every_calls: int | None) -> bool:
    if every_calls is None:
        return False
    return (context.calls if context.calls_since is None else context.calls_since) >= every_calls


def _span(seconds: float) -> str:
    """A time as a person would say it; never more than there is."""
    if seconds < _IN_SECONDS_S:
        return _counted(int(seconds), "second") if seconds >= 1 else "a moment"
    if seconds < _HOUR_S:
        return _counted(int(seconds // _MINUTE_S), "minute")
    hours, rest = divmod(int(seconds), _HOUR_S)
    minutes = rest // _MINUTE_S
    return f"{_counted(hours, 'hour')} {_counted(minutes, 'minute')}" if minutes else _counted(hours, "hour")


def _counted(count: int, unit: str) -> str:
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def _checked_text(what: str, text: object) -> str:
    if isinstance(text, str) and text.strip():
        return text.strip()
    raise PromptValidationError(f"{what} is {text!r:.60}, and must be a text that is not empty")


def _checked_calls(count: object) -> int | None:
    if count is None or (isinstance(count, int) and not isinstance(count, bool) and count >= 1):
        return count
    raise PromptValidationError(f"every_calls is {count!r:.40}, and must be a whole number from 1 on")


def _checked_seconds(what: str, seconds: object) -> float:
    if (
        isinstance(seconds, int | float)
        and not isinstance(seconds, bool)
        and isfinite(seconds)
        and seconds > 0
    ):
        return seconds
    raise PromptValidationError(f"{what} is {seconds!r:.40}, and must be a number of seconds above 0")
