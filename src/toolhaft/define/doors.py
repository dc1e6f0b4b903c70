"""Checks values by the tool behind an object of any door, without running it.

Knows verdicts; does not know how they are reached.
"""

from __future__ import annotations

from toolhaft.core.conversion import to_tool
from toolhaft.schema.problems import InvalidArguments


def validate_tool_input(tool: object, value: object) -> str | None:
    """None if the value is valid input for the tool, else the message that a model would get."""
    verdict = to_tool(tool).validate(value)
    return verdict.message if isinstance(verdict, InvalidArguments) else None


def validate_tool_output(tool: object, value: object) -> str | None:
    """None if the value is valid output of the tool, else what is wrong with it."""
    return to_tool(tool).check_output(value)
