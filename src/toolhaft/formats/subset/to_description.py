"""Moves constraints and annotations that a target has no keyword for into the description."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from toolhaft.formats.losses import Done
from toolhaft.formats.subset.admitted_types import admitted_types
from toolhaft.formats.subset.keywords import SILENT, VALIDATION
from toolhaft.formats.subset.walk import LoweredNode, Walk
from toolhaft.schema.json_text import to_json_text
from toolhaft.schema.json_value import JSONObject, JSONValue

_LONGEST: Final = 200


def _counted(words: str, unit: str) -> Callable[[JSONValue], str]:
    return lambda number: f"{words} {_text(number)} {unit}{'' if number == 1 else 's'}"


def _prefixed(words: str) -> Callable[[JSONValue], str]:
    return lambda value: words + _text(value)


def _text(value: JSONValue) -> str:
    return str(value) if value.__class__ is int else to_json_text(value)


def _dependent(names: JSONValue) -> str:
    pairs = cast("Mapping[str, Sequence[str]]", names).items()
    return ", ".join(
        f"if {name} is given, so must be {' and '.join(others)}" for name, others in pairs if others
    )


_PHRASES: Final[Mapping[str, Callable[[JSONValue], str]]] = {
    "minimum": _prefixed("at least "),
    "maximum": _prefixed("at most "),
    "exclusiveMinimum": _prefixed("more than "),
    "exclusiveMaximum": _prefixed("less than "),
    "multipleOf": _prefixed("a multiple of "),
    "minLength": _counted("at least", "character"),
    "maxLength": _counted("at most", "character"),
    "minItems": _counted("at least", "item"),
    "maxItems": _counted("at most", "item"),
    "minProperties": _counted("at least", "key"),
    "maxProperties": _counted("at most", "key"),
    "uniqueItems": lambda _value: "no item twice",
    "pattern": lambda value: f"pattern: {value}",
    "format": lambda value: f"format: {value}",
    "default": _prefixed("default: "),
    "const": _prefixed("always "),
    "enum": _prefixed("one of "),
    "dependentRequired": _dependent,
}
_VACUOUS_VALUES: Final[Mapping[str, JSONValue]] = {
    "minLength": 0,
    "minItems": 0,
    "minProperties": 0,
    "uniqueItems": False,
}
_VACUOUS_IF_EMPTY: Final = frozenset(
    ("required", "dependentRequired", "dependentSchemas", "patternProperties", "properties", "prefixItems")
)
_VACUOUS_IF_TRUE: Final = frozenset(
    (
        "items",
        "additionalProperties",
        "propertyNames",
        "unevaluatedProperties",
        "unevaluatedItems",
        "then",
        "else",
    )
)


def constraint_text(keyword: str, value: JSONValue) -> str:
    """The constraint of a keyword as a short text; '' if it would be too long."""
    say = _PHRASES.get(keyword)
    text = f"{keyword}: {to_json_text(value)}" if say is None else say(value)
    text = text.replace('{"$ref":"#/definitions/', '{"$ref":"#/$defs/') if say is None else text
    return text if len(text) <= _LONGEST else ""


def is_vacuous(keyword: str, value: JSONValue) -> bool:
    """Whether the keyword, with this value, admits every value."""
    if keyword in _VACUOUS_VALUES:
        return value == _VACUOUS_VALUES[keyword]
    if keyword in _VACUOUS_IF_EMPTY:
        return not value
    return keyword in _VACUOUS_IF_TRUE and (value is True or value == {})


def add_notes(description: JSONValue, notes: Sequence[str]) -> str:
    """A description with notes appended."""
    text = description if isinstance(description, str) else ""
    if not notes:
        return text
    listed = notes[0] if len(notes) == 1 else ", ".join(filter(None, dict.fromkeys(notes)))
    if not listed:
        return text
    if text:
        return f"{text} ({listed})"
    return listed if listed.split(":", 1)[0] in VALIDATION else f"{listed[0].upper()}{listed[1:]}"


def move_to_description(
    walk: Walk, node: JSONObject, keyword: str, notes: list[str], otherwise: Done = "checked locally"
) -> None:
    """Adds a keyword's constraint to the notes if it is short, and reports what happened to it."""
    constraint = node[keyword]
    if is_vacuous(keyword, constraint):
        return
    words = constraint_text(keyword, constraint) if walk.rules.takes("description") else ""
    if words:
        notes.append(words)
        walk.report(node, keyword, "moved to description", words)
    else:
        walk.report(node, keyword, otherwise)


_ALWAYS: Final = frozenset(("$comment", "$schema"))


def with_annotations(walk: Walk, node: JSONObject, low: LoweredNode, notes: list[str]) -> JSONObject:
    """The lowered schema with the annotations of the original, in the original order."""
    annotations: JSONObject = {}
    for key, value in node.items():
        if key not in VALIDATION and key != "description" and _is_kept(walk, node, key, low, notes):
            annotations[key] = value
    description = node.get("description", low.schema.get("description"))
    if walk.rules.takes("description"):
        words = add_notes(description, notes)
        if words or description == "":
            annotations["description"] = words
    elif "description" in node:
        walk.report(node, "description", "left out")
    if not annotations:
        return low.schema
    whole: JSONObject = {**low.schema, **annotations}
    first = () if "type" in node else ("type",)
    return {**{key: whole[key] for key in (*first, *node) if key in whole}, **whole}


def annotated_reference(walk: Walk, node: JSONObject, low: LoweredNode, notes: list[str]) -> LoweredNode:
    """As `with_annotations`, but without siblings of a reference where the target accepts none."""
    whole = with_annotations(walk, node, low, notes)
    if "$ref" not in whole or len(whole) == 1 or walk.subset.ref_siblings:
        return LoweredNode(whole, low.mapping)
    if not walk.rules.takes("anyOf"):
        walk.report(node, "$ref", "left out", "its siblings")
        return low
    words: JSONObject = {key: value for key, value in whole.items() if key != "$ref"}
    return LoweredNode({"anyOf": [{"$ref": whole["$ref"]}], **words}, low.mapping)


def _is_kept(walk: Walk, node: JSONObject, key: str, low: LoweredNode, notes: list[str]) -> bool:
    """Whether an annotation is kept; if not, it is moved to the notes or reported."""
    if key in SILENT:
        return walk.rules.keywords is None and key in _ALWAYS
    if key == "nullable" and walk.subset.null == "nullable":
        walk.report(node, key, "left out", "JSON Schema does not define it")
        return False
    is_mapped = low.mapping is not None and node[key] is not None
    if key == "default" and (is_mapped or not walk.rules.takes(key)):
        means_absent = node[key] is None and walk.subset.all_required
        if not (means_absent and "null" in admitted_types(walk.root, node)):
            move_to_description(walk, node, key, notes, "left out")
        return False
    if not walk.rules.takes(key):
        walk.report(node, key, "left out")
        return False
    return True
