"""What a CSS selector asks for, in the parts that it is matched by.

Knows neither the text of a selector nor a page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Combinator: TypeAlias = Literal[" ", ">", "+", "~"]
"""How one element is reached from another: below it, right below it, right after it, after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Among:
    """Elements that are, or are not, among those of other selectors: `:is`, `:where`, `:not`."""

    selectors: tuple[Complex, ...]
    is_negated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Has:
    """Elements from which those of other selectors are reached: `:has`."""

    selectors: tuple[Complex, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Nth:
    """Elements by their place among siblings: `offset`, and every `step` from there on."""

    step: int
    offset: int
    is_from_end: bool = False
    is_of_type: bool = False
    """Only siblings with the same name count."""
    among: tuple[Complex, ...] = ()
    """Only siblings that one of these matches count, and are found; all where there is none."""


Check: TypeAlias = Among | Has | Nth


@dataclass(frozen=True, slots=True, kw_only=True)
class Compound:
    """What one element must be."""

    simple: str
    """Name, id, classes, attributes and states, in the words of CSS; empty for any element."""
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Complex:
    """Compounds, and how each is reached from the one before; how the first is, counts in `:has` alone."""

    steps: tuple[tuple[Combinator, Compound], ...]
