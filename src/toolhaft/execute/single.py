"""Runs one tool alone, on the same road as all others.

Knows no state: nothing is kept from one call to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolhaft.core.call import ToolCall
from toolhaft.core.doors import to_tool
from toolhaft.execute.aliases import AnyResult
from toolhaft.execute.executor import ToolExecutor


def execute_tool(
    tool: object,
    arguments: str | Mapping[str, object] = "{}",
    **options: Any,  # noqa: ANN401 -- those of ToolExecutor
) -> AnyResult:
    """Run one tool once: validated, within its time, its output checked (seed 004, executeTool).

    `options` are those of ToolExecutor, such as `session` and `resources`.

    Raises:
        DefinitionError: where it is no tool.
    """
    made = to_tool(tool)
    executor = ToolExecutor([made], **options)
    try:
        return executor.execute(ToolCall(name=made.name, arguments=arguments))
    finally:
        executor.end_workers()
