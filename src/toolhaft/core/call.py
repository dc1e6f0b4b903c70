"""What a model asks for: one tool by name, with its arguments as they came.

Does not know wires, nor how a call is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast


class ToolCall:
    """One call; read-only by contract (slots by hand: it is made on every call).

    `arguments` is the raw JSON text, or an object where the wire had one; `extras` is a provider's own
    state, carried through untouched; a call with an `idempotency_key` that was seen before is answered with
    the recorded result and not run again.
    """

    __slots__ = ("arguments", "extras", "id", "idempotency_key", "name")

    def __init__(
        self,
        id: str = "",
        name: str = "",
        arguments: str | Mapping[str, object] = "{}",
        *,
        extras: object = None,
        idempotency_key: str | None = None,
    ) -> None:
        self.id = id
        self.name = name if type(name) is str else str(name)  # whatever a wire says is looked up as text
        self.arguments = arguments
        self.extras = extras
        self.idempotency_key = idempotency_key or None  # wires write "" for none

    def with_key(self, idempotency_key: str) -> ToolCall:
        """The same call under a key."""
        return ToolCall(
            self.id, self.name, self.arguments, extras=self.extras, idempotency_key=idempotency_key
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolCall):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in ToolCall.__slots__)

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- arguments may be a dictionary

    def __repr__(self) -> str:
        return (
            f"ToolCall(id={self.id!r}, name={self.name!r}, arguments={cast('object', self.arguments)!r:.200})"
        )
