"""The nouns (tool, call, result, context, limits, events) and the ports that higher packages implement."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.core.call import ToolCall as ToolCall
    from toolhaft.core.content import Audio as Audio
    from toolhaft.core.content import Document as Document
    from toolhaft.core.content import Image as Image
    from toolhaft.core.content import Video as Video
    from toolhaft.core.context import ToolContext as ToolContext
    from toolhaft.core.conversion import to_tool as to_tool
    from toolhaft.core.definition import check_examples as check_examples
    from toolhaft.core.definition import check_idempotency as check_idempotency
    from toolhaft.core.definition import check_texts as check_texts
    from toolhaft.core.definition import check_typed_texts as check_typed_texts
    from toolhaft.core.definition import context_parameter as context_parameter
    from toolhaft.core.definition import read_handler as read_handler
    from toolhaft.core.definition import refuse_schemas as refuse_schemas
    from toolhaft.core.definition import typed_contracts as typed_contracts
    from toolhaft.core.effect import Effect as Effect
    from toolhaft.core.events import Chunk as Chunk
    from toolhaft.core.events import Progress as Progress
    from toolhaft.core.events import ToolInvoked as ToolInvoked
    from toolhaft.core.example import ToolExample as ToolExample
    from toolhaft.core.limits import Budget as Budget
    from toolhaft.core.limits import BudgetTracker as BudgetTracker
    from toolhaft.core.limits import Deadline as Deadline
    from toolhaft.core.limits import RetryPolicy as RetryPolicy
    from toolhaft.core.options import resolve_options as resolve_options
    from toolhaft.core.principal import Principal as Principal
    from toolhaft.core.prompt_hooks import FeedbackContext as FeedbackContext
    from toolhaft.core.prompt_hooks import FeedbackProvider as FeedbackProvider
    from toolhaft.core.prompt_hooks import PolicyDecision as PolicyDecision
    from toolhaft.core.prompt_hooks import ToolPolicy as ToolPolicy
    from toolhaft.core.result import Failure as Failure
    from toolhaft.core.result import ToolResult as ToolResult
    from toolhaft.core.tool import Tool as Tool

_HOMES = {
    "Audio": "content",
    "Budget": "limits",
    "BudgetTracker": "limits",
    "Chunk": "events",
    "Deadline": "limits",
    "Document": "content",
    "Effect": "effect",
    "Failure": "result",
    "FeedbackContext": "prompt_hooks",
    "FeedbackProvider": "prompt_hooks",
    "Image": "content",
    "PolicyDecision": "prompt_hooks",
    "Principal": "principal",
    "Progress": "events",
    "RetryPolicy": "limits",
    "Tool": "tool",
    "ToolCall": "call",
    "ToolContext": "context",
    "ToolExample": "example",
    "ToolInvoked": "events",
    "ToolPolicy": "prompt_hooks",
    "ToolResult": "result",
    "Video": "content",
    "to_tool": "conversion",
}
_INTERNAL = {  # loaded by a tool when it is compiled, and not by `import toolhaft`
    "check_examples": "definition",
    "check_idempotency": "definition",
    "check_texts": "definition",
    "check_typed_texts": "definition",
    "context_parameter": "definition",
    "read_handler": "definition",
    "refuse_schemas": "definition",
    "resolve_options": "options",
    "typed_contracts": "definition",
}
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above # pyright: ignore[reportUnsupportedDunderAll] -- the same
__getattr__, __dir__ = lazy_exports(__name__, {**_HOMES, **_INTERNAL})
