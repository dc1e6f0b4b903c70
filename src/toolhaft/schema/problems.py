"""What `validate` answers: checked arguments, or the problems told so that a model can mend them.

Does not know how arguments are checked.
"""

import json
from collections.abc import Callable, Iterable, Sized
from typing import Final, NoReturn

from toolhaft.schema.json_text import to_json_text
from toolhaft.schema.json_value import Path

LONGEST_VALUE: Final = 80
LONGEST_MESSAGE: Final = 2000
MOST_PROBLEMS: Final = 1000
"""More are not read: nobody mends the thousandth before the first."""
_SPARED: Final = 60  # kept free for the line that counts what was left out
_put: Final = object.__setattr__


class Problem:
    """One thing wrong: where, what, and what was expected there."""

    __slots__ = ("expected", "path", "what")

    def __init__(self, path: str, what: str, expected: str = "") -> None:
        self.path = path
        self.what = what
        self.expected = expected

    def __str__(self) -> str:
        where = self.path or "arguments"
        return f"{where}: {self.what}; expected {self.expected}" if self.expected else f"{where}: {self.what}"

    def __repr__(self) -> str:
        return f"Problem(path={self.path!r}, what={self.what!r}, expected={self.expected!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


class Repair:
    """One value that was read other than it was written, told in the open."""

    __slots__ = ("now", "path", "was")

    def __init__(self, *, path: str, was: object, now: object) -> None:
        self.path = path
        self.was = was
        self.now = now

    def __str__(self) -> str:
        return f"{self.path or 'arguments'}: read {show(self.was)} as {show(self.now)}"

    def __repr__(self) -> str:
        return f"Repair(path={self.path!r}, was={self.was!r}, now={self.now!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Repair) and (self.path, self.was, self.now) == (
            other.path,
            other.was,
            other.now,
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- what was repaired may be a list


class UnreadArguments:
    """Arguments that could not be read off a wire, and why; frozen, and refused by every tool's check."""

    # neither text nor an object: the quick checks hand it on without having looked for it
    __slots__ = ("problem", "text")
    __match_args__ = ("text", "problem")

    text: str
    problem: str

    def __init__(self, text: str, problem: str) -> None:
        _put(self, "text", text)
        _put(self, "problem", problem)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        message = f"UnreadArguments is frozen: {name!r} cannot be set"
        raise AttributeError(message)

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return UnreadArguments, (self.text, self.problem)

    def __repr__(self) -> str:
        return f"UnreadArguments(text={self.text!r:.200}, problem={self.problem!r:.200})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnreadArguments) and (self.text, self.problem) == (other.text, other.problem)

    def __hash__(self) -> int:
        return hash((self.text, self.problem))


class ValidArguments:
    """Arguments that passed: `params` as the handler takes them, and every `repair` made on the way."""

    __slots__ = ("params", "repairs")
    __match_args__ = ("params", "repairs")

    def __init__(self, params: object, repairs: tuple[Repair, ...] = ()) -> None:
        self.params = params
        self.repairs = repairs

    def __repr__(self) -> str:
        return f"ValidArguments(params={self.params!r}, repairs={self.repairs!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ValidArguments) and (self.params, self.repairs) == (
            other.params,
            other.repairs,
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- parameters are mostly dictionaries


class InvalidArguments:
    """Arguments that did not pass: all problems, and the message that a model gets."""

    __slots__ = ("_lines", "_problems", "example")
    __match_args__ = ("problems",)

    def __init__(self, problems: Iterable[Problem], example: str | None = None) -> None:
        self._problems: tuple[Problem, ...] | Callable[[], list[Problem]] = tuple(problems)
        self._lines: list[str] | None = None
        self.example = example

    @staticmethod
    def told(
        lines: list[str], problems: Callable[[], list[Problem]], example: str | None
    ) -> "InvalidArguments":
        """The verdict whose lines are known already; the problems are made if somebody asks for them."""
        verdict = InvalidArguments((), example)
        verdict._lines, verdict._problems = lines, problems
        return verdict

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong, one a place."""
        if callable(self._problems):
            self._problems = tuple(self._problems())
        return self._problems

    @property
    def message(self) -> str:
        """Every problem on a line of its own, then one valid example; at most 2,000 bytes."""
        told = self._lines if self._lines is not None else [f"- {problem}" for problem in self.problems]
        count = len(told)
        number = f"{count} or more" if count >= MOST_PROBLEMS else f"{count}"
        head = "The arguments are not valid"
        head += "." if count == 1 else f", {number} problems:"
        tail = f"\nValid arguments look like: {self.example}" if self.example else ""
        text = "\n".join((head, *told)) + tail
        return text if _size(text) <= LONGEST_MESSAGE else _cut(head, told, tail)

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        return f"InvalidArguments(problems={self.problems!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InvalidArguments) and self.problems == other.problems

    def __hash__(self) -> int:
        return hash(self.problems)


def _cut(head: str, lines: list[str], tail: str) -> str:
    """The message with as many problems as it has room for, and how many it leaves out."""
    room = LONGEST_MESSAGE - _size(head) - _size(tail) - _SPARED
    first = lines[0].encode()[: room // 2].decode(errors="ignore")
    kept = [lines[0] if first == lines[0] else f"{first}..."]
    room -= _size(kept[0])
    for line in lines[1:]:
        room -= _size(line) + 1
        if room < 0:
            kept.append(f"- and {len(lines) - len(kept)} more")
            break
        kept.append(line)
    return "\n".join((head, *kept)) + tail


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def show(value: object) -> str:
    """A value as compact JSON, cut at 80 characters, without control characters."""
    kind = value.__class__
    if kind is int or kind is float:
        text = repr(value)
    elif isinstance(value, str):
        if len(value) < LONGEST_VALUE - 1 and value.isprintable() and '"' not in value and "\\" not in value:
            return f'"{value}"'
        text = json.dumps(value[:LONGEST_VALUE], ensure_ascii=False)
    elif isinstance(value, Sized) and len(value) > LONGEST_VALUE:
        return f"an {'object' if kind is dict else 'array'} of {len(value)} members"
    else:
        text = to_json_text(value)
    return _plain(text)


def clean(text: str) -> str:
    """What an author's own check said, on one line of bearable length."""
    said = "".join(letter if letter.isprintable() else " " for letter in text).strip()
    return f"{said:.200}" or "not accepted"


def _plain(text: str) -> str:
    """One short line whatever the text holds: a key or value must not forge lines of the message."""
    if not text.isprintable():
        text = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def render_path(path: Path) -> str:
    """A path as people write it: `filters.tags[2]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{_plain(part)}" if text else _plain(part)
    return text
