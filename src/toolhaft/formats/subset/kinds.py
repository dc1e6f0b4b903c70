"""Which types a schema takes, in few steps where it, or each branch of its one union, names one.

Does not know any target.
"""

from __future__ import annotations

from typing import Final, cast

from toolhaft.formats.subset.keywords import COMPOSED, VALUES
from toolhaft.schema.json_schema import TYPES, types_of
from toolhaft.schema.json_value import JSONObject, JSONValue

_SAYING: Final = COMPOSED | VALUES
"""What says something of types beside `type`."""
_BESIDE_UNION: Final = _SAYING - {"anyOf"} | {"type"}
_NONE: Final = frozenset[str]()
_ALONE: Final = {kind: frozenset((kind,)) for kind in TYPES} | {"number": frozenset(("number", "integer"))}


def kinds_of(root: JSONObject, schema: JSONValue) -> frozenset[str]:
    """As `types_of`, and the same."""
    if isinstance(schema, dict):
        branches = schema.get("anyOf")
        if branches is None:
            own = _named(schema)
            if own is not None:
                return own
        elif isinstance(branches, list) and _BESIDE_UNION.isdisjoint(schema):
            found = [_named(branch) for branch in branches]
            if None not in found:
                return _NONE.union(*cast("list[frozenset[str]]", found))
    return types_of(root, schema)


def _named(schema: JSONValue) -> frozenset[str] | None:
    """The one type that a schema names, where nothing beside it says more."""
    kind = schema.get("type") if isinstance(schema, dict) and _SAYING.isdisjoint(schema) else None
    return _ALONE.get(kind) if isinstance(kind, str) else None
