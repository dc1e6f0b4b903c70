"""The nouns (tool, call, result, context, limits, events) and the ports that higher packages implement."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.core import definition as definition
    from toolhaft.core import notebook as notebook
    from toolhaft.core import options as options
    from toolhaft.core import signature_text as signature_text
    from toolhaft.core.call import ToolCall as ToolCall
    from toolhaft.core.content import Audio as Audio
    from toolhaft.core.content import Document as Document
    from toolhaft.core.content import Image as Image
    from toolhaft.core.content import Video as Video
    from toolhaft.core.context import ToolContext as ToolContext
    from toolhaft.core.conversion import to_tool as to_tool
    from toolhaft.core.effect import Effect as Effect
    from toolhaft.core.events import Beat as Beat
    from toolhaft.core.events import Chunk as Chunk
    from toolhaft.core.events import Progress as Progress
    from toolhaft.core.events import ToolInvoked as ToolInvoked
    from toolhaft.core.example import ToolExample as ToolExample
    from toolhaft.core.limits import Budget as Budget
    from toolhaft.core.limits import BudgetTracker as BudgetTracker
    from toolhaft.core.limits import Deadline as Deadline
    from toolhaft.core.limits import RetryPolicy as RetryPolicy
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
    "Beat": "events",
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
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above # pyright: ignore[reportUnsupportedDunderAll] -- the same
_MODULES = {  # loaded when a tool is compiled, or shown
    "definition": "definition",
    "notebook": "notebook",
    "options": "options",
    "signature_text": "signature_text",
}
__getattr__, __dir__ = lazy_exports(__name__, {**_HOMES, **_MODULES})
