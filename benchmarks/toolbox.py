"""Measures calls of the built-in tools, compared with the same work without a tool layer."""

from benchmarks import toolbox_files, toolbox_pages
from benchmarks.measure import Figure, measure, measure_over
from toolhaft import ToolCall, ToolConfig, ToolExecutor, create_tool
from toolhaft.toolbox import calculator

_SUM_US = 15.0
_SUM = '{"expression": "1 + 2 * 3"}'


def run() -> list[Figure]:
    """All figures of this group."""
    return [_calculate(), *measure([*toolbox_files.cases(), *toolbox_pages.cases()])]


def _calculate() -> Figure:
    """A sum, beyond a tool of the same kind that returns a constant."""
    empty = create_tool(
        ToolConfig(
            name="empty",
            description="Answer without calculating.",
            input_schema=calculator.input_schema,
            output_schema=calculator.output_schema,
            execute=lambda _: {"result": 7},
            effect="read",
            isolation="inline",
        )
    )
    executor = ToolExecutor([calculator, empty])
    call, nothing = (ToolCall(id="1", name=name, arguments=_SUM) for name in ("calculator", "empty"))
    assert executor.execute(call).value == executor.execute(nothing).value
    return measure_over(
        "calculate_sum",
        lambda: executor.execute(call).render(),
        lambda: executor.execute(nothing).render(),
        _SUM_US,
    )
