"""Rewrites a pydantic core schema so that it is as strict as JSON and closed to unknown keys.

Knows core schemas only. Strict pydantic alone takes `true` for 1, NaN for Any, an object for a NamedTuple.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final, cast

from pydantic_core.core_schema import CoreSchema

from toolhaft.schema import strict_core
from toolhaft.schema.strict_core import core

Node = dict[str, object]

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
_MANY: Final = frozenset(("dict", "frozenset", "list", "set", "tuple"))
_RECORDS: Final = frozenset(("model", "dataclass", "typed-dict"))


def tighten(schema: CoreSchema) -> CoreSchema:
    """The same schema, stricter; the given one is not changed."""
    return cast("CoreSchema", _tighten(cast("Node", schema)))


def hasten(schema: CoreSchema) -> CoreSchema:
    """The same schema, but each list, set, tuple and dict gives up at its first problem."""
    return cast("CoreSchema", _hasten(schema))


def _hasten(part: object) -> object:
    if isinstance(part, dict):
        node = {key: _hasten(value) for key, value in cast("Node", part).items()}
        return {**node, "fail_fast": True} if node.get("type") in _MANY else node
    if isinstance(part, list):
        return [_hasten(value) for value in cast("list[object]", part)]
    if type(part) is tuple:
        return tuple(_hasten(value) for value in cast("tuple[object, ...]", part))
    return part


def _tighten(node: Node) -> Node:
    kind = cast("str", node.get("type", ""))
    if kind == "json-or-python":
        # only JSON ever comes in
        return _swap(node, cast("CoreSchema", _tighten(cast("Node", node["json_schema"]))))
    new = _tighten_children(node)
    if new.get("strict") is False:
        del new["strict"]
    if kind in _RECORDS:
        return _close(new)
    rule = _RULES.get(kind)
    return new if rule is None else rule(new)


def _tighten_children(node: Node) -> Node:
    new = dict(node)
    for slot in _CHILD:
        child = node.get(slot)
        if isinstance(child, dict):
            new[slot] = _tighten(cast("Node", child))
    for slot in _CHILDREN:
        child = node.get(slot)
        if isinstance(child, list):
            new[slot] = [_tighten_choice(choice) for choice in cast("list[object]", child)]
        elif isinstance(child, dict) and slot in ("choices", "fields"):
            new[slot] = {
                key: _tighten_choice(choice) for key, choice in cast("Mapping[str, object]", child).items()
            }
    return new


def _tighten_choice(choice: object) -> object:
    if isinstance(choice, dict):
        return _tighten(cast("Node", choice))
    if isinstance(choice, tuple):  # a union's choice with its label
        schema, *label = cast("tuple[object, ...]", choice)
        return (_tighten(cast("Node", schema)), *label)
    return choice  # a tagged union's alias to another choice


def _close(node: Node) -> Node:
    """A record refuses unknown keys unless its author opened it, and checks its fields strictly."""
    config = cast("Node", node.get("config") or {})
    fields = cast("Node", node["schema"]) if "schema" in node else node
    behavior = fields.pop("extra_behavior", None) or config.get("extra_fields_behavior")
    extra = "allow" if behavior == "allow" else "forbid"
    node["config"] = {**config, "strict": True, "allow_inf_nan": False, "extra_fields_behavior": extra}
    if node["type"] == "typed-dict":
        node["extra_behavior"] = extra
    else:
        # a record after a user's own validator arrives as a Python dict, which a strict record refuses
        node["strict"] = False
    return node


def _any(node: Node) -> Node:
    return _swap(node, strict_core.ANY)


def _finite(node: Node) -> Node:
    return {**node, "allow_inf_nan": False}


def _float(node: Node) -> Node:
    step = node.pop("multiple_of", None)
    node = _finite(node)
    return (
        node
        if step is None
        else _swap(node, strict_core.after(strict_core.multiple_of(cast("float", step)), core(**node)))
    )


def _literal(node: Node) -> Node:
    return _swap(node, strict_core.literal(cast("list[object]", node["expected"])))


def _enum(node: Node) -> Node:
    return _swap(
        node, strict_core.enumeration(cast("type", node["cls"]), cast("list[Enum]", node["members"]))
    )


def _text(node: Node) -> Node:
    read = strict_core.TEXT_TYPES[cast("str", node["type"])]
    bounds = {
        key
        for key in node
        if key not in ("type", "ref", "metadata", "serialization", "strict", "microseconds_precision")
    }
    if node["type"] == "timedelta" or not bounds:
        return _swap(node, read)
    rest = {key: value for key, value in node.items() if key != "ref"}
    return _swap(
        node, strict_core.chain(read, core(**_finite(rest)) if node["type"] == "decimal" else core(**rest))
    )


def _unique(node: Node) -> Node:
    kind = set if node["type"] == "set" else frozenset
    bounds = {key: node[key] for key in ("min_length", "max_length") if node.get(key) is not None}
    items = cast("CoreSchema", node.get("items_schema") or strict_core.ANY)
    return _swap(node, strict_core.unique(kind, items, **bounds))


def _generator(node: Node) -> Node:
    """Checked whole and handed over as a list: a lazy check would fail inside the handler."""
    bounds = {key: node[key] for key in ("min_length", "max_length") if node.get(key) is not None}
    return _swap(node, core(type="list", items_schema=node.get("items_schema") or strict_core.ANY, **bounds))


def _call(node: Node) -> Node:
    """What older pydantic makes of a NamedTuple: a call of its class."""
    if not hasattr(node["function"], "_fields"):
        return node
    arguments = cast("Node", node["arguments_schema"])
    return _array_of(node, node["function"], cast("list[Node]", arguments["arguments_schema"]))


def _named_tuple(node: Node) -> Node:
    return _array_of(node, node["cls"], cast("list[Node]", node["fields"]))


def _array_of(node: Node, cls: object, fields: list[Node]) -> Node:
    """A NamedTuple is an array in JSON; its own schema would also take an object."""
    items = core(type="tuple", items_schema=[field["schema"] for field in fields], strict=False)
    return _swap(node, strict_core.after(strict_core.by_position(cast("Callable[..., object]", cls)), items))


def _lenient(node: Node) -> Node:
    """A tuple or bytes after a user's own validator is no longer JSON; from JSON only one form can come."""
    return {**node, "strict": False}


def _keyed(node: Node) -> Node:
    """An integer key is text in JSON, in one form only: "1" and "01" would be one key in Python."""
    keys = cast("Node", node.get("keys_schema") or {})
    if keys.get("type") == "int":
        node = {**node, "keys_schema": strict_core.int_key()}
    return _contents(node)


def _contents(node: Node) -> Node:
    if node.get("items_schema") or node.get("values_schema"):
        return node
    return _swap(
        node,
        strict_core.after(
            strict_core.require_finite, core(**{key: value for key, value in node.items() if key != "ref"})
        ),
    )


def _swap(node: Node, new: CoreSchema) -> Node:
    """The new schema under the old one's name, so that references still find it."""
    swapped = dict(cast("Node", new))
    if "ref" in node:
        swapped["ref"] = node["ref"]
    return swapped


_RULES: Final[Mapping[str, Callable[[Node], Node]]] = {
    "any": _any,
    "float": _float,
    "literal": _literal,
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
    "named-tuple": _named_tuple,
    "tuple": _lenient,
    "bytes": _lenient,
    "list": _contents,
    "dict": _keyed,
}
