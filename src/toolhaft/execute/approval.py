"""The request to a policy, its decision, and the answer to a pending approval."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from toolhaft.core.approval import PendingApproval as PendingApproval  # noqa: PLC0414 -- it belongs to this package's names too
from toolhaft.core.call import ToolCall
from toolhaft.core.conversion import AnyTool
from toolhaft.core.principal import Principal

PolicyVerdict: TypeAlias = Literal["allow", "deny", "ask"]
VERDICTS: Final = ("allow", "deny", "ask")


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionRequest:
    """What a policy decides about: the tool and the final arguments, with defaults and repairs applied."""

    tool: AnyTool
    arguments: Mapping[str, Any]
    """The checked JSON: what the model gave, repaired, and the defaults. A copy."""
    params: Any = None
    """What the handler receives, not a copy: validators may have changed the values.

    Only read it: a policy that changes it denies the call.
    """
    principal: Principal | None
    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A policy's decision; the model or the approver reads its reason."""

    verdict: PolicyVerdict
    reason: str = ""


CallPolicy: TypeAlias = Callable[
    [PermissionRequest], Decision | PolicyVerdict | bool | Awaitable[Decision | PolicyVerdict | bool]
]
"""The `policy` of an executor: decides about each call by its final arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """The answer to a pending approval. `digest` is the digest of what the approver saw."""

    approved: bool
    digest: str | None = None
    by: str = ""
    reason: str = ""


ApprovalAnswer: TypeAlias = Approval | bool | Literal["allow", "deny"]


def read_approval(given: object) -> Approval:
    """Convert the answer to a pending approval into an Approval.

    Raises:
        TypeError: for anything but True, False or an Approval.
    """
    if isinstance(given, bool):
        return Approval(approved=given)
    if isinstance(given, Approval):
        return given
    if given in ("allow", "deny"):
        return Approval(approved=given == "allow")
    raise TypeError(f"an approval is answered with True, False or an Approval, not {given!r:.80}")
