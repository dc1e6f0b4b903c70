"""Asks the policy about the final arguments: allow, deny, or ask somebody first.

Knows decisions; does not know how an approval comes about.
"""

from __future__ import annotations

import inspect
import secrets
import time
from collections.abc import Awaitable
from copy import deepcopy
from functools import partial
from typing import cast

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.principal import Principal
from toolhaft.execute.approval import VERDICTS, Approval, Decision, PendingApproval, PermissionRequest, Policy
from toolhaft.execute.arguments import final_arguments
from toolhaft.execute.canonical import digest
from toolhaft.execute.coroutines import run_coroutine
from toolhaft.execute.failures import refused
from toolhaft.execute.run import Run, Step, arrive
from toolhaft.execute.setup import Setup


def compose(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """Absent where there is no policy."""
    policy = setup.policy
    if policy is None:
        return inner

    async def permit(run: Run) -> AnyResult:
        if run.approved_digest is not None:
            if pending_for(tool, run, run.approved_id).digest != run.approved_digest:
                return refused("not_allowed", f"{tool.name} was approved with other arguments.")
            return await arrive(inner(run))
        decision = await _decide(policy, tool, run)
        if run.deadline is not None and run.deadline.has_passed:
            return refused("deadline", f"the deadline passed before {tool.name} was allowed: it was not run.")
        if decision.verdict == "allow":
            return await arrive(inner(run))
        if decision.verdict == "deny":
            why = f": {decision.reason}" if decision.reason else ""
            return refused("not_allowed", f"{tool.name} is not allowed with these arguments{why}.")
        pending = pending_for(tool, run, secrets.token_hex(8), decision.reason)
        return refused(
            "needs_approval",
            f"{tool.name} waits for approval{f': {decision.reason}' if decision.reason else ''}.",
            advice="It was not run; go on without it, or wait.",
            pending=pending,
        )

    return permit


async def _decide(policy: Policy, tool: AnyTool, run: Run) -> Decision:
    request = PermissionRequest(
        tool=tool, arguments=deepcopy(final_arguments(run)), principal=run.principal, call=run.call
    )
    try:
        answer: object = policy(request)
        if inspect.isawaitable(answer):
            answer = await run_coroutine(run.port, partial(_await, answer), run.patience_s(tool))
    except Exception as error:  # noqa: BLE001 -- a policy that fails allows nothing
        return Decision(verdict="deny", reason=f"the policy failed ({type(error).__name__})")
    if isinstance(answer, Decision) and answer.verdict in VERDICTS:
        return answer
    if isinstance(answer, bool):
        return Decision(verdict="allow" if answer else "deny")
    if answer in VERDICTS:
        return Decision(verdict=cast("str", answer))  # pyright: ignore[reportArgumentType] -- one of the three
    return Decision(verdict="deny", reason=f"the policy answered {answer!r:.40}, not allow, deny or ask")


async def _await(answer: Awaitable[object]) -> object:
    return await answer


def pending_for(tool: AnyTool, run: Run, id: str, reason: str = "") -> PendingApproval:
    """What would run, sealed by its digest."""
    draft = PendingApproval(
        id=id,
        tool=tool.name,
        tool_digest=tool_digest(tool),
        call_id=run.call.id,
        arguments=final_arguments(run),
        principal=run.principal.id if run.principal is not None else "",
        idempotency_key=None if run.call.idempotency_key == f"approval:{id}" else run.call.idempotency_key,
        reason=reason,
        asked_at=time.time(),
        digest="",
    )
    return draft.seal(digest(draft.sealed()))


def tool_digest(tool: AnyTool) -> str:
    """The digest of a tool's definition."""
    return digest([tool.name, tool.description, tool.input_schema, tool.version, tool.effect])


def refusal_of(
    held: PendingApproval, answer: Approval, tool: AnyTool | None, setup: Setup, principal: Principal | None
) -> AnyResult | None:
    """Why a call that waited may not run now, if so: what is approved is what runs."""
    if not answer.approved:
        why = f": {answer.reason}" if answer.reason else ""
        return refused("not_allowed", f"{held.tool} was not approved{why}.")
    if tool is None:
        return setup.unknown(held.tool, principal)
    if digest(held.sealed()) != held.digest or answer.digest not in (None, held.digest):
        return refused(
            "not_allowed", f"what was approved for {held.tool} is not what was asked: its digest differs."
        )
    if tool_digest(tool) != held.tool_digest:
        return refused("not_allowed", f"{held.tool} has changed since: it needs a new approval.")
    if held.principal != (principal.id if principal is not None else ""):
        return refused("not_allowed", f"{held.tool} was approved for another caller.")
    return None
