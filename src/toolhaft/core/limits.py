"""Deadlines, budgets, and the policy of automatic retries."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from math import inf, isnan
from threading import Lock

from toolhaft.errors import BudgetExceededError


class Deadline:
    """A point in time after which nothing is started and what still runs is stopped.

    `expires_at` is a datetime with a time zone, or seconds since the epoch.

    Raises:
        TypeError: for a datetime without a time zone, or anything else.
    """

    __slots__ = ("_end", "expires_at")

    def __init__(self, *, expires_at: datetime | float) -> None:
        if isinstance(expires_at, datetime):
            if expires_at.tzinfo is None:
                raise TypeError("expires_at has no time zone: write datetime.now(UTC) + timedelta(...)")
            expires_at = expires_at.timestamp()
        elif isinstance(expires_at, bool) or not isinstance(expires_at, int | float) or isnan(expires_at):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise TypeError(
                f"expires_at is a datetime or seconds since the epoch, not {expires_at!r:.80}; "
                "for a span of time use Deadline.after(seconds)"
            )
        self.expires_at: float = expires_at
        self._end: float = time.monotonic() + expires_at - time.time()

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The deadline that is this many seconds away."""
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or isnan(seconds):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise TypeError(f"a deadline is a number of seconds away, not {seconds!r:.80}")
        return cls(expires_at=time.time() + seconds)

    def remaining(self) -> float:
        """Seconds left, 0 once it has passed."""
        left = self._end - time.monotonic()
        return max(0.0, left)

    @property
    def has_passed(self) -> bool:
        """True once no time is left."""
        return time.monotonic() >= self._end

    def within(self, seconds: float) -> Deadline:
        """The earlier of this deadline and one this many seconds away."""
        return self if self.remaining() <= seconds else Deadline.after(seconds)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Deadline) and self.expires_at == other.expires_at

    def __hash__(self) -> int:
        return hash(self.expires_at)

    def __repr__(self) -> str:
        return f"<Deadline in {self.remaining():.3f} s>"


def earlier(one: Deadline | None, other: Deadline | None) -> Deadline | None:
    """The earlier of two deadlines; None if both are None."""
    if one is None or other is None:
        return one or other
    return one if one.remaining() <= other.remaining() else other


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much may be used in total; None means no limit."""

    max_tokens: int | None = None
    max_calls: int | None = None
    max_wall_s: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_tokens", "max_calls", "max_wall_s"):
            limit: object = getattr(self, name)
            if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int | float)):
                raise TypeError(f"{name} is a number, not {limit!r:.80}")
            if limit is not None and not limit >= 0:
                raise ValueError(f"{name} is {limit!r}; it must be at least 0")


class BudgetTracker:
    """Counts what has been used of a budget; thread-safe.

    Wall time runs from the creation of the tracker.
    """

    __slots__ = ("_lock", "_started", "budget", "calls", "tokens")

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self.tokens = 0
        self.calls = 0
        self._started = time.monotonic()
        self._lock = Lock()

    @property
    def wall_s(self) -> float:
        """Seconds since the tracker was created."""
        return time.monotonic() - self._started

    def add(self, *, tokens: int = 0, calls: int = 0) -> None:
        """Count tokens or calls as used."""
        with self._lock:
            self.tokens += tokens
            self.calls += calls

    def take_call(self) -> None:
        """Count one call, or refuse it if nothing is left.

        Raises:
            BudgetExceededError: if a limit is used up; names it.
        """
        with self._lock:
            self.check()
            self.calls += 1

    def remaining_s(self) -> float | None:
        """The wall time that is left, None if it is not limited."""
        limit = self.budget.max_wall_s
        return None if limit is None else max(0.0, limit - self.wall_s)

    def check(self) -> None:
        """Check that something is left of every limit.

        Raises:
            BudgetExceededError: if not; names the limit.
        """
        for name, used, limit in (
            ("tokens", self.tokens, self.budget.max_tokens),
            ("calls", self.calls, self.budget.max_calls),
            ("wall time", self.wall_s, self.budget.max_wall_s),
        ):
            if limit is not None and used >= limit:
                unit = " s" if name == "wall time" else ""
                spent = round(used, 3)
                raise BudgetExceededError(
                    f"the budget of {name} is used up: {spent:g}{unit} of {limit:g}{unit}"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """When a failed call is retried automatically, if the tool's effect allows it.

    The n-th retry waits `backoff_s * factor ** (n - 1)` seconds, at most `max_backoff_s`, minus a random
    share of up to `jitter`. An exception with a `retry_after` in seconds sets the wait; if that exceeds
    `max_backoff_s`, the call is not retried.
    """

    max_attempts: int = 3
    backoff_s: float = 0.2
    factor: float = 2.0
    max_backoff_s: float = 30.0
    jitter: float = 0.5
    retry_on: type[BaseException] | tuple[type[BaseException], ...] | Callable[[BaseException], bool] = (
        Exception
    )
    """The exceptions to retry, or a function that decides; a timeout is a ToolTimeoutError."""

    def __post_init__(self) -> None:
        retry_on: object = self.retry_on
        if not callable(retry_on) and type(retry_on) is not tuple:
            raise TypeError(f"retry_on is an exception, a tuple of them or a function, not {retry_on!r:.80}")
        if self.max_attempts < 1 or self.backoff_s < 0 or self.factor < 1 or not 0 <= self.jitter <= 1:
            raise ValueError(
                "RetryPolicy needs max_attempts >= 1, backoff_s >= 0, factor >= 1 and jitter from 0 to 1"
            )
        if self.max_backoff_s < 0:
            raise ValueError("RetryPolicy needs max_backoff_s >= 0")

    def covers(self, error: BaseException) -> bool:
        """True if this error should be retried."""
        retry_on = self.retry_on
        if isinstance(retry_on, type | tuple):
            return issubclass(type(error), retry_on)  # by its real class, whatever its `__class__` is
        return retry_on(error)

    def wait_s(self, tried: int, error: BaseException | None = None) -> float:
        """Seconds to wait after this many tries; infinite if the error asks for more than is allowed."""
        after: object = getattr(error, "retry_after", None)
        if isinstance(after, int | float) and not isinstance(after, bool) and after >= 0:
            return float(after) if after <= self.max_backoff_s else inf
        longest = min(self.backoff_s * self.factor ** (tried - 1), self.max_backoff_s)
        return longest * (1.0 - self.jitter * random.random())  # noqa: S311 -- spreads load, guards nothing
