"""Counts the calls of a prompt in a session, and when each provider of feedback last spoke there.

Knows logs of the session; does not know what a provider says.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Final, TypeVar

from toolhaft.session import Session, upsert_by

ItemT = TypeVar("ItemT", "PromptCalls", "FeedbackGiven")


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptCalls:
    """How many calls a model has made under a prompt; a log in the session that no rollback touches."""

    prompt: str
    calls: int
    first_at: float
    """Seconds since the epoch."""

    @property
    def key(self) -> str:
        """One item a prompt."""
        return self.prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackGiven:
    """When a provider last spoke; a log in the session that no rollback touches."""

    prompt: str
    provider: str
    call: int
    """The number of the call that it spoke at."""
    at: float
    """Seconds since the epoch."""

    @property
    def key(self) -> tuple[str, str]:
        """One item a prompt and provider."""
        return self.prompt, self.provider


_BY_KEY: Final = upsert_by("key")
_lock: Final = Lock()  # held for a moment: a number is one call's alone, and so is a provider's turn


def keep_pace(session: Session) -> None:
    """Have a session keep both logs, unless it does so already."""
    for kind in (PromptCalls, FeedbackGiven):
        if not session.reduces(kind):
            session.register(kind, _BY_KEY, log=True)


def count_call(session: Session, prompt: str, now: float) -> PromptCalls:
    """The count with one more call in it."""
    with _lock:
        before = _found(session, PromptCalls, prompt)
        after = (
            PromptCalls(prompt=prompt, calls=1, first_at=now)
            if before is None
            else PromptCalls(prompt=prompt, calls=before.calls + 1, first_at=before.first_at)
        )
        session[PromptCalls].append(after)
    return after


def last_given(session: Session, prompt: str, provider: str) -> FeedbackGiven | None:
    """When a provider last spoke, None where it never did."""
    return _found(session, FeedbackGiven, (prompt, provider))


def take_turn(session: Session, last: FeedbackGiven | None, given: FeedbackGiven) -> bool:
    """Note that a provider speaks; False where it has spoken since `last`, beside another call."""
    with _lock:
        if last_given(session, given.prompt, given.provider) != last:
            return False
        session[FeedbackGiven].append(given)
        return True


def _found(session: Session, kind: type[ItemT], key: object) -> ItemT | None:
    return next((item for item in session[kind] if item.key == key), None)
