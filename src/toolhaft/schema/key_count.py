"""Counts the object keys behind a checked value, so that a repeated key shows without a second parse.

Knows core schemas. A number where every value has as many; a function of the checked value where it
depends; None where the value no longer tells (then the text is read again).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from pydantic_core.core_schema import CoreSchema

from toolhaft.schema.json_text import count_keys

Node = dict[str, Any]
Count = int | Callable[[Any], int] | None


def key_count(schema: CoreSchema) -> Count:
    """How to count the keys behind a value that this schema accepted."""
    return _count(cast("Node", schema))


def _count(node: Node) -> Count:
    kind = node["type"]
    if kind in _SCALARS:
        return 0
    metadata = node.get("metadata")
    if isinstance(metadata, dict) and "toolhaft_keys" in metadata:
        return cast("int", metadata["toolhaft_keys"])
    rule = _RULES.get(kind)
    return None if rule is None else rule(node)


def _number(count: Count) -> int | None:
    return count if isinstance(count, int) else None


def _after(node: Node) -> Count:
    """A function may return anything, so only a count that needs no value survives it."""
    inner: Node = node["schema"]
    if inner["type"] == "any" or (inner["type"] in ("list", "dict") and not _contents(inner)):
        return count_keys  # our own `require_finite`, which returns what it was given
    return _number(_count(inner))


def _contents(node: Node) -> object:
    return node.get("items_schema") or node.get("values_schema")


def _nullable(node: Node) -> Count:
    inner = _count(node["schema"])
    if inner == 0 or inner is None:
        return inner
    if isinstance(inner, int):
        return lambda value: 0 if value is None else inner
    return lambda value: 0 if value is None else inner(value)


def _list(node: Node) -> Count:
    inner = _count(node["items_schema"]) if node.get("items_schema") else None
    if inner == 0 or inner is None:
        return inner
    if isinstance(inner, int):
        return lambda values: inner * len(values)
    return lambda values: sum(map(inner, values))


def _dict(node: Node) -> Count:
    inner = _count(node["values_schema"]) if node.get("values_schema") else None
    if inner is None:
        return None
    if isinstance(inner, int):
        return lambda values: (1 + inner) * len(values)
    return lambda values: len(values) + sum(map(inner, values.values()))


def _tuple(node: Node) -> Count:
    counts = [_number(_count(item)) for item in node["items_schema"]]
    if any(count is None for count in counts):
        return None
    if node.get("variadic_item_index") is not None and any(counts):
        return None
    return sum(cast("list[int]", counts))


def _union(node: Node) -> Count:
    """A union's value does not say which branch took it, so all must count alike."""
    choices = cast("list[Node | tuple[Node, str]]", node["choices"])
    counts = {_number(_count(choice[0] if isinstance(choice, tuple) else choice)) for choice in choices}
    return counts.pop() if len(counts) == 1 else None


def _typed_dict(node: Node) -> Count:
    fields = cast("Mapping[str, Node]", node["fields"])
    if node.get("extra_behavior") == "allow":
        return None
    inner = {name: _count(field["schema"]) for name, field in fields.items()}
    if any(count is None for count in inner.values()):
        return None
    if all(isinstance(count, int) for count in inner.values()) and all(
        field["required"] for field in fields.values()
    ):
        return len(fields) + sum(cast("list[int]", list(inner.values())))
    deep = [(name, count) for name, count in inner.items() if count != 0]
    if not deep:
        return len
    return _typed_dict_counter(deep)


def _typed_dict_counter(deep: list[tuple[str, Count]]) -> Callable[[Mapping[str, object]], int]:
    counted = [(name, count) for name, count in deep if callable(count)]
    fixed = [(name, count) for name, count in deep if isinstance(count, int)]

    def count_given(given: Mapping[str, object]) -> int:
        total = len(given)
        for name, size in fixed:
            if name in given:
                total += size
        for name, count in counted:
            if name in given:
                total += count(given[name])
        return total

    return count_given


def _model(node: Node) -> Count:
    if node.get("custom_init") or node.get("post_init"):
        return None
    if node.get("root_model"):
        return _number(_count(node["schema"]))
    return _model_fields(node["schema"]) if node["schema"]["type"] == "model-fields" else None


def _model_fields(node: Node) -> Count:
    """A model remembers which fields it was given; a default is not among them."""
    if node.get("extra_behavior") == "allow" or node.get("extras_schema"):
        return None
    inner: dict[str, int] = {}
    all_required = True
    for name, field in cast("Mapping[str, Node]", node["fields"]).items():
        schema = field["schema"]
        if schema["type"] == "default":
            schema, all_required = schema["schema"], False
        count = _number(_count(schema))
        if count is None:
            return None
        inner[name] = count
    if all_required:
        return len(inner) + sum(inner.values())
    deep = [(name, count) for name, count in inner.items() if count]

    def count_set(model: Any) -> int:  # noqa: ANN401 -- any model
        given = cast("set[str]", model.__pydantic_fields_set__)
        return len(given) + sum(count for name, count in deep if name in given)

    return count_set


_SCALARS: Final = frozenset(
    (
        "bool",
        "bytes",
        "complex",
        "date",
        "datetime",
        "decimal",
        "enum",
        "float",
        "int",
        "literal",
        "multi-host-url",
        "none",
        "str",
        "time",
        "timedelta",
        "url",
        "uuid",
    )
)
_RULES: Final[Mapping[str, Callable[[Node], Count]]] = {
    "any": lambda _: count_keys,
    "chain": lambda node: _number(_count(node["steps"][0])),
    "definitions": lambda node: _count(node["schema"]),
    "dict": _dict,
    "function-after": _after,
    "lax-or-strict": lambda node: _count(node["strict_schema"]),
    "list": _list,
    "model": _model,
    "nullable": _nullable,
    "tuple": _tuple,
    "typed-dict": _typed_dict,
    "union": _union,
}
