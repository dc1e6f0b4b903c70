"""What a tool gives back: a message for the model, a value for the program, and whether it worked.

Does not know how a call is run or which wire the result goes out on.
"""

from __future__ import annotations

from typing import Generic, TypeVar, cast

from toolhaft import schema

ResultT = TypeVar("ResultT")


class ToolResult(Generic[ResultT]):
    """One call's outcome; read-only by contract (slots by hand: it is made on every call)."""

    __slots__ = (
        "content",
        "exclude_value_from_context",
        "failure",
        "final",
        "message",
        "pending",
        "repairs",
        "success",
        "value",
    )

    def __init__(
        self,
        *,
        message: str = "",
        value: ResultT | None = None,
        success: bool = True,
        exclude_value_from_context: bool = False,
        failure: object = None,
        content: tuple[object, ...] = (),
        final: bool = False,
        repairs: tuple[object, ...] = (),
        pending: object = None,
    ) -> None:
        self.message = message
        self.value = value
        self.success = success
        self.exclude_value_from_context = exclude_value_from_context
        self.failure = failure
        self.content = content
        self.final = final
        self.repairs = repairs
        self.pending = pending

    @staticmethod
    def ok(value: ResultT, message: str = "OK") -> ToolResult[ResultT]:
        """A success with its value."""
        return ToolResult(message=message, value=value)

    @staticmethod
    def error(message: str, value: ResultT | None = None) -> ToolResult[ResultT]:
        """A failure that the model is told about, with a payload where there is one."""
        return ToolResult(message=message, value=value, success=False)

    def render(self) -> str:
        """The text for the model: the message, then the value unless it is excluded or absent."""
        if self.exclude_value_from_context or self.value is None:
            return self.message
        body = _render_value(self.value, bare=not self.message)
        return f"{self.message}\n\n{body}" if self.message else body

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolResult):
            return NotImplemented
        twin = cast("ToolResult[object]", other)
        return all(getattr(self, name) == getattr(twin, name) for name in ToolResult.__slots__)

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- values are mostly dictionaries

    def __repr__(self) -> str:
        return f"ToolResult(message={self.message!r}, value={self.value!r}, success={self.success!r})"


def _render_value(value: object, *, bare: bool) -> str:
    own = getattr(value, "render", None)
    if callable(own):
        return str(own())
    if bare and isinstance(value, str):
        return value
    return schema.to_json_text(value)
