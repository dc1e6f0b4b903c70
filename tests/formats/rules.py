"""Linters for what each provider documents about tool schemas."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import jsonschema_rs

from tests.formats.rules_subsets import SUBSETS, Rules
from tests.formats.rules_walk import depth, is_recursive, nodes, target

_OBJECT_WORDS: Final = frozenset(("properties", "required", "additionalProperties"))
_SAYS_SOMETHING: Final = frozenset(("type", "anyOf", "oneOf", "allOf", "enum", "const", "$ref"))
_LOOKAROUND: Final = re.compile(r"\(\?[=!<]|\\[1-9bB]")
_ANCHOR: Final = re.compile(r"(?<!\\)(?<!\[)[\^$]")
_TYPES_OF_FORMATS: Final = {"float": "number", "double": "number", "int32": "integer", "int64": "integer"}
_ANNOTATIONS: Final = frozenset(("description", "title", "default", "nullable", "examples"))


def lint(format: str, dialect: str, strict: bool, sent_schema: dict[str, Any]) -> list[str]:
    """What a provider's server would refuse in a tool's schema, each with its path; empty if nothing."""
    rules = SUBSETS[(format, dialect, strict)]
    found = [*_sound(sent_schema), *_root(sent_schema, rules)]
    for path, node in nodes(sent_schema):
        if isinstance(node, dict) or not (rules.booleans or path.endswith("/additionalProperties")):
            found += [
                f"{path or '/'}: {reported}"
                for check in _CHECKS
                for reported in check(sent_schema, node, rules)
            ]
    return found + list(_whole(sent_schema, rules))


def _sound(root: dict[str, Any]) -> Iterator[str]:
    try:
        jsonschema_rs.validator_for(root, offline=True)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        yield f"/: not a JSON Schema: {error!s:.120}"


def _root(root: dict[str, Any], rules: Rules) -> Iterator[str]:
    if root.get("type") != "object":
        yield f"/: the root is of type {root.get('type')!r}"
    yield from (f"/: {key} at the root" for key in sorted(rules.root_banned & root.keys()))
    if rules.root_keys:
        bad = [name for name in root.get("properties", {}) if not re.fullmatch(rules.root_keys, name)]
        yield from (f"/: property name {name!r}" for name in bad)
    if rules.flat_properties is not None:
        for name, child in root.get("properties", {}).items():
            yield from (f"/properties/{name}: {key}" for key in sorted(child.keys() - rules.flat_properties))


def _keywords(root: dict[str, Any], node: Any, rules: Rules) -> Iterator[str]:
    if isinstance(node, bool):
        yield f"a schema that is {node}"
        return
    if rules.keywords is not None:
        yield from (f"keyword {key}" for key in sorted(node.keys() - rules.keywords))
    if rules.types is not None and "type" in node:
        for name in node["type"] if isinstance(node["type"], list) else [node["type"]]:
            if name not in rules.types:
                yield f"type {name}"
    if isinstance(node.get("type"), list) and not rules.type_lists:
        yield "a list of types"
    if not rules.anything and not node.keys() & _SAYS_SOMETHING:
        yield "says nothing of what it takes"


def _references(root: dict[str, Any], node: Any, rules: Rules) -> Iterator[str]:
    if not isinstance(node, dict) or not isinstance(node.get("$ref"), str):
        return
    if not rules.anchors and target(root, node["$ref"]) is None:
        yield f"{node['$ref']} leads nowhere"
    elif rules.defs_only and not re.fullmatch(r"#|#/\$defs/[^/]+", node["$ref"]):
        yield f"{node['$ref']} leads elsewhere than to $defs"
    beside = {key for key in node if not key.startswith("$")}
    if not rules.ref_siblings and beside:
        yield f"{', '.join(sorted(beside))} beside $ref"


def _objects(root: dict[str, Any], node: Any, rules: Rules) -> Iterator[str]:
    if not isinstance(node, dict) or not ("properties" in node or _is(node, "object")):
        return
    properties, required = node.get("properties", {}), node.get("required", [])
    if rules.closed and node.get("additionalProperties") is not False:
        yield "an object that is not closed"
    if rules.all_required and sorted(required) != sorted(properties):
        yield f"required {sorted(required)} of {sorted(properties)}"
    if rules.some_required and not required:
        yield "an object without a required property"
    if rules.required_known:
        yield from (f"required {name!r} is no property" for name in required if name not in properties)
    if rules.properties_needed and not properties:
        yield "an object without properties"


def _typed_words(root: dict[str, Any], node: Any, rules: Rules) -> Iterator[str]:
    """Words that the strictest servers take only beside their own type."""
    if not isinstance(node, dict) or not rules.words_by_type:
        return
    if not _is(node, "object") and node.keys() & _OBJECT_WORDS:
        yield f"{', '.join(sorted(node.keys() & _OBJECT_WORDS))} on {node.get('type')}"
    if not _is(node, "array") and "items" in node:
        yield f"items on {node.get('type')}"
    if "enum" in node and not _is(node, "string"):
        yield f"enum on {node.get('type')}"
    if "anyOf" in node and node.keys() - {"anyOf"} - _ANNOTATIONS:
        yield f"{', '.join(sorted(node.keys() - {'anyOf'} - _ANNOTATIONS))} beside anyOf"


def _arrays(root: dict[str, Any], node: Any, rules: Rules) -> Iterator[str]:
    if not isinstance(node, dict) or not _is(node, "array"):
        return
    if rules.items_needed and not isinstance(node.get("items"), dict) and "prefixItems" not in node:
        yield "an array that does not say what is in it"
    if rules.min_items is not None and node.get("minItems", 0) > rules.min_items:
        yield f"minItems {node['minItems']}"


def _values(root: dict[str, Any], node: Any, rules: Rules) -> Iterator[str]:
    if not isinstance(node, dict):
        return
    values = node.get("enum", [])
    if rules.enum_types is not None:
        yield from (f"enum value {value!r:.40}" for value in values if type(value) not in rules.enum_types)
    if rules.enum_words and "" in values:
        yield "an empty enum value"
    if "enum" in node and not values:
        yield "an empty enum"
    if "allOf" in node and rules.all_of_without_refs and any("$ref" in branch for branch in node["allOf"]):
        yield "$ref in allOf"


def _texts(root: dict[str, Any], node: Any, rules: Rules) -> Iterator[str]:
    if not isinstance(node, dict):
        return
    form, pattern = node.get("format"), node.get("pattern", "")
    if form is not None and rules.formats is not None and form not in rules.formats:
        yield f"format {form}"
    if form is not None and rules.formats_by_type and not _is(node, _TYPES_OF_FORMATS.get(form, "string")):
        yield f"format {form} on {node.get('type')}"
    if rules.plain_patterns and _LOOKAROUND.search(pattern):
        yield f"pattern {pattern}"
    if rules.unanchored and _ANCHOR.search(pattern):
        yield f"an anchor in pattern {pattern}"


def _is(node: dict[str, Any], name: str) -> bool:
    kind = node.get("type")
    return kind == name or (isinstance(kind, list) and name in kind)


def _whole(root: dict[str, Any], rules: Rules) -> Iterator[str]:
    if rules.recursion == "none" and is_recursive(root):
        yield "/: it leads back to itself"
    if rules.recursion == "optional" and is_recursive(root, through_optional=False):
        yield "/: it leads back to itself through required properties"
    if rules.deepest is not None and depth(root) > rules.deepest:
        yield f"/: {depth(root)} levels"
    for name, count, most in _counts(root, rules):
        if most is not None and count > most:
            yield f"/: {count} {name}"


def _counts(root: dict[str, Any], rules: Rules) -> Iterator[tuple[str, int, int | None]]:
    found = [node for _, node in nodes(root) if isinstance(node, dict)]
    names = [name for node in found for name in node.get("properties", {})]
    enums = [node["enum"] for node in found if "enum" in node]
    texts = [str(value) for values in enums for value in values]
    optional = [
        name for node in found for name in node.get("properties", {}) if name not in node.get("required", [])
    ]
    unions = [node for node in found if "anyOf" in node or isinstance(node.get("type"), list)]
    yield "properties", len(names), rules.most_properties
    yield "enum values", len(texts), rules.most_enum_values
    for values in enums:
        if len(values) > 250:
            yield "characters in one enum", sum(len(str(value)) for value in values), rules.most_enum_chars
    written = [*names, *texts, *root.get("$defs", {})]
    yield "characters of names and values", sum(map(len, written)), rules.most_name_chars
    yield "optional parameters", len(optional), rules.most_optional
    yield "unions", len(unions), rules.most_unions


_CHECKS: Final[tuple[Callable[[dict[str, Any], Any, Rules], Iterator[str]], ...]] = (
    _keywords,
    _references,
    _objects,
    _typed_words,
    _arrays,
    _values,
    _texts,
)
