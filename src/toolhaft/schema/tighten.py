"""Rewrites a pydantic core schema so that it is as strict as JSON and refuses unknown keys.

Pydantic's own strict mode accepts `true` for 1, NaN for Any and an object for a NamedTuple.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final, cast

from pydantic_core.core_schema import CoreSchema

from toolhaft.schema import patterns, strict_core
from toolhaft.schema.strict_core import CoreNode, core

_CHILD: Final = (
    "schema",
    "items_schema",
    "keys_schema",
    "values_schema",
    "extras_schema",
    "json_schema",
    "python_schema",
    "lax_schema",
    "strict_schema",
    "arguments_schema",
    "var_args_schema",
    "var_kwargs_schema",
    "return_schema",
)
_CHILDREN: Final = ("steps", "choices", "definitions", "fields", "items_schema", "arguments_schema")
_CONTAINERS: Final = frozenset(("dict", "frozenset", "list", "set", "tuple"))
_RECORDS: Final = frozenset(("model", "dataclass", "typed-dict"))


def tighten(schema: CoreSchema) -> CoreSchema:
    """Return a stricter copy of the schema."""
    return cast("CoreSchema", _tighten(cast("CoreNode", schema)))


def fail_fast(schema: CoreSchema) -> CoreSchema:
    """Return a copy in which each list, set, tuple and dict stops at its first problem."""
    return cast("CoreSchema", _fail_fast(schema))


def _fail_fast(part: object) -> object:
    if isinstance(part, dict):
        node = {key: _fail_fast(value) for key, value in cast("CoreNode", part).items()}
        return {**node, "fail_fast": True} if node.get("type") in _CONTAINERS else node
    if isinstance(part, list):
        return [_fail_fast(value) for value in cast("list[object]", part)]
    if type(part) is tuple:
        return tuple(_fail_fast(value) for value in cast("tuple[object, ...]", part))
    return part


def _tighten(node: CoreNode) -> CoreNode:
    kind = cast("str", node.get("type", ""))
    if kind == "json-or-python":
        # the input is always JSON
        return _replace(node, cast("CoreSchema", _tighten(cast("CoreNode", node["json_schema"]))))
    new = map_children(node, _tighten)
    if new.get("strict") is False:
        del new["strict"]
    if kind in _RECORDS:
        return _close(new)
    rule = _RULES.get(kind)
    return new if rule is None else rule(new)


def map_children(node: CoreNode, change: Callable[[CoreNode], CoreNode]) -> CoreNode:
    """Return a copy of the node with each schema directly inside it changed."""
    new = dict(node)
    for slot in _CHILD:
        child = node.get(slot)
        if isinstance(child, dict):
            new[slot] = change(cast("CoreNode", child))
    for slot in _CHILDREN:
        child = node.get(slot)
        if isinstance(child, list):
            new[slot] = [_change_choice(choice, change) for choice in cast("list[object]", child)]
        elif isinstance(child, dict) and slot in ("choices", "fields"):
            new[slot] = {
                key: _change_choice(choice, change)
                for key, choice in cast("Mapping[str, object]", child).items()
            }
    return new


def _change_choice(choice: object, change: Callable[[CoreNode], CoreNode]) -> object:
    if isinstance(choice, dict):
        return change(cast("CoreNode", choice))
    if isinstance(choice, tuple):  # a union's choice with its label
        schema, *label = cast("tuple[object, ...]", choice)
        return (change(cast("CoreNode", schema)), *label)
    return choice  # a tagged union's alias to another choice


def _close(node: CoreNode) -> CoreNode:
    """Make a record refuse unknown keys, unless its author allows them, and check its fields strictly."""
    config = cast("CoreNode", node.get("config") or {})
    fields = cast("CoreNode", node["schema"]) if "schema" in node else node
    behavior = fields.pop("extra_behavior", None) or config.get("extra_fields_behavior")
    extra = "allow" if behavior == "allow" else "forbid"
    if extra == "allow" and fields.get("type") in ("model-fields", "typed-dict"):
        fields.setdefault("extras_schema", strict_core.ANY)  # not finite numbers are refused there too
    node["config"] = {**config, "strict": True, "allow_inf_nan": False, "extra_fields_behavior": extra}
    if node["type"] == "typed-dict":
        node["extra_behavior"] = extra
    else:
        # a user's validator may return a Python dict, which a strict record would refuse
        node["strict"] = False
    return node


def _string(node: CoreNode) -> CoreNode:
    """Match a pattern as JSON Schema does, whichever engine the model's configuration names."""
    pattern = node.get("pattern")
    if pattern is None:
        return node
    rest = {key: value for key, value in node.items() if key not in ("pattern", "ref", "regex_engine")}
    return _replace(node, strict_core.matching(patterns.plain_pattern(pattern), core(**rest)))


def _union(node: CoreNode) -> CoreNode:
    """Label each branch, so that no two have the same name in the locations of errors."""
    choices = cast("list[object]", node["choices"])
    schemas = [cast("tuple[object, str]", each)[0] if isinstance(each, tuple) else each for each in choices]
    return {**node, "choices": [(each, strict_core.branch_label(n)) for n, each in enumerate(schemas)]}


def _finite(node: CoreNode) -> CoreNode:
    return {**node, "allow_inf_nan": False}


def _float(node: CoreNode) -> CoreNode:
    step = node.pop("multiple_of", None)
    node = _finite(node)
    if step is None:
        return node
    return _replace(node, strict_core.after(strict_core.multiple_of(cast("float", step)), core(**node)))


def _enum(node: CoreNode) -> CoreNode:
    return _replace(
        node, strict_core.enumeration(cast("type", node["cls"]), cast("list[Enum]", node["members"]))
    )


def _text(node: CoreNode) -> CoreNode:
    read = strict_core.TEXT_TYPES[cast("str", node["type"])]
    bounds = {
        key
        for key in node
        if key not in ("type", "ref", "metadata", "serialization", "strict", "microseconds_precision")
    }
    if node["type"] == "timedelta" or not bounds:
        return _replace(node, read)
    rest = {key: value for key, value in node.items() if key != "ref"}
    return _replace(
        node, strict_core.chain(read, core(**_finite(rest)) if node["type"] == "decimal" else core(**rest))
    )


def _unique(node: CoreNode) -> CoreNode:
    kind = set if node["type"] == "set" else frozenset
    return _replace(node, strict_core.unique(kind, **_items_and_lengths(node)))


def _generator(node: CoreNode) -> CoreNode:
    """Check all items at once and pass a list: a lazy check would fail inside the handler."""
    return _replace(node, core(type="list", **_items_and_lengths(node)))


def _items_and_lengths(node: CoreNode) -> dict[str, Any]:
    bounds = {key: node[key] for key in ("min_length", "max_length") if node.get(key) is not None}
    return {"items_schema": node.get("items_schema") or strict_core.ANY, **bounds}


def _call(node: CoreNode) -> CoreNode:
    """Older pydantic versions represent a NamedTuple as a call of its class."""
    if not hasattr(node["function"], "_fields"):
        return node
    arguments = cast("CoreNode", node["arguments_schema"])
    return _array_of(node, node["function"], cast("list[CoreNode]", arguments["arguments_schema"]))


def _array_of(node: CoreNode, cls: object, fields: list[CoreNode]) -> CoreNode:
    """A NamedTuple is an array in JSON; pydantic's schema would also accept an object."""
    items = core(type="tuple", items_schema=[field["schema"] for field in fields], strict=False)
    return _replace(
        node, strict_core.after(strict_core.by_position(cast("Callable[..., object]", cls)), items)
    )


def _lenient(node: CoreNode) -> CoreNode:
    """Not strict: a user's validator may return a Python tuple or bytes; JSON has only one form of each."""
    return {**node, "strict": False}


def _dict(node: CoreNode) -> CoreNode:
    """Accept an integer key in one text form only: "1" and "01" would be the same key in Python."""
    keys = cast("CoreNode", node.get("keys_schema") or {})
    if keys.get("type") == "int":
        node = {**node, "keys_schema": strict_core.INT_KEY}
    elif keys and node.get("values_schema"):
        rest = {key: value for key, value in node.items() if key not in ("ref", "type")}
        return _replace(node, strict_core.dictionary(**rest))
    return _untyped_contents(node)


def _untyped_contents(node: CoreNode) -> CoreNode:
    if node.get("items_schema") or node.get("values_schema"):
        return node
    return _replace(
        node,
        strict_core.after(
            strict_core.require_finite, core(**{key: value for key, value in node.items() if key != "ref"})
        ),
    )


def _replace(node: CoreNode, new: CoreSchema) -> CoreNode:
    """Return the new schema with the reference name of the old one."""
    replaced = dict(cast("CoreNode", new))
    if "ref" in node:
        replaced["ref"] = node["ref"]
    return replaced


_RULES: Final[Mapping[str, Callable[[CoreNode], CoreNode]]] = {
    "any": lambda node: _replace(node, strict_core.ANY),
    "float": _float,
    "str": _string,
    "literal": lambda node: _replace(node, strict_core.literal(cast("list[object]", node["expected"]))),
    "enum": _enum,
    "datetime": _text,
    "date": _text,
    "time": _text,
    "timedelta": _text,
    "uuid": _text,
    "decimal": _text,
    "set": _unique,
    "frozenset": _unique,
    "generator": _generator,
    "call": _call,
    "named-tuple": lambda node: _array_of(node, node["cls"], cast("list[CoreNode]", node["fields"])),
    "tuple": _lenient,
    "union": _union,
    "bytes": _lenient,
    "list": _untyped_contents,
    "dict": _dict,
}
