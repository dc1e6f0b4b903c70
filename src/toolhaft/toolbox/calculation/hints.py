"""The error messages for malformed expressions: what is wrong, where, and what to write instead."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from toolhaft.schema.nearest import nearest
from toolhaft.toolbox.calculation.functions import CONSTANTS, FUNCTIONS
from toolhaft.toolbox.untrusted_text import show_untrusted

SYMBOL: Final = re.compile(
    r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?"  # numbers
    r"|[A-Za-z_][A-Za-z0-9_]*"  # names
    r"|\*\*|//|[<>=!]=|\S"  # operators, and any other character
)
_CONTEXT: Final = 25
_LONGEST_MARKED: Final = 40
_LONGEST_SHOWN: Final = 250
_SUPERSCRIPTS: Final = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
_FRACTION_SLASH: Final = "\u2044"
_RADIXES: Final = "xXbBoO"
_GROUP: Final = 3
_LONGEST_SYMBOL: Final = 12
PERCENT_TERM: Final = re.compile(r"(?<=[0-9)])%(?=\s*[-+]\s)")
"""A percentage followed by + or -: the grammar would read 10% + 5 as a remainder."""
_LIKE_PERCENT: Final = re.compile(r"[0-9)]%[-+\s]")
_LIKE_GROUPED: Final = re.compile(r"(?<![0-9.eE])(?<![eE][+-])[0-9]{1,3},[0-9]{3}(?![0-9.])")
_EXAMPLES: Final = {"(": "(...)", ")": "(...)"}

SyntaxHint = tuple[str, str]
"""The problem, and what to write instead."""

# What people and models write for things that this grammar spells differently or does not have.
_POWER: Final = "write x ** y for a power"
TIMES: Final = "write * for a product"
_ONE_EXPRESSION: Final = "give one expression whose value is a number"
PERCENT: Final = "% is the remainder of a division; write 15 / 100 * 200 for 15% of 200"
_NO_COMPARISON: Final = f"nothing is compared; {_ONE_EXPRESSION}"
_PLAIN_MINUS: Final = "write the plain - (U+002D)"
_QUOTIENT: Final = "write / for a quotient"
_LIST: Final = "write the numbers as arguments, as in sum(1, 2, 3)"
_COMPLEX: Final = "only real numbers are computed"
_FINITE: Final = "only finite numbers are computed"
THOUSANDS: Final = "write 1000, not 1,000; a comma only separates arguments, as in max(1, 2)"

NAMES: Final[dict[str, str]] = {
    "ln": "write log(x) for the natural logarithm",
    "lg": "write log10(x) for the common logarithm",
    "lb": "write log2(x)",
    "log1p": "write log(1 + x)",
    "expm1": "write exp(x) - 1",
    "pow": _POWER,
    "power": _POWER,
    "cbrt": "write x ** (1 / 3)",
    "root": "write x ** (1 / n)",
    "square": "write x ** 2",
    **dict.fromkeys(("mod", "fmod", "remainder"), "write x % y for the remainder"),
    "div": "write x // y for the whole quotient",
    "divmod": "write x // y for the whole quotient and x % y for the remainder",
    "arcsin": "did you mean 'asin'?",
    "arccos": "did you mean 'acos'?",
    "arctan": "did you mean 'atan'?",
    "arctan2": "did you mean 'atan2'?",
    "sec": "write 1 / cos(x)",
    "csc": "write 1 / sin(x)",
    "cot": "write 1 / tan(x)",
    "sinh": "write (exp(x) - exp(-x)) / 2",
    "cosh": "write (exp(x) + exp(-x)) / 2",
    "tanh": "write 1 - 2 / (exp(2 * x) + 1)",
    "avg": "did you mean 'mean'?",
    "average": "did you mean 'mean'?",
    "fact": "did you mean 'factorial'?",
    "choose": "did you mean 'comb'?",
    "binomial": "did you mean 'comb'?",
    "ncr": "did you mean 'comb'?",
    "npr": "did you mean 'perm'?",
    "lcm": "write a * b // gcd(a, b)",
    "prod": "write a * b * c",
    "int": "did you mean 'floor'?",
    "trunc": "did you mean 'floor'?",
    "float": "leave it out",
    "deg": "did you mean 'degrees'?",
    "rad": "did you mean 'radians'?",
    "i": _COMPLEX,
    "j": _COMPLEX,
    **dict.fromkeys(("inf", "infinity", "nan"), _FINITE),
    "math": "write sqrt(2), not math.sqrt(2)",
    "np": "write sqrt(2), not np.sqrt(2)",
    "numpy": "write sqrt(2), not numpy.sqrt(2)",
    "x": "there are no variables; write * for a product",
    "of": PERCENT,
    "percent": PERCENT,
    "times": TIMES,
    "plus": "write +",
    "minus": "write -",
    "over": "write /",
    **dict.fromkeys(("to", "and", "or", "not", "if", "lambda", "import"), _ONE_EXPRESSION),
}

SIGNS: Final[dict[str, str]] = {
    "^": "write ** for powers",
    "!": "write factorial(5) for 5!",
    "=": f"equations are not solved and nothing is assigned; {_ONE_EXPRESSION}",
    **dict.fromkeys(
        ("==", "!=", "<=", ">=", "<", ">", "\u2264", "\u2265", "\u2260", "\u2248"), _NO_COMPARISON
    ),
    "[": _LIST,
    "]": _LIST,
    "{": "group with ( and )",
    "}": "group with ( and )",
    "|": "write abs(x) for |x|",
    ".": "there are no attributes or modules; write sqrt(2), not math.sqrt(2)",
    **dict.fromkeys("'\"`", "leave the quotes out"),
    "$": "leave the currency out",
    "\\": "write sqrt(x), (a) / (b) and *, not LaTeX",
    ":": "write / for a ratio",
    ";": _ONE_EXPRESSION,
    "&": "there are no operators on bits",
    "~": "there are no operators on bits",
    "#": "leave comments out",
    "?": "leave it out",
    **dict.fromkeys("\u00d7\u00b7\u22c5\u2217", TIMES),  # multiplication sign, dots, asterisk operator
    **dict.fromkeys("\u00f7\u2215\u2044", _QUOTIENT),  # division sign, division slash, fraction slash
    **dict.fromkeys("\u2212\u2010\u2011\u2013\u2014", _PLAIN_MINUS),  # minus sign, hyphens, dashes
    "\u03c0": "write pi",  # greek small letter pi
    "\u03c4": "write tau",  # greek small letter tau
    "\u221a": "write sqrt(x)",  # square root
    "\u221b": "write x ** (1 / 3)",  # cube root
    "\u221e": _FINITE,  # infinity
    "\u00b0": "write radians(30) for 30 degrees",  # degree sign
    "\u2211": _LIST,  # n-ary summation
    "\u03a3": _LIST,  # greek capital letter sigma
}


def message_at_symbol(text: str, place: int, problem: str, hint: str = "") -> str:
    """The message for a problem at a symbol, given by its index; the index after the last is the end."""
    for number, match in enumerate(SYMBOL.finditer(text)):
        if number == place:
            return message_at_span(text, *match.span(), problem, hint)
    end = len(text.rstrip())
    return message_at_span(text, end, end, problem, hint)


def message_at_span(text: str, start: int, end: int, problem: str, hint: str = "") -> str:
    """The message for a problem at a range of characters."""
    advice = f". {hint[0].upper()}{hint[1:]}" if hint else ""
    return f"{problem}, at character {start + 1:,}: {_excerpt(text, start, end)}{advice}"


def _excerpt(text: str, start: int, end: int) -> str:
    before = text[max(0, start - _CONTEXT) : start]
    marked = text[start : min(end, start + _LONGEST_MARKED)]
    after = text[end : end + _CONTEXT]
    head = "..." if start > _CONTEXT else ""
    cut = "..." if end - start > _LONGEST_MARKED else ""
    tail = "..." if end + _CONTEXT < len(text) else ""
    shown = f"{head}{before}>>>{marked}{cut}<<<{after}{tail}"
    return show_untrusted(" ".join(shown.split()), longest=_LONGEST_SHOWN).text


def name_hint(name: str) -> str:
    """The hint for an unknown name."""
    known = NAMES.get(name.lower())
    if known:
        return known
    close = nearest(name, (*FUNCTIONS, *CONSTANTS))
    if close:
        return f"did you mean '{close}'?"
    return "known are " + ", ".join((*FUNCTIONS, *CONSTANTS))


def sign_hint(sign: str) -> SyntaxHint:
    """The hint for a character, or two, that the grammar does not have."""
    called = f"'{sign}'" if sign.isprintable() else f"The character U+{ord(sign):04X}"
    return f"{called} is not known", SIGNS.get(sign, "")


def non_ascii_hint(character: str) -> SyntaxHint:
    """The hint for a character outside ASCII."""
    name = unicodedata.name(character, "")
    called = f"U+{ord(character):04X} {name}".rstrip()
    hint = SIGNS.get(character) or _plain_form(character) or "only ASCII characters are read"
    return f"The character {called} is not known", hint


def _plain_form(character: str) -> str:
    if character in _SUPERSCRIPTS:
        return f"write ** {_SUPERSCRIPTS.index(character)}"
    if character.isspace() or unicodedata.category(character) == "Cf":
        return "write a plain space, or nothing"
    if character.isdecimal():
        return f"write the plain {unicodedata.decimal(character)}"
    plain = unicodedata.normalize("NFKC", character)
    if _FRACTION_SLASH in plain:  # such as the single character for one half
        return f"write ({plain.replace(_FRACTION_SLASH, ' / ')})"
    return f"write the plain {plain}" if plain.isascii() and plain.isprintable() else ""


def missing_operator_hint(before: str, symbol: str) -> SyntaxHint:
    """The hint for a number, name or parenthesis right after a number or a parenthesis."""
    if before[-1] in "0123456789.":
        hint = _broken_number_hint(before, symbol)
        if hint is not None:
            return hint
    if symbol == "(" and before in CONSTANTS:
        return f"'{before}' is a number, not a function", f"write {before} * (...) for a product"
    if symbol[0].isalpha() and symbol not in FUNCTIONS and symbol not in CONSTANTS:
        return f"Unknown name '{symbol:.40}'", name_hint(symbol)
    product = f"{_EXAMPLES.get(before, _short(before))} * {_EXAMPLES.get(symbol, _short(symbol))}"
    return "An operator is missing", f"{TIMES}, as in {product}"


def _broken_number_hint(before: str, symbol: str) -> SyntaxHint | None:
    if before == "0" and symbol[0] in _RADIXES and len(symbol) > 1:
        return "Only decimal numbers are read", "write 31, not 0x1F"
    if symbol[0] == "_":
        return "Digits are not grouped", "write 1000, not 1_000"
    if symbol[0] == "." and "." in before:
        return "A number with two points", "write one point only, and no separators"
    if before.endswith(".") and symbol[0].isalpha():
        return "A point before a name", SIGNS["."]
    if symbol[0].isdecimal():
        return (
            "Two numbers in a row",
            "an operator or a comma is missing; digits are not grouped: 1000, not 1 000",
        )
    if symbol == "e":
        return "An operator is missing", "write 1e5 for a number with an exponent, 2 * e for a product"
    return None


def missing_number_hint(before: str, symbol: str) -> SyntaxHint:
    """The hint for an operator, a parenthesis or the end (an empty symbol) where a number must come."""
    if not before and not symbol:
        return "The expression is empty", "give one such as 2 + 2"
    if before == "%":
        return "A number is missing after '%'", PERCENT
    if before == "(" and symbol == ")":
        return "The parentheses are empty", "put a number there, or leave them out"
    if before == symbol == "*":
        return "A number is missing", "write ** in one piece for powers"
    after = f"after '{before}'" if before else f"before '{symbol}'"
    return f"A number is missing {after}", ""


def comma_hint(before: str, after: str) -> SyntaxHint:
    """The hint for a comma that separates no arguments."""
    if before.isdecimal() and after[:_GROUP].isdecimal() and len(after) >= _GROUP:
        return "A comma inside a number", THOUSANDS
    decimals = "a comma only separates arguments, as in max(1, 2); write a point for decimals, as in 1.5"
    return "A comma outside a function", decimals


def grouped_digits_hint(after: str) -> SyntaxHint | None:
    """The hint for a comma between arguments if what follows is the rest of a number such as 1,000."""
    if len(after) >= _GROUP and after[0] == "0" and after[:_GROUP].isdecimal():
        return "A comma inside a number", THOUSANDS
    return None


def ambiguity_notes(text: str) -> list[str]:
    """Notes about valid syntax that the author may have meant differently."""
    notes: list[str] = []
    if _LIKE_PERCENT.search(text):
        notes.append("% was read as the remainder of a division, not as percent")
    grouped = _LIKE_GROUPED.search(text)
    if grouped:
        notes.append(f"{grouped[0]} was read as two numbers")
    return notes


def _short(symbol: str) -> str:
    return symbol if len(symbol) <= _LONGEST_SYMBOL else f"{symbol[:_LONGEST_SYMBOL]}..."
