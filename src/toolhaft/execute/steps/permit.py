"""The steps `access` and `permit`: may this caller use the tool at all, and with these arguments?"""

from __future__ import annotations

import inspect
import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final, cast

from toolhaft.core.canonical_json import digest
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.principal import Principal
from toolhaft.execute.active_call import ActiveCall, final_arguments, given_arguments
from toolhaft.execute.approval import (
    VERDICTS,
    Approval,
    CallPolicy,
    Decision,
    PendingApproval,
    PermissionRequest,
)
from toolhaft.execute.failures import refused
from toolhaft.execute.pipeline import Step, StepAnswer, resolve
from toolhaft.execute.setup import Setup
from toolhaft.execute.waiting import run_coroutine
from toolhaft.schema.json_text import copy_json
from toolhaft.schema.json_value import JSONObject

_UNCHANGING: Final = frozenset((bool, bytes, float, int, str, type(None)))
_MAX_DEPTH: Final = 100


def access(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """In a chain unless every caller may use the tool and no call has its own principal."""
    permission = setup.permission
    is_allowed = permission.allow is None or tool.name in permission.allow
    is_open = is_allowed and not tool.requires and permission.principal is None
    if is_open and not setup.has_bounded_calls:
        return inner

    def step(active: ActiveCall) -> StepAnswer:
        if is_open and active.principal is None:
            return inner(active)
        return access_refusal(tool, setup, active.principal) or inner(active)

    return step


def access_refusal(tool: AnyTool, setup: Setup, principal: Principal | None) -> AnyResult | None:
    """The refusal if this principal may not use the tool, else None."""
    name = tool.name
    if principal is not None:
        if principal.sees is not None and name not in principal.sees:
            return setup.tools.unknown(name, principal)
        if principal.has_expired:
            return _not_allowed(name, "the permission of this caller has expired")
        if principal.allow is not None and name not in principal.allow:
            return _not_allowed(name, "this caller may not use it")
    allow = setup.permission.allow
    if allow is not None and name not in allow:
        return _not_allowed(name, "it is not on the list of allowed tools")
    missing = sorted(set(tool.requires) - (principal.scopes if principal is not None else frozenset()))
    if missing:
        return _not_allowed(name, f"it requires the scope {', '.join(missing)}")
    return None


def offered_tools(setup: Setup) -> list[AnyTool]:
    """The tools to offer to a model: those that the executor allows, and its own principal may use."""
    allow, principal = setup.permission.allow, setup.permission.principal
    return [
        tool
        for tool in setup.tools.by_name.values()
        if (allow is None or tool.name in allow)
        # if the executor has no principal, each call may have one with the scopes that the tool requires
        and (principal is None or access_refusal(tool, setup, principal) is None)
    ]


def _not_allowed(name: str, why: str) -> AnyResult:
    return refused("not_allowed", f"{name} is not allowed: {why}.", advice="Use another tool.")


def permit(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """In a chain if the executor has a policy, which allows, denies or asks for approval."""
    policy = setup.permission.policy
    if policy is None:
        return inner

    async def step(active: ActiveCall) -> AnyResult:
        if active.approved is not None:
            if pending_approval(tool, active, active.approved.id).digest != active.approved.digest:
                return refused("not_allowed", f"{tool.name} was approved with other arguments.")
            return await resolve(inner(active))
        decision = await _decide(policy, tool, active)
        if active.deadline is not None and active.deadline.has_passed:
            return refused("deadline", f"the deadline passed before {tool.name} was allowed: it was not run.")
        if decision.verdict == "allow":
            return await resolve(inner(active))
        why = f": {decision.reason}" if decision.reason else ""
        if decision.verdict == "deny":
            return refused("not_allowed", f"{tool.name} is not allowed with these arguments{why}.")
        return refused(
            "needs_approval",
            f"{tool.name} waits for approval{why}.",
            advice="It was not run; go on without it, or wait.",
            pending=pending_approval(tool, active, secrets.token_hex(8), decision.reason),
        )

    return step


async def _decide(policy: CallPolicy, tool: AnyTool, active: ActiveCall) -> Decision:
    has_changed = watch_changes(active.params)
    decision = await _ask(policy, tool, active)
    if has_changed():
        return Decision(verdict="deny", reason="the policy changed the parameters, which it may only read")
    return decision


def watch_changes(params: object) -> Callable[[], bool]:
    """Returns a function that is true if a policy has changed the parameters since.

    Such a change was not checked, and is in no approval, key or record.
    """
    before = _snapshot(params)

    def has_changed() -> bool:
        try:
            return before != _snapshot(params)
        except Exception:  # noqa: BLE001 -- a value's own comparison; the same object is never compared
            return True

    return has_changed


def _snapshot(value: Any, depth: int = 0) -> object:  # noqa: ANN401 -- parameters of any type
    """A copy of all parts that a policy could change by mistake; other objects are compared as they are."""
    kind = cast("type[object]", type(value))
    if kind in _UNCHANGING or depth > _MAX_DEPTH:
        return kind, value
    inside = depth + 1
    if isinstance(value, list | tuple | deque):
        return kind, [_snapshot(item, inside) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        members = cast("dict[object, object]", value).items()
        return kind, [(name, _snapshot(member, inside)) for name, member in members]
    if isinstance(value, set):
        return kind, frozenset(cast("set[object]", value))
    fields: Iterable[str] | None = getattr(kind, "__pydantic_fields__", None)
    if fields is None:
        fields = getattr(kind, "__dataclass_fields__", None)
    if fields is None:
        return kind, value
    extra = _snapshot(getattr(value, "__pydantic_extra__", None), inside)
    return kind, extra, [_snapshot(getattr(value, name, None), inside) for name in fields]


async def _ask(policy: CallPolicy, tool: AnyTool, active: ActiveCall) -> Decision:
    params = cast("object", active.params)
    request = PermissionRequest(
        tool=tool,
        arguments=copy_json(final_arguments(tool, active)),
        # the handler takes the values of this dictionary, or the dictionary itself
        params=MappingProxyType(cast("dict[str, object]", params)) if type(params) is dict else params,
        principal=active.principal,
        call=active.call,
    )
    try:
        answer: object = policy(request)
        if inspect.isawaitable(answer):
            answer = await run_coroutine(active.waiter, partial(_await, answer), active.queue_limit_s(tool))
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


def pending_approval(tool: AnyTool, active: ActiveCall, id: str, reason: str = "") -> PendingApproval:
    """The approval that a call waits for, with the digest of what would run."""
    arguments, given = final_arguments(tool, active), given_arguments(active)
    draft = PendingApproval(
        id=id,
        tool=tool.name,
        tool_digest=_tool_digest(tool),
        call_id=active.call.id,
        arguments=arguments,
        given=None if given == arguments else given,
        principal=active.principal.id if active.principal is not None else "",
        idempotency_key=None
        if active.call.idempotency_key == f"approval:{id}"
        else active.call.idempotency_key,
        reason=reason,
        asked_at=time.time(),
        digest="",
    )
    return replace(draft, digest=digest(draft.digested_fields()))


def _tool_digest(tool: AnyTool) -> str:
    return digest([tool.name, tool.description, tool.input_schema, tool.version, tool.effect])


def _shows_what_runs(pending: PendingApproval, tool: AnyTool) -> bool:
    """True if the arguments that the approver sees are those that are checked again, with their defaults."""
    if pending.given is None:
        return True
    checked = tool.input_contract.defaults.add(copy_json(dict(cast("JSONObject", pending.given))))
    return digest(checked) == digest(dict(pending.arguments))


def approval_refusal(
    pending: PendingApproval,
    answer: Approval,
    tool: AnyTool | None,
    setup: Setup,
    principal: Principal | None,
) -> AnyResult | None:
    """The refusal if a pending call may not run now, else None: only what was approved runs."""
    if not answer.approved:
        why = f": {answer.reason}" if answer.reason else ""
        return refused("not_allowed", f"{pending.tool} was not approved{why}.")
    if tool is None:
        return setup.tools.unknown(pending.tool, principal)
    is_changed = digest(pending.digested_fields()) != pending.digest or not _shows_what_runs(pending, tool)
    if is_changed or answer.digest not in (None, pending.digest):
        return refused(
            "not_allowed", f"the approval of {pending.tool} is not for this call: its digest differs."
        )
    if _tool_digest(tool) != pending.tool_digest:
        return refused("not_allowed", f"{pending.tool} has changed since: it needs a new approval.")
    if pending.principal != (principal.id if principal is not None else ""):
        return refused("not_allowed", f"{pending.tool} was approved for another caller.")
    return None
