"""Makes the function that counts the keys of a value which a pydantic-core schema accepted."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final, cast

from pydantic_core.core_schema import CoreSchema

from toolhaft.schema.json_text import count_keys
from toolhaft.schema.key_count import (
    ATTRIBUTES,
    FIELDS_SET,
    KeyCount,
    RecordFields,
    column_count,
    dict_count,
    inside_count,
    itself,
    open_model_count,
)
from toolhaft.schema.strict_core import ANY, CoreNode, require_finite

_NO_KEYS: Final = KeyCount()
_IMMUTABLE: Final = (bool, float, int, str, type(None))
_UNKNOWN: Final = KeyCount(is_exact=False)


def core_key_count(schema: CoreSchema) -> KeyCount:
    """Return how to count the keys of a value that this pydantic-core schema accepted."""
    return _Compiler(cast("CoreNode", schema)).count_of(cast("CoreNode", schema))


def flat_key_count(schema: CoreSchema) -> KeyCount | None:
    """Return the count for scalars and lists of scalars, like most signatures; None for any other schema."""
    node = cast("CoreNode", schema)
    if node["type"] != "typed-dict" or node.get("extra_behavior") != "forbid":
        return None
    required = 0
    for field in cast("Mapping[str, CoreNode]", node["fields"]).values():
        inner = cast("CoreNode", field["schema"])
        while inner["type"] == "nullable" or (inner["type"] == "list" and "items_schema" in inner):
            inner = inner["schema" if inner["type"] == "nullable" else "items_schema"]
        if inner["type"] not in _SCALARS or "validation_alias" in field:
            return None
        required += bool(field["required"])
    return KeyCount(required) if required == len(node["fields"]) else KeyCount(required, one=len)


class _Compiler:
    """Makes the counts of one schema."""

    __slots__ = ("_definitions", "_made", "_open")

    def __init__(self, root: CoreNode) -> None:
        listed = cast("list[CoreNode]", root.get("definitions", ()) if root["type"] == "definitions" else ())
        self._definitions = {cast("str", node["ref"]): node for node in listed}
        self._made: dict[str, KeyCount] = {}
        self._open: set[str] = set()

    def count_of(self, node: CoreNode) -> KeyCount:
        if node["type"] in _SCALARS:
            return _NO_KEYS
        metadata = node.get("metadata")
        if isinstance(metadata, dict) and "toolhaft_keys" in metadata:
            return _NO_KEYS
        rule = _RULES.get(node["type"])
        return _UNKNOWN if rule is None else rule(self, node)

    def inner(self, node: CoreNode) -> KeyCount:
        return self.count_of(node["schema"])

    def reference(self, node: CoreNode) -> KeyCount:
        """Count a definition; inside itself it is counted by the function that is being made."""
        name = cast("str", node["schema_ref"])
        if name in self._made:
            return self._made[name]
        if name not in self._definitions:
            return _UNKNOWN
        if name in self._open:
            return KeyCount(one=lambda value: self._made[name].of(value))  # noqa: PLW0108 -- not made yet
        self._open.add(name)
        made = self._made[name] = self.count_of(self._definitions[name])
        return made

    def resolve(self, node: CoreNode) -> CoreNode:
        if node["type"] == "definition-ref":
            return self._definitions.get(cast("str", node["schema_ref"]), node)
        return node

    def after(self, node: CoreNode) -> KeyCount:
        """A function may return anything; only what every accepted text has can be counted."""
        if node["function"]["function"] is require_finite:
            return KeyCount(one=count_keys)
        return self.inner(node).at_least()

    def nullable(self, node: CoreNode) -> KeyCount:
        inner = self.inner(node)
        if inner.one is None and not inner.least:
            return inner
        return KeyCount(
            0,
            inner.is_exact,
            lambda value: 0 if value is None else inner.of(value),
            lambda values: inner.of_all([value for value in values if value is not None]),
        )

    def count_list(self, node: CoreNode) -> KeyCount:
        inner = self.count_of(node["items_schema"]) if node.get("items_schema") else _UNKNOWN
        if inner.one is None and not inner.least:
            return inner
        return KeyCount(
            0,
            inner.is_exact,
            inner.of_all,
            lambda lists: inner.of_all(list(chain.from_iterable(lists))),
        )

    def count_dict(self, node: CoreNode) -> KeyCount:
        inner = self.count_of(node["values_schema"]) if node.get("values_schema") else _UNKNOWN
        if inner.one is None and not inner.least:
            return KeyCount(0, inner.is_exact, len, lambda dicts: sum(map(len, dicts)))
        return KeyCount(
            0,
            inner.is_exact,
            lambda values: len(values) + inner.of_all(list(values.values())),
            lambda dicts: (
                sum(map(len, dicts)) + inner.of_all([value for one in dicts for value in one.values()])
            ),
        )

    def count_tuple(self, node: CoreNode) -> KeyCount:
        counts = [self.count_of(item) for item in node["items_schema"]]
        if node.get("variadic_item_index") is not None:
            return (
                self.count_list({"items_schema": node["items_schema"][0]}) if len(counts) == 1 else _UNKNOWN
            )
        least, is_exact = sum(count.least for count in counts), all(count.is_exact for count in counts)
        if not any(count.one for count in counts):
            return KeyCount(least, is_exact)
        return KeyCount(least, is_exact, lambda items: sum(map(KeyCount.of, counts, items)))

    def union(self, node: CoreNode) -> KeyCount:
        """Count by the class of the value, if that shows which branch accepted it."""
        listed: Any = node["choices"]
        choices = cast("Iterable[Any]", listed.values() if node["type"] == "tagged-union" else listed)
        # a choice may have a label; one of a tagged union may be the name of another
        pairs = [
            cast("tuple[Any, ...]", choice if choice.__class__ is tuple else (choice,)) for choice in choices
        ]
        nodes = [cast("CoreNode", pair[0]) for pair in pairs if isinstance(pair[0], dict)]
        counts = [self.count_of(choice) for choice in nodes]
        least = min((count.least for count in counts), default=0)
        if all(count.one is None and count.least == least for count in counts):
            return KeyCount(least, all(count.is_exact for count in counts))
        table = self._by_class(nodes, counts)
        if table is None:
            return KeyCount(least, is_exact=False)
        return KeyCount(
            least,
            all(count.is_exact for count in table.values()),
            lambda value: table.get(value.__class__, _NO_KEYS).of(value),
        )

    def _by_class(self, nodes: list[CoreNode], counts: list[KeyCount]) -> dict[type, KeyCount] | None:
        table: dict[type, KeyCount] = {}
        for node, count in zip(nodes, counts, strict=True):
            made = self._class_of(node)
            if made is None:
                return None
            if made is not object:
                table[made] = _UNKNOWN if made in table and table[made] != count else count
        return table

    def _class_of(self, node: CoreNode) -> type | None:
        """The class of every value that a schema accepts; `object` for scalars, None if it is not known."""
        node = self.resolve(node)
        if node["type"] in _SCALARS or "toolhaft_keys" in (node.get("metadata") or ()):
            return object
        if node["type"] == "nullable":
            return self._class_of(node["schema"])
        return cast("type", node["cls"]) if node["type"] == "model" else _CLASSES.get(node["type"])

    def lax_or_strict(self, node: CoreNode) -> KeyCount:
        strict, lax = self.count_of(node["strict_schema"]), self.count_of(node["lax_schema"])
        return strict if strict.one is None and strict == lax else _UNKNOWN

    def model(self, node: CoreNode) -> KeyCount:
        """A model records which fields were sent; a default is not among them."""
        if node.get("custom_init"):  # it may add keys
            return _UNKNOWN
        inner = cast("CoreNode", node["schema"])
        if node.get("root_model"):
            count = self.count_of(inner)
            if count.one is not None:
                one = count.one
                count = KeyCount(count.least, count.is_exact, lambda model: one(model.root))
        elif inner["type"] == "model-fields":
            count = self._model_fields(node, inner)
        else:
            return _UNKNOWN
        return count.at_least() if node.get("post_init") else count

    def _model_fields(self, node: CoreNode, inner: CoreNode) -> KeyCount:
        declared = cast("Mapping[str, CoreNode]", inner["fields"])
        is_open = _is_open(node) or _is_open(inner)
        fields = self._sort(
            {name: (field, not self._has_default(field["schema"])) for name, field in declared.items()},
            is_open=is_open,
        )
        if fields is None:
            return _UNKNOWN
        if not is_open and fields.has_fixed_count(len(declared)):
            return KeyCount(fields.required + fields.folded, fields.is_exact)
        inside, folded = inside_count(fields), fields.folded
        if is_open:
            is_plain = inner.get("extras_schema") is ANY
            one = open_model_count(inside, folded, is_plain=is_plain)
            return KeyCount(fields.required + folded, fields.is_exact and is_plain, one)
        if inside is None:
            return KeyCount(
                fields.required + folded,
                fields.is_exact,
                lambda model: len(model.__pydantic_fields_set__) + folded,
                lambda models: sum(map(len, map(FIELDS_SET, models))) + folded * len(models),
            )
        return KeyCount(
            fields.required + folded,
            fields.is_exact,
            lambda model: (
                len(model.__pydantic_fields_set__) + inside(model.__pydantic_fields_set__, model.__dict__)
            ),
            column_count(fields, FIELDS_SET, ATTRIBUTES),
        )

    def typed_dict(self, node: CoreNode) -> KeyCount:
        declared = cast("Mapping[str, CoreNode]", node["fields"])
        for field in declared.values():
            if self._has_default(field["schema"]):  # it is in the value whether it was sent or not
                return _UNKNOWN
        is_open, total = _is_open(node), node.get("total", True)
        fields = self._sort(
            {name: (field, bool(field.get("required", total))) for name, field in declared.items()},
            is_open=is_open,
        )
        if fields is None:
            return _UNKNOWN
        least, is_exact = fields.required + fields.folded, fields.is_exact and not is_open
        if not is_open and fields.has_fixed_count(len(declared)):
            return KeyCount(least, is_exact)
        if fields.folded or fields.fixed or fields.counted:
            return KeyCount(least, is_exact, dict_count(fields), column_count(fields, itself, itself))
        return KeyCount(least, is_exact, len, lambda dicts: sum(map(len, dicts)))

    def dataclass(self, node: CoreNode) -> KeyCount:
        """A dataclass does not show whether a field was sent, unless its value is not the default."""
        inner = cast("CoreNode", node["schema"])
        if inner["type"] != "dataclass-args":
            return _UNKNOWN
        fields = {cast("str", field["name"]): field for field in cast("list[CoreNode]", inner["fields"])}
        required = {name: field for name, field in fields.items() if not self._has_default(field["schema"])}
        sorted_fields = self._sort({name: (field, True) for name, field in required.items()})
        if sorted_fields is None or not _have_own_keys(fields):
            return _UNKNOWN
        is_exact = len(required) == len(fields) and sorted_fields.is_exact
        least, inside = sorted_fields.required + sorted_fields.folded, inside_count(sorted_fields)
        defaults = _plain_defaults(node, fields)
        if (inside is None and not defaults) or node.get("post_init") or node.get("slots"):
            return KeyCount(least, is_exact and inside is None)
        names, count = frozenset(required), len(required)

        def one(made: Any) -> int:  # noqa: ANN401 -- any dataclass
            values = made.__dict__
            total = least if inside is None else count + inside(names, values)
            for name, default in defaults:
                if values[name] is not default:
                    total += 1
            return total

        return KeyCount(least, is_exact, one)

    def _sort(
        self, fields: Mapping[str, tuple[CoreNode, bool]], *, is_open: bool = False
    ) -> RecordFields | None:
        """Sort fields by how their keys are counted; None if a key of the text can fill several fields."""
        if not _have_own_keys({name: field for name, (field, _) in fields.items()}):
            return None
        schemas = {name: self._without_default(field["schema"]) for name, (field, _) in fields.items()}
        nullable = {name for name, schema in schemas.items() if schema["type"] == "nullable"}
        counts = {
            name: self.inner(schema) if name in nullable else self.count_of(schema)
            for name, schema in schemas.items()
        }
        visible = {name for name, count in counts.items() if count.one or (count.least and name in nullable)}
        if visible and any(_takes_other_fields(field) for field, _ in fields.values()):
            counts.update(dict.fromkeys(visible, _UNKNOWN))  # a function that gets a field may change it
        fixed: list[tuple[str, int]] = []
        folded = 0
        for name, (field, is_required) in fields.items():
            if is_open and not is_required and field.get("validation_alias") is not None:
                counts[name] = _UNKNOWN  # an extra key may have its name
            count = counts[name]
            if count.one is None and is_required and name not in nullable:
                folded += count.least
            elif count.one is None and count.least:
                fixed.append((name, count.least))
        counted = tuple((name, count) for name, count in counts.items() if count.one is not None)
        is_exact = all(count.is_exact for count in counts.values())
        required = sum(is_required for _, is_required in fields.values())
        readable = frozenset(
            name
            for name in (*(name for name, _ in fixed), *(name for name, _ in counted))
            if fields[name][1] or fields[name][0]["schema"].get("default", ...) is None
        )
        return RecordFields(required, folded, tuple(fixed), counted, is_exact, readable)

    def _has_default(self, schema: CoreNode) -> bool:
        kind = schema["type"]
        while kind in _WRAPPERS:
            schema = self.resolve(schema["schema"])
            kind = schema["type"]
        return kind == "default"

    def _without_default(self, node: CoreNode) -> CoreNode:
        if node["type"] != "default":
            return node
        return node["schema"] if node.get("on_error", "raise") == "raise" else {"type": "unknown"}


def _have_own_keys(fields: Mapping[str, CoreNode]) -> bool:
    """True if each field has its own key in the text: aliases may share a key, or lead into an object."""
    if not any("validation_alias" in field for field in fields.values()):
        return True
    paths = [path for name, field in fields.items() for path in key_paths(name, field)]
    return all(len(path) == 1 for path in paths) and len(set(paths)) == len(paths)


def key_paths(name: str, field: CoreNode) -> set[tuple[str | int, ...]]:
    """Return where the value of a field may be in the text: under its name, or where its aliases lead."""
    alias = field.get("validation_alias") or name
    paths: Any = alias if isinstance(alias[0], list) else [[alias] if isinstance(alias, str) else alias]
    return {(name,), *map(tuple, paths)}


def _takes_other_fields(part: object) -> bool:
    """True if a function in the schema of a field gets the fields that were checked before it."""
    if isinstance(part, dict):
        node = cast("CoreNode", part)
        if node.get("type") == "with-info" or node.get("default_factory_takes_data"):
            return True
        return any(_takes_other_fields(node[key]) for key in _PARTS if key in node)
    if isinstance(part, list | tuple):
        return any(map(_takes_other_fields, cast("Sequence[object]", part)))
    return False


def _plain_defaults(node: CoreNode, fields: Mapping[str, CoreNode]) -> list[tuple[str, object]]:
    """The defaults that an object has as they are if the field was not sent: not copied, not checked."""
    is_checked = cast("CoreNode", node.get("config") or {}).get("validate_default")
    if is_checked or any(map(_takes_other_fields, fields.values())):  # a function may change other fields
        return []
    return [
        (name, field["schema"]["default"])
        for name, field in fields.items()
        if field["schema"]["type"] == "default"
        and field["schema"].get("default", ...).__class__ in _IMMUTABLE
        and not field["schema"].get("validate_default")
        and not field.get("init_only")
    ]


def _is_open(node: CoreNode) -> bool:
    config = cast("CoreNode", node.get("config") or {})
    return "allow" in (node.get("extra_behavior"), config.get("extra_fields_behavior"))


_CLASSES: Final[Mapping[str, type]] = {
    "dict": dict,
    "list": list,
    "none": object,
    "tuple": tuple,
    "typed-dict": dict,
}
_PARTS: Final = frozenset(
    ("choices", "definitions", "function", "items_schema", "keys_schema", "schema", "steps", "values_schema")
)
_WRAPPERS: Final = frozenset(
    ("custom-error", "function-after", "function-before", "function-wrap", "nullable")
)
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
_RULES: Final[Mapping[str, Callable[[_Compiler, CoreNode], KeyCount]]] = {
    "any": lambda _, __: KeyCount(one=count_keys),
    "chain": lambda compiler, node: compiler.count_of(node["steps"][0]).at_least(),
    "custom-error": _Compiler.inner,
    "dataclass": _Compiler.dataclass,
    "definition-ref": _Compiler.reference,
    "definitions": _Compiler.inner,
    "dict": _Compiler.count_dict,
    "function-after": _Compiler.after,
    "lax-or-strict": _Compiler.lax_or_strict,
    "list": _Compiler.count_list,
    "model": _Compiler.model,
    "nullable": _Compiler.nullable,
    "tagged-union": _Compiler.union,
    "tuple": _Compiler.count_tuple,
    "typed-dict": _Compiler.typed_dict,
    "union": _Compiler.union,
}
