"""Toolhaft: define a tool once, hand it to any model, run every call checked."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.catalog.catalog import Catalog as Catalog
    from toolhaft.catalog.registry import ToolRegistry as ToolRegistry
    from toolhaft.core.call import ToolCall as ToolCall
    from toolhaft.core.content import Audio as Audio
    from toolhaft.core.content import Document as Document
    from toolhaft.core.content import Image as Image
    from toolhaft.core.content import Video as Video
    from toolhaft.core.context import ToolContext as ToolContext
    from toolhaft.core.definition import AsyncToolHandler as AsyncToolHandler
    from toolhaft.core.definition import ToolHandler as ToolHandler
    from toolhaft.core.effect import Effect as Effect
    from toolhaft.core.events import ToolInvoked as ToolInvoked
    from toolhaft.core.example import ToolExample as ToolExample
    from toolhaft.core.limits import Budget as Budget
    from toolhaft.core.limits import BudgetTracker as BudgetTracker
    from toolhaft.core.limits import Deadline as Deadline
    from toolhaft.core.limits import RetryPolicy as RetryPolicy
    from toolhaft.core.ports import Filesystem as Filesystem
    from toolhaft.core.principal import Principal as Principal
    from toolhaft.core.result import ToolResult as ToolResult
    from toolhaft.core.tool import Tool as Tool
    from toolhaft.define.config import ToolConfig as ToolConfig
    from toolhaft.define.config import create_tool as create_tool
    from toolhaft.define.config import validate_tool_input as validate_tool_input
    from toolhaft.define.config import validate_tool_output as validate_tool_output
    from toolhaft.define.decorator import tool as tool
    from toolhaft.define.toolspec import BaseTool as BaseTool
    from toolhaft.define.toolspec import Toolkit as Toolkit
    from toolhaft.define.toolspec import ToolParam as ToolParam
    from toolhaft.define.toolspec import ToolResponse as ToolResponse
    from toolhaft.define.toolspec import ToolReturn as ToolReturn
    from toolhaft.define.toolspec import ToolSpec as ToolSpec
    from toolhaft.define.yaml import dump_tool as dump_tool
    from toolhaft.define.yaml import load_tool as load_tool
    from toolhaft.define.yaml import load_tools as load_tools
    from toolhaft.execute.approval import Approval as Approval
    from toolhaft.execute.approval import Decision as Decision
    from toolhaft.execute.approval import PendingApproval as PendingApproval
    from toolhaft.execute.approval import PermissionRequest as PermissionRequest
    from toolhaft.execute.executor import ToolExecutor as ToolExecutor
    from toolhaft.execute.single_call import execute_tool as execute_tool
    from toolhaft.resources.host import HostFilesystem as HostFilesystem
    from toolhaft.resources.memory import MemoryFilesystem as MemoryFilesystem
    from toolhaft.schema.problems import InvalidArguments as InvalidArguments
    from toolhaft.schema.problems import ValidArguments as ValidArguments
    from toolhaft.schema.type_metadata import Secret as Secret
    from toolhaft.session.reducers import reducer as reducer
    from toolhaft.session.session import Session as Session

_HOMES = {
    "Approval": "execute.approval",
    "AsyncToolHandler": "core.definition",
    "Audio": "core.content",
    "BaseTool": "define.toolspec",
    "Budget": "core.limits",
    "BudgetTracker": "core.limits",
    "Catalog": "catalog.catalog",
    "Deadline": "core.limits",
    "Decision": "execute.approval",
    "Document": "core.content",
    "Effect": "core.effect",
    "Filesystem": "core.ports",
    "HostFilesystem": "resources.host",
    "Image": "core.content",
    "InvalidArguments": "schema.problems",
    "MemoryFilesystem": "resources.memory",
    "PendingApproval": "execute.approval",
    "PermissionRequest": "execute.approval",
    "Principal": "core.principal",
    "RetryPolicy": "core.limits",
    "Secret": "schema.type_metadata",
    "Session": "session.session",
    "Tool": "core.tool",
    "ToolCall": "core.call",
    "ToolConfig": "define.config",
    "ToolContext": "core.context",
    "ToolExample": "core.example",
    "ToolExecutor": "execute.executor",
    "ToolHandler": "core.definition",
    "ToolInvoked": "core.events",
    "ToolParam": "define.toolspec",
    "ToolRegistry": "catalog.registry",
    "ToolResponse": "define.toolspec",
    "ToolResult": "core.result",
    "ToolReturn": "define.toolspec",
    "ToolSpec": "define.toolspec",
    "Toolkit": "define.toolspec",
    "ValidArguments": "schema.problems",
    "Video": "core.content",
    "create_tool": "define.config",
    "dump_tool": "define.yaml",
    "execute_tool": "execute.single_call",
    "load_tool": "define.yaml",
    "load_tools": "define.yaml",
    "reducer": "session.reducers",
    "tool": "define.decorator",
    "validate_tool_input": "define.config",
    "validate_tool_output": "define.config",
}
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above # pyright: ignore[reportUnsupportedDunderAll] -- the same
__getattr__, __dir__ = lazy_exports(__name__, _HOMES, optional=("dump_tool", "load_tool", "load_tools"))
