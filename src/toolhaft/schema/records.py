"""Records of named fields, dataclass, TypedDict and NamedTuple, as schemas.

Knows how each kind keeps its fields; does not know functions or tools.
"""

import dataclasses
import typing
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from copy import deepcopy
from functools import partial
from typing import Annotated, Any, Final, NamedTuple, cast, get_origin

import pydantic
from pydantic.fields import FieldInfo

from toolhaft.errors import DefinitionError
from toolhaft.schema.annotations import Builder, Nodes, tuple_nodes
from toolhaft.schema.constraints import NOTHING, Beside, read_mapping, read_metadata
from toolhaft.schema.json_text import object_to_text, read_json
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.strict_core import STRICT, CoreSchema, after, by_name, by_position, core

_OPTIONAL: Final = frozenset(
    module.NotRequired
    for module in (typing, __import__("typing_extensions"))
    if hasattr(module, "NotRequired")
)


class Field(NamedTuple):
    """One named part of a record, or one parameter of a function."""

    name: str
    annotation: object
    default: object = NOTHING
    factory: Callable[[], object] | None = None
    beside: Beside | None = None
    description: str = ""

    @property
    def is_required(self) -> bool:
        """True if it must be given."""
        return self.default is NOTHING and self.factory is None


class Fields(NamedTuple):
    """The schemas of a record, still open: what pydantic-core's typed-dict checks, what JSON Schema says."""

    core: CoreSchema
    json: JSONObject
    names: tuple[str, ...]
    defaults: dict[str, object]
    factories: dict[str, Callable[[], object]]


def build_fields(builder: Builder, fields: Iterable[Field]) -> Fields:
    """The typed-dict of the fields; defaults are kept apart, so that what was given can be counted."""
    checked: dict[str, object] = {}
    properties: JSONObject = {}
    required: list[JSONValue] = []
    defaults: dict[str, object] = {}
    factories: dict[str, Callable[[], object]] = {}
    for given in fields:
        field, schema, json = _build_placed(builder, given)
        name = field.name
        is_required = field.default is NOTHING and field.factory is None
        entry: dict[str, object] = {"type": "typed-dict-field", "schema": schema, "required": is_required}
        if field.beside is not None and field.beside.alias:
            name = entry["validation_alias"] = field.beside.alias
        if field.description and "description" not in json:
            json["description"] = field.description
        if is_required:
            required.append(name)
        elif field.factory is not None:
            factories[field.name] = field.factory
        else:
            _put_default(field, json, defaults, factories)
        checked[field.name] = entry
        properties[name] = json
    record = core(type="typed-dict", fields=checked, extra_behavior="forbid", config=STRICT)
    json: JSONObject = {"type": "object", "properties": properties}
    if required:
        json["required"] = required
    return Fields(record, json, tuple(checked), defaults, factories)


def _build_placed(builder: Builder, given: Field) -> tuple[Field, CoreSchema, JSONObject]:
    """A field with its default and its schemas; what is wrong with it is told by its name."""
    try:
        field = _take_default(given)
        schema, json = _build_field(builder, field)
    except DefinitionError as error:
        if error.place:
            raise
        place = f"parameter {given.name!r}"
        raise DefinitionError(error.problem, place=place, fix=error.fix) from error.__cause__
    return field, schema, json


def _build_field(builder: Builder, field: Field) -> Nodes:
    beside = field.beside
    if beside is None:
        return builder.build(field.annotation)
    rules = _carried(beside.rules)
    annotation: object = (
        Annotated[(field.annotation, *rules, *beside.unknown)]
        if rules or beside.unknown
        else field.annotation
    )  # type: ignore[valid-type] -- built at run time
    schema, json = builder.build(annotation)
    return schema, {**json, **beside.words}


def _carried(rules: Mapping[str, object]) -> list[object]:
    """Rules out of a mapping, in the form that `Annotated` carries and that pydantic understands too."""
    known = {name: value for name, value in rules.items() if name != "format"}
    carried: list[object] = [pydantic.Field(**cast("dict[str, Any]", known))] if known else []
    return [*carried, _Format(rules["format"])] if "format" in rules else carried


class _Format:
    """The one rule that pydantic has no word for."""

    def __init__(self, format: object) -> None:
        self.format = format


def _take_default(field: Field) -> Field:
    """The field with the default, alias and words that its annotation or its default carries."""
    beside = field.beside
    if isinstance(field.default, FieldInfo):  # `limit: int = Field(10, ge=1)`
        beside = read_metadata((field.default,), beside)
        field = field._replace(default=NOTHING)
    elif hasattr(field.annotation, "__metadata__"):  # Annotated
        said = read_metadata(cast("Any", field.annotation).__metadata__)
        if said.alias or said.default is not NOTHING or said.factory:
            beside = beside or Beside()
            beside.alias = beside.alias or said.alias
            beside.default, beside.factory = said.default, said.factory
    if beside is None:
        return field
    if field.is_required:
        factory = cast("Callable[[], object] | None", beside.factory)
        field = field._replace(default=beside.default, factory=factory)
    return field._replace(beside=beside)


def _put_default(
    field: Field,
    json: JSONObject,
    defaults: dict[str, object],
    factories: dict[str, Callable[[], object]],
) -> None:
    """Keep a field's default for filling in, and tell it in the schema where JSON can say it."""
    default = field.default
    if default is None or default.__class__ in (str, int, bool):
        json["default"] = cast("JSONValue", default)
        defaults[field.name] = default
        return
    if isinstance(default, list | dict | set):
        factories[field.name] = partial(deepcopy, default)  # a call that changes it must not change the next
    else:
        defaults[field.name] = default
    with suppress(ValueError):  # a default with no JSON form stays the function's own affair
        json["default"] = read_json(object_to_text(cast("object", default)))


def build_record(builder: Builder, cls: type) -> Nodes | None:
    """Both schemas of a dataclass, TypedDict or NamedTuple; None for any other class."""
    if is_plain_dataclass(cls):
        made = build_fields(builder, dataclass_fields(cls, builder.names))
        return after(by_name(cls), made.core), made.json
    if is_typed_dict(cls):
        made = build_fields(builder, typed_dict_fields(cls, builder.names))
        return made.core, made.json
    if hasattr(cls, "_fields") and tuple in cls.__mro__:
        return _named_tuple(builder, cls)
    return None


def is_plain_dataclass(cls: type) -> bool:
    """True for a dataclass that its own constructor can make: not pydantic's, no pydantic `Field` in it."""
    if not hasattr(cls, "__dataclass_fields__") or hasattr(cls, "__pydantic_validator__"):
        return False
    fields = cast("dict[str, dataclasses.Field[object]]", getattr(cls, "__dataclass_fields__"))  # noqa: B009 -- not on every class
    return not any(isinstance(field.default, FieldInfo) for field in fields.values())


def is_typed_dict(cls: type) -> bool:
    """True for a TypedDict of `typing` or of `typing_extensions`."""
    return dict in cls.__mro__ and hasattr(cls, "__total__")


def dataclass_fields(cls: type, names: Mapping[str, object]) -> list[Field]:
    """The fields that a dataclass's constructor takes."""
    hints = _hints(cls, names)
    found: list[Field] = []
    for field in cast(
        "Mapping[str, dataclasses.Field[object]]", cast("Any", cls).__dataclass_fields__
    ).values():
        kind = field._field_type.name  # type: ignore[attr-defined] # noqa: SLF001 -- dataclasses.fields() leaves InitVars out
        if not field.init or kind == "_FIELD_CLASSVAR":
            continue
        annotation = hints.get(field.name, field.type)
        if isinstance(annotation, dataclasses.InitVar):
            annotation = cast("object", annotation.type)
        factory = None if field.default_factory is dataclasses.MISSING else field.default_factory
        default = NOTHING if field.default is dataclasses.MISSING else field.default
        beside = read_mapping(cast("Mapping[object, object]", field.metadata)) if field.metadata else None
        found.append(Field(field.name, annotation, default, factory, beside))
    return found


def typed_dict_fields(cls: type, names: Mapping[str, object]) -> list[Field]:
    """The keys of a TypedDict; one that need not be there has no default, it is just absent."""
    required = cast("frozenset[str]", getattr(cls, "__required_keys__", ()))
    return [
        Field(name, hint)
        if name in required and get_origin(hint) not in _OPTIONAL
        else Field(name, hint, factory=_absent)
        for name, hint in _hints(cls, names).items()
    ]


def _absent() -> object:
    """Stands for a key that may be absent and then stays so."""
    return NOTHING


def _named_tuple(builder: Builder, cls: type) -> Nodes:
    hints = _hints(cls, builder.names)
    defaults = cast("Mapping[str, object]", getattr(cls, "_field_defaults", {}))
    names = cast("tuple[str, ...]", cls._fields)
    items: list[CoreSchema] = []
    jsons: list[JSONObject] = []
    for name in names:
        schema, json = builder.build(hints.get(name, Any))
        if name in defaults:
            schema = core(type="default", schema=schema, default=defaults[name])
        items.append(schema)
        jsons.append(json)
    checked, json = tuple_nodes(items, jsons, len(names) - len(defaults))
    return after(by_position(cls), checked), json


def _hints(cls: type, names: Mapping[str, object]) -> dict[str, object]:
    try:
        return typing.get_type_hints(cls, localns={cls.__name__: cls, **names}, include_extras=True)
    except NameError as error:
        raise DefinitionError(
            f"{cls.__name__} names the type {error.name!r}, which is not defined",
            fix="define or import it where the class is defined",
        ) from error
