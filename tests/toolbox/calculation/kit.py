"""Runs the calculator's handler directly, without the call pipeline."""

import os
import re
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, settings

from toolhaft.errors import ToolError, ToolExecutionError, ToolValidationError
from toolhaft.toolbox.calculation import tool
from toolhaft.toolbox.calculation.number import MAX_BITS, MAX_DENOMINATOR_BITS, MAX_SYMBOLS
from toolhaft.toolbox.calculation.parser import parse
from toolhaft.toolbox.calculation.tool import calculate

ROUNDS = 3_000 if os.environ.get("TOOLHAFT_LONG") else 1
PLACE = re.compile(r"at character ([0-9,]+): ")


def runs(examples):
    """A random run of a second; with `TOOLHAFT_LONG=1`, all of them together take about an hour."""
    return settings(
        max_examples=examples * ROUNDS,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@contextmanager
def bounded_work():
    """A block in which the work of each calculation is counted: few operations, on numbers of few bits."""

    def counted(apply):
        def run(calculation, *numbers):
            result = apply(calculation, *numbers)
            if not isinstance(result, float):
                assert result.numerator.bit_length() <= MAX_BITS
                assert result.denominator.bit_length() <= MAX_DENOMINATOR_BITS
            return result

        return run

    def parse_counting(text):
        instructions = parse(text)
        assert len(instructions) <= MAX_SYMBOLS
        return [(counted(part[0]), *part[1:]) if isinstance(part, tuple) else part for part in instructions]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tool, "parse", parse_counting)
        yield


def value_of(expression):
    return calculate({"expression": expression}).value["result"]


def message_of(expression):
    return calculate({"expression": expression}).message


def refusal_of(expression, kind=ToolError):
    """The message of a refusal of one kind; it always says where."""
    with pytest.raises(kind) as caught:
        calculate({"expression": expression})
    assert type(caught.value) in {ToolValidationError, ToolExecutionError}
    return str(caught.value)


def place_in(message):
    return int(PLACE.search(message)[1].replace(",", ""))
