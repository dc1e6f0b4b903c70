"""Walks JSON Schemas (Draft 7 and 2020-12): subschemas, references, admitted types."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, cast
from urllib.parse import unquote

from toolhaft.schema.json_value import JSONObject, JSONValue

_CONTAINERS: Final = frozenset((dict, list))
COMBINATORS: Final = ("allOf", "anyOf", "oneOf")
CONDITIONALS: Final = ("not", "if", "then", "else")
_SINGLE: Final = frozenset(
    (
        *CONDITIONALS,
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "items",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
    )
)
_LISTS: Final = frozenset((*COMBINATORS, "items", "prefixItems"))
_NAMED: Final = frozenset(
    ("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")
)
_MAX_DEPTH: Final = 50
TYPES: Final = frozenset(("array", "boolean", "integer", "null", "number", "object", "string"))


def subschemas(schema: JSONObject) -> Iterator[tuple[str, JSONObject]]:
    """Yield every schema directly inside a schema, with its keyword."""
    for key, value in schema.items():
        if isinstance(value, dict):
            if key in _NAMED:
                yield from ((key, child) for child in value.values() if isinstance(child, dict))
            elif key in _SINGLE:
                yield key, value
        elif isinstance(value, list) and key in _LISTS:
            yield from ((key, child) for child in value if isinstance(child, dict))


def all_schemas(root: JSONValue) -> Iterator[JSONObject]:
    """Yield a schema and every schema inside it, at any depth; nothing for a boolean schema."""
    waiting = [root] if isinstance(root, dict) else []
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(child for _, child in subschemas(node))


def is_secret(node: JSONObject) -> bool:
    """True for the schema of a value that nobody may be shown."""
    return node.get("writeOnly") is True or node.get("format") == "password"


def holds_secret(schema: JSONValue) -> bool:
    """True if anything in a schema is secret."""
    waiting = [schema]
    for node in waiting:  # not by `all_objects`: every definition of a tool pays for this
        if node.__class__ is dict:
            members = cast("JSONObject", node)
            if ("writeOnly" in members or "format" in members) and is_secret(members):
                return True
            waiting += [child for child in members.values() if child.__class__ in _CONTAINERS]
        elif node.__class__ is list:
            waiting += cast("list[JSONValue]", node)
    return False


def all_objects(schema: JSONValue) -> Iterator[JSONObject]:
    """Every object anywhere in a schema, whether it is a schema or not."""
    waiting: list[JSONValue] = [schema]
    for node in waiting:
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def map_subschemas(schema: JSONObject, change: Callable[[JSONObject], JSONObject]) -> JSONObject:
    """Copy a schema and apply `change` to every schema directly inside it."""

    def of(child: JSONValue) -> JSONValue:
        return change(child) if isinstance(child, dict) else child

    new: JSONObject = {}
    for key, value in schema.items():
        if isinstance(value, dict) and key in _NAMED:
            new[key] = {name: of(child) for name, child in value.items()}
        elif isinstance(value, dict) and key in _SINGLE:
            new[key] = of(value)
        elif isinstance(value, list) and key in _LISTS:
            new[key] = [of(child) for child in value]
        else:
            new[key] = value
    return new


def unique(schemas: Iterable[JSONValue]) -> list[JSONValue]:
    """Drop repeated schemas: unions lead to the same one along many paths, twice as many per level."""
    return list({id(schema): schema for schema in schemas}.values())


def resolve(root: JSONObject, reference: str) -> JSONValue:
    """Return the target of a reference, or None if it is not inside this document."""
    own = root.get("$id")
    if isinstance(own, str) and own and reference.startswith(own):
        reference = reference.removeprefix(own) or "#"
    if reference == "#":
        return root
    if not reference.startswith("#/"):
        return _anchored(root, reference) if reference.startswith("#") else None
    node: JSONValue = root
    for part in unquote(reference[2:]).split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict):
            node = node.get(name)
        elif isinstance(node, list) and name.isdigit() and int(name) < len(node):
            node = node[int(name)]
        else:
            return None
    return node


def _anchored(root: JSONObject, reference: str) -> JSONValue:
    """Find the schema with this anchor, in the syntax of any draft."""
    for node in all_schemas(root):
        if reference[1:] in (node.get("$anchor"), node.get("$dynamicAnchor")) or node.get("$id") == reference:
            return node
    return None


def applied_schemas(root: JSONObject, schema: JSONValue) -> Iterator[JSONObject]:
    """Yield a schema and all that apply to the same value through references and combinators, each once."""
    waiting: list[JSONValue] = [schema]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop(0)
        if not isinstance(node, dict) or id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node.get("$ref"), str):
            waiting.append(resolve(root, cast("str", node["$ref"])))
        for key in COMBINATORS:
            branches = node.get(key)
            if isinstance(branches, list):
                waiting.extend(branches)
        waiting.extend(node[key] for key in ("then", "else") if key in node)


def children_at(root: JSONObject, schema: JSONValue, part: str | int) -> list[JSONValue]:
    """Return the schemas that apply, or may apply, to a member of a value."""
    found: list[JSONValue] = []
    for node in applied_schemas(root, schema):
        child = _property(node, part) if isinstance(part, str) else _item(node, part)
        if child is not None:
            found.append(child)
    return found


def member_schemas(root: JSONObject, schema: JSONValue, part: str | int, depth: int = 0) -> list[JSONValue]:
    """Return the schemas that may admit a member; a branch that does not mention it admits anything."""
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return []
    child = _property(schema, part) if isinstance(part, str) else _item(schema, part)
    found: list[JSONValue] = [] if child is None else [child]
    if isinstance(schema.get("$ref"), str):
        found += member_schemas(root, resolve(root, cast("str", schema["$ref"])), part, depth + 1)
    for branch in cast("list[JSONValue]", schema.get("allOf", [])):
        found += member_schemas(root, branch, part, depth + 1)
    holder = "object" if isinstance(part, str) else "array"
    for key in ("anyOf", "oneOf"):
        branches = schema.get(key)
        for branch in branches if isinstance(branches, list) else ():
            if holder in types_of(root, branch):
                found += member_schemas(root, branch, part, depth + 1) or ([] if found else [True])
    return found


def _property(node: JSONObject, name: str) -> JSONValue:
    properties = node.get("properties")
    if isinstance(properties, dict) and name in properties:
        return properties[name]
    patterns = node.get("patternProperties")
    for pattern, schema in patterns.items() if isinstance(patterns, dict) else ():
        try:
            if re.search(pattern, name):
                return schema
        except re.error:  # a pattern in another regex dialect: it cannot be matched here
            continue
    return node.get("additionalProperties")


def _item(node: JSONObject, index: int) -> JSONValue:
    items = node.get("items")
    listed = node.get("prefixItems", items)
    if isinstance(listed, list):
        if index < len(listed):
            return listed[index]
        return items if isinstance(items, dict) else node.get("additionalItems")
    return items


def types_of(root: JSONObject, schema: JSONValue, _open: frozenset[int] = frozenset()) -> frozenset[str]:
    """Return the JSON types that a schema admits; all types if it does not restrict them."""
    if schema is False:
        return frozenset()
    if not isinstance(schema, dict) or id(schema) in _open:
        return TYPES
    inside = _open | {id(schema)}
    admitted = _own_types(schema)
    if isinstance(schema.get("$ref"), str):
        admitted &= types_of(root, resolve(root, cast("str", schema["$ref"])), inside)
    for branch in cast("list[JSONValue]", schema.get("allOf", [])):
        admitted &= types_of(root, branch, inside)
    for key in ("anyOf", "oneOf"):
        branches = schema.get(key)
        if isinstance(branches, list):
            admitted &= frozenset[str]().union(*(types_of(root, branch, inside) for branch in branches))
    return admitted


def _own_types(schema: JSONObject) -> frozenset[str]:
    declared = schema.get("type")
    if isinstance(declared, str):
        types = frozenset((declared,))
    elif isinstance(declared, list):
        types = frozenset(cast("list[str]", declared))
    else:
        types = TYPES
    if "number" in types:
        types |= {"integer"}
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list):
        types &= {type_name(value) for value in values}
    return types


def type_name(value: object) -> str:
    """Return the JSON type of a Python value; 5.0 is an integer."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case _:
            return "object"
