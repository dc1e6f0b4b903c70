"""Runs one tool alone, on the same road as all others.

Knows no state: nothing is kept from one call to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolhaft.core.call import ToolCall
from toolhaft.core.conversion import AnyResult, to_tool
from toolhaft.execute.executor import ToolExecutor
from toolhaft.execute.prompting import port_of
from toolhaft.resources import ResourceRegistry


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
    lends = port_of(options.get("prompt")) is not None
    given = options.get("resources")
    if lends and isinstance(given, ResourceRegistry):  # what is closed below is not its owner's
        options["resources"] = ResourceRegistry.stacked((given,))
    executor = ToolExecutor([made], **options)
    try:
        return executor.execute(ToolCall(name=made.name, arguments=arguments))
    finally:
        executor.end_workers()
        if lends:  # nobody else has what was made of the prompt's resources
            executor.close()
