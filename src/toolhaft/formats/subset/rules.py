"""What follows from a subset, worked out once: which keywords stand, whether arguments change their shape.

Does not know any schema.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from toolhaft.formats.subset.keywords import COMPOSED
from toolhaft.formats.subset.target import Subset

MOST_NODES: Final = 20_000
"""How many schemas one lowered schema may have: a diamond of references written out doubles at each level."""
UNROLLED: Final = 3
"""How many levels of a recursive schema are written out where a target takes none."""


class Rules:
    """A subset, and what follows from it."""

    __slots__ = ("has_limits", "keywords", "merges", "reshapes", "root_banned", "subset", "takes", "turns")

    def __init__(self, subset: Subset) -> None:
        self.subset = subset
        self.keywords = _standing(subset)
        self.takes: Callable[[str], bool] = _any if self.keywords is None else self.keywords.__contains__
        """Whether a keyword may stand in the target's schemas."""
        self.turns = (
            subset.all_required
            or subset.some_required
            or subset.maps == "pairs"
            or subset.tuples == "object"
            or subset.enums == "text"
            or subset.any == "text"
            or subset.closed
            or subset.any == "refuse"
        )
        """Whether arguments inside the schema can have another shape on the wire."""
        self.reshapes = (
            self.turns
            or subset.closed
            or subset.maps != "keep"
            or subset.any != "keep"
            or subset.null == "nullable"
            or not subset.type_lists
        )
        """Whether each place must be one plain shape: what stands beside a union joins its branches then."""
        self.merges = self.reshapes or not self.takes("allOf")
        self.has_limits = any(
            limit is not None
            for limit in (
                subset.most_properties,
                subset.deepest,
                subset.most_enum_values,
                subset.most_enum_chars,
                subset.most_name_chars,
            )
        )
        """Whether the target counts anything at all."""
        composed = COMPOSED if subset.root != "keep" else frozenset[str]()
        self.root_banned = subset.root_banned | composed


def _any(keyword: str) -> bool:  # noqa: ARG001 -- it takes them all
    return True


def _standing(subset: Subset) -> frozenset[str] | None:
    """The keywords that may stand, with those that the other fields imply."""
    if subset.keywords is None:
        return None
    standing = set(subset.keywords)
    if subset.refs == "keep" or subset.recursion == "keep":
        standing |= {"$ref", "$defs"}
    if subset.closed:
        standing.add("additionalProperties")
    if subset.null == "nullable":
        standing.add("nullable")
    return frozenset(standing)


_MADE: Final[dict[int, Rules]] = {}
"""By the identity of a subset, which its rules hold: its hash would be worked out anew each time."""
_MOST_MADE: Final = 64


def rules_of(subset: Subset) -> Rules:
    """The rules of a subset, made once for each."""
    made = _MADE.get(id(subset))
    if made is None:
        if len(_MADE) >= _MOST_MADE:
            _MADE.clear()
        made = _MADE[id(subset)] = Rules(subset)
    return made
