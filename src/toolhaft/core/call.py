"""A call of one tool: its name, and its arguments as the model wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TypeAlias, cast

from toolhaft import schema

Arguments: TypeAlias = "str | Mapping[str, object] | schema.UnreadArguments"  # text: loaded when it is used


_HINT = "write ToolCall(id='...', name='...', arguments={...})"


class ToolCall:
    """One call; treat it as read-only (it has slots for speed, and is not frozen).

    - `arguments`: the raw JSON text, an object if the provider sent one, UnreadArguments if it sent neither.
      An empty text and None mean that there are none.
    - `extras`: a provider's opaque state, passed through unchanged.
    - `idempotency_key`: a repeated call with the same key gets the recorded result and is not run again.

    Two calls are equal if their arguments have the same content, as text or as an object.

    Raises:
        TypeError: if the name is not text, or a dictionary was given instead of the fields.
    """

    __slots__ = ("arguments", "extras", "id", "idempotency_key", "name")

    def __init__(
        self,
        id: str = "",
        name: str = "",
        arguments: Arguments | None = "{}",
        *,
        extras: object = None,
        idempotency_key: str | None = None,
    ) -> None:
        if not name and isinstance(id, Mapping):
            raise TypeError(f"the id of a ToolCall is text, not {id!r:.80}; {_HINT}")
        self.id = id
        self.name = name if type(name) is str else _text_of(name)
        self.arguments: Arguments = arguments or _empty(arguments)
        self.extras = extras
        self.idempotency_key = idempotency_key or None  # some providers send "" for none

    @property
    def malformed(self) -> str | None:
        """The problem if the arguments are not one JSON object, else None.

        A malformed call runs no tool and gets a failed result. Text is parsed again each time.
        """
        given = cast("object", self.arguments)
        if isinstance(given, schema.UnreadArguments):
            return given.problem
        if isinstance(given, str | bytes | bytearray):
            return _problem_of(given)
        return None if isinstance(given, Mapping) else f"not a JSON object: got {schema.show(given)}"

    def with_key(self, idempotency_key: str) -> ToolCall:
        """A copy with an idempotency key."""
        return ToolCall(
            self.id, self.name, self.arguments, extras=self.extras, idempotency_key=idempotency_key
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolCall):
            return NotImplemented
        alike = all(getattr(self, name) == getattr(other, name) for name in _OTHER_SLOTS)
        return alike and _have_same_content(self.arguments, other.arguments)

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- arguments may be a dictionary

    def __repr__(self) -> str:
        return (
            f"ToolCall(id={self.id!r}, name={self.name!r}, arguments={cast('object', self.arguments)!r:.200})"
        )


def _empty(arguments: Arguments | None) -> Arguments:
    """No arguments: an empty text and None are read as an empty object."""
    return "{}" if arguments is None or isinstance(arguments, str | bytes | bytearray) else arguments


def _text_of(name: object) -> str:
    if isinstance(name, str):  # a member of a StrEnum
        return str(name)
    raise TypeError(f"the name of a ToolCall is text, not {name!r:.80}; {_HINT}")


_OTHER_SLOTS = tuple(name for name in ToolCall.__slots__ if name != "arguments")


def _have_same_content(one: object, other: object) -> bool:
    if isinstance(one, str) == isinstance(other, str):
        return one == other
    text, value = (one, other) if isinstance(one, str) else (other, one)
    try:
        return isinstance(value, Mapping) and schema.read_json(cast("str", text)) == value
    except ValueError:
        return False


def _problem_of(text: str | bytes | bytearray) -> str | None:
    try:
        given = inner = schema.read_json(text if isinstance(text, str) else text.decode())
    except ValueError as problem:
        return f"not valid JSON: {problem!s:.200}"
    if isinstance(given, str):  # an object that was encoded as text twice is accepted
        with suppress(ValueError):
            inner = schema.read_json(given)
    return None if isinstance(inner, dict) else f"not a JSON object: got {schema.show(given)}"
