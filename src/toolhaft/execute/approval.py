"""Permission as a value: what a policy is asked, what it may answer, and an approval that can wait.

Knows the nouns; does not know how a call is suspended or resumed.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Final, Literal, TypeAlias, cast

from toolhaft.core.call import ToolCall
from toolhaft.core.principal import Principal
from toolhaft.execute.aliases import AnyTool

Verdict: TypeAlias = Literal["allow", "deny", "ask"]
VERDICTS: Final = ("allow", "deny", "ask")


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionRequest:
    """What a policy sees: the tool and the final arguments, defaults and repairs in, as they will run."""

    tool: AnyTool
    arguments: Mapping[str, object]
    principal: Principal | None
    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A policy's answer with its reason, which the model or the approver is told."""

    verdict: Verdict
    reason: str = ""


Policy: TypeAlias = Callable[
    [PermissionRequest], Decision | Verdict | bool | Awaitable[Decision | Verdict | bool]
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingApproval:
    """A call that waits for somebody to approve it: plain data, to be stored and resumed anywhere."""

    id: str
    tool: str
    tool_digest: str
    """Of the tool's definition: a tool that has changed since needs a new approval."""
    call_id: str
    arguments: Mapping[str, object]
    principal: str
    reason: str
    asked_at: float
    digest: str
    """Of all that would run; what is approved is what runs."""

    def to_json(self) -> str:
        """The approval as JSON text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes | Mapping[str, object]) -> PendingApproval:
        """The approval that was stored.

        Raises:
            ValueError: where the text is not one.
        """
        stored: object = json.loads(text) if isinstance(text, str | bytes) else dict(text)
        names = set(cls.__dataclass_fields__)
        if not isinstance(stored, dict) or set(cast("dict[str, object]", stored)) != names:
            raise ValueError(f"this is not a stored approval: it wants exactly {', '.join(sorted(names))}")
        return cls(**cast("dict[str, object]", stored))  # pyright: ignore[reportArgumentType] -- checked by digest before use

    def seal(self, digest: str) -> PendingApproval:
        """The same with its digest."""
        return replace(self, digest=digest)

    def sealed(self) -> dict[str, object]:
        """What the digest is taken of."""
        parts = asdict(self)
        for name in ("digest", "reason", "asked_at"):
            del parts[name]
        return parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """The answer to a pending approval. `digest` is of what the approver saw."""

    approved: bool
    digest: str | None = None
    by: str = ""
    reason: str = ""


ApprovalAnswer: TypeAlias = Approval | bool
