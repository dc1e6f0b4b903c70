"""Reads an expression into steps: every number, and after its arguments every operator and function.

Computes nothing; whatever is wrong with the form is refused here, with its place and a hint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from toolhaft.errors import ToolValidationError
from toolhaft.toolbox.calculation import arithmetic, hints, refusals
from toolhaft.toolbox.calculation.functions import CONSTANTS, FUNCTIONS
from toolhaft.toolbox.calculation.limits import DEEPEST, LONGEST_TEXT, MOST_DECIMALS, MOST_DIGITS, MOST_PIECES
from toolhaft.toolbox.calculation.literals import TooLongError, exact_value
from toolhaft.toolbox.calculation.powers import power
from toolhaft.toolbox.calculation.spellings import PERCENT
from toolhaft.toolbox.calculation.work import Number

Apply: TypeAlias = Callable[..., Number]
Step: TypeAlias = tuple[Apply, int, int]
"""What to do with the last numbers, how many of them, and the number of the piece that asks for it."""

_SIGN_RANK: Final = 3
_STOP: Final[tuple[int, Step]] = (0, (arithmetic.negate, 0, 0))
"""Stands among what waits for an open parenthesis, and for the beginning: less tight than any operator."""
# How tightly it holds its right side, and the left: powers are taken from the right.
_BINARY: Final[dict[str, tuple[int, int, Apply]]] = {
    "+": (1, 1, arithmetic.add),
    "-": (1, 1, arithmetic.subtract),
    "*": (2, 2, arithmetic.multiply),
    "/": (2, 2, arithmetic.divide),
    "//": (2, 2, arithmetic.floor_divide),
    "%": (2, 2, arithmetic.modulo),
    "**": (4, 5, power),
}
_DIGITS: Final = "0123456789"
_SHORT_DIGITS: Final = 18


class _Parenthesis:
    """An open parenthesis: of a function, whose arguments are counted, or of none."""

    __slots__ = ("count", "function", "place")

    def __init__(self, place: int, function: str) -> None:
        self.place = place
        self.function = function
        self.count = 1


def read(text: str) -> list[Number | Step]:
    """The steps of an expression, in the order in which they are done.

    Raises:
        ToolValidationError: where it is not of the grammar, or too long; says where, and what to write.
    """
    if len(text) > LONGEST_TEXT:
        raise ToolValidationError(
            f"The expression has {len(text):,} characters, at most {LONGEST_TEXT:,} are read; "
            f"stopped at character {LONGEST_TEXT + 1:,}: compute it in parts"
        )
    if not text.isascii():
        raise _foreign(text)
    if "%" in text:
        _refuse_percent(text)
    pieces = refusals.PIECE.findall(text)
    if len(pieces) > MOST_PIECES:
        raise ToolValidationError(
            refusals.at_piece(
                text,
                MOST_PIECES,
                f"More than {MOST_PIECES:,} numbers and operators",
                "compute it in parts",
            )
        )
    return _Reader(text, pieces).read()


def _foreign(text: str) -> ToolValidationError:
    # before anything is matched: letters and digits of other scripts pass for those of ASCII in many places
    start = next(index for index, character in enumerate(text) if not character.isascii())
    return ToolValidationError(refusals.at_span(text, start, start + 1, *hints.of_foreign(text[start])))


def _refuse_percent(text: str) -> None:
    found = hints.find_percent(text)
    if found is not None:
        raise ToolValidationError(refusals.at_span(text, *found.span(), "'%' is not percent", PERCENT))


class _Reader:
    """One pass over the pieces; operators wait until what comes next holds its left side less tightly."""

    __slots__ = ("parentheses", "pieces", "steps", "text", "waiting")

    def __init__(self, text: str, pieces: list[str]) -> None:
        self.text = text
        self.pieces = pieces
        self.steps: list[Number | Step] = []
        self.waiting: list[tuple[int, Step]] = [_STOP]
        self.parentheses: list[_Parenthesis] = []

    def read(self) -> list[Number | Step]:
        steps, waiting = self.steps, self.waiting
        wants_number = True
        for place, piece in enumerate(self.pieces):
            if wants_number:
                if piece.isdecimal() and len(piece) <= _SHORT_DIGITS:
                    steps.append(int(piece))
                    wants_number = False
                else:
                    wants_number = self._begin(place, piece)
            elif piece in _BINARY:
                rank, reach, apply = _BINARY[piece]
                while waiting[-1][0] >= reach:
                    steps.append(waiting.pop()[1])
                waiting.append((rank, (apply, 2, place)))
                wants_number = True
            else:
                wants_number = self._go_on(place, piece)
        if wants_number:
            raise self._missing_number(len(self.pieces), "")
        if self.parentheses:
            raise self._refusal(self.parentheses[-1].place, "A '(' that is not closed", "a ')' is missing")
        self._settle()
        return steps

    def _settle(self) -> None:
        """Put down what waits, back to the last open parenthesis."""
        steps, waiting = self.steps, self.waiting
        while waiting[-1][0]:
            steps.append(waiting.pop()[1])

    def _begin(self, place: int, piece: str) -> bool:
        """Take what may stand where a number begins; True if the number is still to come."""
        if piece == "-":
            self.waiting.append((_SIGN_RANK, (arithmetic.negate, 1, place)))
            return True
        if piece == "+":
            return True
        if piece == "(":
            self._open(place)
            return True
        if piece[0] in _DIGITS or (piece[0] == "." and len(piece) > 1):
            self.steps.append(self._number(place, piece))
            return False
        if piece[0].isalpha() or piece[0] == "_":
            return self._name(place, piece)
        raise self._missing_number(place, piece)

    def _go_on(self, place: int, piece: str) -> bool:
        """Take what may follow a number; True if another must come."""
        if piece == ")":
            self._close(place)
            return False
        if piece == ",":
            self._next_argument(place)
            return True
        if piece[0].isalnum() or piece[0] in "_(" or (piece[0] == "." and len(piece) > 1):
            raise self._refusal(place, *hints.of_missing_operator(self.pieces[place - 1], piece))
        raise self._refusal(place, *hints.of_sign(piece))

    def _number(self, place: int, piece: str) -> Number:
        try:
            return exact_value(piece)
        except TooLongError:
            limits = f"at most {MOST_DIGITS:,} before the point and {MOST_DECIMALS:,} after it are read"
            raise self._refusal(place, "A number with too many digits", limits) from None

    def _name(self, place: int, piece: str) -> bool:
        if piece in CONSTANTS:
            self.steps.append(CONSTANTS[piece])
            return False
        if piece not in FUNCTIONS:
            raise self._refusal(place, f"Unknown name '{piece:.40}'", hints.of_name(piece))
        if self._piece(place + 1) != "(":
            raise self._refusal(place, f"'{piece}' needs parentheses", f"write {FUNCTIONS[piece].usage}")
        return True

    def _open(self, place: int) -> None:
        if len(self.parentheses) == DEEPEST:
            raise self._refusal(place, f"Parentheses more than {DEEPEST} deep", "compute it in parts")
        # a function's name lets nothing but its parenthesis follow
        before = self._piece(place - 1)
        self.parentheses.append(_Parenthesis(place, before if before in FUNCTIONS else ""))
        self.waiting.append(_STOP)

    def _close(self, place: int) -> None:
        self._settle()
        if not self.parentheses:
            raise self._refusal(place, "A ')' without a '('", "leave it out, or open a parenthesis before it")
        opened = self.parentheses.pop()
        self.waiting.pop()
        if opened.function:
            function, name_place = FUNCTIONS[opened.function], opened.place - 1
            if not function.takes(opened.count):
                raise self._wrong_count(opened, opened.count)
            self.steps.append((function.apply, opened.count, name_place))

    def _next_argument(self, place: int) -> None:
        self._settle()
        after = self._piece(place + 1)
        if not self.parentheses or not self.parentheses[-1].function:
            raise self._refusal(place, *hints.of_comma(self._piece(place - 1), after))
        grouped = hints.of_grouped(after)
        if grouped is not None:
            raise self._refusal(place, *grouped)
        self.parentheses[-1].count += 1

    def _missing_number(self, place: int, piece: str) -> ToolValidationError:
        if piece and piece not in _BINARY and piece not in {")", ","}:
            return self._refusal(place, *hints.of_sign(piece))
        before = self._piece(place - 1)
        if before == "(" and piece == ")" and self.parentheses[-1].function:
            return self._wrong_count(self.parentheses[-1], 0)
        return self._refusal(place, *hints.of_missing_number(before, piece))

    def _wrong_count(self, opened: _Parenthesis, count: int) -> ToolValidationError:
        given = "1 argument" if count == 1 else f"{count:,} arguments"
        usage = FUNCTIONS[opened.function].usage
        return self._refusal(opened.place - 1, f"'{opened.function}' does not take {given}", f"write {usage}")

    def _piece(self, place: int) -> str:
        return self.pieces[place] if 0 <= place < len(self.pieces) else ""

    def _refusal(self, place: int, problem: str, hint: str = "") -> ToolValidationError:
        return ToolValidationError(refusals.at_piece(self.text, place, problem, hint))
