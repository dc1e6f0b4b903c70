"""Parses an expression into instructions for a stack: each number, and each operator after its operands."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final, TypeAlias

from toolhaft.errors import ToolValidationError
from toolhaft.toolbox.calculation import arithmetic, hints
from toolhaft.toolbox.calculation.functions import CONSTANTS, FUNCTIONS
from toolhaft.toolbox.calculation.hints import PERCENT
from toolhaft.toolbox.calculation.number import (
    LONGEST_TEXT,
    MAX_BITS,
    MAX_DECIMALS,
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_SYMBOLS,
    Exact,
    Number,
)
from toolhaft.toolbox.untrusted_text import counted

Apply: TypeAlias = Callable[..., Number]
Instruction: TypeAlias = tuple[Apply, int, int]
"""The function to apply, how many numbers it takes from the stack, and the index of its symbol."""

_SIGN_PRECEDENCE: Final = 3
_STOP: Final[tuple[int, Instruction]] = (0, (arithmetic.negate, 0, 0))
"""Marks an open parenthesis, or the beginning, among the pending operators: binds less than any of them."""
# Precedence on the right side and on the left: powers are right-associative.
_BINARY: Final[dict[str, tuple[int, int, Apply]]] = {
    "+": (1, 1, arithmetic.add),
    "-": (1, 1, arithmetic.subtract),
    "*": (2, 2, arithmetic.multiply),
    "/": (2, 2, arithmetic.divide),
    "//": (2, 2, arithmetic.floor_divide),
    "%": (2, 2, arithmetic.modulo),
    "**": (4, 5, arithmetic.power),
}
_DIGITS: Final = "0123456789"
_SHORT_DIGITS: Final = 18
_CHUNK: Final = 500  # digits; a process can limit int() to 640 of them
_LONGEST_EXPONENT: Final = 6


class _Parenthesis:
    """An open parenthesis; that of a function counts its arguments."""

    __slots__ = ("count", "function", "place")

    def __init__(self, place: int, function: str) -> None:
        self.place = place
        self.function = function
        self.count = 1


def parse(text: str) -> list[Number | Instruction]:
    """The numbers and instructions of an expression, in the order of evaluation.

    Raises:
        ToolValidationError: if it does not follow the grammar or is too long; says where, and what to write.
    """
    if len(text) > LONGEST_TEXT:
        raise ToolValidationError(
            f"The expression has {len(text):,} characters, at most {LONGEST_TEXT:,} are read; "
            f"stopped at character {LONGEST_TEXT + 1:,}: compute it in parts"
        )
    if not text.isascii():
        raise _not_ascii(text)
    percent = hints.PERCENT_TERM.search(text) if "%" in text else None
    if percent is not None:
        raise ToolValidationError(hints.message_at_span(text, *percent.span(), "'%' is not percent", PERCENT))
    symbols = hints.SYMBOL.findall(text)
    if len(symbols) > MAX_SYMBOLS:
        raise ToolValidationError(
            hints.message_at_symbol(
                text,
                MAX_SYMBOLS,
                f"More than {MAX_SYMBOLS:,} numbers and operators",
                "compute it in parts",
            )
        )
    return _Parser(text, symbols).parse()


def _not_ascii(text: str) -> ToolValidationError:
    # checked first, since many functions accept letters and digits of other scripts
    start = next(index for index, character in enumerate(text) if not character.isascii())
    return ToolValidationError(
        hints.message_at_span(text, start, start + 1, *hints.non_ascii_hint(text[start]))
    )


class _Parser:
    """Parses in one pass; an operator is pending until one with lower precedence follows (shunting-yard)."""

    __slots__ = ("instructions", "parentheses", "pending", "symbols", "text")

    def __init__(self, text: str, symbols: list[str]) -> None:
        self.text = text
        self.symbols = symbols
        self.instructions: list[Number | Instruction] = []
        self.pending: list[tuple[int, Instruction]] = [_STOP]
        self.parentheses: list[_Parenthesis] = []

    def parse(self) -> list[Number | Instruction]:
        instructions, pending = self.instructions, self.pending
        wants_number = True
        for place, symbol in enumerate(self.symbols):
            if wants_number:
                if symbol.isdecimal() and len(symbol) <= _SHORT_DIGITS:
                    instructions.append(int(symbol))
                    wants_number = False
                else:
                    wants_number = self._before_number(place, symbol)
            elif symbol in _BINARY:
                rank, left_rank, apply = _BINARY[symbol]
                while pending[-1][0] >= left_rank:
                    instructions.append(pending.pop()[1])
                pending.append((rank, (apply, 2, place)))
                wants_number = True
            else:
                wants_number = self._after_number(place, symbol)
        if wants_number:
            raise self._missing_number(len(self.symbols), "")
        if self.parentheses:
            raise self._error(self.parentheses[-1].place, "A '(' that is not closed", "a ')' is missing")
        self._flush()
        return instructions

    def _flush(self) -> None:
        """Emit the pending operators back to the last open parenthesis."""
        instructions, pending = self.instructions, self.pending
        while pending[-1][0]:
            instructions.append(pending.pop()[1])

    def _before_number(self, place: int, symbol: str) -> bool:
        """Parse a symbol where a number must come; True if the number is still to come."""
        if symbol == "-":
            self.pending.append((_SIGN_PRECEDENCE, (arithmetic.negate, 1, place)))
            return True
        if symbol == "+":
            return True
        if symbol == "(":
            self._open(place)
            return True
        if symbol[0] in _DIGITS or (symbol[0] == "." and len(symbol) > 1):
            self.instructions.append(self._number(place, symbol))
            return False
        if symbol[0].isalpha() or symbol[0] == "_":
            return self._name(place, symbol)
        raise self._missing_number(place, symbol)

    def _after_number(self, place: int, symbol: str) -> bool:
        """Parse a symbol after a number; True if another number must come."""
        if symbol == ")":
            self._close(place)
            return False
        if symbol == ",":
            self._next_argument(place)
            return True
        if symbol[0].isalnum() or symbol[0] in "_(" or (symbol[0] == "." and len(symbol) > 1):
            raise self._error(place, *hints.missing_operator_hint(self.symbols[place - 1], symbol))
        raise self._error(place, *hints.sign_hint(symbol))

    def _number(self, place: int, symbol: str) -> Number:
        try:
            return exact_value(symbol)
        except TooLongError:
            limits = f"at most {MAX_DIGITS:,} before the point and {MAX_DECIMALS:,} after it are read"
            raise self._error(place, "A number with too many digits", limits) from None

    def _name(self, place: int, symbol: str) -> bool:
        if symbol in CONSTANTS:
            self.instructions.append(CONSTANTS[symbol])
            return False
        if symbol not in FUNCTIONS:
            raise self._error(place, f"Unknown name '{symbol:.40}'", hints.name_hint(symbol))
        if self._symbol(place + 1) != "(":
            raise self._error(place, f"'{symbol}' needs parentheses", f"write {FUNCTIONS[symbol].usage}")
        return True

    def _open(self, place: int) -> None:
        if len(self.parentheses) == MAX_DEPTH:
            raise self._error(place, f"Parentheses more than {MAX_DEPTH} deep", "compute it in parts")
        # `_name` made sure that a function's name is followed by its parenthesis
        before = self._symbol(place - 1)
        self.parentheses.append(_Parenthesis(place, before if before in FUNCTIONS else ""))
        self.pending.append(_STOP)

    def _close(self, place: int) -> None:
        self._flush()
        if not self.parentheses:
            raise self._error(place, "A ')' without a '('", "leave it out, or open a parenthesis before it")
        opened = self.parentheses.pop()
        self.pending.pop()
        if opened.function:
            function, name_place = FUNCTIONS[opened.function], opened.place - 1
            if not function.takes(opened.count):
                raise self._wrong_count(opened, opened.count)
            self.instructions.append((function.apply, opened.count, name_place))

    def _next_argument(self, place: int) -> None:
        self._flush()
        after = self._symbol(place + 1)
        if not self.parentheses or not self.parentheses[-1].function:
            raise self._error(place, *hints.comma_hint(self._symbol(place - 1), after))
        grouped = hints.grouped_digits_hint(after)
        if grouped is not None:
            raise self._error(place, *grouped)
        self.parentheses[-1].count += 1

    def _missing_number(self, place: int, symbol: str) -> ToolValidationError:
        if symbol and symbol not in _BINARY and symbol not in {")", ","}:
            return self._error(place, *hints.sign_hint(symbol))
        before = self._symbol(place - 1)
        if before == "(" and symbol == ")" and self.parentheses[-1].function:
            return self._wrong_count(self.parentheses[-1], 0)
        return self._error(place, *hints.missing_number_hint(before, symbol))

    def _wrong_count(self, opened: _Parenthesis, count: int) -> ToolValidationError:
        problem = f"'{opened.function}' does not take {counted(count, 'argument')}"
        return self._error(opened.place - 1, problem, f"write {FUNCTIONS[opened.function].usage}")

    def _symbol(self, place: int) -> str:
        return self.symbols[place] if 0 <= place < len(self.symbols) else ""

    def _error(self, place: int, problem: str, hint: str = "") -> ToolValidationError:
        return ToolValidationError(hints.message_at_symbol(self.text, place, problem, hint))


class TooLongError(Exception):
    """A number literal with too many digits."""


def exact_value(text: str) -> Exact:
    """The exact value of a number literal: 0.1 is one tenth.

    Raises:
        TooLongError: if it has too many digits, before or after the point.
    """
    mantissa, _, exponent = text.replace("E", "e").partition("e")
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    if not digits:
        return 0
    exponent_digits = exponent.lstrip("+-0")
    if len(exponent_digits) > _LONGEST_EXPONENT:
        raise TooLongError
    shift = int(f"-{exponent_digits or 0}" if exponent.startswith("-") else exponent_digits or 0) - len(part)
    if len(digits) + max(shift, 0) > MAX_DIGITS + 1 or shift < -MAX_DECIMALS:
        raise TooLongError
    value = _digits_value(digits)
    if shift < 0:
        fraction = Fraction(value, 10**-shift)
        return fraction if fraction.denominator > 1 else fraction.numerator
    value *= 10**shift
    if value.bit_length() > MAX_BITS:
        raise TooLongError
    return value


def _digits_value(digits: str) -> int:
    value = 0
    for start in range(0, len(digits), _CHUNK):
        chunk = digits[start : start + _CHUNK]
        value = value * 10 ** len(chunk) + int(chunk)
    return value
