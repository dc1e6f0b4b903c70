"""Runs the calculator's handler as it is, without the road."""

import gc
import os
import re
import time
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, settings

from toolhaft.errors import ToolError, ToolExecutionError, ToolValidationError
from toolhaft.toolbox.calculation.tool import calculate

ROUNDS = 150 if os.environ.get("TOOLHAFT_LONG") else 1
PLACE = re.compile(r"at character ([0-9,]+): ")


def runs(examples):
    """A fuzzer's run, which `TOOLHAFT_LONG=1` makes as long as all of them together take an hour."""
    return settings(
        max_examples=examples * ROUNDS,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@contextmanager
def within_s(seconds, what):
    """A block that takes no longer, apart from clearing up what the test itself has left about."""
    gc.disable()
    started = time.process_time()
    try:
        yield
    finally:
        took = time.process_time() - started
        gc.enable()
    assert took < seconds, what


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
