"""The subset of JSON Schema that a target (a provider's format, dialect and mode) accepts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from toolhaft.formats.subset.keywords import COMPOSED


@dataclass(frozen=True, kw_only=True)
class Subset:
    """What one target accepts of JSON Schema, and how the rest is lowered; the default accepts all."""

    keywords: frozenset[str] | None = None
    """The accepted keywords; None for all. Others are rewritten where possible (const, oneOf, allOf,
    prefixItems), else moved to the description, and reported as losses."""
    formats: frozenset[str] | None = None
    """The accepted values of `format`; None for any."""
    refs: Literal["keep", "inline"] = "keep"
    """Whether `$ref` into `$defs` is kept, or replaced by its target."""
    ref_siblings: bool = True
    """Whether `$ref` may have siblings."""
    recursion: Literal["keep", "unroll", "refuse"] = "keep"
    """How recursive schemas are lowered; unrolled ones end after three levels."""
    type_lists: bool = True
    """Whether `type` may be a list; else the types become branches of an anyOf."""
    null: Literal["type", "nullable"] = "type"
    """How null is admitted: as a type, or by `nullable: true`."""
    any: Literal["keep", "text", "refuse"] = "keep"
    """How a schema that admits any value is lowered: kept, sent as a string of JSON, or refused."""
    closed: bool = False
    """Whether every object must have `additionalProperties: false`."""
    all_required: bool = False
    """Whether every property must be required: optional ones then admit null, which means absent."""
    maps: Literal["keep", "pairs"] = "keep"
    """How objects with arbitrary keys are lowered: kept, or sent as a list of pairs."""
    tuples: Literal["keep", "object", "widen"] = "keep"
    """How prefixItems is lowered: kept, an object (if of fixed length), or any member at any position."""
    enums: Literal["any", "scalar", "plain", "text"] = "any"
    """What an enum may list: anything, no objects or arrays, only strings and numbers, or only strings.
    Other values are sent as strings and converted back if arguments can be mapped."""
    patterns: Literal["any", "plain", "unanchored"] = "any"
    """The accepted patterns: any, those without lookaround and similar, or also without ^ and $."""
    min_items: int | None = None
    """The largest accepted `minItems`; None for any."""
    items_needed: bool = False
    """Whether an array must have `items`."""
    nested: Literal["keep", "describe"] = "keep"
    """How the inside of a parameter is lowered: kept, or moved to the description."""
    drafts: Literal["any", "newest"] = "newest"
    """Which drafts of JSON Schema are accepted: any, or only 2020-12."""
    optional_cycles: bool = False
    """Whether recursion is accepted only inside optional properties."""
    declared_required: bool = False
    """Whether every required name must be listed among the properties."""
    root: Literal["keep", "flatten", "wrap"] = "keep"
    """How a union at the root is lowered: kept, one object with all properties, or one wrapped argument."""
    root_banned: frozenset[str] = frozenset()
    """Keywords that are not accepted at the root."""
    root_keys: str | None = None
    """The pattern that names of top-level properties must match; None for any."""
    some_required: bool = False
    """Whether every object needs at least one required property."""
    most_properties: int | None = None
    """How many properties all objects may have together."""
    deepest: int | None = None
    """How many levels of objects and arrays may be nested."""
    most_enum_values: int | None = None
    """How many values all enums may list together."""
    most_enum_chars: int | None = None
    """How long the values of one enum with more than 250 of them may be together."""
    most_name_chars: int | None = None
    """How long all property names, definition names and enum values may be together."""

    @cached_property
    def rules(self) -> TargetRules:
        """What follows from the other fields."""
        return TargetRules(self)


EVERYTHING: Final = Subset(drafts="any")
NEWEST_DRAFT: Final = Subset()
"""Any schema of draft 2020-12."""
COMBINATORS: Final = frozenset(("allOf", "anyOf", "oneOf"))
"""Keywords that most formats do not accept at the root."""
STRICT_KEYWORDS: Final = frozenset(
    (
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "const",
        "description",
        "enum",
        "format",
        "items",
        "pattern",
        "properties",
        "required",
        "title",
        "type",
    )
)
"""Keywords that every strict mode accepts."""

MOST_NODES: Final = 20_000
"""The most schemas in one lowered schema: inlined references can double at each level."""
UNROLLED: Final = 3
"""The number of levels of a recursive schema for a target that accepts none."""


class TargetRules:
    """A subset with what can be derived from it."""

    __slots__ = (
        "has_limits",
        "keywords",
        "maps_arguments",
        "merges",
        "reshapes",
        "root_banned",
        "subset",
        "takes",
    )

    def __init__(self, subset: Subset) -> None:
        self.subset = subset
        self.keywords = _accepted_keywords(subset)
        self.takes: Callable[[str], bool] = (
            (lambda _keyword: True) if self.keywords is None else self.keywords.__contains__
        )
        """Whether the target accepts a keyword."""
        self.maps_arguments = (
            subset.all_required
            or subset.some_required
            or subset.maps == "pairs"
            or subset.tuples == "object"
            or subset.enums == "text"
            or subset.any == "text"
            or subset.closed
            or subset.any == "refuse"
        )
        """Whether arguments may have another shape as sent."""
        self.reshapes = (
            self.maps_arguments
            or subset.maps != "keep"
            or subset.any != "keep"
            or subset.null == "nullable"
            or not subset.type_lists
        )
        """Whether every schema must be one type or one union: siblings of a union move into its branches."""
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
        """Whether the target has any limits."""
        composed = COMPOSED if subset.root != "keep" else frozenset[str]()
        self.root_banned = subset.root_banned | composed


def _accepted_keywords(subset: Subset) -> frozenset[str] | None:
    """The accepted keywords, with those that other fields imply."""
    if subset.keywords is None:
        return None
    accepted = set(subset.keywords)
    if subset.refs == "keep" or subset.recursion == "keep":
        accepted |= {"$ref", "$defs"}
    if subset.closed:
        accepted.add("additionalProperties")
    if subset.null == "nullable":
        accepted.add("nullable")
    return frozenset(accepted)
