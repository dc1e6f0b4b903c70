"""Checks the value against the output schema.

Knows the tool's contract; does not know how the value came about.
"""

from __future__ import annotations

from types import CoroutineType
from typing import Any

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.execute.failures import after_running
from toolhaft.execute.run import Answer, Run, Step
from toolhaft.execute.setup import Setup


def compose(tool: AnyTool, _: Setup, inner: Step) -> Step:  # noqa: C901 -- the quick road stands in line for speed
    """Absent where the tool has no output schema."""
    write = tool.write_output
    if write is None:
        return inner

    def verify(result: AnyResult) -> AnyResult:
        value = result.value
        if not result.success or (value is None and result._text is None):  # noqa: SLF001 -- a ToolResult may have no value, a function's None is one # pyright: ignore[reportPrivateUsage] -- the same
            return result
        trouble = None if write(value) is not None else tool.check_output(value)
        if trouble is None:
            return result
        message = f"{tool.name} gave back a value that does not fit its output schema: {trouble}"
        failed = after_running(tool, "invalid_output", message, value=value)
        return failed.with_rest(untrusted=True) if result.untrusted else failed

    async def verify_later(answer: CoroutineType[Any, Any, AnyResult]) -> AnyResult:
        return verify(await answer)

    def verify_now(run: Run) -> Answer:
        answer = inner(run)
        if type(answer) is CoroutineType:
            return verify_later(answer)
        if answer.success and (text := write(answer.value)) is not None:
            if text:
                answer._text = text  # noqa: SLF001 -- saves writing it twice # pyright: ignore[reportPrivateUsage] -- the same
            return answer
        return verify(answer)

    return verify_now
