"""The types that are one JSON value: dates, identifiers, numbers as text, fixed choices.

Knows nothing of containers or records.
"""

import datetime as dt
import enum
import pathlib
import uuid
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final, TypeGuard, cast

from toolhaft.errors import DefinitionError
from toolhaft.schema import strict_core
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.strict_core import CoreSchema, after, core

_TEXT = core(type="str", strict=True)

LEAVES: Final[Mapping[object, tuple[CoreSchema, JSONObject]]] = {
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


def is_enum(annotation: object) -> TypeGuard[type[enum.Enum]]:
    """True for an Enum class."""
    return isinstance(annotation, type) and issubclass(annotation, enum.Enum)


def enum_nodes(cls: type[enum.Enum]) -> tuple[CoreSchema, JSONObject]:
    """Both schemas of an Enum: its values in JSON, its members in Python."""
    members = list(cls)
    values = [cast("object", member.value) for member in members]
    if not members:
        raise DefinitionError(f"the enum {cls.__name__} has no members", fix="give it at least one")
    return strict_core.enumeration(cls, members), {"enum": _json_choices(values, cls.__name__)}


def literal_nodes(args: tuple[object, ...]) -> tuple[CoreSchema, JSONObject]:
    """Both schemas of a Literal, whose choices may be Enum members too."""
    values = [cast("object", arg.value) if isinstance(arg, enum.Enum) else arg for arg in args]
    made = list(args) if values != list(args) or any(isinstance(arg, enum.Enum) for arg in args) else None
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
