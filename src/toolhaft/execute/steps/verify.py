"""Checks the value against the output schema.

Knows the tool's contract; does not know how the value came about.
"""

from __future__ import annotations

from toolhaft.execute.aliases import AnyResult, AnyTool
from toolhaft.execute.failures import after_running
from toolhaft.execute.run import Run, Step, then
from toolhaft.execute.setup import Setup


def compose(tool: AnyTool, _: Setup, inner: Step) -> Step:
    """Absent where the tool has no output schema."""
    write = tool.write_output
    if write is None:
        return inner

    def verify(_: Run, result: AnyResult) -> AnyResult:
        value = result.value
        if not result.success or (value is None and result._text is None):  # noqa: SLF001 -- a ToolResult may have no value, a function's None is one # pyright: ignore[reportPrivateUsage] -- the same
            return result
        text = write(value)
        if text is None:
            trouble = tool.check_output(value)
            if trouble is not None:
                message = f"{tool.name} gave back a value that does not fit its output schema: {trouble}"
                return after_running(tool, "invalid_output", message, value=value)
        elif text:
            result._text = text  # noqa: SLF001 -- saves writing it twice # pyright: ignore[reportPrivateUsage] -- the same
        return result

    return then(inner, verify)
