"""Feedback for the model: a fixed reminder, and the time that is left."""

from __future__ import annotations

from math import isfinite
from typing import Final

from toolhaft.core.prompt_hooks import FeedbackContext
from toolhaft.prompt.checks import check_not_blank
from toolhaft.prompt.problems import invalid

_MINUTE_S: Final = 60
_HOUR_S: Final = 3600
_IN_SECONDS_S: Final = 3 * _MINUTE_S
"""A shorter time is given in seconds."""


class StaticFeedback:
    """Gives the model a fixed text, once or repeatedly.

    Args:
        text: the text.
        every_calls: repeat after this many calls, counted from the first call of the session.
        every_s: repeat after this many seconds; with both, whichever comes first. With neither, the text is
            given once, after the first call.
        name: the name of the feedback, which the model sees.

    Raises:
        PromptValidationError: for an empty text or name, or a number that is not positive.
    """

    def __init__(
        self,
        text: str,
        *,
        every_calls: int | None = None,
        every_s: float | None = None,
        name: str = "static",
    ) -> None:
        self.name = check_not_blank("name", name).strip()
        self.text = check_not_blank("text", text).strip()
        self.every_calls = _check_calls(every_calls)
        self.every_s = None if every_s is None else _check_seconds("every_s", every_s)

    def provide(self, context: FeedbackContext) -> str | None:
        """The text, if it is due."""
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
    """Tells the model the time that is left: repeatedly, and as soon as it is short.

    Without a deadline there is no feedback.

    Args:
        warn_below_s: warn at the first call with fewer seconds left than this.
        every_calls: repeat after this many calls.
        name: the name of the feedback, which the model sees.

    Raises:
        PromptValidationError: for a number that is not positive.
    """

    def __init__(self, *, warn_below_s: float = 120, every_calls: int = 10, name: str = "deadline") -> None:
        self.name = check_not_blank("name", name).strip()
        self.warn_below_s = _check_seconds("warn_below_s", warn_below_s)
        self.every_calls = _check_calls(every_calls)

    def provide(self, context: FeedbackContext) -> str | None:
        """The time that is left, if the feedback is due."""
        if context.deadline is None:
            return None
        left_s = context.deadline.remaining()
        is_short = left_s < self.warn_below_s
        # if time was already short at the last feedback, that one was the warning
        since_s = context.seconds_since
        is_first_warning = is_short and (since_s is None or left_s + since_s >= self.warn_below_s)
        if not is_first_warning and not _is_due(context, self.every_calls):
            return None
        if left_s <= 0:
            return "The time for this task is up. Give your answer now, with what you have."
        if is_short:
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
    """A duration in words, rounded down."""
    if seconds < _IN_SECONDS_S:
        return _counted(int(seconds), "second") if seconds >= 1 else "a moment"
    if seconds < _HOUR_S:
        return _counted(int(seconds // _MINUTE_S), "minute")
    hours, rest = divmod(int(seconds), _HOUR_S)
    minutes = rest // _MINUTE_S
    return f"{_counted(hours, 'hour')} {_counted(minutes, 'minute')}" if minutes else _counted(hours, "hour")


def _counted(count: int, unit: str) -> str:
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def _check_calls(count: object) -> int | None:
    if count is None or (isinstance(count, int) and not isinstance(count, bool) and count >= 1):
        return count
    raise invalid(f"every_calls is {count!r:.40}, and must be a whole number of at least 1")


def _check_seconds(what: str, seconds: object) -> float:
    if (
        isinstance(seconds, int | float)
        and not isinstance(seconds, bool)
        and isfinite(seconds)
        and seconds > 0
    ):
        return seconds
    raise invalid(f"{what} is {seconds!r:.40}, and must be a number of seconds above 0")
