"""What OpenAI's strict mode takes of JSON Schema; Chat Completions and Responses share it.

Does not know either wire.
"""

from __future__ import annotations

from typing import Final

from toolhaft.formats.subset.target import UNIONS, Subset

_ROOT_BANNED: Final = UNIONS | {"enum", "const", "not"}

LOOSE: Final = Subset(root="flatten", root_banned=_ROOT_BANNED)
"""Any JSON Schema, but for its root."""

STRICT: Final = Subset(
    keywords=frozenset(
        (
            "$defs",
            "$ref",
            "additionalProperties",
            "anyOf",
            "const",
            "description",
            "enum",
            "exclusiveMaximum",
            "exclusiveMinimum",
            "format",
            "items",
            "maxItems",
            "maximum",
            "minItems",
            "minimum",
            "multipleOf",
            "pattern",
            "properties",
            "required",
            "title",
            "type",
        )
    ),
    formats=frozenset(("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")),
    ref_siblings=False,
    any="refuse",
    closed=True,
    all_required=True,
    maps="pairs",
    tuples="object",
    patterns="plain",
    items_needed=True,
    root="wrap",
    root_banned=_ROOT_BANNED,
    most_properties=5000,
    deepest=10,
    most_enum_values=1000,
    most_enum_chars=15_000,
    most_name_chars=120_000,
)
