"""The nouns and the ports: tool, call, result, context, effect, limits, events."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.core.context import ToolContext as ToolContext
    from toolhaft.core.definition import check_examples as check_examples
    from toolhaft.core.definition import check_idempotency as check_idempotency
    from toolhaft.core.definition import check_words as check_words
    from toolhaft.core.definition import refuse_schemas as refuse_schemas
    from toolhaft.core.policy import settle_options as settle_options
    from toolhaft.core.result import ToolResult as ToolResult
    from toolhaft.core.typed import check_typed_manners as check_typed_manners
    from toolhaft.core.typed import context_parameter as context_parameter
    from toolhaft.core.typed import read_handler as read_handler
    from toolhaft.core.typed import typed_contracts as typed_contracts

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "ToolContext": "context",
        "ToolResult": "result",
        "check_examples": "definition",
        "check_idempotency": "definition",
        "check_typed_manners": "typed",
        "check_words": "definition",
        "context_parameter": "typed",
        "read_handler": "typed",
        "refuse_schemas": "definition",
        "settle_options": "policy",
        "typed_contracts": "typed",
    },
)
