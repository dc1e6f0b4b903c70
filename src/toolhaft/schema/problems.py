"""The result of `validate`: checked arguments, or problems described so that a model can fix them."""

import json
from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass, field
from typing import Any, Final

from toolhaft.schema.json_text import to_json_text
from toolhaft.schema.json_value import JSONObject, ValuePath

LONGEST_VALUE: Final = 80
LONGEST_MESSAGE: Final = 2000
MAX_PROBLEMS: Final = 100
"""More problems are not collected: a model fixes the first ones first."""
_RESERVED: Final = 60  # bytes reserved for the line that counts the omitted problems


@dataclass(slots=True, unsafe_hash=True)
class Problem:
    """One thing wrong: where, what, and what was expected there."""

    path: str
    what: str
    expected: str = ""

    def __str__(self) -> str:
        where = self.path or "arguments"
        return f"{where}: {self.what}; expected {self.expected}" if self.expected else f"{where}: {self.what}"


@dataclass(slots=True, kw_only=True)
class Repair:
    """One value that was read differently from how it was written; a null as None was read as not given."""

    __match_args__ = ("path", "was", "now")

    path: str
    was: object
    now: object

    def __str__(self) -> str:
        now = "not given" if self.was is None and self.now is None else show(self.now)
        return f"{self.path or 'arguments'}: read {show(self.was)} as {now}"


@dataclass(frozen=True, slots=True)
class UnreadArguments:
    """Arguments that a provider sent in a form that could not be read, and why; never valid.

    Neither text nor a mapping, so that the fast checks need not look for it.
    """

    text: str
    problem: str

    def __repr__(self) -> str:
        return f"UnreadArguments(text={self.text!r:.200}, problem={self.problem!r:.200})"


@dataclass(slots=True)
class ValidArguments:
    """Arguments that are valid: `params` as the handler takes them, and the `repairs` that were made."""

    params: Any
    repairs: tuple[Repair, ...] = ()
    given: JSONObject | None = field(default=None, repr=False, compare=False)
    """The JSON that was checked, if it is not the JSON that was sent."""


class InvalidArguments:
    """Arguments that are not valid: all problems, and the message for the model."""

    __slots__ = ("_lines", "_problems", "example", "unchecked")
    __match_args__ = ("problems",)

    def __init__(self, problems: Iterable[Problem], example: str | None = None) -> None:
        self._problems: tuple[Problem, ...] | Callable[[], list[Problem]] = tuple(problems)
        self._lines: list[str] | None = None
        self.example = example
        self.unchecked: JSONObject | None = None
        """The schema, if the arguments were not checked or repaired because that could take too long."""

    @staticmethod
    def from_lines(
        lines: list[str], problems: Callable[[], list[Problem]], example: str | None
    ) -> "InvalidArguments":
        """Make one from the lines of its message; the problems are made when first used."""
        invalid = InvalidArguments((), example)
        invalid._lines, invalid._problems = lines, problems
        return invalid

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong, at most one problem per path."""
        if callable(self._problems):
            self._problems = tuple(self._problems())
        return self._problems

    @property
    def message(self) -> str:
        """One line per problem, then one valid example; at most 2,000 bytes."""
        lines = self._lines if self._lines is not None else [f"- {problem}" for problem in self.problems]
        count = len(lines)
        number = f"{count} or more" if count >= MAX_PROBLEMS else f"{count}"
        head = "The arguments are not valid"
        head += "." if count == 1 else f", {number} problems:"
        tail = f"\nValid arguments look like: {self.example}" if self.example else ""
        text = "\n".join((head, *lines)) + tail
        return text if _size(text) <= LONGEST_MESSAGE else _cut(head, lines, tail)

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        return f"InvalidArguments(problems={self.problems!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InvalidArguments) and self.problems == other.problems

    def __hash__(self) -> int:
        return hash(self.problems)


class UncheckedOutput(str):
    """Why a value was not checked: the check could take too long."""

    __slots__ = ()


def _cut(head: str, lines: list[str], tail: str) -> str:
    """Shorten the message to the problems that fit, and count those that are left out."""
    left = LONGEST_MESSAGE - _size(head) - _size(tail) - _RESERVED
    first = lines[0].encode()[: left // 2].decode(errors="ignore")
    kept = [lines[0] if first == lines[0] else f"{first}..."]
    left -= _size(kept[0])
    for line in lines[1:]:
        left -= _size(line) + 1
        if left < 0:
            kept.append(f"- and {len(lines) - len(kept)} more")
            break
        kept.append(line)
    return "\n".join((head, *kept)) + tail


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def show(value: object) -> str:
    """Write a value as compact JSON, cut at 80 characters, without control characters."""
    kind = value.__class__
    if kind is int or kind is float:
        text = repr(value)
        if len(text) <= LONGEST_VALUE:
            return text
    elif isinstance(value, str):
        if len(value) < LONGEST_VALUE - 1 and '"' not in value and "\\" not in value and value.isprintable():
            return f'"{value}"'
        text = json.dumps(value[:LONGEST_VALUE], ensure_ascii=False)
    elif isinstance(value, Sized) and len(value) > LONGEST_VALUE:
        return f"an {'object' if kind is dict else 'array'} of {len(value)} members"
    else:
        text = to_json_text(value)
    return _plain(text)


def clean(text: str) -> str:
    """Put the message of an author's own check on one line of at most 200 characters."""
    line = "".join(letter if letter.isprintable() else " " for letter in text).strip()
    return f"{line:.200}" or "not accepted"


def _plain(text: str) -> str:
    """Make one short line of a text: a key or value must not add lines to the message."""
    if not text.isprintable():
        text = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def render_path(path: ValuePath) -> str:
    """Write a path as `filters.tags[2]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{_plain(part)}" if text else _plain(part)
    return text
