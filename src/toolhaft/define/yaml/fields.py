"""The fields of a YAML tool, and the check of each value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, TypeAlias, cast
from urllib.parse import urlsplit

from toolhaft.core.options import resolve_options
from toolhaft.core.tool import OPTION_NAMES
from toolhaft.define.running.literal_secrets import has_secret_query, looks_secret
from toolhaft.errors import DefinitionError
from toolhaft.schema.json_value import JSONValue
from toolhaft.schema.nearest import nearest
from toolhaft.schema.problems import show

FieldCheck: TypeAlias = Callable[[str, JSONValue], object]

TYPES: Final = ("string", "number", "integer", "boolean", "array", "object")
SHARES: Final = ("private", "org", "public")
MAX_DESCRIPTION: Final = 1000
_ID: Final = re.compile(r"[a-z][a-z0-9_-]*")
_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII
)
_MAX_ID: Final = 50
_MAX_QUOTED: Final = 80


def check_field(key: str, value: object) -> object:
    """Return the value of a field if it is valid.

    Raises:
        DefinitionError: if it is not.
    """
    return FIELDS[key](key, cast("JSONValue", value))


def quote(value: JSONValue) -> str:
    """Write a value on one short line, a text in quotes."""
    return f"{value!r:.{_MAX_QUOTED}}" if isinstance(value, str) else show(value)


def _wrong(key: str, value: JSONValue, wanted: str, fix: str = "") -> DefinitionError:
    return DefinitionError(f"{key} {quote(value)} is not {wanted}", fix=fix or f"give {key} {wanted}")


def _text(most: int | None = None) -> FieldCheck:
    def check(key: str, value: JSONValue) -> str:
        if not isinstance(value, str):
            quoted = f', in quotes: {key}: "{show(value)}"' if isinstance(value, int | float) else ""
            raise _wrong(key, value, "text", f"give {key} a text{quoted}")
        if not value.strip():
            raise DefinitionError(f"{key} is empty", fix=f"give {key} a text")
        if most is not None and len(value) > most:
            raise DefinitionError(f"{key} has {len(value)} characters", fix=f"use 1 to {most}")
        return value

    return check


def _optional(check: FieldCheck) -> FieldCheck:
    return lambda key, value: None if value is None else check(key, value)


def _id(key: str, value: JSONValue) -> str:
    if not isinstance(value, str) or not _ID.fullmatch(value) or len(value) > _MAX_ID:
        rule = f"use 1 to {_MAX_ID} of a-z, 0-9, '_' and '-', a letter first"
        raise _wrong(key, value, "a tool id", rule)
    return value


def _choice(*choices: str) -> FieldCheck:
    def check(key: str, value: JSONValue) -> str:
        if isinstance(value, str) and value in choices:
            return value
        close = nearest(value, choices) if isinstance(value, str) else None
        fix = f"did you mean {key}: {close}?" if close else ""
        raise _wrong(key, value, f"one of {', '.join(choices)}", fix)

    return check


def _flag(key: str, value: JSONValue) -> bool:
    if not isinstance(value, bool):
        raise _wrong(key, value, "true or false")
    return value


def _time(key: str, value: JSONValue) -> str:
    try:
        if isinstance(value, str) and _TIME.fullmatch(value):
            datetime.fromisoformat(value)
            return value
    except ValueError:
        pass
    raise _wrong(key, value, "an ISO 8601 time", 'write it as "2024-01-31T09:30:00Z"')


def _url(key: str, value: JSONValue) -> str:
    if isinstance(value, str) and "@" in value.partition("://")[2].partition("/")[0]:
        # not quoted: it may be a secret
        raise DefinitionError(f"{key} has a user or a password in it", fix="take them out of the URL")
    if isinstance(value, str) and (looks_secret(value) or has_secret_query(value)):
        raise DefinitionError(f"{key} has a literal secret in it", fix="take it out of the URL")
    try:
        if isinstance(value, str) and value.isprintable() and " " not in value:
            parts = urlsplit(value)
            if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
                return value
    except ValueError:
        pass
    raise _wrong(key, value, "a URL", 'write it as "https://example.com/path"')


def _option(key: str, value: JSONValue) -> JSONValue:
    # with effect read and no time limit, so that cache_s and stall_s pass; the whole tool is checked later
    resolve_options({"effect": "read", "timeout_s": None, key: value})
    return value


def _list_option(key: str, value: JSONValue) -> JSONValue:
    return [] if value is None else _option(key, value)


def _list(key: str, value: JSONValue) -> JSONValue:
    if value is not None and not isinstance(value, list):
        raise _wrong(key, value, "a list", f"start each of the {key} with '- name: ...'")
    return value or []


def _anything(key: str, value: JSONValue) -> JSONValue:  # noqa: ARG001 -- one signature for every field
    return value


def _required(key: str, value: JSONValue) -> JSONValue:
    if not isinstance(value, list):
        return _flag(key, value)
    if not all(isinstance(name, str) for name in value):
        raise _wrong(key, value, "a list of the object's own keys")
    return value


OWN_FIELDS: Final[Mapping[str, tuple[FieldCheck, JSONValue]]] = {
    "owner": (_optional(_text()), None),
    "share": (_choice(*SHARES), "private"),
    "created_at": (_optional(_time), None),
    "updated_at": (_optional(_time), None),
    "endpoint": (_optional(_url), None),
}
"""The fields that only YAML tools have, each with its check and its default; `is_active` is computed."""

FIELDS: Final[Mapping[str, FieldCheck]] = {
    "id": _id,
    "name": _text(100),
    "description": _text(MAX_DESCRIPTION),
    "when_to_use": _optional(_text()),
    "owner": OWN_FIELDS["owner"][0],
    "share": OWN_FIELDS["share"][0],
    "tags": _list_option,
    **{key: OWN_FIELDS[key][0] for key in ("created_at", "updated_at")},
    "is_active": _flag,
    "endpoint": OWN_FIELDS["endpoint"][0],
    "version": _optional(_text()),
    **{
        key: _option
        for key in OPTION_NAMES
        if key not in ("title", "when_to_use", "tags", "version", "examples")
    },
    "parameters": _list,
    "returns": _list,
    "run": _anything,
    "examples": _option,
}
"""Every key of a file, in the order of a new file."""

_ANY_KEYWORDS: Final = (
    "title",
    "enum",
    "const",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
)
_COMBINED_KEYWORDS: Final = ("anyOf", "oneOf", "allOf", "not", "if", "then", "else")
_TEXT_KEYWORDS: Final = ("format", "pattern", "minLength", "maxLength", "contentEncoding", "contentMediaType")
_NUMBER_KEYWORDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_ITEM_KEYWORDS: Final = ("items", "prefixItems", "contains", "minContains", "maxContains", "unevaluatedItems")
_ARRAY_KEYWORDS: Final = (*_ITEM_KEYWORDS, "minItems", "maxItems", "uniqueItems")
_KEY_KEYWORDS: Final = ("additionalProperties", "patternProperties", "unevaluatedProperties", "propertyNames")
_SIZE_KEYWORDS: Final = ("minProperties", "maxProperties", "dependentRequired", "dependentSchemas")
_OBJECT_KEYWORDS: Final = ("properties", *_KEY_KEYWORDS, *_SIZE_KEYWORDS)
_KEYWORDS: Final = (
    *_ANY_KEYWORDS,
    *_TEXT_KEYWORDS,
    *_NUMBER_KEYWORDS,
    *_ARRAY_KEYWORDS,
    *_OBJECT_KEYWORDS,
    *_COMBINED_KEYWORDS,
)
RETURN_FIELDS: Final[Mapping[str, FieldCheck]] = {
    "name": _text(),
    "type": _choice(*TYPES),
    "required": _required,
    "description": _text(),
    **dict.fromkeys(_KEYWORDS, _anything),
}
PARAMETER_FIELDS: Final[Mapping[str, FieldCheck]] = {
    "name": _text(50),
    "type": _choice(*TYPES),
    "required": _required,
    "default": _anything,
    "description": _text(),
    **dict.fromkeys(_KEYWORDS, _anything),
}
