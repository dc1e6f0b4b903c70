"""Describes what is wrong with arguments, for a model, and tries to repair them."""

import json
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, NoReturn, cast

from toolhaft.schema.expected import expected, known_names
from toolhaft.schema.json_text import (
    LONGEST_TEXT,
    SHORT_TEXT,
    NotJSONError,
    non_finite_paths,
    object_to_text,
    read_json,
    repeated_keys,
    to_json_text,
)
from toolhaft.schema.json_value import JSONObject, JSONValue, ValuePath
from toolhaft.schema.nearest import nearest
from toolhaft.schema.problems import (
    InvalidArguments,
    Problem,
    Repair,
    UnreadArguments,
    ValidArguments,
    clean,
    render_path,
)
from toolhaft.schema.repair import InexactIntegerError, TooMuchError, repair
from toolhaft.schema.sample import sample
from toolhaft.schema.unions import Branches, schemas_at
from toolhaft.schema.value_size import is_over_limit
from toolhaft.schema.work import count_by_depth

Validation = ValidArguments | InvalidArguments
_LONGEST_EXAMPLE = 400
_LONE_SURROGATE = r"half of a surrogate pair alone, such as \ud83d, is not a character"
_MAX_DESCRIBED = 500  # arrays and open objects have an unlimited number of paths
_MAX_COMPARED = 500  # names, for each unknown one: about 0.25 ms
_NO_BRANCHES: Final[Branches] = MappingProxyType({})


class Explainer:
    """Describes problems of one tool's arguments: what was expected at a path, and an example."""

    __slots__ = ("_described", "_example", "_known", "accepts", "check", "root")

    def __init__(self, root: JSONObject, example: object = None) -> None:
        self.root = root
        self.check: Callable[[object], Validation] = _unset
        self.accepts: Callable[[str], bool] = _unset
        self._example: str | None = None if example is None else _short(to_json_text(example))
        self._described: dict[ValuePath, tuple[str, str]] = {}
        self._known: tuple[ValuePath, Branches, list[str]] | None = None
        """The names that the last object with an unknown key may have."""

    def problem(self, path: ValuePath, what: str, branches: Branches = _NO_BRANCHES) -> Problem:
        """Make the problem at a path, with what the schema expects there; `branches` are those of unions."""
        shown, wanted = (not branches and self._described.get(path)) or self._describe(path, branches)
        return Problem(path=shown, what=what, expected=wanted)

    def _describe(self, path: ValuePath, branches: Branches) -> tuple[str, str]:
        """Return a path as text and what is expected there; cached, since models repeat their mistakes."""
        schemas = schemas_at(self.root, path, branches)
        phrases = dict.fromkeys(expected(self.root, schema) for schema in schemas)
        described = render_path(path), " or ".join(phrases)
        if not branches and len(self._described) < _MAX_DESCRIBED:
            self._described[path] = described
        return described

    def unknown(self, path: ValuePath, branches: Branches = _NO_BRANCHES) -> Problem:
        """Make the problem of an unknown key, with the nearest known one."""
        name = str(path[-1])
        names = self._known_at(path[:-1], branches)
        if name in names:  # another branch of a union has it
            names = [known for known in names if known != name]
        close = nearest(name, names) if len(names) <= _MAX_COMPARED else None
        what = "unknown argument" if len(path) == 1 else "unknown key"
        if close is not None:
            what += f"; did you mean {close!r}?"
            return Problem(path=render_path(path), what=what)
        listed = ", ".join(names[:12])
        return Problem(
            path=render_path(path), what=what, expected=f"only {listed}" if listed else "no arguments"
        )

    def _known_at(self, path: ValuePath, branches: Branches) -> list[str]:
        last = self._known  # read once: another thread may replace it
        if last is not None and last[0] == path and last[1] is branches:
            return last[2]
        schemas = schemas_at(self.root, path, branches)
        names = list(dict.fromkeys(known for schema in schemas for known in known_names(self.root, schema)))
        self._known = path, branches, names
        return names

    def invalid(self, problems: Iterable[Problem]) -> InvalidArguments:
        """Return the problems with one valid example."""
        return InvalidArguments(problems, self._show_example())

    def invalid_lines(self, lines: list[str], problems: Callable[[], list[Problem]]) -> InvalidArguments:
        """As `invalid`, for problems whose lines in the message are known already."""
        return InvalidArguments.from_lines(lines, problems, self._show_example())

    def _show_example(self) -> str | None:
        if self._example is None:
            text = _short(to_json_text(sample(self.root)))
            self._example = text if text and self.accepts(text) else ""
        return self._example or None

    def too_much(self, raw: str) -> InvalidArguments:
        """Refuse a text without a check: there are too many ways to check it."""
        size = f"{len(raw)} characters"
        if len(raw) <= SHORT_TEXT:  # a longer one takes too long to count
            counts = count_by_depth(read_json(raw))
            size = f"{sum(counts)} values, nested {len(counts) - 1} levels deep,"
        what = f"{size} could take too long to check"
        return self.invalid([Problem("", what, "fewer values, or less nesting")])

    def not_json(self, reason: str) -> InvalidArguments:
        """Refuse a text that is not JSON."""
        hint = f" ({_LONE_SURROGATE})" if "hex escape" in reason else ""
        what = f"not valid JSON: {reason}{hint}"
        return self.invalid([Problem(path="", what=what, expected="one JSON object")])

    def repeated(self, text: str) -> list[Problem]:
        """Make the problems of the keys that a JSON text repeats."""
        return [
            Problem(path=render_path(path), what="the key is given twice") for path in repeated_keys(text)
        ]

    def repaired(self, value: JSONValue, text: str) -> tuple[JSONObject, tuple[Repair, ...]] | None:
        """Repair the value of a text; None if nothing in it can be repaired."""
        try:
            repaired, repairs = repair(self.root, value, text)
        except (TooMuchError, InexactIntegerError):
            return None
        return (cast("JSONObject", repaired), repairs) if repairs else None

    def check_other(
        self, raw: object, error: Exception | None, check: Callable[[object], Validation] | None = None
    ) -> Validation:
        """Check arguments that are not a JSON text of allowed size, or whose check raised an error.

        `check` is the check of their JSON text, if not the one of `validate`.
        """
        check = check or self.check
        if isinstance(raw, str):
            return self._refuse_text(raw, error)
        if isinstance(raw, bytes | bytearray):
            try:
                return check(bytes(raw).decode())
            except UnicodeDecodeError:
                return self.not_json("the bytes are not UTF-8")
        if isinstance(raw, UnreadArguments):
            return self.invalid([Problem("", clean(raw.problem))])
        return self._check_object(raw, check)

    def _check_object(self, raw: object, check: Callable[[object], Validation]) -> Validation:
        if is_over_limit(raw):
            return self.invalid([Problem("", f"larger than the limit of {LONGEST_TEXT} characters")])
        try:
            text = object_to_text(
                dict(cast("Mapping[str, object]", raw)) if isinstance(raw, Mapping) else raw
            )
        except NotJSONError as error:
            reason = _LONE_SURROGATE if "surrogates not allowed" in str(error) else str(error)
            return self.invalid([Problem("", clean(f"not JSON: {reason}"), "values that JSON has")])
        if "NaN" in text or "Infinity" in text:
            paths = non_finite_paths(cast("JSONValue", json.loads(text)))
            if paths:
                return self.invalid([self.problem(path, "not a finite number") for path in paths])
        return check(text)

    def _refuse_text(self, raw: str, error: Exception | None) -> Validation:
        if len(raw) > LONGEST_TEXT:
            return self.invalid([Problem("", f"{len(raw)} characters, over the limit of {LONGEST_TEXT}")])
        try:
            raw.encode()
        except UnicodeEncodeError:
            return self.not_json("a lone surrogate")
        if isinstance(error, ValueError | AssertionError):  # raised by the author's own check
            return self.invalid([Problem("", clean(f"{error}"))])
        # any other exception is for the host: its message may contain a file path or a secret
        return self.invalid([Problem("", f"could not be checked: {type(error).__name__}")])


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_EXAMPLE else ""


def _unset(raw: object) -> NoReturn:
    raise AssertionError(raw)
