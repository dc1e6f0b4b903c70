"""Numbers at the edges: too small or too large for a float, next to 1, written with thousands of zeros."""

import math

import pytest

from tests.cases import each_case
from tests.toolbox.calculation.kit import message_of, refusal_of, value_of
from toolhaft.errors import ToolExecutionError

TINY = "a value too small for a float became 0"
VALUES = [
    ("1e" + "0" * 5000 + "1", 10),
    ("1e-" + "0" * 5000 + "2", 0.01),
    ("1e+" + "0" * 5000, 1),
    ("log10(3e-324)", math.log10(3) - 324),
    ("log2(3e-324)", math.log2(3) - 324 * math.log2(10)),
    ("log(7e-322)", math.log(7) - 322 * math.log(10)),
    ("atan(10 ** 400)", math.pi / 2),
    ("atan(-(10 ** 400))", -math.pi / 2),
    ("atan2(1e-400, 1e-400)", math.pi / 4),
    ("atan2(996e-408, 914e-525)", math.pi / 2),
    ("atan2(10 ** 400, pi)", math.pi / 2),
    ("atan2(-(0 * pi), -1)", math.pi),
    ("atan2(0 * pi, 1)", 0),
    ("atan2(3, -4)", math.atan2(3, -4)),
    ("acos(1 - 1e-20)", math.sqrt(2e-20)),
    ("acos(-1 + 1e-20)", math.pi - math.sqrt(2e-20)),
    ("asin(1 - 8e-16)", math.pi / 2 - math.sqrt(16e-16)),
    ("asin(-1 + 8e-16)", math.sqrt(16e-16) - math.pi / 2),
    ("acos(cos(1))", math.acos(math.cos(1))),
    ("asin(sin(1))", math.asin(math.sin(1))),
    ("-pi // 10 ** 400", -1),
    ("pi % 10 ** 400", math.pi),
    ("pi // 10 ** 400", 0),
    ("(0 * pi) // -(10 ** 400)", 0),
]


def test_a_number_at_the_edge_keeps_its_digits():
    for expression, value in VALUES:
        assert value_of(expression) == pytest.approx(value, rel=1e-14, abs=0), expression


@each_case(
    "expression",
    [
        "exp(-10 ** 400)",
        "0.9 ** (10 ** 400)",
        "2 ** -(10 ** 400)",
        "(1 / 3) ** (10 ** 400)",
        "pi / 10 ** 400",
        "pi ** -(10 ** 400)",
        "(pi / 4) ** (10 ** 400)",
    ],
)
def test_value_too_small_for_a_float_becomes_zero_with_a_note(expression):
    assert value_of(expression) == 0
    assert TINY in message_of(expression)


@pytest.mark.parametrize(
    ("expression", "digits"),
    [
        ("factorial(2000000)", "about 11,733,475"),
        ("perm(10 ** 7, 20000)", "about 140,000"),
        ("comb(10 ** 6, 5 * 10 ** 5)", "about 301,027"),
        ("comb(10 ** 400, 10 ** 399)", "over 10**15"),
    ],
)
def test_digits_of_what_is_too_large_are_counted_about_right(expression, digits):
    assert f"would have {digits} digits" in refusal_of(expression, ToolExecutionError)


@pytest.mark.parametrize("operator", ["/", "//", "%"])
def test_divisor_too_small_for_a_float_is_not_zero(operator):
    assert "too small for a float" in refusal_of(f"pi {operator} 1e-400", ToolExecutionError)


def test_an_exponent_before_a_comma_is_no_group_of_digits():
    assert "was read as two numbers" not in message_of("max(939e-781,741)")
    assert "100,200 was read as two numbers" in message_of("max(100,200)")
