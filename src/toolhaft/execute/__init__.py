"""Runs calls of tools: checked, permitted, limited, rolled back if they fail, and recorded."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.core.approval import PendingApproval as PendingApproval
    from toolhaft.core.events import Beat as Beat
    from toolhaft.core.events import Chunk as Chunk
    from toolhaft.core.events import Progress as Progress
    from toolhaft.core.result import Failure as Failure
    from toolhaft.execute.approval import Approval as Approval
    from toolhaft.execute.approval import Decision as Decision
    from toolhaft.execute.approval import PermissionRequest as PermissionRequest
    from toolhaft.execute.attempts import CircuitBreaker as CircuitBreaker
    from toolhaft.execute.call_log import log_calls as log_calls
    from toolhaft.execute.executor import ToolExecutor as ToolExecutor
    from toolhaft.execute.running_calls import RunningCall as RunningCall
    from toolhaft.execute.single_call import execute_tool as execute_tool
    from toolhaft.execute.tool_stats import ToolStats as ToolStats
    from toolhaft.execute.workers import Stats as Stats

_HOMES = {
    "Approval": "approval",
    "Beat": "active_call",
    "Chunk": "active_call",
    "CircuitBreaker": "attempts",
    "Decision": "approval",
    "Failure": "failures",
    "PendingApproval": "approval",
    "PermissionRequest": "approval",
    "Progress": "active_call",
    "RunningCall": "running_calls",
    "Stats": "workers",
    "ToolExecutor": "executor",
    "ToolStats": "tool_stats",
    "execute_tool": "single_call",
    "log_calls": "call_log",
}
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above # pyright: ignore[reportUnsupportedDunderAll] -- the same
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
