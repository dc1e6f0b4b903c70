"""Finds the rules of a subset that a lowered schema breaks; independent of the engine."""

import re

from toolhaft.schema.json_schema import subschemas

DOCUMENT = {"$ref", "$defs"}
REFS = ("$ref", "$dynamicRef", "$recursiveRef")
VALIDATING = {"type", "enum", "const", "anyOf", "oneOf", "allOf", "properties", "items"}


def broken_rules(schema, subset):
    """Every rule of the subset that the schema breaks, by place."""
    return list(_broken(schema, subset, schema, "", is_root=True))


def _broken(node, subset, root, place, *, is_root=False):
    checks = (_keywords, _references, _types, _objects, _arrays, _values)
    for check in checks:
        for problem in check(node, subset, root, is_root):
            yield f"{place or '/'}: {problem}"
    if is_root:
        yield from _root(node, subset)
    for key, child in subschemas(node):
        yield from _broken(child, subset, root, f"{place}/{key}")


def _root(node, subset):
    if node.get("type") != "object":
        yield "the root is no object"
    yield from (f"{key} at the root" for key in node.keys() & subset.root_banned)
    if subset.root != "keep":
        yield from (f"{key} at the root" for key in node.keys() & {"anyOf", "oneOf", "allOf"})
    if subset.root_keys is not None:
        bad = [name for name in node.get("properties", {}) if not re.fullmatch(subset.root_keys, name)]
        yield from (f"property {name!r}" for name in bad)
    if subset.nested == "describe":
        for name, child in node.get("properties", {}).items():
            if child.keys() & {"properties", "anyOf", "oneOf", "allOf", "$ref"}:
                yield f"{name} has an inside"


def _keywords(node, subset, root, is_root):
    allowed = subset.keywords
    if allowed is None:
        return
    extra = set(DOCUMENT) if subset.refs == "keep" or subset.recursion == "keep" else set()
    extra |= {"additionalProperties"} if subset.closed else set()
    extra |= {"nullable"} if subset.null == "nullable" else set()
    yield from (f"keyword {key}" for key in node.keys() - allowed - extra)
    if subset.formats is not None and "format" in node and node["format"] not in subset.formats:
        yield f"format {node['format']}"


def _references(node, subset, root, is_root):
    held = [key for key in REFS if key in node]
    if not held or subset.keywords is None:
        return
    if subset.refs == "inline" and subset.recursion != "keep":
        yield "a reference"
    if held != ["$ref"]:
        yield f"references {held}"
    elif not node["$ref"].startswith("#/$defs/") or node["$ref"][8:] not in root.get("$defs", {}):
        yield f"dangling {node['$ref']}"
    if not subset.ref_siblings and len(node) > 1:
        yield "siblings of a reference"


def _types(node, subset, root, is_root):
    kind = node.get("type")
    if isinstance(kind, list) and not subset.type_lists:
        yield "a list of types"
    if subset.null == "nullable" and (kind == "null" or (isinstance(kind, list) and "null" in kind)):
        yield "null as a type"
    if subset.any != "keep" and not node.keys() & (VALIDATING | set(REFS)):
        yield "takes anything"


def _objects(node, subset, root, is_root):
    if node.get("type") != "object" and "object" not in (node.get("type") or ()):
        return
    names, required = node.get("properties", {}), node.get("required", [])
    other = node.get("additionalProperties")
    if subset.closed and other is not False:
        yield "not closed"
    if subset.all_required and set(names) != set(required):
        yield "not all required"
    if subset.some_required and not required:
        yield "none required"
    if subset.maps != "keep" and (other or other == {} or "patternProperties" in node):
        yield "a map"
    says_closed = subset.closed or "additionalProperties" in (subset.keywords or {"additionalProperties"})
    if subset.any != "keep" and not names and other is not False and says_closed and not is_root:
        yield "an object with any keys"


def _arrays(node, subset, root, is_root):
    if subset.tuples != "keep" and "prefixItems" in node:
        yield "a tuple"
    if (
        node.get("type") == "array"
        and (subset.items_needed or subset.any != "keep")
        and not isinstance(node.get("items"), dict)
    ):
        yield "an array of anything"
    if subset.min_items is not None and node.get("minItems", 0) > subset.min_items:
        yield "minItems"


def _values(node, subset, root, is_root):
    values = [node["const"]] if "const" in node else node.get("enum", [])
    if subset.enums == "text":
        values = [value for value in values if not (value is None and subset.null == "type")]
    if subset.enums == "scalar" and any(isinstance(value, dict | list) for value in values):
        yield "an enum of objects"
    if subset.enums == "plain" and any(
        value is None or isinstance(value, bool | dict | list) for value in values
    ):
        yield f"an enum of {values}"
    if subset.enums == "text" and not all(isinstance(value, str) and value for value in values):
        yield f"an enum of {values}"
    if subset.patterns != "any" and "(?" in str(node.get("pattern", "")):
        yield "a fancy pattern"
    if subset.patterns == "unanchored" and set("^$") & set(str(node.get("pattern", ""))):
        yield "an anchored pattern"
