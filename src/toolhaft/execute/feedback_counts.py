"""Counts the calls under a prompt in its session, and notes when each provider last gave feedback."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Final, TypeVar

from toolhaft.session import Session, upsert_by

ItemT = TypeVar("ItemT", "PromptCalls", "FeedbackGiven")


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptCalls:
    """How many calls a model has made under a prompt; a log in the session, which is never rolled back."""

    __snapshot_name__ = "toolhaft.execute.pace:PromptCalls"  # as in snapshots of earlier versions

    prompt: str
    calls: int
    first_at: float
    """Seconds since the epoch."""

    @property
    def key(self) -> str:
        """There is one item per prompt."""
        return self.prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackGiven:
    """When a provider last gave feedback; a log in the session, which is never rolled back."""

    __snapshot_name__ = "toolhaft.execute.pace:FeedbackGiven"  # as in snapshots of earlier versions

    prompt: str
    provider: str
    call: int
    """The number of the call."""
    at: float
    """Seconds since the epoch."""

    @property
    def key(self) -> tuple[str, str]:
        """There is one item per prompt and provider."""
        return self.prompt, self.provider


_BY_KEY: Final = upsert_by("key")
_lock: Final = Lock()  # no two calls may get the same number, or the same provider's feedback


def register_counts(session: Session) -> None:
    """Register both logs in a session, unless it has them."""
    for kind in (PromptCalls, FeedbackGiven):
        if not session.reduces(kind):
            session.register(kind, _BY_KEY, log=True)


def count_call(session: Session, prompt: str, now: float) -> PromptCalls:
    """Count one more call."""
    with _lock:
        before = _found(session, PromptCalls, prompt)
        after = (
            PromptCalls(prompt=prompt, calls=1, first_at=now)
            if before is None
            else PromptCalls(prompt=prompt, calls=before.calls + 1, first_at=before.first_at)
        )
        session[PromptCalls].append(after)
    return after


def last_feedback(session: Session, prompt: str, provider: str) -> FeedbackGiven | None:
    """When a provider last gave feedback, None if it never did."""
    return _found(session, FeedbackGiven, (prompt, provider))


def claim_feedback(session: Session, last: FeedbackGiven | None, given: FeedbackGiven) -> bool:
    """Record that a provider gives feedback; False if it has given other feedback since `last`."""
    with _lock:
        if last_feedback(session, given.prompt, given.provider) != last:
            return False
        session[FeedbackGiven].append(given)
        return True


def _found(session: Session, kind: type[ItemT], key: object) -> ItemT | None:
    return next((item for item in session[kind] if item.key == key), None)
