"""The only road that a call takes: checked, permitted, bounded, undone when it fails, recorded."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.core.events import Chunk as Chunk
    from toolhaft.core.events import Progress as Progress
    from toolhaft.core.failure import Failure as Failure
    from toolhaft.execute.approval import Approval as Approval
    from toolhaft.execute.approval import Decision as Decision
    from toolhaft.execute.approval import PendingApproval as PendingApproval
    from toolhaft.execute.approval import PermissionRequest as PermissionRequest
    from toolhaft.execute.call_log import log_calls as log_calls
    from toolhaft.execute.executor import ToolExecutor as ToolExecutor
    from toolhaft.execute.ledger import CircuitBreaker as CircuitBreaker
    from toolhaft.execute.single import execute_tool as execute_tool
    from toolhaft.execute.stats import Stats as Stats

_HOMES = {
    "Approval": "approval",
    "Chunk": "run",
    "CircuitBreaker": "ledger",
    "Decision": "approval",
    "Failure": "failures",
    "PendingApproval": "approval",
    "PermissionRequest": "approval",
    "Progress": "run",
    "Stats": "stats",
    "ToolExecutor": "executor",
    "execute_tool": "single",
    "log_calls": "call_log",
}
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above, said once # pyright: ignore[reportUnsupportedDunderAll] -- the same
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
