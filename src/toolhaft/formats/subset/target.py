"""What a wire takes of JSON Schema, written as data: each format fills one in.

Does not know how a schema is brought into a subset.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Subset:
    """What one target takes of JSON Schema, and what becomes of the rest; by default it takes everything."""

    keywords: frozenset[str] | None = None
    """The keywords that may stand in a schema; None is every one. What is not among them is rewritten by
    what it means (const, oneOf, allOf, prefixItems), else said in the description, and told as a loss."""
    formats: frozenset[str] | None = None
    """The values that `format` may have; None is any."""
    refs: Literal["keep", "inline"] = "keep"
    """Whether `$ref` into `$defs` stays, or its target is written in its place."""
    ref_siblings: bool = True
    """Whether other keywords may stand beside `$ref`."""
    recursion: Literal["keep", "unroll", "refuse"] = "keep"
    """What becomes of a schema that leads back to itself; unrolled ones end after three levels."""
    type_lists: bool = True
    """Whether `type` may be a list; else the types become branches of an anyOf."""
    null: Literal["type", "nullable"] = "type"
    """How null is admitted: as a type of its own, or by `nullable: true`."""
    any: Literal["keep", "text", "refuse"] = "keep"
    """What becomes of a schema that takes anything: kept, sent as JSON in a text, or refused."""
    closed: bool = False
    """Whether every object must say `additionalProperties: false`."""
    all_required: bool = False
    """Whether every property must be required: optional ones then admit null, which is read as absent."""
    maps: Literal["keep", "pairs", "refuse"] = "keep"
    """What becomes of objects with keys of the caller's choosing: kept, sent as a list of pairs, refused."""
    tuples: Literal["keep", "object", "widen"] = "keep"
    """What becomes of prefixItems: kept, sent as an object (if of fixed length), or any member anywhere."""
    enums: Literal["any", "scalar", "plain", "text"] = "any"
    """What an enum may list: anything, no objects or arrays, only strings and numbers, or only strings.
    Where arguments can be turned, other values are sent as texts and read back."""
    patterns: Literal["any", "plain", "unanchored"] = "any"
    """Which patterns may stand: any, without lookaround and the like, or also without ^ and $."""
    min_items: int | None = None
    """The largest `minItems` that may stand; None is any."""
    items_needed: bool = False
    """Whether an array must say what its members are."""
    nested: Literal["keep", "describe"] = "keep"
    """What becomes of the inside of a parameter that is an object or a union: kept, or told in words."""
    root: Literal["keep", "flatten", "wrap"] = "keep"
    """What becomes of a union at the root: kept, one object of all properties, or the value of one."""
    root_banned: frozenset[str] = frozenset()
    """Keywords that may not stand at the root, wherever else they may."""
    root_keys: str | None = None
    """The pattern that top-level property names must match in full; None is any."""
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


EVERYTHING: Final = Subset()
UNIONS: Final = frozenset(("allOf", "anyOf", "oneOf"))
"""What most wires do not take at the root."""
