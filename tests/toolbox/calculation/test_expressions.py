"""Values of expressions: whole numbers, decimals, functions, and where results stop being exact."""

import itertools
import math

import pytest

from tests.cases import each_case
from tests.toolbox.calculation.kit import message_of, value_of

EXACT = {
    "2 + 2": 4,
    "1 + 2 * 3": 7,
    "(1 + 2) * 3": 9,
    "2 - 3 - 4": -5,
    "2 / 4 / 2": 0.25,
    "100 // 7 // 2": 7,
    "-2 ** 2": -4,
    "(-2) ** 2": 4,
    "2 ** 3 ** 2": 512,
    "2 ** -1": 0.5,
    "2 ** -3 ** 2": 0.001953125,
    "2 ** -1 * 4": 2,
    "-2 ** -2": -0.25,
    "2 * -3": -6,
    "2 - -3": 5,
    "- - 5": 5,
    "+-+5": -5,
    "-(1 + 2)": -3,
    "2 ** 200": 2**200,
    "6 / 2": 3,
    "1e3": 1000,
    "1E+3": 1000,
    "1.5e-3": 0.0015,
    ".5": 0.5,
    "5.": 5,
    "007": 7,
    "0.1 + 0.2": 0.3,
    "0.5 + 0.5": 1,
    "1.1 * 1.1": 1.21,
    "0.1 * 3 - 0.3": 0,
    "1 / 3 * 3": 1,
    "1e16 + 1 - 1e16": 1,
    "4.35 * 100": 435,
    "1000 * 1.05 ** 10": 1628.8946267774413,
    "0.0": 0,
    "-0.0": 0,
    "0 ** 0": 1,
    "0.5 ** 0": 1,
    "0 ** 5": 0,
    "(-1) ** (10 ** 100)": 1,
    "(-1) ** (10 ** 100 + 1)": -1,
    "1 ** (10 ** 100)": 1,
    "0.5 ** -3": 8,
    "0e999999999": 0,
    "0.1 ** 3": 0.001,
    "5 // 0.3": 16,
    "5 % 0.3": 0.2,
    "  1\t+\n2 ": 3,
    "15 / 100 * 200": 30,
    "sqrt(16)": 4,
    "sqrt(2.25)": 1.5,
    "sqrt(0)": 0,
    "sqrt(10 ** 400)": 10**200,
    "sqrt(1e-400)": 1e-200,
    "4 ** 0.5": 2,
    "8 ** (1 / 3)": 2,
    "64 ** (1 / 3)": 4,
    "0.008 ** (1 / 3)": 0.2,
    "27 ** (-2 / 3)": 1 / 9,
    "(10 ** 60) ** (1 / 3)": 10**20,
    "(3 ** 1200) ** (1 / 400)": 27,
    "(7 ** 300 * 10 ** 300) ** (1 / 3)": 70**100,
    "(3 ** 1290) ** (1 / 3)": 3**430,
    "32 ** 0.2": 2,
    "0 ** 0.5": 0,
    "1 ** 0.3": 1,
    "log(1)": 0,
    "log(8, 2)": 3,
    "log(1 / 8, 2)": -3,
    "log(9, 1 / 3)": -2,
    "log(10 ** 500, 10)": 500,
    "log2(1024)": 10,
    "log2(0.25)": -2,
    "log10(1000)": 3,
    "log10(0.001)": -3,
    "exp(0)": 1,
    "exp(0.0)": 1,
    "sin(0)": 0,
    "cos(0)": 1,
    "tan(0)": 0,
    "asin(0)": 0,
    "acos(1)": 0,
    "atan(0)": 0,
    "atan2(0, 5)": 0,
    "atan2(0, 0)": 0,
    "degrees(0)": 0,
    "radians(0)": 0,
    "abs(-5)": 5,
    "abs(-0.25)": 0.25,
    "floor(2.5)": 2,
    "floor(-2.5)": -3,
    "floor(7)": 7,
    "ceil(2.1)": 3,
    "ceil(-0.5)": 0,
    "round(2.5)": 2,
    "round(3.5)": 4,
    "round(-2.5)": -2,
    "round(2.4)": 2,
    "round(7)": 7,
    "round(2.675, 2)": 2.68,
    "round(1 / 3, 5)": 0.33333,
    "round(1250, -2)": 1200,
    "round(1350, -2)": 1400,
    "round(1234, 5)": 1234,
    "round(5, -1000)": 0,
    "round(1 / 3, 1000) * 3 + 10 ** -1000": 1,
    "min(3, 1, 2)": 1,
    "max(3, 1, 2)": 3,
    "max(0.1, 1 / 9)": 1 / 9,
    "min(1, pi)": 1,
    "min(7)": 7,
    "sum(1, 2, 3)": 6,
    "sum(0.1, 0.2, 0.3)": 0.6,
    "mean(1, 2)": 1.5,
    "mean(0.1, 0.2, 0.3)": 0.2,
    "factorial(0)": 1,
    "factorial(20)": math.factorial(20),
    "factorial(1146)": math.factorial(1146),
    "gcd(12, 18)": 6,
    "gcd(12, 18, 27)": 3,
    "gcd(7)": 7,
    "gcd(-4, 6)": 2,
    "gcd(4.0, 6)": 2,
    "comb(52, 5)": 2598960,
    "comb(3, 5)": 0,
    "comb(10 ** 300, 10 ** 300 - 1)": 10**300,
    "comb(10 ** 300, 2)": math.comb(10**300, 2),
    "comb(9900, 4950)": math.comb(9900, 4950),
    "perm(10, 3)": 720,
    "perm(5)": 120,
    "perm(3, 5)": 0,
    "perm(10 ** 7, 3)": math.perm(10**7, 3),
    "hypot(3, 4)": 5,
    "hypot(0.3, 0.4)": 0.5,
    "hypot(2, 3, 6)": 7,
    "hypot(-5)": 5,
}

FLOATS = {
    "sqrt(2)": math.sqrt(2),
    "sqrt(0.1)": math.sqrt(0.1),
    "sqrt(pi)": math.sqrt(math.pi),
    "2 ** 0.5": 2**0.5,
    "0.3 ** 0.7": 0.3**0.7,
    "pi ** 2": math.pi**2,
    "(-pi) ** 3": (-math.pi) ** 3,
    "2 ** pi": 2**math.pi,
    "0 ** pi": 0.0,
    "(-2) ** (pi * 0 + 3)": -8.0,
    "2 ** (1 / 10 ** 400)": 1.0,
    "(10 ** 60 + 1) ** (1 / 3)": 1e60 ** (1 / 3),
    "pi": math.pi,
    "e": math.e,
    "tau": math.tau,
    "2 * pi": 2 * math.pi,
    "pi - 3": math.pi - 3,
    "3 - pi": 3 - math.pi,
    "pi + 0.1": math.pi + 0.1,
    "-pi": -math.pi,
    "1 / pi": 1 / math.pi,
    "0 / pi": 0.0,
    "7 // pi": 7 // math.pi,
    "7 % pi": 7 % math.pi,
    "-7 % pi": -7 % math.pi,
    "pi % -0.5": math.pi % -0.5,
    "sin(1)": math.sin(1),
    "sin(3.141592653589793)": math.sin(3.141592653589793),
    "sin(pi / 6)": math.sin(math.pi / 6),
    "cos(1)": math.cos(1),
    "cos(pi)": -1.0,
    "tan(1)": math.tan(1),
    "tan(pi / 4)": math.tan(math.pi / 4),
    "sin(1e-300 * pi)": 1e-300 * math.pi,
    "asin(1)": math.asin(1),
    "acos(0)": math.acos(0),
    "acos(0.5)": math.acos(0.5),
    "atan(1)": math.atan(1),
    "atan2(1, -1)": math.atan2(1, -1),
    "atan2(0, -1)": math.pi,
    "log(10)": math.log(10),
    "log(0.1)": math.log(0.1),
    "log(pi)": math.log(math.pi),
    "log(10 ** 1000)": math.log(10**1000),
    "log(10 ** 1000 / 7)": math.log(10**1000) - math.log(7),
    "log(1e-1000 / 7)": -math.log(7 * 10**1000),
    "log(1 + 1e-20)": 1e-20,
    "log(1 + 3e-16)": 3e-16,
    "log(1 - 3e-10)": math.log1p(-3e-10),
    "log2(1 + 3e-16)": 3e-16 / math.log(2),
    "log10(1 + 3e-16)": 3e-16 / math.log(10),
    "log(100, 3)": math.log(100) / math.log(3),
    "log(pi, 2)": math.log2(math.pi),
    "log2(10)": math.log2(10),
    "log10(2)": math.log10(2),
    "log10(pi)": math.log10(math.pi),
    "log(2, 1 + 1e-30)": math.log(2) / 1e-30,
    "log(3 ** 900, 1 + 1e-300)": math.log(3**900) / 1e-300,
    "exp(1)": math.e,
    "exp(0.5)": math.exp(0.5),
    "degrees(pi)": 180.0,
    "radians(180)": math.pi,
    "round(pi, 3)": 3.142,
    "round(pi * 1000, -2)": 3100.0,
    "sum(pi, 1, 0.5)": math.fsum([math.pi, 1, 0.5]),
    "mean(pi, 1)": (math.pi + 1) / 2,
    "max(1, pi)": math.pi,
    "hypot(1, 1)": math.hypot(1, 1),
    "hypot(1e-700, 0.5)": 0.5,
    "hypot(pi, 1)": math.hypot(math.pi, 1),
    "abs(-pi)": math.pi,
    "1 / 3": 1 / 3,
    "10 ** 30 / 7": 10**30 / 7,
}


def test_exact_results_are_exact():
    for expression, expected in EXACT.items():
        result = value_of(expression)
        assert (result, type(result)) == (expected, type(expected)), expression
        assert "approximate" not in message_of(expression), expression


def test_irrational_results_are_floats():
    for expression, expected in FLOATS.items():
        result = value_of(expression)
        assert result == pytest.approx(expected, rel=4e-16, abs=0), expression
        assert type(result) is float, expression


def test_a_float_is_not_rounded_afterwards():
    for expression, expected in FLOATS.items():
        if expression.startswith(("sqrt", "sin", "cos", "exp")):
            assert value_of(expression) == expected, expression


def test_signs_of_quotient_and_remainder_are_those_of_python():
    for left, right in itertools.product((-7, -6, -1, 0, 1, 6, 7), (-7, -3, -2, 2, 3, 7)):
        assert value_of(f"{left} // {right}") == left // right
        assert value_of(f"{left} % {right}") == left % right
        assert value_of(f"{left} % ({right}) - {left}") == left % right - left
        assert value_of(f"{left}.5 // {right}.25") == (left - 0.5 if left < 0 else left + 0.5) // (
            right - 0.25 if right < 0 else right + 0.25
        )
        assert value_of(f"{left} % (pi * {right})") == left % (math.pi * right)


@each_case("count", [1, 2, 3, 7, 22, 75, 99, 180, 1000, 12345, 10**6])
def test_a_multiple_of_pi_has_the_sine_zero(count):
    for expression in (
        f"sin({count} * pi)",
        f"sin(-{count} * pi)",
        f"sin(pi / {count} * {count})",
        f"sin(radians({count} * 180))",
        f"cos({count} * pi + pi / 2)",
        f"cos({count} * tau - pi / 2)",
        f"tan({count} * pi)",
    ):
        result = value_of(expression)
        assert (result, type(result)) == (0, int), expression


def test_square_root_of_a_value_outside_floats_is_a_float():
    assert value_of("sqrt(2 * 10 ** 400)") == pytest.approx(math.sqrt(2) * 1e200, rel=4e-16)
    assert value_of("sqrt(2 * 10 ** 401)") == pytest.approx(math.sqrt(20) * 1e200, rel=4e-16)
    assert value_of("sqrt(2e-400)") == pytest.approx(math.sqrt(2) * 1e-200, rel=4e-16)
    assert value_of("sqrt(10 ** 400 / 3)") == pytest.approx(math.sqrt(1 / 3) * 1e200, rel=4e-16)


def test_powers_of_a_value_outside_floats_are_floats():
    assert value_of("(2 * 10 ** 400) ** 0.3") == pytest.approx(2**0.3 * 1e120, rel=1e-12)
    assert value_of("2e-400 ** 0.3") == pytest.approx(2**0.3 * 1e-120, rel=1e-12)
    assert value_of("2e-400 ** -0.3") == pytest.approx(2**-0.3 * 1e120, rel=1e-12)
    assert value_of("(3 ** 1300) ** (1 / 3)") == pytest.approx(3.0 ** (1300 / 3), rel=1e-12)
    assert value_of("(10 ** 400) ** (pi / 10)") == pytest.approx(10 ** (40 * math.pi), rel=1e-12)
    assert value_of("(-1e-400) ** (pi * 0 + 1)") == 0
    assert value_of("(-3e-310) ** (pi * 0 + 1)") == pytest.approx(-3e-310, rel=1e-12)
    assert value_of("(-3e-310) ** (pi * 0)") == 1


def test_powers_near_one_keep_their_digits():
    assert value_of("1.0001 ** 10000") == pytest.approx(2.7181459268252249, rel=1e-15)
    assert value_of("(1 - 1e-8) ** (10 ** 8)") == pytest.approx(0.36787943933204264, rel=1e-15)
    assert value_of("(-1.0001) ** 10001") == pytest.approx(-2.7184177414179075, rel=1e-15)
    assert value_of("2.5 ** 700") == pytest.approx(2.5**700, rel=1e-12)
    assert value_of("2.7 ** -700") == pytest.approx(2.7**-700, rel=1e-12)


def test_exact_sum_with_too_many_digits_becomes_a_float():
    total = "+".join(f"1/{number}" for number in range(3_001, 5_001, 2))
    assert value_of(total) == pytest.approx(
        math.fsum(1 / number for number in range(3_001, 5_001, 2)), rel=1e-14
    )
    assert "an exact value had too many digits" in message_of(total)
