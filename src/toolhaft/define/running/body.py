"""The body of a `run: http` block: JSON with places for parameters, given as a value or as text.

Knows how it is read, checked and filled; does not know requests.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import EllipsisType
from typing import Final, cast

from toolhaft.define.running.faults import Faults, Place
from toolhaft.define.running.parameters import Parameters
from toolhaft.define.running.template import Param, Template, as_text, read_template
from toolhaft.errors import ToolValidationError
from toolhaft.schema.json_value import JSONValue

_PLACE: Final[Place] = ("http", "body")
_IN_QUOTES: Final = "x\ue000"
"""No JSON escape, and no text that a file would have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """What is sent: a tree of values, or the text of one."""

    value: JSONValue
    text: Template | None
    quoted: tuple[bool, ...] = ()
    """For each part of the text, whether it stands inside quotes."""

    def fill(self, given: Mapping[str, object]) -> JSONValue | EllipsisType:
        """The body with its values; an ellipsis where all of it was left out."""
        if self.text is None:
            return cast("JSONValue | EllipsisType", _fill(self.value, given))
        if self.text.lacks(given):  # only one that is all of it may be missing
            return ...
        parts = zip(self.text.parts, self.quoted, strict=True)
        try:
            written = "".join(_written(part, given, inside=inside) for part, inside in parts)
            return cast("JSONValue", json.loads(written))
        except (ValueError, RecursionError) as error:
            names = ", ".join(dict.fromkeys(self.text.names))
            raise ToolValidationError(
                f"{names}: the body of the request is no JSON with such a value: {error!s:.80}"
            ) from None


def read_body(value: JSONValue, parameters: Parameters, faults: Faults) -> Body | None:
    """The body, or None where there is none."""
    if value is None:
        return None
    if not isinstance(value, str):
        _check(value, parameters, _PLACE, faults)
        return Body(value=value, text=None)
    made = parameters.template(value, _PLACE, faults)
    if made is None:
        return None
    if made.whole is None:
        parameters.needs_sure(made, _PLACE, faults, "inside the text of the body")
    body = Body(value=None, text=made, quoted=tuple(_quoting(made)))
    try:
        sample = _sample(body, made)
        keys = _has_key(sample)
    except (ValueError, RecursionError) as error:
        what = f"the text of the body is no JSON once it is filled: {error!s:.80}"
        faults.add(_PLACE, what, "write the body as a YAML mapping, or correct the JSON")
        return None
    if keys:
        faults.add(_PLACE, "a parameter stands in a key of the body", "parameters stand in values only")
        return None
    return body


def _sample(body: Body, made: Template) -> JSONValue:
    """The body with what cannot stand but as a whole value, or as plain characters inside quotes.

    A number would be a number behind another one, too, and the digits of an escape.
    """
    parts = zip(made.parts, body.quoted, strict=True)
    text = "".join(
        part if isinstance(part, str) else _IN_QUOTES if inside else "{}" for part, inside in parts
    )
    return cast("JSONValue", json.loads(text))


def _has_key(value: JSONValue) -> bool:
    """True if a parameter stands in the name of a key."""
    if isinstance(value, dict):
        return any(_IN_QUOTES in key or _has_key(item) for key, item in value.items())
    return isinstance(value, list) and any(map(_has_key, value))


def _check(value: JSONValue, parameters: Parameters, place: Place, faults: Faults) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if "${" in key:
                what = f"body: the key {key!r:.80} cannot be filled"
                faults.add((*place, key), what, "parameters stand in values only")
            _check(item, parameters, (*place, key), faults)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            _check(item, parameters, (*place, number), faults)
    elif isinstance(value, str):
        made = parameters.template(value, place, faults)
        if made is not None and made.whole is None:
            parameters.needs_sure(made, place, faults, "inside a longer text")


def _fill(value: JSONValue, given: Mapping[str, object]) -> object:
    """A value with its places filled; what was not given is left out."""
    if isinstance(value, dict):
        entries = ((key, _fill(item, given)) for key, item in value.items())
        return {key: item for key, item in entries if item is not ...}
    if isinstance(value, list):
        return [item for item in (_fill(item, given) for item in value) if item is not ...]
    if not isinstance(value, str):
        return value
    made = read_template(value)
    if made.whole is not None:
        return given.get(made.whole, ...)
    return made.fill(given, str)


def _quoting(made: Template) -> Iterator[bool]:
    """For each part, whether a value there stands inside the quotes of the literals around it."""
    inside = False
    for part in made.parts:
        yield inside
        if not isinstance(part, str):
            continue
        escaped = False
        for character in part:
            if escaped:
                escaped = False
            elif inside and character == "\\":
                escaped = True
            elif character == '"':
                inside = not inside


def _written(part: object, given: Mapping[str, object], *, inside: bool) -> str:
    if isinstance(part, str):
        return part
    value = given[cast("Param", part).name]
    if inside:
        return json.dumps(as_text(value))[1:-1]
    return json.dumps(value, allow_nan=False)
