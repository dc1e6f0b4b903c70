"""What a model asks for: one tool by name, with its arguments as they came.

Does not know wires, nor how a call is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import cast

from toolhaft import schema


class ToolCall:
    """One call; read-only by contract (slots by hand: it is made on every call).

    `arguments` is the raw JSON text, an object where the wire had one, or UnreadArguments where what the wire
    had could be neither; `extras` is a provider's own state, carried through untouched; a call with an
    `idempotency_key` that was seen before is answered with the recorded result and not run again. Two calls
    are equal where their arguments say the same, be it as text or as an object.
    """

    __slots__ = ("arguments", "extras", "id", "idempotency_key", "name")

    def __init__(
        self,
        id: str = "",
        name: str = "",
        arguments: str | Mapping[str, object] | schema.UnreadArguments = "{}",
        *,
        extras: object = None,
        idempotency_key: str | None = None,
    ) -> None:
        self.id = id
        self.name = name if type(name) is str else str(name)  # whatever a wire says is looked up as text
        self.arguments = arguments
        self.extras = extras
        self.idempotency_key = idempotency_key or None  # wires write "" for none

    @property
    def malformed(self) -> str | None:
        """What is wrong with the arguments where they are not one JSON object; None where they are one.

        No tool is run for a malformed call: it is answered with a failed result. Text is read anew each time.
        """
        given = cast("object", self.arguments)
        if isinstance(given, schema.UnreadArguments):
            return given.problem
        if isinstance(given, str | bytes | bytearray):
            return _problem_of(given)
        return None if isinstance(given, Mapping) else f"not a JSON object: got {schema.show(given)}"

    def with_key(self, idempotency_key: str) -> ToolCall:
        """The same call under a key."""
        return ToolCall(
            self.id, self.name, self.arguments, extras=self.extras, idempotency_key=idempotency_key
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolCall):
            return NotImplemented
        alike = all(getattr(self, name) == getattr(other, name) for name in _OTHER_SLOTS)
        return alike and _say_the_same(self.arguments, other.arguments)

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- arguments may be a dictionary

    def __repr__(self) -> str:
        return (
            f"ToolCall(id={self.id!r}, name={self.name!r}, arguments={cast('object', self.arguments)!r:.200})"
        )


_OTHER_SLOTS = tuple(name for name in ToolCall.__slots__ if name != "arguments")


def _say_the_same(one: object, other: object) -> bool:
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
    except ValueError as trouble:
        return f"not valid JSON: {trouble!s:.200}"
    if isinstance(given, str):  # an object that was written as text twice is read as what it is
        with suppress(ValueError):
            inner = schema.read_json(given)
    return None if isinstance(inner, dict) else f"not a JSON object: got {schema.show(given)}"
