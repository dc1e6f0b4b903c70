"""Walks JSON Schemas (Draft 7 and 2020-12): subschemas, references, admitted types."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, cast
from urllib.parse import unquote

from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.patterns import matches

_CONTAINERS: Final = frozenset((dict, list))
BranchCheck = Callable[[JSONValue], bool]
REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
COMBINATORS: Final = ("allOf", "anyOf", "oneOf")
CONDITIONALS: Final = ("not", "if", "then", "else")
SINGLE: Final = frozenset(
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
NAMED: Final = frozenset(
    ("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")
)
TYPES: Final = frozenset(("array", "boolean", "integer", "null", "number", "object", "string"))


def subschemas(schema: JSONObject) -> Iterator[tuple[str, JSONObject]]:
    """Yield every schema directly inside a schema, with its keyword."""
    for key, value in schema.items():
        if isinstance(value, dict):
            if key in NAMED:
                yield from ((key, child) for child in value.values() if isinstance(child, dict))
            elif key in SINGLE:
                yield key, value
        elif isinstance(value, list) and key in _LISTS:
            yield from ((key, child) for child in value if isinstance(child, dict))


def placed_subschemas(schema: JSONObject) -> Iterator[tuple[str, JSONObject]]:
    """Yield every schema directly inside a schema, with the JSON pointer that leads to it."""
    for key, value in schema.items():
        if isinstance(value, dict) and key in NAMED:
            for name, child in value.items():
                if isinstance(child, dict):
                    yield f"{key}/{name.replace('~', '~0').replace('/', '~1')}", child
        elif isinstance(value, dict) and key in SINGLE:
            yield key, value
        elif isinstance(value, list) and key in _LISTS:
            yield from (
                (f"{key}/{number}", child) for number, child in enumerate(value) if isinstance(child, dict)
            )


def all_schemas(root: JSONValue) -> Iterator[JSONObject]:
    """Yield a schema and every schema inside it, at any depth; nothing for a boolean schema.

    A definition may be in a place that no keyword names, such as `#/components/schemas/Pet`.
    """
    if not isinstance(root, dict):
        return
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        waiting.extend(child for _, child in subschemas(node))
        reference = node.get("$ref")
        target = resolve(root, reference) if isinstance(reference, str) and reference[:2] == "#/" else None
        if isinstance(target, dict):
            waiting.append(target)


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
        if isinstance(value, dict) and key in NAMED:
            new[key] = {name: of(child) for name, child in value.items()}
        elif isinstance(value, dict) and key in SINGLE:
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
        node = member_at(node, part)
    return node


def member_at(node: JSONValue, part: str) -> JSONValue:
    """Return the member that one part of a JSON pointer leads to, or None."""
    name = part.replace("~1", "/").replace("~0", "~")
    if isinstance(node, list):
        return node[int(name)] if name.isdigit() and int(name) < len(node) else None
    return node.get(name) if isinstance(node, dict) else None


def _anchored(root: JSONObject, reference: str) -> JSONValue:
    """Find the schema with this anchor, in the syntax of any draft."""
    for node in all_schemas(root):
        anchors = (node.get("$anchor"), node.get("$dynamicAnchor"))
        if reference[1:] in anchors or reference in (node.get("$id"), node.get("id")):
            return node
    return None


def applied_schemas(root: JSONObject, schema: JSONValue) -> Iterator[JSONObject]:
    """Yield a schema and all that apply to the same value through references and combinators, each once."""
    return _reached(schema, lambda node: (*_always_applied(root, node), *_branches(node)))


def required_schemas(root: JSONObject, schema: JSONValue) -> Iterator[JSONObject]:
    """Yield a schema and all that the same value must fit: through references and allOf, each once."""
    return _reached(schema, lambda node: _always_applied(root, node))


def _reached(schema: JSONValue, find: Callable[[JSONObject], Iterable[JSONValue]]) -> Iterator[JSONObject]:
    waiting: list[JSONValue] = [schema]
    seen: set[int] = set()
    for node in waiting:  # grows
        if isinstance(node, dict) and id(node) not in seen:
            seen.add(id(node))
            yield node
            waiting.extend(find(node))


def _branches(node: JSONObject) -> Iterator[JSONValue]:
    """Yield the schemas that apply to the same value in some cases."""
    yield from alternatives(node)
    yield from (node[key] for key in ("then", "else") if key in node)
    for key in ("dependentSchemas", "dependencies"):
        named = node.get(key)
        yield from named.values() if isinstance(named, dict) else ()


def _always_applied(root: JSONObject, node: JSONObject) -> Iterator[JSONValue]:
    for key in REFERENCES:
        reference = node.get(key)
        if isinstance(reference, str):
            yield resolve(root, reference)
    branches = node.get("allOf")
    yield from branches if isinstance(branches, list) else ()


def argument_schemas(root: JSONObject) -> JSONObject:
    """Return the schema of each argument that a tool's schema declares, also by reference or in a branch."""
    found: JSONObject = {}
    for node in applied_schemas(root, root):
        properties = node.get("properties")
        for name, schema in properties.items() if isinstance(properties, dict) else ():
            found.setdefault(name, schema)
    return found


def required_arguments(root: JSONObject) -> list[str]:
    """Return the arguments that every call needs."""
    lists = (node.get("required") for node in required_schemas(root, root))
    names = (name for listed in lists if isinstance(listed, list) for name in listed)
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def children_at(root: JSONObject, schema: JSONValue, part: str | int) -> list[JSONValue]:
    """Return the schemas that apply, or may apply, to a member of a value."""
    found: list[JSONValue] = []
    for node in applied_schemas(root, schema):
        child = _property(node, part) if isinstance(part, str) else _item(node, part)
        if child is not None:
            found.append(child)
    return found


def member_schemas(
    root: JSONObject,
    schema: JSONValue,
    part: str | int,
    types: dict[int, frozenset[str]],
    *,
    fits: BranchCheck | None = None,
) -> list[JSONValue]:
    """Return the schemas that may admit a member; a branch that does not mention it admits anything.

    Args:
        root: the whole schema.
        schema: the part of it for the value that has the member.
        part: the member's name or index.
        types: the results of `types_of` so far, by the schema's id.
        fits: refuses branches that do not count.
    """
    holder = "object" if isinstance(part, str) else "array"
    known: dict[int, list[JSONValue]] = {}  # references may lead to one schema in many ways

    def visit(node: JSONValue) -> list[JSONValue]:
        if not isinstance(node, dict):
            return []
        if id(node) not in known:
            known[id(node)] = []
            known[id(node)] = unique(find(node))
        return known[id(node)]

    def find(node: JSONObject) -> list[JSONValue]:
        child = _property(node, part) if isinstance(part, str) else _item(node, part)
        found: list[JSONValue] = [] if child is None else [child]
        for branch in _always_applied(root, node):
            found += visit(branch)
        for branch in alternatives(node):
            if holder in types_of(root, branch, types) and (fits is None or fits(branch)):
                found += visit(branch) or ([] if found else [True])
        return found

    return visit(schema)


def alternatives(schema: JSONObject) -> Iterator[JSONValue]:
    """Yield the branches of a schema."""
    for key in ("anyOf", "oneOf"):
        branches = schema.get(key)
        yield from branches if isinstance(branches, list) else ()


def contradicts(root: JSONObject, schema: JSONValue, value: JSONObject) -> bool:
    """True if a text in an object is not the one that the schema wants there, such as its `kind`."""
    for node in required_schemas(root, schema):
        properties = node.get("properties")
        if isinstance(properties, dict) and any(
            isinstance(text, str) and _excludes(properties.get(name), text) for name, text in value.items()
        ):
            return True
    return False


def _excludes(schema: JSONValue, text: str) -> bool:
    """True if the schema lists its values and the text is none of them."""
    if not isinstance(schema, dict):
        return False
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    return isinstance(values, list) and text not in values


def optional_declarations(
    root: JSONObject, schema: JSONValue, name: str, fits: BranchCheck
) -> list[JSONValue]:
    """Return what a schema, with its branches that fit, declares for a property that may be left out.

    Nothing for a property that is required in every branch.
    """
    found: list[JSONValue] = []
    nodes = list(required_schemas(root, schema))
    if any(name in listed for node in nodes if isinstance(listed := node.get("required"), list)):
        return found
    seen = {id(node) for node in nodes}
    for node in nodes:  # grows
        properties = node.get("properties")
        if isinstance(properties, dict) and name in properties:
            found.append(properties[name])
        for branch in _branches(node):
            if isinstance(branch, dict) and id(branch) not in seen and fits(branch):
                nodes += [each for each in required_schemas(root, branch) if id(each) not in seen]
                seen.update(map(id, nodes))
    return found


def _property(node: JSONObject, name: str) -> JSONValue:
    properties = node.get("properties")
    if isinstance(properties, dict) and name in properties:
        return properties[name]
    patterns = node.get("patternProperties")
    for pattern, schema in patterns.items() if isinstance(patterns, dict) else ():
        if matches(pattern, name):
            return schema
    return node.get("additionalProperties")


def _item(node: JSONObject, index: int) -> JSONValue:
    items = node.get("items")
    listed = node.get("prefixItems", items)
    if isinstance(listed, list):
        if index < len(listed):
            return listed[index]
        return items if isinstance(items, dict) else node.get("additionalItems")
    return items


def types_of(
    root: JSONObject, schema: JSONValue, known: dict[int, frozenset[str]] | None = None
) -> frozenset[str]:
    """Return the JSON types that a schema admits; all types if it does not restrict them.

    `known` has the results so far, by the schema's id: references may lead to one schema in many ways.
    """
    if schema is False:
        return frozenset()
    if not isinstance(schema, dict):
        return TYPES
    known = {} if known is None else known
    if id(schema) in known:
        return known[id(schema)]
    known[id(schema)] = TYPES  # for a reference that leads back here
    admitted = _own_types(schema)
    if isinstance(schema.get("$ref"), str):
        admitted &= types_of(root, resolve(root, cast("str", schema["$ref"])), known)
    for branch in cast("list[JSONValue]", schema.get("allOf", [])):
        admitted &= types_of(root, branch, known)
    for key in ("anyOf", "oneOf"):
        branches = schema.get(key)
        if isinstance(branches, list):
            admitted &= frozenset[str]().union(*(types_of(root, branch, known) for branch in branches))
    known[id(schema)] = admitted
    return admitted


def _own_types(schema: JSONObject) -> frozenset[str]:
    declared = schema.get("type")
    if isinstance(declared, str):
        types = frozenset((declared,))
    elif isinstance(declared, list):
        types = frozenset(name for name in declared if isinstance(name, str))
    else:
        types = TYPES
    if "number" in types:
        types |= {"integer"}
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list):
        types &= {type_name(value) for value in values}
    excluded = schema.get("not")
    if isinstance(excluded, dict) and excluded.keys() == {"type"}:
        types -= _own_types(excluded)
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
