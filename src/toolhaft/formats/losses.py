"""What an export does not express: losses, policy fields, refused tools, refused schemas."""

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
"""What happened to it. The arguments of a call are always checked against the original schema.

- moved to description: the description now states it
- widened: the exported schema admits more than the tool; the executor refuses such calls
- narrowed: some arguments that the tool accepts cannot be sent
- renamed, reshaped: the provider sees another name or shape; decoding a call restores it
- checked locally: the exported schema does not contain it
- left out: an annotation that the format has no field for
- kept: it is sent unchanged, and some servers are known to refuse or truncate it
"""


class Loss(NamedTuple):
    """One property of a tool that an export does not express exactly."""

    tool: str
    path: str
    """Where in the tool: a pointer into its schema (`/properties/limit`), or '' for the tool itself."""
    keyword: str
    done: Done
    detail: str = ""

    def __str__(self) -> str:
        where = f"{self.tool}{self.path}" if self.tool else self.path or "request"
        return f"{where}: {self.keyword} {self.done}" + (f" ({self.detail})" if self.detail else "")


class PolicyField(NamedTuple):
    """A field of a tool that is not for the model: Toolhaft keeps and applies it, and does not send it."""

    tool: str
    field: str
    """The name of the tool's option: `effect`, `timeout_s`, `tags` ..."""
    value: object
    """Its value, which is not the default."""

    def __str__(self) -> str:
        return f"{self.tool}: {self.field} is kept by Toolhaft and not sent"


class Refusal(NamedTuple):
    """A tool that is not exported, or a setting that the format cannot express, and why."""

    tool: str
    """The tool's name; '' for a setting of the request."""
    reason: str

    def __str__(self) -> str:
        return f"{self.tool or 'request'}: {self.reason}"


class SchemaLoss(NamedTuple):
    """A `Loss` without the tool's name."""

    path: str
    """A JSON pointer into the tool's own schema; '' is the root."""
    keyword: str
    done: Done
    detail: str = ""


class RefusedSchema(Exception):  # noqa: N818 -- every exporter catches it; it is not an error
    """A schema that the target cannot accept in any form."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.path = path
        self.reason = reason


def escape(step: str) -> str:
    """One step of a JSON pointer, escaped."""
    return step.replace("~", "~0").replace("/", "~1") if "~" in step or "/" in step else step
