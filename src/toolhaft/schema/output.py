"""Checks what a tool gives back: quickly where it is plain and small, thoroughly where it is not.

Knows JSON Schema; does not know how a schema came about.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any, Final, cast

import jsonschema_rs
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from toolhaft.schema.contract import Check, Write
from toolhaft.schema.explainer import Explainer
from toolhaft.schema.json_text import SHORT_TEXT, endless, to_json_text
from toolhaft.schema.json_value import JSONValue
from toolhaft.schema.problems import show
from toolhaft.schema.raw_problems import read_errors
from toolhaft.schema.weight import is_light, is_writable

_MOST_TOLD: Final = 20
_WORDS: Final = frozenset(("$schema", "default", "description", "examples", "title"))
_STRIDE: Final = 32_768
_OF_OBJECTS: Final = frozenset(("additionalProperties", "properties", "required", "type"))


def output_checks(schema: JSONValue, validator: jsonschema_rs.Validator) -> tuple[Check, Write]:
    """The thorough check of a value, and the quick one that writes it on the way."""
    return _teller(schema, validator), _writer(schema, validator.is_valid)


def _teller(schema: JSONValue, validator: jsonschema_rs.Validator) -> Check:
    explainer = Explainer(schema if isinstance(schema, dict) else {})

    def check(value: object) -> str | None:
        if not is_writable(value):
            return "the value is too large to check, or holds itself"
        try:
            plain = cast("JSONValue", to_jsonable_python(value, inf_nan_mode="constants"))
            places = endless(plain)
        except (PydanticSerializationError, ValueError, RecursionError) as error:
            return f"the value has no JSON form: {error!s:.200}"
        problems = [explainer.problem(path, "not a finite number") for path in places]
        if not problems and validator.is_valid(plain):
            return None
        if not problems and len(to_json_text(plain)) > SHORT_TEXT:
            return (
                f"{show(plain)} does not fit the schema"  # every problem of a long value would cost gigabytes
            )
        problems = problems or read_errors(validator.iter_errors(plain), explainer)
        lines = [str(problem).replace("arguments:", "value:", 1) for problem in problems[:_MOST_TOLD]]
        if len(problems) > _MOST_TOLD:
            lines.append(f"and {len(problems) - _MOST_TOLD} more")
        return "; ".join(lines) or "the value does not fit its schema"

    return check


def _writer(schema: JSONValue, is_valid: Callable[[object], bool]) -> Write:
    sole = _sole_type(schema)
    if sole in _SCALARS:
        return _SCALARS[sole]
    wanted = {"object": dict, "array": list}.get(sole)

    def write(value: object) -> str | None:
        if (wanted is not None and type(value) is not wanted) or not is_light(value):
            return None
        try:
            text = to_json(value).decode()
            # one letter is found quickly; the words may stand in a string too: the thorough check finds out
            if ("N" in text and "NaN" in text) or ("I" in text and "Infinity" in text):
                return None
            if wanted is None and not is_valid(value):
                return None
        except (PydanticSerializationError, ValueError, RecursionError):
            return None
        return text

    names = _open_texts(schema)
    return _apart(names, write) if names else write


def _apart(names: tuple[str, ...], write: Write) -> Write:
    """Checks long texts without writing them, which would take longer than all the rest of a call."""

    def write_short(value: Any) -> str | None:  # noqa: ANN401 -- any value at all
        if value.__class__ is dict:
            for name in names:
                text = value.get(name)
                if text.__class__ is str and len(text) > SHORT_TEXT:
                    return "" if _fits(value, names, write) else None
        return write(value)

    return write_short


def _fits(value: dict[str, object], names: tuple[str, ...], write: Write) -> bool:
    rest = dict(value)
    for name in names:
        text = value.get(name)
        if type(text) is str:
            if not _is_sound(text):
                return False
            rest[name] = ""  # as good as any other text to a schema that asks for no more
    return write(rest) is not None


def _open_texts(schema: JSONValue) -> tuple[str, ...]:
    """The members that a schema wants to be texts, and says nothing more about."""
    if not isinstance(schema, dict) or not schema.keys() - _WORDS <= _OF_OBJECTS:
        return ()
    members = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(members, dict):
        return ()
    return tuple(name for name, member in members.items() if _sole_type(member) == "string")


def _sole_type(schema: JSONValue) -> str:
    """The type, where a schema says nothing else that matters."""
    if not isinstance(schema, dict) or not schema.keys() - _WORDS <= {"type", "items"}:
        return ""
    kind = schema.get("type")
    is_open = schema.get("items", {}) in ({}, True)
    return kind if isinstance(kind, str) and is_open else ""


def _write_integer(value: object) -> str | None:
    return repr(value) if type(value) is int else None


def _write_number(value: Any) -> str | None:  # noqa: ANN401 -- any value at all
    if type(value) is float and isfinite(value):
        return to_json(value).decode()
    return _write_integer(value)


def _write_boolean(value: object) -> str | None:
    if type(value) is not bool:
        return None
    return "true" if value else "false"


def _write_string(value: object) -> str | None:
    # a text is shown as it is: there is nothing to write; one that UTF-8 cannot say is not a text
    return "" if type(value) is str and _is_sound(value) else None


def _is_sound(text: Any) -> bool:  # noqa: ANN401 -- a str, told so without a call
    if text.isascii():
        return True
    try:
        for at in range(0, len(text), _STRIDE):
            text[at : at + _STRIDE].encode("utf-16-le")  # the same verdict as UTF-8, in a third of its time
    except UnicodeEncodeError:
        return False
    return True


_SCALARS: Final[dict[str, Write]] = {
    "boolean": _write_boolean,
    "integer": _write_integer,
    "number": _write_number,
    "string": _write_string,
}
