"""Why a call failed, in words that a program can match and a model can act on.

Does not know how a call is run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FailureKind = Literal[
    "attempts",
    "budget",
    "cancelled",
    "circuit_open",
    "deadline",
    "failed",
    "invalid_arguments",
    "invalid_output",
    "needs_approval",
    "not_allowed",
    "rate",
    "timeout",
    "unknown_tool",
]

Outcome = Literal["done", "nothing_happened", "rolled_back", "safe_to_repeat", "unknown"]
"""What a call has left in the world: `unknown` means that somebody must look before repeating it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The cause of a failed result."""

    kind: FailureKind
    problems: tuple[object, ...] = ()
    """Each thing wrong with the arguments, where they were the trouble."""
    advice: str = ""
    """What to do next, as the model is told."""
    error: BaseException | None = None
    """What the handler raised; for the host alone. None where the tool takes secrets: it may hold one."""
    outcome: Outcome = "nothing_happened"
