"""What an export could not carry as it was: told for each tool and place, never in silence.

Does not know any wire.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Done = Literal[
    "moved to description",
    "widened",
    "narrowed",
    "renamed",
    "reshaped",
    "checked locally",
    "left out",
    "kept",
]
"""What was done about it. Arguments that come back are checked against the original schema whatever it was.

- moved to description: the model reads it in words
- widened: the wire admits more than the tool; a call that uses it is refused here
- narrowed: some arguments that the tool takes cannot be sent
- renamed, reshaped: the wire shows it otherwise, and calls are turned back
- checked locally: the wire does not say it at all
- left out: it says something and forbids nothing, and has no place
- kept: it goes out as it is, and some servers are known to refuse or cut it
"""


class Loss(NamedTuple):
    """One thing that a wire does not carry as the tool has it."""

    tool: str
    path: str
    """Where in the tool: a pointer into its schema (`/properties/limit`), or '' for the tool itself."""
    keyword: str
    done: Done
    detail: str = ""

    def __str__(self) -> str:
        where = f"{self.tool}{self.path}" if self.tool else self.path or "request"
        return f"{where}: {self.keyword} {self.done}" + (f" ({self.detail})" if self.detail else "")


class Refusal(NamedTuple):
    """A tool that stays behind, or a wish that the wire has no form for, and why."""

    tool: str
    """The tool's name; '' where the refused thing is a setting of the request."""
    reason: str

    def __str__(self) -> str:
        return f"{self.tool or 'request'}: {self.reason}"
