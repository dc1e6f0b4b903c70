"""Whether one schema by itself is a plain shape, as targets want it that do not take every schema.

Looks at no schema inside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from toolhaft.formats.subset.keywords import COMPOSED, SCALARS, VALIDATION, VALUES
from toolhaft.formats.subset.rules import Rules
from toolhaft.formats.subset.target import Subset
from toolhaft.schema.json_schema import type_name
from toolhaft.schema.json_value import JSONObject, JSONValue


def shape_check(rules: Rules) -> Callable[[JSONObject], bool] | None:
    """The check of a target; None for one that takes every shape."""
    if rules.reshapes:
        return _Shapes(rules.subset).is_plain
    return _Shapes(rules.subset).says_items if rules.subset.items_needed else None


class _Shapes:
    """What one target wants of a shape."""

    __slots__ = ("_subset",)

    def __init__(self, subset: Subset) -> None:
        self._subset = subset

    def is_plain(self, node: JSONObject) -> bool:
        """Whether a schema is of one type, or one union, and says of it what must be said."""
        kind = node.get("type")
        if kind is None:
            return self._is_untyped(node)
        if not node.keys().isdisjoint(COMPOSED) or not _are_listed_alone(node, kind):
            return False
        if kind == "object":
            return self._is_object(node)
        if isinstance(kind, list):
            return set(cast("list[str]", kind)) <= SCALARS
        return self.says_items(node)

    def _is_untyped(self, node: JSONObject) -> bool:
        """One union or reference with nothing beside it, or a schema that asks nothing."""
        asked = node.keys() & VALIDATION
        if not asked:
            return self._subset.any == "keep"
        return len(asked) == 1 and not node.keys().isdisjoint(COMPOSED) and "allOf" not in node

    def says_items(self, node: JSONObject) -> bool:
        """Whether an array says what its members are, where it must."""
        if node.get("type") != "array" or isinstance(node.get("items"), dict):
            return True
        return not (self._subset.items_needed or self._subset.any != "keep")

    def _is_object(self, node: JSONObject) -> bool:
        subset = self._subset
        properties = node.get("properties")
        names = properties.keys() if isinstance(properties, dict) else set[str]()
        required = set(cast("list[str]", node.get("required", ())))
        if not required <= names or (subset.all_required and required != names):
            return False
        if subset.some_required and not required:
            return False
        return self._is_closed(node, has_names=bool(names))

    def _is_closed(self, node: JSONObject, *, has_names: bool) -> bool:
        """Whether an object says of names that it does not list what must be said."""
        subset = self._subset
        others = node.get("additionalProperties")
        if others is False:
            return subset.maps == "keep" or "patternProperties" not in node
        if subset.closed or (subset.any != "keep" and not has_names):
            return False
        return subset.maps == "keep" or (
            "additionalProperties" not in node and "patternProperties" not in node
        )


def _are_listed_alone(node: JSONObject, kind: JSONValue) -> bool:
    """Whether listed values, if there are any, are all of the types beside them and nothing more is asked."""
    if node.keys().isdisjoint(VALUES):
        return True
    values = [node["const"]] if "const" in node else cast("list[JSONValue]", node["enum"])
    kinds = [kind] if isinstance(kind, str) else cast("list[JSONValue]", kind)
    if not all(type_name(v) in kinds or ("number" in kinds and type_name(v) == "integer") for v in values):
        return False
    return node.keys() & VALIDATION <= {"type", "const"} or node.keys() & VALIDATION <= {"type", "enum"}
