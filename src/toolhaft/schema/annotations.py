"""Builds the two schemas of a Python type: pydantic-core's for checking, JSON Schema for the model.

Knows annotations; does not know functions, tools or how a value came in.
"""

import collections.abc
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, NoReturn, TypeVar, Union, cast, get_args, get_origin

from pydantic import JsonValue
from pydantic.json_schema import JsonSchemaMode

from toolhaft.errors import DefinitionError
from toolhaft.schema import strict_core
from toolhaft.schema.constraints import narrow, read_metadata
from toolhaft.schema.foreign import foreign
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.leaves import LEAVES, enum_nodes, is_enum, literal_nodes
from toolhaft.schema.strict_core import ANY, FLOAT, INT_KEY_PATTERN, CoreSchema, after, core, require_finite

Nodes = tuple[CoreSchema, JSONObject]
_NOTHING = type(None)

_STR = core(type="str")
_NULL: Final[JSONObject] = {"type": "null"}
_EXACT: Final[Mapping[object, Nodes]] = {
    str: (_STR, {"type": "string"}),
    int: (core(type="int"), {"type": "integer"}),
    float: (FLOAT, {"type": "number"}),
    bool: (core(type="bool"), {"type": "boolean"}),
    None: (core(type="none"), {"type": "null"}),
    _NOTHING: (core(type="none"), {"type": "null"}),
    Any: (ANY, {}),
    object: (ANY, {}),
    list: (after(require_finite, core(type="list")), {"type": "array", "items": {}}),
    dict: (after(require_finite, core(type="dict", keys_schema=_STR)), {"type": "object"}),
    JsonValue: (ANY, {}),
    **LEAVES,
}
_PLAIN: Final = (str, int, float, bool)
_COMMON: Final[dict[object, Nodes]] = {}
"""Generic types met before, built once for all tools."""
_MOST_COMMON: Final = 1000
_SEQUENCES: Final = frozenset(
    (
        list,
        collections.abc.Collection,
        collections.abc.Iterable,
        collections.abc.MutableSequence,
        collections.abc.Sequence,
    )
)
_MAPPINGS: Final = frozenset((dict, collections.abc.Mapping, collections.abc.MutableMapping))
_SETS: Final = frozenset((set, frozenset, collections.abc.Set, collections.abc.MutableSet))
_WRAPPERS: Final = frozenset(
    getattr(module, name)
    for module in (typing, __import__("typing_extensions"))
    for name in ("Required", "NotRequired", "ReadOnly", "Final")
    if hasattr(module, name)
)

_BARE_TUPLE: Final = getattr(typing, "Tuple")  # noqa: B009 -- by name, or a linter makes `tuple` of it

RecordMaker = Callable[["Builder", type], Nodes | None]


class Builder:
    """One compilation: the definitions that its recursive types need, and the types it is inside of."""

    __slots__ = ("_built", "_open", "_records", "core_defs", "json_defs", "mode", "names")

    def __init__(
        self,
        records: RecordMaker,
        mode: JsonSchemaMode = "validation",
        names: Mapping[str, object] | None = None,
    ) -> None:
        self.mode: JsonSchemaMode = mode
        self.names = names or {}
        self.core_defs: dict[str, CoreSchema] = {}
        self.json_defs: JSONObject = {}
        self._records = records
        self._open: dict[int, str] = {}
        self._built: dict[int, Nodes] = {}

    def build(self, annotation: object) -> Nodes:
        """Both schemas of a type.

        Raises:
            DefinitionError: for a type that has no JSON form.
        """
        try:
            exact = _EXACT.get(annotation)
        except TypeError:  # Annotated with something unhashable beside it
            exact = None
        if exact is not None:
            return exact[0], dict(exact[1])
        try:
            common = _COMMON.get(annotation)
        except TypeError:
            common = None
        if common is not None:
            return common[0], _copy(common[1])
        made = self._build(annotation)
        if len(_COMMON) < _MOST_COMMON and _is_common(annotation):
            _COMMON[annotation] = (made[0], _copy(made[1]))
        return made

    def _build(self, annotation: object) -> Nodes:
        origin = getattr(annotation, "__origin__", None)
        if origin is None or hasattr(annotation, "__metadata__"):  # a class, `X | Y` or Annotated
            origin = get_origin(annotation)
            if origin is None:
                return self._build_class(annotation)
        return self._build_generic(annotation, origin, get_args(annotation))

    def _build_generic(self, annotation: object, origin: Any, args: tuple[object, ...]) -> Nodes:  # noqa: ANN401, C901, PLR0911 -- one line a kind, and an origin may be anything
        if origin is Union or origin is types.UnionType:
            return self._union(args)
        if origin is Annotated:
            return self._annotated(annotation, args)
        if origin is Literal:
            return literal_nodes(args)
        if origin in _SEQUENCES:
            return self._sequence(args)
        if origin in _MAPPINGS:
            return self._mapping(annotation, args)
        if origin is tuple:
            return self._foreign(tuple) if annotation is _BARE_TUPLE else self._tuple(args)
        if origin in _SETS:
            return self._set(frozenset if origin is frozenset else set, args)
        if origin in _WRAPPERS:
            return self.build(args[0])
        if origin in (collections.abc.Iterator, collections.abc.Generator):
            items, json = self._sequence(args)
            return after(iter, items), json
        return self._foreign(annotation)

    def _build_class(self, annotation: object) -> Nodes:
        if is_enum(annotation):
            return enum_nodes(annotation)
        if isinstance(annotation, type):
            return self._named(annotation, lambda: self._records(self, annotation)) or self._foreign(
                annotation
            )
        if isinstance(annotation, TypeVar):
            choices = cast("tuple[object, ...]", annotation.__constraints__)
            return self._union(choices) if choices else self.build(annotation.__bound__ or Any)
        if isinstance(annotation, typing.NewType):
            return self.build(annotation.__supertype__)
        if hasattr(annotation, "__value__"):  # a `type X = ...` alias
            made = self._named(annotation, lambda: self.build(cast("Any", annotation).__value__))
            return made or self._foreign(annotation)
        if isinstance(annotation, str | typing.ForwardRef):
            raise DefinitionError(
                f"the type {getattr(annotation, '__forward_arg__', annotation)!r} is not defined",
                fix="define or import it before the tool is first used",
            )
        return self._foreign(annotation)

    def _named(self, key: object, make: Callable[[], Nodes | None]) -> Nodes | None:
        """A type that may contain itself: inside itself it is a reference to its definition."""
        number = id(key)
        if number in self._built:
            return self._built[number]
        if number in self._open:
            name = self._open[number] = self._open[number] or self._free_name(
                str(getattr(key, "__name__", key))
            )
            return core(type="definition-ref", schema_ref=name), {"$ref": f"#/$defs/{name}"}
        self._open[number] = ""
        made = make()
        name = self._open.pop(number)
        if made is None:
            return None
        if name:
            self.core_defs[name] = cast("CoreSchema", {**made[0], "ref": name})
            self.json_defs[name] = made[1]
            reference: JSONObject = {"$ref": f"#/$defs/{name}"}
            made = (core(type="definition-ref", schema_ref=name), reference)
        self._built[number] = made
        return made

    def _free_name(self, wanted: str) -> str:
        taken = {*self.json_defs, *self._open.values()}
        name, number = wanted, 2
        while name in taken:
            name, number = f"{wanted}{number}", number + 1
        return name

    def _union(self, args: tuple[object, ...]) -> Nodes:
        choices: list[tuple[CoreSchema, str]] = []
        branches: list[JSONValue] = []
        for arg in args:
            if arg is _NOTHING:
                branches.append(dict(_NULL))
                continue
            schema, json = self.build(arg)
            choices.append((schema, f"branch {len(choices)}"))  # by which errors can be told apart
            if list(json) == ["anyOf"]:
                branches.extend(cast("list[JSONValue]", json["anyOf"]))
            else:
                branches.append(json)
        checked = choices[0][0] if len(choices) == 1 else core(type="union", choices=choices)
        if len(choices) != len(args):
            checked = core(type="nullable", schema=checked)
        return checked, {"anyOf": branches}

    def _annotated(self, annotation: object, args: tuple[object, ...]) -> Nodes:
        beside = read_metadata(args[1:])
        if beside.unknown:
            return self._foreign(annotation)
        schema, json = self.build(args[0])
        if beside.rules:
            narrowed = narrow(schema, json, beside.rules)
            if narrowed is None:
                return self._foreign(annotation)
            schema, json = narrowed
        return schema, {**json, **beside.words}

    def _sequence(self, args: tuple[object, ...]) -> Nodes:
        if not args or args[0] is Any or args[0] is object:
            return self.build(list)
        items, json = self.build(args[0])
        return core(type="list", items_schema=items), {"type": "array", "items": json}

    def _set(self, kind: type, args: tuple[object, ...]) -> Nodes:
        items, json = self.build(args[0] if args else Any)
        return strict_core.unique(kind, items), {"type": "array", "items": json, "uniqueItems": True}

    def _tuple(self, args: tuple[object, ...]) -> Nodes:
        if args[-1:] == (...,):
            items, json = self.build(args[0])
            checked = core(type="tuple", items_schema=[items], variadic_item_index=0, strict=False)
            return checked, {"type": "array", "items": json}
        made = [self.build(arg) for arg in args]
        return tuple_nodes([schema for schema, _ in made], [json for _, json in made], len(made))

    def _mapping(self, annotation: object, args: tuple[object, ...]) -> Nodes:
        if not args:
            return self.build(dict)
        keys = self._keys(args[0])
        if keys is None:
            return self._foreign(annotation)
        json: JSONObject = {"type": "object"}
        if keys[1]:
            json["propertyNames"] = keys[1]
        if args[1] is Any or args[1] is object:
            return after(require_finite, core(type="dict", keys_schema=keys[0])), json
        values, value_json = self.build(args[1])
        return core(type="dict", keys_schema=keys[0], values_schema=values), {
            **json,
            "additionalProperties": value_json,
        }

    def _keys(self, annotation: Any) -> Nodes | None:  # noqa: ANN401 -- a type, compared with types
        """The schemas of an object's keys, which JSON writes as text whatever they are."""
        if annotation is str or annotation is Any:
            return _STR, {}
        if annotation is int:
            return strict_core.int_key(), {"pattern": INT_KEY_PATTERN}
        if annotation in (float, bool, bytes, _NOTHING):
            raise DefinitionError(
                "an object's keys are text in JSON", fix="use str or int for the keys of a dict"
            )
        schema, json = self.build(annotation)
        choices = json.get("enum")
        if isinstance(choices, list) and not all(isinstance(choice, str) for choice in choices):
            raise DefinitionError("an object's keys are text in JSON", fix="use choices that are text")
        return schema, {key: value for key, value in json.items() if key != "type"}

    def _foreign(self, annotation: object) -> Nodes:
        made = foreign(annotation, self.mode)
        for definition in made.core_defs:
            self.core_defs[cast("str", cast("dict[str, object]", definition)["ref"])] = definition
        for name, definition in made.json_defs.items():
            if self.json_defs.setdefault(name, definition) != definition:
                self._clash(name)
        return made.core, dict(made.json)

    @staticmethod
    def _clash(name: str) -> NoReturn:
        raise DefinitionError(f"two recursive types are called {name!r}", fix="rename one of them")


def _is_common(annotation: object) -> bool:
    """True for a list or dict of plain types, or such a type or null: what most signatures are made of."""
    args = get_args(annotation)
    if not args or hasattr(annotation, "__metadata__"):
        return False
    origin = get_origin(annotation)
    if origin is Union or origin is types.UnionType:
        inner, *rest = args
        return rest == [_NOTHING] and (inner in _PLAIN or _is_common(inner))
    return origin in (list, dict) and all(arg in _PLAIN or _is_common(arg) for arg in args)


def _copy(json: JSONObject) -> JSONObject:
    """A schema of our own making, copied: no two tools share what a user might change."""
    return {
        key: _copy(value)
        if isinstance(value, dict)
        else [_copy(part) if isinstance(part, dict) else part for part in value]
        if isinstance(value, list)
        else value
        for key, value in json.items()
    }


def tuple_nodes(items: list[CoreSchema], jsons: list[JSONObject], required: int) -> Nodes:
    """Both schemas of an array with one type a place."""
    json: JSONObject = {
        "type": "array",
        "prefixItems": list(jsons),
        "minItems": required,
        "maxItems": len(jsons),
    }
    if not jsons:
        del json["prefixItems"]
    return core(type="tuple", items_schema=items, strict=False), json
