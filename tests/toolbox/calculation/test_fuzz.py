"""The calculator answers or refuses any input, with bounded work and a short message.

`make fuzz` (`TOOLHAFT_LONG=1`) runs an hour's worth of cases.
"""

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from tests.toolbox.calculation.kit import bounded_work, place_in, runs
from toolhaft.errors import ToolExecutionError, ToolValidationError
from toolhaft.toolbox.calculation.functions import CONSTANTS, FUNCTIONS
from toolhaft.toolbox.calculation.hints import SYMBOL
from toolhaft.toolbox.calculation.tool import calculate
from toolhaft.toolbox.untrusted_text import is_visible


def check(expression):
    """An answer or a refusal, nothing else, with bounded work and in 1 KB."""
    try:
        with bounded_work():
            result = calculate({"expression": expression})
    except (ToolValidationError, ToolExecutionError) as error:
        message = str(error)
        assert 1 <= place_in(message) <= len(expression) + 1
    else:
        number, message = result.value["result"], result.message
        assert type(number) in {int, float}
        assert math.isfinite(number) if type(number) is float else number.bit_length() <= 10_000
        assert json.loads(json.dumps(number)) == number
        assert result.value.keys() == {"result"}
    assert len(message.encode()) <= 1_000
    assert "\n" not in message
    assert is_visible(message)


names = st.sampled_from([*FUNCTIONS, *CONSTANTS])
operators = st.sampled_from(["+", "-", "*", "/", "//", "%", "**"])
small = st.one_of(st.integers(0, 99).map(str), st.floats(0, 1e6).map(repr))
large = st.one_of(
    st.integers(0, 10**40).map(str),
    st.integers(-1_300, 3_100).map("7e{}".format),
    st.builds("{}**{}".format, st.integers(2, 99), st.integers(0, 4_000)),
    st.builds(
        "({}**{}/{}**{})".format,
        st.integers(2, 9),
        st.integers(0, 6_000),
        st.integers(2, 9),
        st.integers(0, 2_000),
    ),
    st.builds("factorial({})".format, st.integers(0, 1_200)),
    st.builds("comb({},{})".format, st.integers(0, 10_100), st.integers(0, 5_000)),
)
odd = st.one_of(
    st.sampled_from("^!=<>[]{}|.'\"`$\\:;&~#?@_,\x00\x1b\x7f\t\n"),
    st.sampled_from("\u00d7\u2212\u03c0\uff11\u202e\ud800"),
)
pieces = st.one_of(names, operators, small, large, odd, st.sampled_from(["(", ")", "(", ")", ","]))


def formulas(numbers):
    """Expressions of the grammar."""

    def wider(inner):
        calls = st.sampled_from([*FUNCTIONS]).flatmap(
            lambda name: arguments(name, inner).map(f"{name}({{}})".format)
        )
        pairs = st.builds("({}{}{})".format, inner, operators, inner)
        return st.one_of(calls, pairs, inner.map("-{}".format))

    return st.recursive(st.one_of(numbers, st.sampled_from([*CONSTANTS])), wider, max_leaves=15)


def arguments(name, inner):
    function = FUNCTIONS[name]
    return st.lists(inner, min_size=function.least, max_size=function.most or 4).map(", ".join)


valid = formulas(st.one_of(small, small, large))


@runs(100)
@given(st.text(max_size=200))
def test_any_text_is_answered_or_refused(text):
    check(text)


@runs(100)
@given(st.text(alphabet="0123456789.eE+-*/%(), ", max_size=60))
def test_any_text_of_the_grammars_own_characters_is_answered_or_refused(text):
    check(text)


@runs(100)
@given(st.lists(pieces, max_size=40), st.sampled_from(["", " "]))
def test_any_sequence_of_tokens_is_answered_or_refused(soup, space):
    check(space.join(soup))


@runs(150)
@given(valid)
def test_any_expression_of_the_grammar_is_answered_or_refused(expression):
    check(expression)


@runs(100)
@given(
    valid,
    st.lists(
        st.tuples(st.integers(0, 10_000), st.sampled_from(["insert", "drop", "double", "swap"]), pieces),
        min_size=1,
        max_size=4,
    ),
)
def test_any_expression_with_mistakes_is_answered_or_refused(expression, changes):
    for where, change, piece in changes:
        at = where % (len(expression) + 1)
        if change == "insert":
            expression = expression[:at] + piece + expression[at:]
        elif change == "drop":
            expression = expression[:at] + expression[at + 1 :]
        elif change == "double":
            expression = expression[:at] + expression[: at + 5] + expression[at:]
        else:
            expression = expression[:at] + expression[at : at + 2][::-1] + expression[at + 2 :]
    check(expression)


@runs(15)
@given(
    st.lists(formulas(large), min_size=1, max_size=4),
    operators,
    st.sampled_from(["", "sum", "mean", "min", "max", "gcd", "hypot"]),
)
def test_any_heavy_part_repeated_to_the_limit_is_answered_or_refused(parts, operator, function):
    between = "," if function else operator
    pattern = between.join(parts)
    pieces_each = len(SYMBOL.findall(pattern)) + 1
    count = max(1, min(9_990 // (len(pattern) + len(between)), 4_990 // pieces_each))
    check(f"{function}({between.join([pattern] * count)})")
