"""What Claude takes of JSON Schema, strict and not; Anthropic's own wire and Bedrock share it.

Does not know either wire.
"""

from __future__ import annotations

from typing import Final

from toolhaft.formats.subset.target import UNIONS, Subset

_ROOT_KEYS: Final = "[a-zA-Z0-9_.-]{1,64}"

LOOSE: Final = Subset(root="flatten", root_banned=UNIONS, root_keys=_ROOT_KEYS)
"""Any JSON Schema, but for its root."""

STRICT: Final = Subset(
    keywords=frozenset(
        (
            "$defs",
            "$ref",
            "additionalProperties",
            "anyOf",
            "const",
            "default",
            "description",
            "enum",
            "format",
            "items",
            "minItems",
            "pattern",
            "properties",
            "required",
            "title",
            "type",
        )
    ),
    formats=frozenset(
        ("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid")
    ),
    ref_siblings=False,
    recursion="refuse",
    any="refuse",
    closed=True,
    maps="pairs",
    tuples="object",
    enums="scalar",
    patterns="plain",
    min_items=1,
    items_needed=True,
    root="wrap",
    root_banned=UNIONS,
    root_keys=_ROOT_KEYS,
)
"""Optional parameters stay optional: nullable ones would use up the few unions that a request may have."""
