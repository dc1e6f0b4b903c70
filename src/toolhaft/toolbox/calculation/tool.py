"""The tool `calculator`: an expression in, a number out, and how it was computed.

Does not know the grammar nor the numbers; it only joins reading, doing and telling.
"""

from __future__ import annotations

from typing import Any, Final

from toolhaft.core.at_once import at_once
from toolhaft.core.example import ToolExample
from toolhaft.core.ports import Ready
from toolhaft.core.result import ToolResult
from toolhaft.define.config import ToolConfig, create_tool
from toolhaft.errors import ToolError, ToolExecutionError
from toolhaft.toolbox.calculation import hints, refusals
from toolhaft.toolbox.calculation.answers import answer
from toolhaft.toolbox.calculation.evaluation import evaluate
from toolhaft.toolbox.calculation.functions import CONSTANTS, FUNCTIONS
from toolhaft.toolbox.calculation.limits import MOST_STEPS
from toolhaft.toolbox.calculation.reading import read
from toolhaft.toolbox.calculation.work import UndefinedError, Work

_INPUT_SCHEMA: Final = {
    "type": "object",
    "properties": {"expression": {"type": "string", "description": "Math expression like '2 + 2'"}},
    "required": ["expression"],
}
_SHORT: Final = 200
_FEW_STEPS: Final = MOST_STEPS // 50
"""Of work that is done where the caller stands: a few milliseconds."""
_OUTPUT_SCHEMA: Final = {"type": "object", "properties": {"result": {"type": "number"}}}


def _calculate_at_once(input: dict[str, Any], _: Ready) -> ToolResult[dict[str, float]] | None:
    if len(input["expression"]) > _SHORT:
        return None
    work = Work()
    work.left = _FEW_STEPS
    try:
        return _calculate(input["expression"], work)
    except ToolError:
        return None


@at_once(_calculate_at_once)
def calculate(input: dict[str, str]) -> ToolResult[dict[str, float]]:
    """The value of an expression, and how it was computed.

    Raises:
        ToolValidationError: where the expression is not of the grammar, or too long.
        ToolExecutionError: where it has no finite real value, or one over the budget.
    """
    return _calculate(input["expression"], Work())


def _calculate(text: str, work: Work) -> ToolResult[dict[str, float]]:
    steps = read(text)
    value = evaluate(steps, work, text)
    if "%" in text or "," in text:
        work.notes += hints.remarks(text)
    try:
        result, message = answer(value, work)
    except UndefinedError as error:
        last = steps[-1]
        place = last[2] if isinstance(last, tuple) else 0
        raise ToolExecutionError(refusals.at_piece(text, place, str(error))) from None
    return ToolResult(message=message, value={"result": result})


calculator = create_tool(
    ToolConfig(
        name="calculator",
        title="Calculator",
        description=(
            "Evaluate a math expression and get its exact value where it has one. Operators: + - * / // % "
            "(remainder) ** (power), parentheses. Functions: "
            f"{', '.join(function.usage for function in FUNCTIONS.values())}. "
            f"Constants: {', '.join(CONSTANTS)}. Angles are in radians."
        ),
        when_to_use="Use for any arithmetic that must be right; one expression a call, no variables.",
        input_schema=_INPUT_SCHEMA,
        output_schema=_OUTPUT_SCHEMA,
        execute=calculate,
        effect="read",
        timeout_s=3,
        tags=("math",),
        examples=(
            ToolExample(
                description="exact decimals", input={"expression": "0.1 + 0.2"}, output={"result": 0.3}
            ),
            ToolExample(description="powers", input={"expression": "2 ** 10 - 1"}, output={"result": 1023}),
            ToolExample(
                description="15 percent of 200",
                input={"expression": "15 / 100 * 200"},
                output={"result": 30},
            ),
            ToolExample(
                description="functions",
                input={"expression": "round(sqrt(2) * max(1, 2.5), 3)"},
                output={"result": 3.536},
            ),
        ),
    )
)
