"""Random expressions compared with Python's parser, `fractions` and `math`."""

import ast
import math
import operator
import re
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.toolbox.calculation.kit import message_of, refusal_of, runs, value_of
from toolhaft.errors import ToolExecutionError

OPERATIONS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
spaces = st.sampled_from(["", "", " ", "  ", "\n"])
whole = st.integers(0, 999).map(str)
decimals = st.builds(
    lambda number, places: f"{number / 10**places:.{places}f}", st.integers(0, 99_999), st.integers(1, 4)
)
scientific = st.builds(lambda head, exponent: f"{head}e{exponent}", whole, st.integers(-6, 6))
numbers = st.one_of(whole, decimals, scientific)
signs = st.sampled_from(["", "", "", "-", "+", "--"])
operators = st.sampled_from(["+", "-", "*", "/", "//", "%"])


def chains(operands):
    """Operands and operators in a row, without parentheses: only precedence says what belongs together."""
    rest = st.lists(st.tuples(spaces, operators, spaces, signs, operands).map("".join), max_size=4).map(
        "".join
    )
    return st.tuples(signs, operands, rest).map("".join)


def wider(inner):
    powers = st.builds(
        lambda base, gap, sign, exponent: f"{base}{gap}**{gap}{sign}{exponent}",
        st.one_of(whole, decimals, chains(inner).map("({})".format)),
        spaces,
        st.sampled_from(["", "", "-", "--", "+"]),
        st.sampled_from(["0", "1", "2", "3", "2**2", "1**9"]),
    )
    return st.one_of(numbers, powers, chains(inner).map("({})".format))


expressions = chains(st.recursive(numbers, wider, max_leaves=12))


def judged(expression):
    """What Python's own parser and fractions make of it."""
    text = expression.replace("\n", " ").strip()

    def value(node):
        match node:
            case ast.Constant():
                return Fraction(text[node.col_offset : node.end_col_offset])
            case ast.UnaryOp():
                return OPERATIONS[type(node.op)](value(node.operand))
            case ast.BinOp():
                return Fraction(OPERATIONS[type(node.op)](value(node.left), value(node.right)))

    return value(ast.parse(text, mode="eval").body)


def outgoing(value):
    """A fraction as a result has it."""
    return value.numerator if value.denominator == 1 else float(value)


@runs(35)
@given(expressions)
def test_every_operator_agrees_with_python_on_fractions(expression):
    try:
        expected = judged(expression)
    except ZeroDivisionError:
        assert "Division by zero" in refusal_of(expression, ToolExecutionError)
        return
    result = value_of(expression)
    assert (result, type(result)) == (outgoing(expected), type(outgoing(expected)))


@runs(20)
@given(st.recursive(whole, lambda inner: chains(inner).map("({})".format), max_leaves=20))
def test_whole_numbers_agree_with_python_to_the_last_digit(expression):
    text = re.sub("//?", "//", expression)
    try:
        expected = judged(text)
    except ZeroDivisionError:
        assert "Division by zero" in refusal_of(text, ToolExecutionError)
        return
    result = value_of(text)
    assert (result, type(result)) == (expected.numerator, int)
    assert message_of(text).split("; ")[0] == f"{expected}, exact"


fractions = st.lists(st.tuples(st.sampled_from(["", "-"]), numbers).map("".join), min_size=1, max_size=6)
JUDGES = {
    "sum": sum,
    "min": min,
    "max": max,
    "mean": lambda values: sum(values) / Fraction(len(values)),
}


@runs(20)
@given(st.sampled_from(sorted(JUDGES)), fractions)
def test_functions_of_many_agree_with_fractions(name, values):
    expected = JUDGES[name]([Fraction(value) for value in values])
    assert value_of(f"{name}({', '.join(values)})") == outgoing(Fraction(expected))


@runs(20)
@given(st.sampled_from(["", "-"]), numbers, st.integers(-25, 25))
def test_rounding_agrees_with_fractions(sign, number, digits):
    exact = Fraction(sign + number)
    assert value_of(f"round({sign}{number}, {digits})") == outgoing(Fraction(round(exact, digits)))
    assert value_of(f"round({sign}{number})") == round(exact)
    assert value_of(f"floor({sign}{number})") == math.floor(exact)
    assert value_of(f"ceil({sign}{number})") == math.ceil(exact)
    assert value_of(f"abs({sign}{number})") == outgoing(abs(exact))
    assert ("a tie" in message_of(f"round({sign}{number})")) is (exact % 1 == Fraction(1, 2))


ONE_ARGUMENT = [
    "sqrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "log",
    "log2",
    "log10",
    "exp",
    "degrees",
    "radians",
]


@runs(50)
@given(st.sampled_from(ONE_ARGUMENT), st.sampled_from(["", "-"]), numbers)
@example("atan", "", "0.23")  # whose last bit is another one by way of atan2
def test_functions_agree_with_math_bit_by_bit(name, sign, number):
    expression = f"{name}({sign}{number})"
    argument = float(Fraction(sign + number))
    if name in {"sin", "cos", "tan"} and abs(argument) > 1e15:
        assert "too large" in refusal_of(expression, ToolExecutionError)
        return
    try:
        expected = getattr(math, name)(argument)
    except (ValueError, OverflowError):
        refusal_of(expression, ToolExecutionError)
        return
    result = value_of(expression)
    if type(result) is float and "exact" not in message_of(expression):
        assert result == expected
    else:  # the exact value, which the float is only near to
        assert result == pytest.approx(expected, rel=1e-15)


@runs(20)
@given(numbers, numbers)
def test_functions_of_two_agree_with_math(left, right):
    first, second = float(Fraction(left)), float(Fraction(right))
    assert value_of(f"atan2(-{left}, {right})") == pytest.approx(math.atan2(-first, second), rel=1e-15)
    assert value_of(f"hypot({left}, {right})") == pytest.approx(math.hypot(first, second), rel=1e-15)
    if first > 0 and second > 0 and second != 1:
        assert value_of(f"log({left}, {right})") == pytest.approx(
            math.log(first) / math.log(second), rel=1e-13
        )


@runs(20)
@given(st.integers(0, 300), st.integers(0, 300), st.integers(-(10**30), 10**30))
def test_counting_agrees_with_math(items, chosen, other):
    assert value_of(f"factorial({items})") == math.factorial(items)
    assert value_of(f"comb({items}, {chosen})") == math.comb(items, chosen)
    assert value_of(f"perm({items}, {chosen})") == math.perm(items, chosen)
    assert value_of(f"perm({items})") == math.perm(items)
    assert value_of(f"gcd({items}, {other})") == math.gcd(items, other)


@runs(20)
@given(st.integers(0, 10**12), st.integers(1, 10**12), st.integers(2, 20))
def test_every_exact_root_is_found(above, below, degree):
    root = Fraction(above, below)
    power = f"({root.numerator**degree} / {root.denominator**degree})"
    assert value_of(f"{power} ** (1 / {degree})") == outgoing(root)
    assert value_of(f"{power} ** (3 / {degree})") == outgoing(root**3)


@runs(20)
@given(st.integers(1, 10**9), st.integers(1, 10**9), st.integers(-60, 60))
def test_every_whole_logarithm_is_found(above, below, exponent):
    base = Fraction(above, below)
    if base != 1:
        power = base**exponent
        assert value_of(f"log({power.numerator} / {power.denominator}, {above} / {below})") == exponent


@runs(20)
@given(st.sampled_from(["+", "-", "*", "/", "//", "%", "**"]), numbers, numbers)
def test_expressions_with_floats_use_python_float_arithmetic(sign, left, right):
    first, second = math.pi * float(Fraction(left)), float(Fraction(right))
    expression = f"(pi * {left}) {sign} {right}"
    try:
        expected = OPERATIONS[type(ast.parse(f"a {sign} b", mode="eval").body.op)](first, second)
    except (ZeroDivisionError, OverflowError):
        refusal_of(expression, ToolExecutionError)
        return
    result = value_of(expression)
    assert result == expected
    assert math.copysign(1, result) == 1 or result != 0
