"""What a handler is handed beside its parameters.

Does not know how a call is run; the executor fills it.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """The surroundings of one call, as the handler sees them."""

    prompt: object = None
    rendered_prompt: object = None
    adapter: object = None
    session: object = None
    deadline: object = None
    budget_tracker: object = None
