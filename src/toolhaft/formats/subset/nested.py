"""Says the inside of a parameter in words, for targets that read only its type.

Does not know any target.
"""

from __future__ import annotations

from typing import Final, cast

from toolhaft.formats.subset.keywords import COMPOSED, REFERENCES, SILENT, TYPE_ORDER, UNIONS, VALIDATION
from toolhaft.formats.subset.walk import Low, Lowering, Nothing, Walk
from toolhaft.schema.json_schema import TYPES, subschemas, types_of
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
    if node is None:
        return Nothing.NEVER
    keyword = inside_keyword(node)
    if keyword is None:
        return walk.visit(node)
    kinds = _kinds(walk, node)
    if kinds == []:
        return Nothing.NEVER
    if _is_types_alone(node):
        alone: JSONObject = {key: value for key, value in node.items() if key not in UNIONS}
        return walk.visit(walk.own({"type": kinds, **alone}, node))
    return _described(walk, node, kinds, keyword)


def _described(walk: Walk, node: JSONObject, kinds: JSONValue, keyword: str) -> Low:
    out: JSONObject = {} if kinds is None else {"type": kinds}
    words = node.get("description")
    said = words if isinstance(words, str) else ""
    text = _shown(node) if walk.rules.takes("description") else ""
    if any(mark in text for mark in _MARKS):
        whole = walk.alone(node)
        text = "" if whole is None else _shown(whole)
    if 0 < len(text) <= _LONGEST:
        walk.tell(node, keyword, "moved to description", "as JSON Schema")
        said = f"{said} JSON Schema: {text}".strip()
    else:
        walk.tell(node, keyword, "checked locally")
    return Low({**out, "description": said} if said else out, None)


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


def _kinds(walk: Walk, schema: JSONObject) -> JSONValue:
    """The type, or the types, that a target may be told; None where it could be any."""
    types = types_of(walk.root, schema)
    if types == TYPES:
        return None
    if "number" in types:
        types -= {"integer"}
    listed = [kind for kind in TYPE_ORDER if kind in types]
    if len(listed) == 1:
        return listed[0]
    if walk.subset.type_lists or not listed:
        return cast("list[JSONValue]", listed)
    return next((kind for kind in listed if kind != "null"), "null")


def _is_types_alone(node: JSONObject) -> bool:
    """Whether a union only lists types, so that the list of them says it all."""
    asked = [key for key in node if key in VALIDATION]
    if len(asked) != 1 or asked[0] not in UNIONS:
        return False
    branches = cast("list[JSONValue]", node[asked[0]])
    kinds = [branch.get("type") for branch in branches if isinstance(branch, dict) and len(branch) == 1]
    is_once = len({str(kind) for kind in kinds}) == len(branches) and not {"integer", "number"} <= {
        *map(str, kinds)
    }
    return len(kinds) == len(branches) and None not in kinds and (is_once or asked[0] == "anyOf")
