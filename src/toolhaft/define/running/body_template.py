"""The body of a `run: http` block: JSON with placeholders, written as a YAML value or as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import EllipsisType
from typing import Final, cast

from toolhaft.define.running.parameters import Parameters, RunProblems
from toolhaft.define.running.template import Param, StringTemplate, as_text, read_template
from toolhaft.errors import ToolValidationError
from toolhaft.schema.json_value import JSONValue, ValuePath

_PLACE: Final[ValuePath] = ("http", "body")
_IN_QUOTES: Final = "x\ue000"
"""Replaces a placeholder inside quotes in the sample: not a JSON escape, and unlikely in a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyTemplate:
    """The body as a JSON value, or as JSON text."""

    value: JSONValue
    text: StringTemplate | None
    quoted: tuple[bool, ...] = ()
    """For each part of the text, whether it is inside quotes."""

    def fill(self, given: Mapping[str, object]) -> JSONValue | EllipsisType:
        """Fill the body; an ellipsis if there is nothing to send."""
        if self.text is None:
            return cast("JSONValue | EllipsisType", _fill(self.value, given))
        if self.text.lacks(given):  # only a parameter that is the whole text may be missing
            return ...
        parts = zip(self.text.parts, self.quoted, strict=True)
        try:
            written = "".join(_write_part(part, given, inside=inside) for part, inside in parts)
            return cast("JSONValue", json.loads(written))
        except (ValueError, RecursionError) as error:
            names = ", ".join(dict.fromkeys(self.text.names))
            raise ToolValidationError(
                f"{names}: the body of the request is not JSON with this value: {error!s:.80}"
            ) from None


def read_body(value: JSONValue, parameters: Parameters, problems: RunProblems) -> BodyTemplate | None:
    """Parse the `body` of a block; None if there is none, or it has problems."""
    if value is None:
        return None
    if not isinstance(value, str):
        _check(value, parameters, _PLACE, problems)
        return BodyTemplate(value=value, text=None)
    made = parameters.template(value, _PLACE, problems)
    if made is None:
        return None
    if made.whole is None:
        parameters.require_value(made, _PLACE, problems, "inside the text of the body")
    body = BodyTemplate(value=None, text=made, quoted=tuple(_inside_quotes(made)))
    try:
        sample = _sample(body, made)
        keys = _has_placeholder_key(sample)
    except (ValueError, RecursionError) as error:
        what = f"the text of the body is not JSON once it is filled: {error!s:.80}"
        problems.add(_PLACE, what, "write the body as a YAML mapping, or correct the JSON")
        return None
    if keys:
        problems.add(_PLACE, "a parameter is in a key of the body", "use parameters in values only")
        return None
    return body


def _sample(body: BodyTemplate, made: StringTemplate) -> JSONValue:
    """Fill the text with `{}`, which is valid only as a whole value, or with letters inside quotes.

    A digit would not do: it is also valid after another digit, and in an escape.
    """
    parts = zip(made.parts, body.quoted, strict=True)
    text = "".join(
        part if isinstance(part, str) else _IN_QUOTES if inside else "{}" for part, inside in parts
    )
    return cast("JSONValue", json.loads(text))


def _has_placeholder_key(value: JSONValue) -> bool:
    """True if a placeholder is in a key."""
    if isinstance(value, dict):
        return any(_IN_QUOTES in key or _has_placeholder_key(item) for key, item in value.items())
    return isinstance(value, list) and any(map(_has_placeholder_key, value))


def _check(value: JSONValue, parameters: Parameters, place: ValuePath, problems: RunProblems) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if "${" in key:
                what = f"body: the key {key!r:.80} cannot be filled"
                problems.add((*place, key), what, "use parameters in values only")
            _check(item, parameters, (*place, key), problems)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            _check(item, parameters, (*place, number), problems)
    elif isinstance(value, str):
        made = parameters.template(value, place, problems)
        if made is not None and made.whole is None:
            parameters.require_value(made, place, problems, "inside a longer text")


def _fill(value: JSONValue, given: Mapping[str, object]) -> object:
    """Fill a value; a member whose parameter is missing is left out."""
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


def _inside_quotes(made: StringTemplate) -> Iterator[bool]:
    """Yield for each part whether it is inside quotes."""
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


def _write_part(part: object, given: Mapping[str, object], *, inside: bool) -> str:
    if isinstance(part, str):
        return part
    value = given[cast("Param", part).name]
    if inside:
        return json.dumps(as_text(value))[1:-1]
    return json.dumps(value, allow_nan=False)
