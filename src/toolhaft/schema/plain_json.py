"""Writes a Python value as the JSON from which its type reads it back, whatever its own serialisers do."""

import dataclasses
from collections.abc import Mapping
from enum import Enum
from math import isfinite
from typing import Any, cast

import pydantic
from pydantic.fields import FieldInfo
from pydantic_core import to_json, to_jsonable_python

from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.type_metadata import read_mapping


class NoPlainJSONError(ValueError):
    """A value that JSON cannot hold."""


def plain_json(value: object) -> JSONValue:
    """Return the JSON of a default; secrets are written in full.

    Raises:
        NoPlainJSONError: if JSON cannot hold it.
    """
    try:
        return _plain(value)
    except Exception as error:  # a value's own methods may raise anything
        raise NoPlainJSONError(type(value).__name__) from error


def _plain(value: Any) -> JSONValue:  # noqa: ANN401, C901, PLR0911 -- one line per kind of value
    if value is None or value.__class__ in (bool, int, str):
        return cast("JSONValue", value)
    if isinstance(value, Enum):
        return _plain(value.value)
    if isinstance(value, float):
        if not isfinite(value):
            raise NoPlainJSONError(str(value))
        return value
    if isinstance(value, pydantic.BaseModel | Mapping) or dataclasses.is_dataclass(value):
        return _members(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("list[object]", value)]
    if isinstance(value, set | frozenset):  # sorted: the order of a set differs between processes
        return sorted((_plain(item) for item in cast("set[object]", value)), key=to_json)
    if isinstance(value, pydantic.SecretStr | pydantic.SecretBytes | pydantic.Secret):
        return _plain(cast("object", value.get_secret_value()))
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, str):
        return str.__str__(value)
    return cast("JSONValue", to_jsonable_python(value, inf_nan_mode="constants"))


def _members(value: Any) -> JSONValue:  # noqa: ANN401 -- a model, a dataclass or a mapping
    if isinstance(value, pydantic.RootModel):
        return _plain(cast("object", value.root))
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return {_key(key): _plain(child) for key, child in pairs}
    fields = cast("dict[str, FieldInfo] | None", getattr(value, "__pydantic_fields__", None))
    if fields is None:
        return _dataclass_members(value)
    members: JSONObject = {}
    for name, field in fields.items():
        if field.init is not False:
            members[_alias(field) or name] = _plain(getattr(value, name))
    extra = cast("dict[str, object] | None", getattr(value, "__pydantic_extra__", None))
    return {**members, **{name: _plain(child) for name, child in (extra or {}).items()}}


def _dataclass_members(value: Any) -> JSONObject:  # noqa: ANN401 -- a dataclass
    members: JSONObject = {}
    for field in dataclasses.fields(value):
        if field.init:
            metadata = read_mapping(cast("Mapping[object, object]", field.metadata))
            members[metadata.alias or field.name] = _plain(getattr(value, field.name))
    return members


def _alias(field: FieldInfo) -> str | None:
    alias: object = field.validation_alias
    if isinstance(alias, pydantic.AliasChoices):
        alias = next((choice for choice in alias.choices if isinstance(choice, str)), alias.choices[0])
    if alias is None or isinstance(alias, str):
        return alias
    raise NoPlainJSONError(str(alias))


def _key(key: object) -> str:
    plain = _plain(key)
    return plain if isinstance(plain, str) else to_json(plain).decode()
