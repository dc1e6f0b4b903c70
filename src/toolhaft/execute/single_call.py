"""Runs one tool once, with an executor that is made for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolhaft.core.call import ToolCall
from toolhaft.core.conversion import AnyResult, AnyTool, to_tool
from toolhaft.execute.executor import ToolExecutor
from toolhaft.execute.prompt_parts import port_of
from toolhaft.resources import ResourceRegistry


def execute_tool(
    tool: object,
    arguments: str | Mapping[str, object] | None = None,
    **options: Any,  # noqa: ANN401 -- those of ToolExecutor
) -> AnyResult:
    """Run one tool once: its arguments are checked, its time is limited, its output is checked.

    `options` are those of ToolExecutor, such as `session` and `resources`.

    Raises:
        DefinitionError: if it is not a tool.
        TypeError: for an option that does not exist.
    """
    made = to_tool(tool)
    has_prompt = port_of(options.get("prompt")) is not None
    given = options.get("resources")
    if has_prompt and isinstance(given, ResourceRegistry):  # else `close` below would close it
        options["resources"] = ResourceRegistry.stacked((given,))
    options.setdefault("max_found_tools", 0)  # nobody can call a found tool afterwards
    executor = _make_executor(made, options)
    try:
        return executor.execute(ToolCall(name=made.name, arguments=arguments))
    finally:
        executor.end_workers()
        if has_prompt:  # nobody else uses the resources that were created for the prompt
            executor.close()


def _make_executor(tool: AnyTool, options: Mapping[str, Any]) -> ToolExecutor:
    try:
        return ToolExecutor([tool], **options)
    except TypeError:
        named = [name for name in options if name in tool.input_schema.get("properties", {})]
        if not named:
            raise
        raise TypeError(
            f"execute_tool takes the arguments of a tool as one dictionary: "
            f"execute_tool({tool.name}, {{{named[0]!r}: ...}})"
        ) from None
