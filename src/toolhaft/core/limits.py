"""How long, how often and how much: deadlines, budgets and the policy of automatic repeats.

Does not know calls or tools; the executor asks here.
"""

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
    """A moment after which nothing more is begun and what runs is stopped.

    `expires_at` is a datetime with its time zone, or seconds since the epoch.

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
        """The earlier of this deadline and one this many seconds away: a child can only shorten it."""
        return self if self.remaining() <= seconds else Deadline.after(seconds)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Deadline) and self.expires_at == other.expires_at

    def __hash__(self) -> int:
        return hash(self.expires_at)

    def __repr__(self) -> str:
        return f"<Deadline in {self.remaining():.3f} s>"


def earlier(one: Deadline | None, other: Deadline | None) -> Deadline | None:
    """Whichever comes first; None where there is neither."""
    if one is None or other is None:
        return one or other
    return one if one.remaining() <= other.remaining() else other


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much may be used in all; None leaves a dimension open."""

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
    """What has been used of a budget, counted by any number of threads.

    Wall time runs from the moment that the tracker is made.
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
        """Seconds since the tracker was made."""
        return time.monotonic() - self._started

    def add(self, *, tokens: int = 0, calls: int = 0) -> None:
        """Count tokens or calls as used."""
        with self._lock:
            self.tokens += tokens
            self.calls += calls

    def take_call(self) -> None:
        """Count one call, or refuse it where nothing is left.

        Raises:
            BudgetExceededError: naming the dimension that is used up.
        """
        with self._lock:
            self.check()
            self.calls += 1

    def remaining_s(self) -> float | None:
        """Wall time that is left, None where it is not limited."""
        limit = self.budget.max_wall_s
        return None if limit is None else max(0.0, limit - self.wall_s)

    def check(self) -> None:
        """Nothing, as long as something is left of every dimension.

        Raises:
            BudgetExceededError: naming the dimension that is used up.
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
    """When a failed try is repeated by itself; it acts only where the tool's effect allows.

    The n-th repeat waits `backoff_s * factor ** (n - 1)` seconds, at most `max_backoff_s`, of which a random
    share of up to `jitter` is left out. An exception with a `retry_after` in seconds sets the wait itself;
    one that asks for more than `max_backoff_s` is not repeated, since earlier is not what it asked for.
    """

    max_attempts: int = 3
    backoff_s: float = 0.2
    factor: float = 2.0
    max_backoff_s: float = 30.0
    jitter: float = 0.5
    retry_on: type[BaseException] | tuple[type[BaseException], ...] | Callable[[BaseException], bool] = (
        Exception
    )
    """The exceptions that are worth a repeat, or a function that knows; a timeout is a ToolTimeoutError."""

    def __post_init__(self) -> None:
        asked: object = self.retry_on
        if not callable(asked) and type(asked) is not tuple:
            raise TypeError(f"retry_on is an exception, a tuple of them or a function, not {asked!r:.80}")
        if self.max_attempts < 1 or self.backoff_s < 0 or self.factor < 1 or not 0 <= self.jitter <= 1:
            raise ValueError(
                "RetryPolicy wants max_attempts >= 1, backoff_s >= 0, factor >= 1 and jitter from 0 to 1"
            )
        if self.max_backoff_s < 0:
            raise ValueError("RetryPolicy wants max_backoff_s >= 0")

    def covers(self, error: BaseException) -> bool:
        """True if this error is worth another try."""
        asked = self.retry_on
        if isinstance(asked, type | tuple):
            return isinstance(error, asked)
        return asked(error)

    def wait_s(self, tried: int, error: BaseException | None = None) -> float:
        """How long to wait after so many tries; infinite where it asks for longer than is allowed."""
        asked: object = getattr(error, "retry_after", None)
        if isinstance(asked, int | float) and not isinstance(asked, bool) and asked >= 0:
            return float(asked) if asked <= self.max_backoff_s else inf
        longest = min(self.backoff_s * self.factor ** (tried - 1), self.max_backoff_s)
        return longest * (1.0 - self.jitter * random.random())  # noqa: S311 -- spreads load, guards nothing
