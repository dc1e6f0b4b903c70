"""What lowering a schema tells: a loss at a place, or that the schema cannot be taken at all.

Does not know how a schema is lowered.
"""

from __future__ import annotations

from typing import NamedTuple

from toolhaft.formats.losses import Done


class SchemaLoss(NamedTuple):
    """One thing that the target's schema does not say as the tool's own does."""

    path: str
    """A pointer to the place in the tool's own schema; '' is the root."""
    keyword: str
    done: Done
    detail: str = ""


class RefusedSchema(Exception):  # noqa: N818 -- it is a verdict that every exporter catches, not an error
    """A schema that the target cannot take in any form."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.path = path
        self.reason = reason


def escape(step: str) -> str:
    """One step of a pointer."""
    return step.replace("~", "~0").replace("/", "~1") if "~" in step or "/" in step else step
