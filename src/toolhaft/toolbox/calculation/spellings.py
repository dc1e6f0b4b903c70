"""What people and models write where this grammar has another word for it, or none.

Tables only; does not know where a hint is given.
"""

from typing import Final

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
    "mod": "write x % y for the remainder",
    "fmod": "write x % y for the remainder",
    "remainder": "write x % y for the remainder",
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
    "inf": _FINITE,
    "infinity": _FINITE,
    "nan": _FINITE,
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
    "to": _ONE_EXPRESSION,
    "and": _ONE_EXPRESSION,
    "or": _ONE_EXPRESSION,
    "not": _ONE_EXPRESSION,
    "if": _ONE_EXPRESSION,
    "lambda": _ONE_EXPRESSION,
    "import": _ONE_EXPRESSION,
}

SIGNS: Final[dict[str, str]] = {
    "^": "write ** for powers",
    "!": "write factorial(5) for 5!",
    "=": f"equations are not solved and nothing is assigned; {_ONE_EXPRESSION}",
    "==": _NO_COMPARISON,
    "!=": _NO_COMPARISON,
    "<=": _NO_COMPARISON,
    ">=": _NO_COMPARISON,
    "<": _NO_COMPARISON,
    ">": _NO_COMPARISON,
    "[": _LIST,
    "]": _LIST,
    "{": "group with ( and )",
    "}": "group with ( and )",
    "|": "write abs(x) for |x|",
    ".": "there are no attributes or modules; write sqrt(2), not math.sqrt(2)",
    "'": "leave the quotes out",
    '"': "leave the quotes out",
    "`": "leave the quotes out",
    "$": "leave the currency out",
    "\\": "write sqrt(x), (a) / (b) and *, not LaTeX",
    ":": "write / for a ratio",
    ";": _ONE_EXPRESSION,
    "&": "there are no operators on bits",
    "~": "there are no operators on bits",
    "#": "leave comments out",
    "?": "leave it out",
    "\u00d7": TIMES,  # multiplication sign
    "\u00b7": TIMES,  # middle dot
    "\u22c5": TIMES,  # dot operator
    "\u2217": TIMES,  # asterisk operator
    "\u00f7": _QUOTIENT,  # division sign
    "\u2215": _QUOTIENT,  # division slash
    "\u2044": _QUOTIENT,  # fraction slash
    "\u2212": _PLAIN_MINUS,  # minus sign
    "\u2010": _PLAIN_MINUS,  # hyphen
    "\u2011": _PLAIN_MINUS,  # non-breaking hyphen
    "\u2013": _PLAIN_MINUS,  # en dash
    "\u2014": _PLAIN_MINUS,  # em dash
    "\u03c0": "write pi",  # greek small letter pi
    "\u03c4": "write tau",  # greek small letter tau
    "\u221a": "write sqrt(x)",  # square root
    "\u221b": "write x ** (1 / 3)",  # cube root
    "\u221e": _FINITE,  # infinity
    "\u00b0": "write radians(30) for 30 degrees",  # degree sign
    "\u2264": _NO_COMPARISON,  # less-than or equal to
    "\u2265": _NO_COMPARISON,  # greater-than or equal to
    "\u2260": _NO_COMPARISON,  # not equal to
    "\u2248": _NO_COMPARISON,  # almost equal to
    "\u2211": _LIST,  # n-ary summation
    "\u03a3": _LIST,  # greek capital letter sigma
}
