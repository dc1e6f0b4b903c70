"""Reads untrusted JSON by its place: what stands there, or a WireError that says what was expected.

Knows JSON and SDK objects that can write themselves as JSON; does not know any one wire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, NoReturn, cast

from pydantic_core import from_json

from toolhaft.errors import WireError
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.problems import show

_DEEPEST: Final = 20


class Shape(NamedTuple):
    """A value of a payload and where it stands."""

    value: JSONValue
    format: str
    path: str = ""

    def fail(self, expected: str) -> NoReturn:
        """Say that something else was expected here."""
        raise WireError(f"got {show(self.value)}", format=self.format, path=self.path, expected=expected)

    def object(self, expected: str = "an object") -> JSONObject:
        """The value, which must be an object."""
        return self.value if isinstance(self.value, dict) else self.fail(expected)

    def text(self, expected: str = "text") -> str:
        """The value, which must be a text."""
        return self.value if isinstance(self.value, str) else self.fail(expected)

    def items(self, expected: str = "a list") -> Iterator[Shape]:
        """The members of the value, which must be a list."""
        if not isinstance(self.value, list):
            self.fail(expected)
        for index, member in enumerate(self.value):
            yield Shape(member, self.format, f"{self.path}[{index}]")

    def members(self, key: str) -> Iterator[Shape]:
        """The members of a list that is given itself, or stands under a key; or the one member alone."""
        if isinstance(self.value, list):
            return self.items()
        listed = self.get(key)
        return iter((self,)) if listed is None and key not in self.object() else self.need(key).items()

    def need(self, key: str, expected: str = "") -> Shape:
        """The member of an object that must be there."""
        members = self.object()
        if key not in members:
            wanted = expected or f"an object with {key!r}"
            raise WireError(f"{key!r} is missing", format=self.format, path=self.path, expected=wanted)
        return self._member(key, members[key])

    def get(self, key: str) -> Shape | None:
        """The member of an object, or None where it is absent or null."""
        value = self.object().get(key)
        return None if value is None else self._member(key, value)

    def maybe_text(self, key: str) -> str | None:
        """The text under a key, or None where it is absent or null."""
        member = self.get(key)
        return None if member is None else member.text()

    def maybe_object(self, key: str) -> JSONObject | None:
        """The object under a key, or None where it is absent or null."""
        member = self.get(key)
        return None if member is None else member.object()

    def _member(self, key: str, value: JSONValue) -> Shape:
        return Shape(value, self.format, f"{self.path}.{key}" if self.path else key)


def plain(given: object, format: str) -> JSONValue:
    """What was given as plain JSON: JSON itself, its text, or an SDK's object that can write itself.

    Raises:
        WireError: where it is none of these.
    """
    if isinstance(given, dict | list):
        return _plain_members(cast("JSONObject | list[JSONValue]", given), 0)
    if isinstance(given, str | bytes | bytearray):
        return _read(given, format)
    if isinstance(given, Mapping):
        return dict(cast("Mapping[str, JSONValue]", given))
    written = _write_itself(given)
    if isinstance(written, dict | list):
        return cast("JSONValue", written)
    expected = "a JSON object, its text, or the SDK's own object"
    if hasattr(given, "__aiter__"):
        expected = "what can be read at once: feed the events of an async stream to a StreamDecoder"
    raise WireError(f"got {type(given).__name__}", format=format, expected=expected)


def _plain_members(given: JSONObject | list[JSONValue], depth: int) -> JSONValue:
    """A list or an object in which every SDK object is written as JSON; the same one where there is none."""
    if depth > _DEEPEST:
        return given  # no SDK nests its objects so deep
    members = given.items() if isinstance(given, dict) else enumerate(given)
    changed: dict[str | int, JSONValue] = {}
    for key, value in members:
        if value is not None and not isinstance(value, str | int | float):
            written = _plain_member(value, depth)
            if written is not value:
                changed[key] = written
    if not changed:
        return given
    if isinstance(given, dict):
        return {key: changed.get(key, value) for key, value in given.items()}
    return [changed.get(index, value) for index, value in enumerate(given)]


def _plain_member(value: JSONObject | list[JSONValue], depth: int) -> JSONValue:
    if isinstance(value, dict | list):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        return _plain_members(value, depth + 1)
    written = _write_itself(value)
    return cast("JSONValue", written) if isinstance(written, dict | list) else value


def parse(text: str | bytes | bytearray) -> JSONValue:
    """The JSON value that a text holds.

    Raises:
        ValueError: where it holds none.
    """
    try:
        # a number without end is let in: it is one call's trouble, not the whole message's
        return cast("JSONValue", from_json(text))
    except TypeError:  # what the parser says of a text that has no UTF-8
        raise ValueError("a lone surrogate") from None


def _read(text: str | bytes | bytearray, format: str) -> JSONValue:
    try:
        return parse(text)
    except ValueError as error:
        raise WireError(f"not JSON: {error!s:.200}", format=format, expected="one JSON value") from error


def _write_itself(given: object) -> object:
    """An SDK's object as the JSON that it was read from."""
    own = cast("Callable[[], object] | None", getattr(given, "to_dict", None))
    if callable(own):  # before model_dump, which writes some fields under Python's names
        return own()
    dump = cast("Callable[..., object] | None", getattr(given, "model_dump", None))
    if callable(dump):
        return dump(mode="json", by_alias=True, exclude_none=True)
    return given
