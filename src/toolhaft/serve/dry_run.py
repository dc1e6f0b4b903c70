"""Says what a call would do, without running the tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from toolhaft import schema
from toolhaft.core.call import ToolCall
from toolhaft.core.conversion import AnyTool
from toolhaft.core.limits import Deadline
from toolhaft.core.masking import argument_mask
from toolhaft.core.principal import Principal
from toolhaft.execute.approval import Decision, PermissionRequest
from toolhaft.execute.executor import ToolExecutor
from toolhaft.schema.json_value import JSONObject
from toolhaft.serve.call_responses import failure_problem

_EFFECTS: Final[Mapping[str, str]] = {
    "read": "it changes nothing",
    "idempotent": "a repeated call changes nothing more",
    "reversible": "its changes are rolled back if it fails",
    "irreversible": "its changes cannot be undone",
}


async def preview_call(
    tool: AnyTool, call: ToolCall, principal: Principal, *, can_run: bool, timeout_s: float
) -> bytes:
    """What a call would do, as JSON: its permission and arguments are checked as in a run.

    Args:
        tool: the tool with its handler.
        call: the call.
        principal: the caller.
        can_run: False if the operator does not allow its kind of `run`, so that its handler only refuses.
        timeout_s: the time limit of the checks.

    Raises:
        HttpProblem: if the call would be refused.
    """
    accepted: list[PermissionRequest] = []

    def stop_before_running(request: PermissionRequest) -> Decision:
        accepted.append(request)
        return Decision(verdict="deny", reason="a dry run")

    # a tool without a handler, or with one that only refuses, reports that itself
    has_handler = can_run and tool.handler is not None
    executor = ToolExecutor([tool], principal=principal, policy=stop_before_running if has_handler else None)
    try:
        result = await executor.aexecute(call, deadline=Deadline.after(timeout_s))
    finally:
        executor.end_workers()
    if not accepted:
        raise failure_problem(result, call)
    mask = argument_mask(tool)
    arguments = cast("JSONObject", accepted[0].arguments)
    return schema.to_json_text(
        {
            "dry_run": True,
            "would": "run",
            "message": f"would run {tool.name}; {_EFFECTS[str(tool.effect)]}",
            "effect": str(tool.effect),
            "arguments": arguments if mask is None else mask(arguments),
            "repairs": [str(repair) for repair in result.repairs],
        }
    ).encode()
