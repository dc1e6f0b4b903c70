"""The tool `calculator`: evaluates an expression, and says how exact the result is."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Final

from toolhaft.core.example import ToolExample
from toolhaft.core.result import ToolResult
from toolhaft.define.config import ToolConfig, create_tool
from toolhaft.errors import ToolExecutionError
from toolhaft.toolbox.calculation import hints
from toolhaft.toolbox.calculation.functions import CONSTANTS, FUNCTIONS
from toolhaft.toolbox.calculation.number import MAX_DIGITS, TINY, Calculation, Number, UndefinedError
from toolhaft.toolbox.calculation.parser import Instruction, parse

_SHORT_TEXT: Final = 200
_SHORT: Final = 10**40
_LONGEST_RATIO_BITS: Final = 160
_DECIMALS: Final = 40
_UNIT: Final = 10**_DECIMALS
_FLOATING: Final = "approximate (floating point)"


def calculate(input: dict[str, str]) -> ToolResult[dict[str, float]]:
    """The value of an expression, and how exact it is.

    Raises:
        ToolValidationError: if the expression does not follow the grammar, or is too long.
        ToolExecutionError: if it has no finite real value, or one over the limits.
    """
    text = input["expression"]
    calculation = Calculation()
    instructions = parse(text)
    value = evaluate(instructions, calculation, text)
    if "%" in text or "," in text:
        calculation.notes += hints.ambiguity_notes(text)
    try:
        result, message = answer(value, calculation)
    except UndefinedError as error:
        last = instructions[-1]
        place = last[2] if isinstance(last, tuple) else 0
        raise ToolExecutionError(hints.message_at_symbol(text, place, str(error))) from None
    return ToolResult(message=message, value={"result": result})


def handle(input: dict[str, str]) -> object:
    """The result, or a coroutine for it if computing may take more than a few milliseconds."""
    text = input["expression"]
    is_quick = len(text) <= _SHORT_TEXT and "comb" not in text and "perm" not in text
    if is_quick:
        return calculate(input)
    import asyncio  # noqa: PLC0415 -- listing the tools does not need it, and it is slow to import

    return asyncio.to_thread(calculate, input)


def evaluate(instructions: list[Number | Instruction], calculation: Calculation, text: str) -> Number:
    """The value of an expression.

    Raises:
        ToolExecutionError: if an operation has no finite real result, or one over the limits; says where.
    """
    stack: list[Number] = []
    place = 0
    try:
        for instruction in instructions:
            if not isinstance(instruction, tuple):
                stack.append(instruction)
                continue
            apply, count, place = instruction
            if count == 2:  # noqa: PLR2004 -- the common case, without building a list
                right = stack.pop()
                stack[-1] = apply(calculation, stack[-1], right)
            else:
                arguments = stack[-count:]
                stack[-count:] = (apply(calculation, *arguments),)
    except UndefinedError as error:
        problem = str(error)
    except ZeroDivisionError:
        problem = "Division by zero"
    except OverflowError:
        problem = "Too large for a float, which ends at 1.8e308"
    else:
        return stack[0]
    raise ToolExecutionError(hints.message_at_symbol(text, place, problem))


def answer(value: Number, calculation: Calculation) -> tuple[int | float, str]:
    """A number as the tool returns it, and the message.

    Raises:
        UndefinedError: if it cannot be converted to text or to a float.
    """
    if isinstance(value, int):
        result, text, how = value, _digits(value), "exact"
    elif isinstance(value, Fraction):
        result, how = _rounded(value, calculation)
        text = repr(result)
    else:
        result, how = value + 0.0, _FLOATING  # turns -0.0 into 0.0
        text = repr(result)
    if calculation.is_floating:
        how = _FLOATING
    message = f"{text}, {how}"
    return result, "; ".join((message, *calculation.notes)) if calculation.notes else message


def _digits(value: int) -> str:
    if -_SHORT < value < _SHORT:
        return str(value)
    most = sys.get_int_max_str_digits()  # 4,300, unless the process lowered it
    if 0 < most <= MAX_DIGITS and abs(value) >= 10**most:
        raise UndefinedError(f"Too large: this process writes whole numbers of up to {most:,} digits")
    return f"A whole number of {len(str(abs(value))):,} digits"


def _rounded(value: Fraction, calculation: Calculation) -> tuple[float, str]:
    """The nearest float, and how exact it is."""
    try:
        near = float(value)
    except OverflowError:
        raise UndefinedError(
            "Too large for a float, which ends at 1.8e308; floor(...) around it gives the whole part"
        ) from None
    if not near:
        calculation.note(TINY)
        return 0, "rounded"
    if Fraction(repr(near)) == value:
        return near, "exact (computed with fractions, not binary floats)"
    if value.numerator.bit_length() + value.denominator.bit_length() > _LONGEST_RATIO_BITS:
        return near, "rounded to the nearest float (computed exactly)"
    return near, f"rounded to the nearest float (the exact value is {_written(value)})"


def _written(value: Fraction) -> str:
    """A short fraction as a decimal number if possible, else as a ratio."""
    if _UNIT % value.denominator:
        return str(value)
    digits = f"{abs(value.numerator) * (_UNIT // value.denominator):0{_DECIMALS + 1}}"
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-_DECIMALS]}.{digits[-_DECIMALS:].rstrip('0')}"


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
        input_schema={
            "type": "object",
            "properties": {"expression": {"type": "string", "description": "Math expression like '2 + 2'"}},
            "required": ["expression"],
        },
        output_schema={"type": "object", "properties": {"result": {"type": "number"}}},
        execute=handle,
        effect="read",
        isolation="inline",
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
