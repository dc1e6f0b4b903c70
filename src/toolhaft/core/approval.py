"""A call that waits for approval, as data that can be stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import UnionType
from typing import Any, Final, cast

from toolhaft.core.call import ToolCall

_FIELDS: Final[Mapping[str, type | UnionType]] = {
    "id": str,
    "tool": str,
    "tool_digest": str,
    "call_id": str,
    "arguments": dict,
    "principal": str,
    "idempotency_key": str | None,
    "reason": str,
    "asked_at": float | int,
    "digest": str,
    "given": dict | None,  # pyright: ignore[reportMissingTypeArgument] -- for isinstance
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PendingApproval:
    """A call that waits for approval: plain data that can be stored, and resumed in another process."""

    id: str
    tool: str
    tool_digest: str
    """The digest of the tool's definition: a tool that has changed since needs a new approval."""
    call_id: str
    arguments: Mapping[str, Any]
    """The checked JSON of the call, with repairs and defaults."""
    principal: str
    idempotency_key: str | None
    reason: str
    asked_at: float
    digest: str
    """The digest of all that would run: only what was approved runs."""
    given: Mapping[str, object] | None = None
    """What `resume` checks again, if not `arguments`: without the defaults that never vary."""

    def __repr__(self) -> str:  # without values: some of them may be secret
        names = f"arguments=<{', '.join(self.arguments)}>"
        return f"PendingApproval(id={self.id!r}, tool={self.tool!r}, {names}, digest={self.digest!r})"

    def to_json(self) -> str:
        """The approval as JSON text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes | Mapping[str, object]) -> PendingApproval:
        """Read a stored approval.

        Raises:
            ValueError: if the text is not one.
        """
        try:
            stored: object = json.loads(text) if isinstance(text, str | bytes) else dict(text)
            if isinstance(stored, dict):  # approvals of earlier versions have no `given`
                stored = {"given": None, **cast("dict[str, object]", stored)}
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"this is not a stored approval: {error}") from error
        if not isinstance(stored, dict) or set(cast("dict[str, object]", stored)) != set(_FIELDS):
            raise ValueError(f"this is not a stored approval: its fields must be {', '.join(_FIELDS)}")
        fields = cast("dict[str, object]", stored)
        for name, kind in _FIELDS.items():
            if not isinstance(fields[name], kind):
                raise ValueError(f"this is not a stored approval: {name} is {fields[name]!r:.40}")  # noqa: TRY004 -- the stored text is wrong, not the caller's type
        return cls(**fields)  # pyright: ignore[reportArgumentType] -- checked above

    def to_call(self) -> ToolCall:
        """The call that waits."""
        return ToolCall(
            id=self.call_id,
            name=self.tool,
            arguments=self.arguments if self.given is None else self.given,
            idempotency_key=self.idempotency_key or f"approval:{self.id}",
        )

    def digested_fields(self) -> dict[str, object]:
        """The fields that the digest covers."""
        parts = asdict(self)
        for name in ("digest", "reason", "asked_at"):
            del parts[name]
        if self.given is None:  # as in approvals of earlier versions
            del parts["given"]
        return parts
