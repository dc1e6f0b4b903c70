"""A JSON value with its path in a payload, so that errors say where; turns SDK objects into JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, NoReturn, cast

from pydantic_core import from_json

from toolhaft.errors import WireError
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.problems import show

_DEEPEST: Final = 20


class PayloadCursor(NamedTuple):
    """A value of a payload, with its path."""

    value: JSONValue
    format: str
    path: str = ""

    def fail(self, expected: str) -> NoReturn:
        """Raise WireError: something else was expected here."""
        raise WireError(f"got {show(self.value)}", format=self.format, path=self.path, expected=expected)

    def object(self, expected: str = "an object") -> JSONObject:
        """The value, which must be an object."""
        return self.value if isinstance(self.value, dict) else self.fail(expected)

    def text(self, expected: str = "text") -> str:
        """The value, which must be a text."""
        return self.value if isinstance(self.value, str) else self.fail(expected)

    def items(self, expected: str = "a list") -> Iterator[PayloadCursor]:
        """The members of the value, which must be a list."""
        if not isinstance(self.value, list):
            self.fail(expected)
        for index, member in enumerate(self.value):
            yield PayloadCursor(member, self.format, f"{self.path}[{index}]")

    def members(self, key: str) -> Iterator[PayloadCursor]:
        """The members of the value if it is a list, of the list under the key, or the value itself.

        A single object under the key counts as a list of one, unless it is empty.
        """
        if isinstance(self.value, list):
            return self.items()
        listed = self.get(key)
        if listed is None and key not in self.object():
            return iter((self,))
        if listed is not None and isinstance(listed.value, dict) and listed.value:
            return iter((listed,))
        return self.need(key).items()

    def need(self, key: str, expected: str = "") -> PayloadCursor:
        """A required member of an object."""
        members = self.object()
        if key not in members:
            wanted = expected or f"an object with {key!r}"
            raise WireError(f"{key!r} is missing", format=self.format, path=self.path, expected=wanted)
        return self._member(key, members[key])

    def get(self, key: str) -> PayloadCursor | None:
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

    def _member(self, key: str, value: JSONValue) -> PayloadCursor:
        return PayloadCursor(value, self.format, f"{self.path}.{key}" if self.path else key)


def plain(source: object, format: str) -> JSONValue:
    """Plain JSON from JSON values, JSON text, or an SDK's object that can be dumped.

    Raises:
        WireError: for anything else.
    """
    if isinstance(source, dict | list):
        return _plain_members(cast("JSONObject | list[JSONValue]", source), 0)
    if isinstance(source, str | bytes | bytearray):
        return _read(source, format)
    if isinstance(source, Mapping):
        return dict(cast("Mapping[str, JSONValue]", source))
    written = _dumped(source)
    if isinstance(written, dict | list):
        return cast("JSONValue", written)
    expected = "a JSON object, its text, or the SDK's own object"
    if hasattr(source, "__aiter__"):
        expected = "a whole response; feed the events of an async stream to a StreamDecoder"
    raise WireError(f"got {type(source).__name__}", format=format, expected=expected)


def _plain_members(source: JSONObject | list[JSONValue], depth: int) -> JSONValue:
    """A plain list or object with every SDK object dumped to JSON; the same one if it is one and has none."""
    if depth > _DEEPEST:
        return source  # no SDK nests its objects so deep
    members = source.items() if isinstance(source, dict) else enumerate(source)
    changed: dict[str | int, JSONValue] = {}
    for key, value in members:
        if value is not None and not isinstance(value, str | int | float):
            written = _plain_member(value, depth)
            if written is not value:
                changed[key] = written
    if not changed and type(source) in (dict, list):
        return source
    if isinstance(source, dict):
        return {key: changed.get(key, value) for key, value in source.items()}
    return [changed.get(index, value) for index, value in enumerate(source)]


def _plain_member(value: JSONObject | list[JSONValue], depth: int) -> JSONValue:
    if isinstance(value, dict | list):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        return _plain_members(value, depth + 1)
    written = _dumped(value)
    return cast("JSONValue", written) if isinstance(written, dict | list) else value


def parse(text: str | bytes | bytearray) -> JSONValue:
    """The JSON value of a text.

    Raises:
        ValueError: if it is not JSON.
    """
    try:
        # accepts Infinity and NaN: such a number makes one call invalid, not the whole message
        return cast("JSONValue", from_json(text))
    except TypeError:  # raised for text that cannot be UTF-8
        raise ValueError("a lone surrogate") from None


def _read(text: str | bytes | bytearray, format: str) -> JSONValue:
    try:
        return parse(text)
    except ValueError as error:
        raise WireError(f"not JSON: {error!s:.200}", format=format, expected="one JSON value") from error


def _dumped(source: object) -> object:
    """An SDK's object as JSON; any other value unchanged."""
    own = cast("Callable[[], object] | None", getattr(source, "to_dict", None))
    if callable(own):  # before model_dump, which writes some fields under Python's names
        return own()
    dump = cast("Callable[..., object] | None", getattr(source, "model_dump", None))
    if callable(dump):
        return dump(mode="json", by_alias=True, exclude_none=True)
    return source
