"""Builds both schemas of records with named fields: dataclass, TypedDict and NamedTuple."""

import dataclasses
import typing
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from copy import deepcopy
from functools import partial
from typing import Annotated, Any, Final, NamedTuple, NotRequired, Required, cast, get_origin

import pydantic
from pydantic.fields import FieldInfo

from toolhaft.errors import DefinitionError
from toolhaft.schema.annotations import Builder, TypeSchemas, tuple_schemas
from toolhaft.schema.json_text import object_to_text, read_json
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.strict_core import MAKES, STRICT, CoreSchema, after, by_name, by_position, core
from toolhaft.schema.type_metadata import NOTHING, TEXT_CHANGES, TypeMetadata, read_mapping, read_metadata

PYDANTIC_MARKS: Final = ("__pydantic_validator__", "__pydantic_config__")
"""Attributes of a class that only pydantic can check."""


class RecordField(NamedTuple):
    """One named part of a record, or one parameter of a function."""

    name: str
    annotation: object
    default: object = NOTHING
    factory: Callable[[], object] | None = None
    metadata: TypeMetadata | None = None
    description: str = ""

    @property
    def is_required(self) -> bool:
        """True if it must be given."""
        return self.default is NOTHING and self.factory is None


RECORD_DEFAULTS: Final = "toolhaft_defaults"
"""The key of a RecordDefaults in the metadata of a typed-dict, whose core schema has no defaults."""


class RecordDefaults(NamedTuple):
    """The defaults that are added to the checked fields of a record."""

    defaults: Mapping[str, object]
    factories: Mapping[str, Callable[[], object]]


class RecordSchemas(NamedTuple):
    """The core schema (a typed-dict) and JSON Schema of a record, and the defaults of its fields."""

    core: CoreSchema
    json: JSONObject
    names: tuple[str, ...]
    defaults: dict[str, object]
    factories: dict[str, Callable[[], object]]


def build_fields(builder: Builder, fields: Iterable[RecordField]) -> RecordSchemas:
    """Build the typed-dict of the fields; it fills in no defaults, so that the keys sent can be counted."""
    checked: dict[str, object] = {}
    properties: JSONObject = {}
    required: list[JSONValue] = []
    defaults: dict[str, object] = {}
    factories: dict[str, Callable[[], object]] = {}
    for declared in fields:
        field, schema, json = _build_named(builder, declared)
        name = field.name
        is_required = field.is_required
        entry: dict[str, object] = {"type": "typed-dict-field", "schema": schema, "required": is_required}
        if field.metadata is not None and field.metadata.alias:
            name = entry["validation_alias"] = field.metadata.alias
        if field.description and "description" not in json:
            json["description"] = field.description
        if is_required:
            required.append(name)
        elif field.factory is not None:
            factories[field.name] = field.factory
        else:
            _add_default(field, json, defaults, factories)
        checked[field.name] = entry
        properties[name] = json
    made = factories and {name: factory for name, factory in factories.items() if factory is not absent}
    metadata = {RECORD_DEFAULTS: RecordDefaults(defaults, made)} if defaults or made else None
    record = core(
        type="typed-dict", fields=checked, extra_behavior="forbid", config=STRICT, metadata=metadata
    )
    json: JSONObject = {"type": "object", "properties": properties}
    if required:
        json["required"] = required
    return RecordSchemas(record, json, tuple(checked), defaults, factories)


def _build_named(builder: Builder, declared: RecordField) -> tuple[RecordField, CoreSchema, JSONObject]:
    """Build a field with its default and its schemas; errors name the field."""
    try:
        field = _with_default(declared)
        schema, json = _build_field(builder, field)
    except DefinitionError as error:
        if error.place:
            raise
        place = f"parameter {declared.name!r}"
        raise DefinitionError(error.problem, place=place, fix=error.fix) from error.__cause__
    return field, schema, json


def _build_field(builder: Builder, field: RecordField) -> TypeSchemas:
    metadata = field.metadata
    if metadata is None:
        return builder.build(field.annotation)
    builder.has_metadata = True
    rules = _as_annotated(metadata.rules)
    annotation: object = (
        Annotated[(field.annotation, *rules, *metadata.unknown)]
        if rules or metadata.unknown
        else field.annotation
    )  # type: ignore[valid-type] -- built at run time
    schema, json = builder.build(annotation)
    return schema, {**json, **metadata.keywords}


def _as_annotated(rules: Mapping[str, object]) -> list[object]:
    """Turn rules into `Annotated` metadata that pydantic understands too."""
    changes = {name: value for name, value in rules.items() if name in TEXT_CHANGES}
    known = {name: value for name, value in rules.items() if name != "format" and name not in changes}
    items: list[object] = [pydantic.Field(**cast("dict[str, Any]", known))] if known else []
    items += [pydantic.StringConstraints(**cast("dict[str, Any]", changes))] if changes else []
    return [*items, _Format(rules["format"])] if "format" in rules else items


class _Format:
    """The `format` rule, which pydantic does not have."""

    def __init__(self, format: object) -> None:
        self.format = format


def _with_default(field: RecordField) -> RecordField:
    """Return the field with the default and alias that its annotation or its default declares."""
    metadata = field.metadata
    if isinstance(field.default, FieldInfo):  # `limit: int = Field(10, ge=1)`
        metadata = read_metadata((field.default,), metadata)
        field = field._replace(default=NOTHING)
    elif hasattr(field.annotation, "__metadata__"):  # Annotated
        own = read_metadata(cast("Any", field.annotation).__metadata__)
        if own.alias or own.default is not NOTHING or own.factory:
            metadata = metadata or TypeMetadata()
            metadata.alias = metadata.alias or own.alias
            metadata.default, metadata.factory = own.default, own.factory
    if metadata is None:
        return field
    if field.is_required:
        factory = cast("Callable[[], object] | None", metadata.factory)
        field = field._replace(default=metadata.default, factory=factory)
    return field._replace(metadata=metadata)


def _add_default(
    field: RecordField,
    json: JSONObject,
    defaults: dict[str, object],
    factories: dict[str, Callable[[], object]],
) -> None:
    """Store a field's default, and put it into the JSON Schema if it has a JSON form."""
    default = field.default
    if default is None or default.__class__ in (str, int, bool):
        json["default"] = cast("JSONValue", default)
        defaults[field.name] = default
        return
    if _is_mutable(default):
        factories[field.name] = partial(deepcopy, default)  # a new copy per call: a handler may change it
    else:
        defaults[field.name] = default
    with suppress(ValueError):  # a default without a JSON form is not in the schema
        json["default"] = read_json(object_to_text(default))


def _is_mutable(default: object) -> bool:
    """True for a default that can be changed, as far as its hash shows, and copied."""
    try:
        hash(default)
    except TypeError:
        with suppress(Exception):  # one that cannot be copied is shared
            deepcopy(default)
            return True
    return False


def build_record(builder: Builder, cls: type) -> TypeSchemas | None:
    """Return both schemas of a dataclass, TypedDict or NamedTuple; None for any other class."""
    outer, builder.owner = builder.owner, cls
    try:
        return _build_record(builder, cls)
    finally:
        builder.owner = outer


def _build_record(builder: Builder, cls: type) -> TypeSchemas | None:
    if is_plain_dataclass(cls):
        made = build_fields(builder, dataclass_fields(cls, builder.names))
        return after(by_name(cls), made.core, metadata={MAKES: cls}), made.json
    if is_typed_dict(cls):
        made = build_fields(builder, typed_dict_fields(cls, builder.names))
        return made.core, made.json
    if hasattr(cls, "_fields") and tuple in cls.__mro__:
        return _named_tuple(builder, cls)
    return None


def is_plain_dataclass(cls: type) -> bool:
    """True for a dataclass that is made by its own constructor: nothing of pydantic's in it."""
    if not hasattr(cls, "__dataclass_fields__") or any(hasattr(cls, name) for name in PYDANTIC_MARKS):
        return False
    fields = cast("dict[str, dataclasses.Field[object]]", getattr(cls, "__dataclass_fields__"))  # noqa: B009 -- not on every class
    return not any(isinstance(field.default, FieldInfo) for field in fields.values())


def is_typed_dict(cls: type) -> bool:
    """True for a TypedDict of `typing` or of `typing_extensions`, without a configuration for pydantic."""
    return dict in cls.__mro__ and hasattr(cls, "__total__") and not hasattr(cls, "__pydantic_config__")


def dataclass_fields(cls: type, names: Mapping[str, object]) -> list[RecordField]:
    """Return the fields that a dataclass's constructor takes."""
    hints = _hints(cls, names)
    found: list[RecordField] = []
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
        metadata = read_mapping(cast("Mapping[object, object]", field.metadata)) if field.metadata else None
        found.append(RecordField(field.name, annotation, default, factory, metadata))
    return found


def typed_dict_fields(cls: type, names: Mapping[str, object]) -> list[RecordField]:
    """Return the keys of a TypedDict; an optional key has no default."""
    required = cast("frozenset[str]", getattr(cls, "__required_keys__", ()))
    # the class does not know about marks in annotations that are text
    marks: dict[Any, bool] = {NotRequired: False, Required: True}
    return [
        RecordField(name, hint, factory=None if marks.get(get_origin(hint), name in required) else absent)
        for name, hint in _hints(cls, names).items()
    ]


def absent() -> object:
    """Makes a key optional; never called."""
    return NOTHING


def _named_tuple(builder: Builder, cls: type) -> TypeSchemas:
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
    checked, json = tuple_schemas(items, jsons, len(names) - len(defaults))
    return after(by_position(cls), checked), json


def _hints(cls: type, names: Mapping[str, object]) -> dict[str, object]:
    try:
        return typing.get_type_hints(cls, localns={cls.__name__: cls, **names}, include_extras=True)
    except NameError as error:
        raise DefinitionError(
            f"{cls.__name__} names the type {error.name!r}, which is not defined",
            fix="define or import it where the class is defined",
        ) from error
    except Exception as error:  # an annotation in text is evaluated, and may raise anything
        raise DefinitionError(
            f"the annotations of {cls.__name__} cannot be read: {error!s:.200}",
            fix="write types that Python can evaluate",
        ) from error
