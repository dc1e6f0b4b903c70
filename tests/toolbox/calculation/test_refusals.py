"""Every refusal says what is wrong, at which character, and what to write instead."""

from tests.toolbox.calculation.kit import place_in, refusal_of
from toolhaft.errors import ToolExecutionError, ToolValidationError
from toolhaft.toolbox.calculation.functions import FUNCTIONS

FORM = [
    ("", 1, "The expression is empty", "Give one such as 2 + 2"),
    ("   ", 1, "The expression is empty", "Give one such as 2 + 2"),
    ("15% of 200", 5, "Unknown name 'of'", "write 15 / 100 * 200 for 15% of 200"),
    ("15%", 4, "A number is missing after '%'", "write 15 / 100 * 200"),
    ("(200 * 15%)", 11, "A number is missing after '%'", "write 15 / 100 * 200"),
    ("50% * 3", 5, "A number is missing after '%'", "write 15 / 100 * 200"),
    ("100 + 10% + 5", 9, "'%' is not percent", "write 15 / 100 * 200"),
    ("2 ^ 3", 3, "'^' is not known", "Write ** for powers"),
    ("5!", 2, "'!' is not known", "Write factorial(5)"),
    ("2(3 + 4)", 2, "An operator is missing", "Write * for a product, as in 2 * (...)"),
    ("(1)(2)", 4, "An operator is missing", "as in (...) * (...)"),
    ("2pi", 2, "An operator is missing", "as in 2 * pi"),
    ("2 sqrt(4)", 3, "An operator is missing", "as in 2 * sqrt"),
    ("(1)5", 4, "An operator is missing", "as in (...) * 5"),
    ("pi .5", 4, "An operator is missing", "as in pi * .5"),
    ("12345678901234567890 pi", 22, "An operator is missing", "as in 123456789012... * pi"),
    ("pi(2)", 3, "'pi' is a number, not a function", "Write pi * (...)"),
    ("2e", 2, "An operator is missing", "Write 1e5 for a number with an exponent"),
    ("1 2", 3, "Two numbers in a row", "An operator or a comma is missing"),
    ("1 000", 3, "Two numbers in a row", "1000, not 1 000"),
    ("1,000", 2, "A comma inside a number", "Write 1000, not 1,000"),
    ("1,234.56", 2, "A comma inside a number", "Write 1000, not 1,000"),
    ("max(1,000)", 6, "A comma inside a number", "Write 1000, not 1,000"),
    ("3,5", 2, "A comma outside a function", "write a point for decimals"),
    ("(1, 2)", 3, "A comma outside a function", "as in max(1, 2)"),
    ("1_000", 2, "Digits are not grouped", "Write 1000, not 1_000"),
    ("0x1F", 2, "Only decimal numbers are read", "Write 31, not 0x1F"),
    ("1.2.3", 4, "A number with two points", "Write one point only"),
    ("5.real", 3, "A point before a name", "There are no attributes"),
    ("(5).real", 4, "'.' is not known", "There are no attributes"),
    (". + 1", 1, "'.' is not known", "There are no attributes"),
    ("math.sqrt(2)", 1, "Unknown name 'math'", "Write sqrt(2), not math.sqrt(2)"),
    ("ln(5)", 1, "Unknown name 'ln'", "Write log(x) for the natural logarithm"),
    ("LN(5)", 1, "Unknown name 'LN'", "Write log(x) for the natural logarithm"),
    ("pow(2, 3)", 1, "Unknown name 'pow'", "Write x ** y for a power"),
    ("1 + sqr(4)", 5, "Unknown name 'sqr'", "Did you mean 'sqrt'?"),
    ("PI", 1, "Unknown name 'PI'", "Did you mean 'pi'?"),
    ("arcsin(1)", 1, "Unknown name 'arcsin'", "Did you mean 'asin'?"),
    ("7 mod 3", 3, "Unknown name 'mod'", "Write x % y for the remainder"),
    ("5 x 3", 3, "Unknown name 'x'", "write * for a product"),
    ("3j", 2, "Unknown name 'j'", "Only real numbers are computed"),
    ("inf", 1, "Unknown name 'inf'", "Only finite numbers are computed"),
    ("zebra", 1, "Unknown name 'zebra'", "Known are sqrt, sin, cos"),
    ("__import__('os')", 1, "Unknown name '__import__'", "Known are sqrt"),
    ("sqrt 16", 1, "'sqrt' needs parentheses", "Write sqrt(x)"),
    ("sin", 1, "'sin' needs parentheses", "Write sin(x)"),
    ("a" * 9_000, 1, f"Unknown name '{'a' * 40}'", "Known are"),
    ("(1 + 2", 1, "A '(' that is not closed", "A ')' is missing"),
    ("(1 + sum(2, 3)", 1, "A '(' that is not closed", "A ')' is missing"),
    ("1 + 2)", 6, "A ')' without a '('", "Leave it out"),
    (")", 1, "A number is missing before ')'", ""),
    ("()", 2, "The parentheses are empty", "Put a number there"),
    ("3 *", 4, "A number is missing after '*'", ""),
    ("3 *  ", 4, "A number is missing after '*'", ""),
    ("* 3", 1, "A number is missing before '*'", ""),
    ("2 * * 3", 5, "A number is missing", "Write ** in one piece"),
    ("2 + / 3", 5, "A number is missing after '+'", ""),
    ("max(1,, 2)", 7, "A number is missing after ','", ""),
    ("max(1, 2,)", 10, "A number is missing after ','", ""),
    ("max(, 2)", 5, "A number is missing after '('", ""),
    ("max(", 5, "A number is missing after '('", ""),
    ("max()", 1, "'max' does not take 0 arguments", "Write max(a, b, ...)"),
    ("1 + sin(1, 2)", 5, "'sin' does not take 2 arguments", "Write sin(x)"),
    ("atan2(1)", 1, "'atan2' does not take 1 argument", "Write atan2(y, x)"),
    ("log(1, 2, 3)", 1, "'log' does not take 3 arguments", "Write log(x) or log(x, base)"),
    ("sum([1, 2])", 5, "'[' is not known", "Write the numbers as arguments, as in sum(1, 2, 3)"),
    ("2 + 2 =", 7, "'=' is not known", "Equations are not solved"),
    ("x = 5", 1, "Unknown name 'x'", "There are no variables"),
    ("1 == 1", 3, "'==' is not known", "Nothing is compared"),
    ("1 < 2", 3, "'<' is not known", "Nothing is compared"),
    ("1 <= 2", 3, "'<=' is not known", "Nothing is compared"),
    ('"1 + 1"', 1, "'\"' is not known", "Leave the quotes out"),
    ("$5", 1, "'$' is not known", "Leave the currency out"),
    ("|5|", 1, "'|' is not known", "Write abs(x)"),
    ("1 @ 2", 3, "'@' is not known", ""),
    ("1 \x1b[31m", 3, "The character U+001B is not known", ""),
    ("\x00", 1, "The character U+0000 is not known", ""),
    ("2 \u00d7 3", 3, "The character U+00D7 MULTIPLICATION SIGN is not known", "Write * for a product"),
    ("6 \u00f7 2", 3, "The character U+00F7 DIVISION SIGN is not known", "Write / for a quotient"),
    ("5 \u2212 3", 3, "The character U+2212 MINUS SIGN is not known", "Write the plain - (U+002D)"),
    ("2\u03c0", 2, "The character U+03C0 GREEK SMALL LETTER PI is not known", "Write pi"),
    ("\u221a16", 1, "The character U+221A SQUARE ROOT is not known", "Write sqrt(x)"),
    ("5\u00b2", 2, "The character U+00B2 SUPERSCRIPT TWO is not known", "Write ** 2"),
    ("\u00bd", 1, "The character U+00BD VULGAR FRACTION ONE HALF is not known", "Write (1 / 2)"),
    ("1 + \uff15", 5, "The character U+FF15 FULLWIDTH DIGIT FIVE is not known", "Write the plain 5"),
    ("\u0663", 1, "The character U+0663 ARABIC-INDIC DIGIT THREE is not known", "Write the plain 3"),
    (
        "\uff50\uff49",
        1,
        "The character U+FF50 FULLWIDTH LATIN SMALL LETTER P is not known",
        "Write the plain p",
    ),
    ("s\u0456n(1)", 2, "The character U+0456 CYRILLIC", "Only ASCII characters are read"),
    ("1\u00a0+ 2", 2, "The character U+00A0 NO-BREAK SPACE is not known", "Write a plain space, or nothing"),
    (
        "1 \u202e+ 2",
        3,
        "The character U+202E RIGHT-TO-LEFT OVERRIDE is not known",
        "Write a plain space, or nothing",
    ),
    ("\ud800", 1, "The character U+D800 is not known", "Only ASCII characters are read"),
]

ANSWERLESS = [
    ("1 / 0", 3, "Division by zero"),
    ("1 // 0.0", 3, "Division by zero"),
    ("5 % (2 - 2)", 3, "Division by zero"),
    ("pi / 0", 4, "Division by zero"),
    ("pi % 0.0", 4, "Division by zero"),
    ("0 ** -1", 3, "Division by zero"),
    ("0 ** -0.5", 3, "Division by zero"),
    ("0 ** -pi", 3, "Division by zero"),
    ("1 + (-8) ** (1 / 3)", 10, "A negative number (-8) to a power that is not whole is not a real number"),
    ("(-8) ** pi", 6, "A negative number (-8) to a power that is not whole"),
    ("sqrt(-1)", 1, "The square root of a negative number (-1) is not a real number"),
    ("sqrt(-0.5)", 1, "The square root of a negative number (-0.5)"),
    ("log(0)", 1, "A logarithm needs a positive argument, not 0"),
    ("log10(-1)", 1, "A logarithm needs a positive argument, not -1"),
    ("log(2, 0)", 1, "A logarithm needs a positive base, not 0"),
    ("log(2, 1)", 1, "A logarithm needs a base other than 1"),
    ("log(2, 1 + 1e-1000)", 1, "A logarithm needs a base other than 1"),
    ("asin(2)", 1, "asin needs a number from -1 to 1, not 2"),
    ("acos(-1 - 1e-30)", 1, "acos needs a number from -1 to 1, not -1.0"),
    ("tan(pi / 2)", 1, "The tangent of 1.5707963267948966, an odd multiple of pi / 2, is not defined"),
    ("tan(-7 * pi / 2)", 1, "The tangent of -10.995574287564276"),
    ("sin(10 ** 16)", 1, "The angle 10000000000000000 is too large"),
    ("cos(pi * 1e20)", 1, "The angle 3.1415926535897933e+20 is too large"),
    ("factorial(5.5)", 1, "factorial needs whole numbers, not 5.5"),
    ("factorial(-1)", 1, "factorial needs whole numbers from 0 on, not -1"),
    ("factorial(pi)", 1, "factorial needs whole numbers, and 3.141592653589793 is an approximation"),
    ("gcd(1, 0.5)", 1, "gcd needs whole numbers, not 0.5"),
    ("gcd(10 ** 400 / 3, 2)", 1, "gcd needs whole numbers, not a fraction of many digits"),
    ("comb(-10 ** 50, 2)", 1, "comb needs whole numbers from 0 on, not a number of about 50 digits"),
    ("comb(2, 0.5)", 1, "comb needs whole numbers, not 0.5"),
    ("perm(2, -1)", 1, "perm needs whole numbers from 0 on, not -1"),
    ("round(1.5, 0.5)", 1, "round needs a whole number of digits from -1,000 to 1,000, not 0.5"),
    ("round(1.5, -99999999)", 1, "round needs a whole number of digits from -1,000 to 1,000, not -99999999"),
    ("exp(1000)", 1, "Too large for a float, which ends at 1.8e308"),
    ("10 ** 400 * pi", 11, "Too large for a float, which ends at 1.8e308"),
    ("1e308 * pi", 7, "Too large for a float, which ends at 1.8e308"),
    ("hypot(pi * 5e307, pi * 5e307)", 1, "Too large for a float"),
    ("(3 ** 6000) ** (1 / 3)", 13, "Too large for a float, which ends at 1.8e308"),
    ("1e-1000 ** -pi", 9, "Too large for a float, which ends at 1.8e308"),
    ("1.5 ** 10000", 5, "Too large for a float, which ends at 1.8e308"),
    (
        "1 + 10 ** 400 / 7",
        3,
        "Too large for a float, which ends at 1.8e308; floor(...) around it gives the whole part",
    ),
]


def test_invalid_selector_is_refused_with_its_position_and_a_hint():
    for expression, place, problem, hint in FORM:
        message = refusal_of(expression, ToolValidationError)
        assert message.startswith(problem), expression
        assert place_in(message) == place, expression
        assert hint in message, expression
        assert len(message) <= 500, expression


def test_undefined_operations_are_refused_with_their_position():
    for expression, place, problem in ANSWERLESS:
        message = refusal_of(expression, ToolExecutionError)
        assert message.startswith(problem), expression
        assert place_in(message) == place, expression
        assert len(message) <= 300, expression


def test_an_excerpt_of_hidden_characters_is_bounded_too():
    assert len(refusal_of("\x01" * 25 + "\u202e" * 30, ToolValidationError)) < 400


def test_syntax_is_checked_before_anything_is_computed():
    assert "A '(' that is not closed" in refusal_of("1 / 0 + (2", ToolValidationError)


def test_error_position_is_marked_in_an_excerpt():
    assert refusal_of("10 / (3 - 3)") == "Division by zero, at character 4: 10 >>>/<<< (3 - 3)"
    long = " + ".join(["123456789"] * 20) + " ! " + " + ".join(["123456789"] * 20)
    shown = refusal_of(long).partition(": ")[2]
    assert (
        shown == "... + 123456789 + 123456789 >>>!<<< 123456789 + 123456789 + .... Write factorial(5) for 5!"
    )
    assert refusal_of("1 +\n\n foo").startswith("Unknown name 'foo', at character 7: 1 + >>>foo<<<")


def test_long_marked_excerpt_is_cut():
    assert f">>>{'9' * 40}...<<<" in refusal_of("9" * 4_000)


def test_characters_that_do_not_show_are_made_visible():
    message = refusal_of("1 + 2 \u202e * 3")
    assert "<U+202E>" in message
    assert message.isprintable()
    assert "<U+0007>" in refusal_of("1 ! \x07")


def test_error_for_a_wrong_number_of_arguments_shows_the_usage():
    for name, function in FUNCTIONS.items():
        assert f"Write {function.usage}" in refusal_of(f"{name}()", ToolValidationError), name
        if function.most is not None:
            many = ", ".join(["1"] * (function.most + 1))
            message = refusal_of(f"{name}({many})", ToolValidationError)
            assert f"does not take {function.most + 1} arguments" in message, name
