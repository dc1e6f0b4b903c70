"""Builds the two schemas of a Python type: pydantic-core's for checking, JSON Schema for the model."""

import collections.abc
import datetime as dt
import enum
import pathlib
import types
import typing
import uuid
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    Required,
    Self,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
)

from pydantic import JsonValue
from pydantic.json_schema import JsonSchemaMode
from typing_extensions import ReadOnly  # in `typing` from Python 3.13 on

from toolhaft.errors import DefinitionError
from toolhaft.schema import strict_core
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.pydantic_types import pydantic_schemas
from toolhaft.schema.strict_core import ANY, FLOAT, INT_KEY_PATTERN, CoreSchema, after, core, require_finite
from toolhaft.schema.type_metadata import narrow, read_metadata

TypeSchemas = tuple[CoreSchema, JSONObject]
_NOTHING = type(None)

_STR = core(type="str")
_TEXT = core(type="str", strict=True)
_NULL: Final[JSONObject] = {"type": "null"}
_EXACT: Final[Mapping[object, TypeSchemas]] = {
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
    dt.datetime: (strict_core.TEXT_TYPES["datetime"], {"type": "string", "format": "date-time"}),
    dt.date: (strict_core.TEXT_TYPES["date"], {"type": "string", "format": "date"}),
    dt.time: (strict_core.TEXT_TYPES["time"], {"type": "string", "format": "time"}),
    dt.timedelta: (strict_core.TEXT_TYPES["timedelta"], {"type": "string", "format": "duration"}),
    uuid.UUID: (strict_core.TEXT_TYPES["uuid"], {"type": "string", "format": "uuid"}),
    pathlib.Path: (after(pathlib.Path, _TEXT), {"type": "string", "format": "path"}),
    bytes: (core(type="bytes", strict=False), {"type": "string", "format": "binary"}),
    Decimal: (
        strict_core.DECIMAL,
        {"anyOf": [{"type": "number"}, {"type": "string", "pattern": strict_core.DECIMAL_PATTERN}]},
    ),
}
_PLAIN: Final = (str, int, float, bool)
_COMMON: Final[dict[object, TypeSchemas]] = {}
"""The schemas of common generic types, built once for all tools."""
_MAX_COMMON: Final = 1000
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
_WRAPPERS: Final = frozenset((Final, NotRequired, ReadOnly, Required))

_BARE_TUPLE: Final = getattr(typing, "Tuple")  # noqa: B009 -- by name, or a linter replaces it with `tuple`

RecordMaker = Callable[["Builder", type], TypeSchemas | None]


class Builder:
    """One compilation: the definitions of recursive types, and the types that are being built."""

    __slots__ = (
        "_built",
        "_open",
        "_records",
        "core_defs",
        "has_metadata",
        "json_defs",
        "mode",
        "names",
        "owner",
    )

    def __init__(
        self,
        records: RecordMaker,
        mode: JsonSchemaMode = "validation",
        names: Mapping[str, object] | None = None,
        owner: type | None = None,
    ) -> None:
        self.owner = owner
        """The class that `Self` means here."""
        self.mode: JsonSchemaMode = mode
        self.names = names or {}
        self.core_defs: dict[str, CoreSchema] = {}
        self.has_metadata = False
        """True if the schema has more than the plain types: only then can something in it be secret."""
        self.json_defs: JSONObject = {}
        self._records = records
        self._open: dict[int, str] = {}
        self._built: dict[int, TypeSchemas] = {}

    def build(self, annotation: object) -> TypeSchemas:
        """Return both schemas of a type.

        Raises:
            DefinitionError: for a type that has no JSON form.
        """
        try:
            exact = _EXACT.get(annotation)
            if exact is not None:
                return exact[0], dict(exact[1])
            known = _COMMON.get(annotation)
        except TypeError:  # Annotated with unhashable metadata
            known = None
        if known is not None:
            return known[0], _copy(known[1])
        made = self._build(annotation)
        if len(_COMMON) < _MAX_COMMON and _is_common(annotation):
            _COMMON[annotation] = (made[0], _copy(made[1]))
        return made

    def _build(self, annotation: object) -> TypeSchemas:
        origin = getattr(annotation, "__origin__", None)
        if origin is None or hasattr(annotation, "__metadata__"):  # a class, `X | Y` or Annotated
            origin = get_origin(annotation)
            if origin is None:
                return self._build_class(annotation)
        return self._build_generic(annotation, origin, get_args(annotation))

    def _build_generic(self, annotation: object, origin: Any, args: tuple[object, ...]) -> TypeSchemas:  # noqa: ANN401, C901, PLR0911 -- one line per kind; an origin may be anything
        if origin is Union or origin is types.UnionType:
            return self._union(args)
        if origin is Annotated:
            return self._annotated(annotation, args)
        if origin is Literal:
            return _literal_schemas(args)
        if origin in _SEQUENCES:
            return self._sequence(args)
        if origin in _MAPPINGS:
            return self._mapping(args)
        if origin is tuple:
            return self._from_pydantic(tuple) if annotation is _BARE_TUPLE else self._tuple(args)
        if origin in _SETS:
            return self._set(frozenset if origin is frozenset else set, args)
        if origin in _WRAPPERS:
            return self.build(args[0])
        if origin in (collections.abc.Iterator, collections.abc.Generator):
            items, json = self._sequence(args)
            return after(iter, items), json
        return self._from_pydantic(annotation)

    def _build_class(self, annotation: object) -> TypeSchemas:
        if isinstance(annotation, type):
            cls = cast("type[object]", annotation)
            if issubclass(cls, enum.Enum):
                return _enum_schemas(cls)
            return self._named(cls, lambda: self._records(self, cls)) or self._from_pydantic(cls)
        if annotation is Self:
            return self._self()
        if isinstance(annotation, TypeVar):
            choices = cast("tuple[object, ...]", annotation.__constraints__)
            return self._union(choices) if choices else self.build(annotation.__bound__ or Any)
        if isinstance(annotation, typing.NewType):
            return self.build(annotation.__supertype__)
        if hasattr(annotation, "__value__"):  # a `type X = ...` alias
            made = self._named(annotation, lambda: self.build(cast("Any", annotation).__value__))
            return made or self._from_pydantic(annotation)
        if isinstance(annotation, str | typing.ForwardRef):
            raise DefinitionError(
                f"the type {getattr(annotation, '__forward_arg__', annotation)!r} is not defined",
                fix="define or import it before the tool is first used",
            )
        return self._from_pydantic(annotation)

    def _self(self) -> TypeSchemas:
        if self.owner is None:
            raise DefinitionError("Self has no class here", fix="write the name of the class")
        return self.build(self.owner)

    def _named(self, key: object, make: Callable[[], TypeSchemas | None]) -> TypeSchemas | None:
        """Build a type that may contain itself: inside itself it becomes a reference to its definition."""
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

    def _union(self, args: tuple[object, ...]) -> TypeSchemas:
        choices: list[tuple[CoreSchema, str]] = []
        branches: list[JSONValue] = []
        for arg in args:
            if arg is _NOTHING:
                branches.append(dict(_NULL))
                continue
            schema, json = self.build(arg)
            choices.append((schema, strict_core.branch_label(len(choices))))
            if list(json) == ["anyOf"]:
                branches.extend(cast("list[JSONValue]", json["anyOf"]))
            else:
                branches.append(json)
        checked = choices[0][0] if len(choices) == 1 else core(type="union", choices=choices)
        if len(choices) != len(args):
            checked = core(type="nullable", schema=checked)
        return checked, {"anyOf": branches}

    def _annotated(self, annotation: object, args: tuple[object, ...]) -> TypeSchemas:
        self.has_metadata = True
        metadata = read_metadata(args[1:])
        if metadata.unknown:
            return self._from_pydantic(annotation)
        schema, json = self.build(args[0])
        if metadata.rules:
            narrowed = narrow(schema, json, metadata.rules)
            if narrowed is None:
                return self._from_pydantic(annotation)
            schema, json = narrowed
        return schema, {**json, **metadata.keywords}

    def _sequence(self, args: tuple[object, ...]) -> TypeSchemas:
        if not args or args[0] is Any or args[0] is object:
            return self.build(list)
        items, json = self.build(args[0])
        return core(type="list", items_schema=items), {"type": "array", "items": json}

    def _set(self, kind: type, args: tuple[object, ...]) -> TypeSchemas:
        items, json = self.build(args[0] if args else Any)
        return strict_core.unique(kind, items), {"type": "array", "items": json, "uniqueItems": True}

    def _tuple(self, args: tuple[object, ...]) -> TypeSchemas:
        if args[-1:] == (...,):
            items, json = self.build(args[0])
            checked = core(type="tuple", items_schema=[items], variadic_item_index=0, strict=False)
            return checked, {"type": "array", "items": json}
        made = [self.build(arg) for arg in args]
        return tuple_schemas([schema for schema, _ in made], [json for _, json in made], len(made))

    def _mapping(self, args: tuple[object, ...]) -> TypeSchemas:
        if not args:
            return self.build(dict)
        keys, names = self._keys(args[0])
        json: JSONObject = {"type": "object", "propertyNames": names} if names else {"type": "object"}
        if args[1] is Any or args[1] is object:
            return after(require_finite, strict_core.dictionary(keys)), json
        values, value_json = self.build(args[1])
        return strict_core.dictionary(keys, values_schema=values), {
            **json,
            "additionalProperties": value_json,
        }

    def _keys(self, annotation: Any) -> TypeSchemas:  # noqa: ANN401 -- a type, compared with types
        """Return the schemas of an object's keys, which JSON always writes as text."""
        if annotation is str or annotation is Any:
            return _STR, {}
        if annotation is int:
            return strict_core.INT_KEY, {"pattern": INT_KEY_PATTERN}
        if annotation in (float, bool, bytes, _NOTHING):
            raise DefinitionError(
                "an object's keys are text in JSON", fix="use str or int for the keys of a dict"
            )
        schema, json = self.build(annotation)
        choices = json.get("enum")
        if isinstance(choices, list) and not all(isinstance(choice, str) for choice in choices):
            raise DefinitionError("an object's keys are text in JSON", fix="use choices that are text")
        return schema, {key: value for key, value in json.items() if key != "type"}

    def _from_pydantic(self, annotation: object) -> TypeSchemas:
        self.has_metadata = True
        made = pydantic_schemas(annotation, self.mode)
        for definition in made.core_defs:
            self.core_defs[cast("str", cast("dict[str, object]", definition)["ref"])] = definition
        for name, definition in made.json_defs.items():
            if self.json_defs.setdefault(name, definition) != definition:
                raise DefinitionError(f"two recursive types are called {name!r}", fix="rename one of them")
        return made.core, dict(made.json)


def _is_common(annotation: object) -> bool:
    """True for a list or dict of plain types, optional or not: most signatures consist of these."""
    args = get_args(annotation)
    if not args or hasattr(annotation, "__metadata__"):
        return False
    origin = get_origin(annotation)
    if origin is Union or origin is types.UnionType:
        inner, *rest = args
        return rest == [_NOTHING] and (inner in _PLAIN or _is_common(inner))
    return origin in (list, dict) and all(arg in _PLAIN or _is_common(arg) for arg in args)


def _copy(json: JSONObject) -> JSONObject:
    """Copy a schema, so that no two tools share one that a user might change."""
    new = {**json}
    for key, value in json.items():
        if isinstance(value, dict):
            new[key] = _copy(value)
        elif isinstance(value, list):
            new[key] = [_copy(part) if isinstance(part, dict) else part for part in value]
    return new


def tuple_schemas(items: list[CoreSchema], jsons: list[JSONObject], required: int) -> TypeSchemas:
    """Return both schemas of an array with one type per position."""
    listed: JSONObject = {"prefixItems": list(jsons)} if jsons else {}
    json: JSONObject = {"type": "array", **listed, "minItems": required, "maxItems": len(jsons)}
    return core(type="tuple", items_schema=items, strict=False), json


def _enum_schemas(cls: type[enum.Enum]) -> TypeSchemas:
    """Return both schemas of an Enum: its values in JSON, its members in Python."""
    members = list(cls)
    values = [cast("object", member.value) for member in members]
    if not members:
        raise DefinitionError(f"the enum {cls.__name__} has no members", fix="give it at least one")
    return strict_core.enumeration(cls, members), {"enum": _json_choices(values, cls.__name__)}


def _literal_schemas(args: tuple[object, ...]) -> TypeSchemas:
    """Return both schemas of a Literal, whose choices may be Enum members too."""
    values = [cast("object", arg.value) if isinstance(arg, enum.Enum) else arg for arg in args]
    made = args if any(isinstance(arg, enum.Enum) for arg in args) else None
    return strict_core.literal(values, made), {"enum": _json_choices(values, "Literal")}


def _json_choices(values: Iterable[object], where: str) -> list[JSONValue]:
    choices: list[JSONValue] = []
    for value in values:
        if value is not None and value.__class__ not in (str, int, bool, float):
            if not isinstance(value, str | int | float):
                raise DefinitionError(
                    f"{value!r:.80} in {where} has no JSON form",
                    fix="use text, numbers or booleans as values",
                )
            value = str(value) if isinstance(value, str) else value  # noqa: PLW2901 -- a subclass, made plain
        choices.append(cast("JSONValue", value))
    return choices
