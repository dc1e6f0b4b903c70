"""Says the inside of a parameter in words, for targets that read only its type.

Does not know any target.
"""

from __future__ import annotations

from typing import Final, cast

from toolhaft.formats.subset.disjoint import are_disjoint
from toolhaft.formats.subset.keywords import COMPOSED, REFERENCES, SILENT, TYPE_ORDER, UNIONS, VALIDATION
from toolhaft.formats.subset.kinds import kinds_of
from toolhaft.formats.subset.scalars import Short
from toolhaft.formats.subset.target import Subset
from toolhaft.formats.subset.walk import Low, Lowering, Nothing, Walk
from toolhaft.schema.json_schema import TYPES, subschemas
from toolhaft.schema.json_text import to_json_text
from toolhaft.schema.json_value import JSONObject, JSONValue

_LONGEST: Final = 4_000
_INSIDE: Final = (*COMPOSED, "properties", "patternProperties", "prefixItems")
_LEADING: Final = frozenset((*REFERENCES, "allOf"))
_MARKS: Final = tuple(f'"{key}"' for key in REFERENCES)
_NOT_SHOWN: Final = SILENT - {"$defs"} | {"description"}


def describe_nested(walk: Walk, schema: JSONValue) -> Lowering | None:
    """A parameter with its type and its inside in words; None for one that has nothing inside."""
    if not isinstance(schema, dict) or inside_keyword(schema) is None:
        return None
    node = schema if schema.keys().isdisjoint(_LEADING) else walk.merged(schema)
    types = frozenset[str]() if node is None else kinds_of(walk.root, node)
    if node is None or not types:
        return Nothing.NEVER
    keyword = inside_keyword(node)
    if keyword is None:
        return walk.visit(node)
    if _is_types_alone(node):
        return walk.visit(walk.own(_types_alone(walk.subset, node, types), node))
    low, losses = _in_words(walk.subset, node, types, keyword, _text(walk, node))
    for told in losses:
        walk.tell(node, *told)
    return Low(low, None)


def _text(walk: Walk, node: JSONObject) -> str:
    """A schema as text, with what it refers to; '' where it would be too large, or no words may stand."""
    text = _shown(node) if walk.rules.takes("description") else ""
    if not _refers(text):
        return text
    whole = walk.alone(node)
    return "" if whole is None else _shown(whole)


def describe_alone(subset: Subset, node: JSONObject, keyword: str) -> Short | JSONObject | None:
    """As `describe_nested`, for a schema that refers to nothing; a list of types is still to be lowered.

    None where the walk is needed.
    """
    if not node.keys().isdisjoint(_LEADING):
        return None
    text = _shown(node)
    types = frozenset[str]() if _refers(text) else kinds_of(node, node)
    if not types:
        return None
    if _is_types_alone(node):
        return _types_alone(subset, node, types)
    return _in_words(subset, node, types, keyword, text)


def _types_alone(subset: Subset, node: JSONObject, types: frozenset[str]) -> JSONObject:
    alone: JSONObject = {key: value for key, value in node.items() if key not in UNIONS}
    return {"type": _kinds(subset, types), **alone}


def _in_words(subset: Subset, node: JSONObject, types: frozenset[str], keyword: str, text: str) -> Short:
    out: JSONObject = {} if types == TYPES else {"type": _kinds(subset, types)}
    words = node.get("description")
    said = words if isinstance(words, str) else ""
    is_said = 0 < len(text) <= _LONGEST
    if is_said:
        said = f"{said} JSON Schema: {text}".strip()
    if said:
        out["description"] = said
    if is_said:
        return out, [(keyword, "moved to description", "as JSON Schema")]
    return out, [(keyword, "checked locally", "")]


def _refers(text: str) -> bool:
    return '"$' in text and any(mark in text for mark in _MARKS)


def _shown(node: JSONObject) -> str:
    """A schema as text, without its words, which stand before it."""
    return to_json_text({key: value for key, value in node.items() if key not in _NOT_SHOWN})


def inside_keyword(schema: JSONObject) -> str | None:
    """The first keyword with which a schema, or one inside it, has an inside."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        for key in _INSIDE:
            if key in node:
                return key
        waiting.extend(child for _, child in subschemas(node))
    return None


def _kinds(subset: Subset, types: frozenset[str]) -> JSONValue:
    """The type, or the types, that a target may be told."""
    if "number" in types:
        types -= {"integer"}
    listed = [kind for kind in TYPE_ORDER if kind in types]
    if len(listed) == 1:
        return listed[0]
    if subset.type_lists:
        return cast("list[JSONValue]", listed)
    return next(kind for kind in listed if kind != "null")


def _is_types_alone(node: JSONObject) -> bool:
    """Whether a union only lists types, so that the list of them says it all."""
    key = "anyOf" if "anyOf" in node else "oneOf"
    branches = node.get(key)
    if not isinstance(branches, list):
        return False
    for branch in branches:
        if not isinstance(branch, dict) or len(branch) != 1 or "type" not in branch:
            return False
    if any(other in VALIDATION for other in node if other != key):
        return False
    return key == "anyOf" or are_disjoint(node, branches)
