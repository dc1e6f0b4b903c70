"""What is wrong, or only doubtful, in a `run` block, and where in it.

Knows places as keys and numbers; does not know lines or files.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolhaft.schema.nearest import nearest

Place: TypeAlias = tuple[str | int, ...]
Level: TypeAlias = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing wrong; a warning is worth a look, and the tool runs all the same."""

    place: Place
    what: str
    fix: str
    level: Level = "error"


class Faults:
    """Every fault found so far."""

    def __init__(self) -> None:
        self.found: list[Fault] = []

    def add(self, place: Place, what: str, fix: str) -> None:
        """Note something wrong."""
        self.found.append(Fault(place=place, what=what, fix=fix))

    def warn(self, place: Place, what: str, fix: str) -> None:
        """Note something doubtful."""
        self.found.append(Fault(place=place, what=what, fix=fix, level="warning"))

    @property
    def has_errors(self) -> bool:
        """True if the block cannot be run."""
        return any(fault.level == "error" for fault in self.found)


def unknown(name: str, known: Iterable[str], otherwise: str) -> str:
    """The fix for a name that nobody knows: the nearest one, or what to do otherwise."""
    close = nearest(name, list(known))
    return f"did you mean {close!r}?" if close else otherwise
