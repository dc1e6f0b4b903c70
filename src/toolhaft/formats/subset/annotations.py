"""Puts a schema's annotations on its lowered form, with the words for what has no keyword there.

Does not know the keywords that ask anything.
"""

from __future__ import annotations

from typing import Final

from toolhaft.formats.subset.keywords import SILENT, VALIDATION
from toolhaft.formats.subset.kinds import kinds_of
from toolhaft.formats.subset.notes import describe, phrase
from toolhaft.formats.subset.walk import Low, Walk
from toolhaft.schema.json_value import JSONObject

_ALWAYS: Final = frozenset(("$comment", "$schema"))


def annotated(walk: Walk, node: JSONObject, low: Low, notes: list[str]) -> JSONObject:
    """The lowered schema with what its own says beside asking, in the order of the own."""
    said: JSONObject = {}
    for key, value in node.items():
        if key not in VALIDATION and key != "description" and _stands(walk, node, key, low, notes):
            said[key] = value
    description = node.get("description", low.schema.get("description"))
    if walk.rules.takes("description"):
        words = describe(description, notes)
        if words or description == "":
            said["description"] = words
    elif "description" in node:
        walk.tell(node, "description", "left out")
    if not said:
        return low.schema
    whole: JSONObject = {**low.schema, **said}
    first = () if "type" in node else ("type",)
    return {**{key: whole[key] for key in (*first, *node) if key in whole}, **whole}


def noted(walk: Walk, node: JSONObject, low: Low, notes: list[str]) -> Low:
    """As `annotated`, but a reference stays alone where nothing may stand beside it."""
    whole = annotated(walk, node, low, notes)
    if "$ref" not in whole or len(whole) == 1 or walk.subset.ref_siblings:
        return Low(whole, low.turn)
    if not walk.rules.takes("anyOf"):
        walk.tell(node, "$ref", "left out", "what stands beside it")
        return low
    words: JSONObject = {key: value for key, value in whole.items() if key != "$ref"}
    return Low({"anyOf": [{"$ref": whole["$ref"]}], **words}, low.turn)


def _stands(walk: Walk, node: JSONObject, key: str, low: Low, notes: list[str]) -> bool:
    """Whether an annotation stands as it is; if not, it is said or told."""
    if key in SILENT:
        return walk.rules.keywords is None and key in _ALWAYS
    if key == "nullable" and walk.subset.null == "nullable":
        walk.tell(node, key, "left out", "in JSON Schema it says nothing")
        return False
    is_turned = low.turn is not None and node[key] is not None
    if key == "default" and (is_turned or not walk.rules.takes(key)):
        _move_default(walk, node, notes)
        return False
    if not walk.rules.takes(key):
        walk.tell(node, key, "left out")
        return False
    return True


def _move_default(walk: Walk, node: JSONObject, notes: list[str]) -> None:
    value = node["default"]
    if value is None and walk.subset.all_required and "null" in kinds_of(walk.root, node):
        return  # null is what absent is read as
    words = phrase("default", value) if walk.rules.takes("description") else ""
    if words:
        notes.append(words)
        walk.tell(node, "default", "moved to description", words)
    else:
        walk.tell(node, "default", "left out")
