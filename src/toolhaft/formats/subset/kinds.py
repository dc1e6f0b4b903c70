"""Which types a schema takes, in few steps where it, or each branch of its one union, names one.

Does not know any target.
"""

from __future__ import annotations

from typing import Final

from toolhaft.formats.subset.keywords import COMPOSED, VALUES
from toolhaft.schema.json_schema import TYPES, types_of
from toolhaft.schema.json_value import JSONObject, JSONValue

_SAYING: Final = COMPOSED | VALUES
"""What says something of types beside `type`."""
_BESIDE_UNION: Final = _SAYING - {"anyOf"} | {"type"}
_ALONE: Final = {kind: frozenset((kind,)) for kind in TYPES} | {"number": frozenset(("number", "integer"))}


def kinds_of(root: JSONObject, schema: JSONValue) -> frozenset[str]:
    """As `types_of`, and the same."""
    if not isinstance(schema, dict):
        return types_of(root, schema)
    own = _named(schema)
    branches = schema.get("anyOf") if own is None else None
    if not isinstance(branches, list) or not _BESIDE_UNION.isdisjoint(schema):
        return types_of(root, schema) if own is None else own
    found = frozenset[str]()
    for branch in branches:
        kinds = _named(branch) if isinstance(branch, dict) else None
        if kinds is None:
            return types_of(root, schema)
        found |= kinds
    return found


def _named(schema: JSONObject) -> frozenset[str] | None:
    """The one type that a schema names, where nothing beside it says more."""
    kind = schema.get("type")
    return _ALONE.get(kind) if isinstance(kind, str) and _SAYING.isdisjoint(schema) else None
