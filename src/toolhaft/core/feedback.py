"""What a provider of feedback is: asked after each call for something to tell the model.

Knows no provider; those that come with Toolhaft are in the room `prompt`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from toolhaft.core.call import ToolCall
from toolhaft.core.limits import Deadline
from toolhaft.core.ports import Session
from toolhaft.core.result import ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackContext:
    """What a provider may look at: the call that has just ended, and when it itself last spoke.

    Calls are counted in one session for one prompt, by its name; those that handlers make there are not.
    """

    session: Session
    """Only to be read, and only during the question."""
    prompt: object
    deadline: Deadline | None
    """When the run must be over; None where it need not be."""
    call: ToolCall
    result: ToolResult[Any]
    calls: int
    """Calls so far, this one with them."""
    seconds: float = 0.0
    """Since the first of them ended."""
    calls_since: int | None = None
    """Calls since this provider last spoke, this one with them; None where it never did."""
    seconds_since: float | None = None
    """The same in seconds."""


@runtime_checkable
class FeedbackProvider(Protocol):
    """Watches the run, and tells the model something now and then."""

    @property
    def name(self) -> str:
        """What it is known by, to the model too; each of a prompt has a name of its own."""
        ...

    def provide(self, context: FeedbackContext) -> str | None:
        """What to tell the model now, below the result of its call; None for nothing.

        Asked where the caller stands, on an event loop too: it should wait for nothing.
        """
        ...
