"""Turns what an engine found wrong into problems that a model can act on, and tries the one repair.

Knows the tool's JSON Schema; does not know which engine checked it.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import NoReturn, cast

from toolhaft.schema.expected import expected, known_names
from toolhaft.schema.json_schema import children_at, unique
from toolhaft.schema.json_text import (
    LONGEST_TEXT,
    NotJSONError,
    endless,
    is_over_limit,
    object_to_text,
    repeated_keys,
    to_json_text,
)
from toolhaft.schema.json_value import JSONObject, JSONValue, Path
from toolhaft.schema.nearest import nearest
from toolhaft.schema.nesting import deepest, nesting
from toolhaft.schema.problems import (
    InvalidArguments,
    Problem,
    UnreadArguments,
    ValidArguments,
    clean,
    render_path,
)
from toolhaft.schema.repair import TooMuchError, repair
from toolhaft.schema.sample import sample

Verdict = ValidArguments | InvalidArguments
_LONGEST_EXAMPLE = 400
_HALF = r"half of a surrogate pair alone, such as \ud83d, is no character"
_MOST_PLACES = 500  # paths into arrays and open objects are without number


class Explainer:
    """The words for one tool's arguments: what was expected where, and an example."""

    __slots__ = ("_example", "_places", "accepts", "check", "root")

    def __init__(self, root: JSONObject, example: object = None) -> None:
        self.root = root
        self.check: Callable[[object], Verdict] = _unset
        self.accepts: Callable[[str], bool] = _unset
        self._example: str | None = None if example is None else _short(to_json_text(example))
        self._places: dict[Path, tuple[str, str]] = {}

    def problem(self, path: Path, what: str) -> Problem:
        """What is wrong at a path, with what the schema wants there."""
        place, wanted = self._places.get(path) or self._describe(path)
        return Problem(path=place, what=what, expected=wanted)

    def _describe(self, path: Path) -> tuple[str, str]:
        """A path in words and what the schema wants there; remembered, since models repeat their mistakes."""
        phrases = dict.fromkeys(expected(self.root, schema) for schema in self._schemas_at(path))
        described = render_path(path), " or ".join(phrases)
        if len(self._places) < _MOST_PLACES:
            self._places[path] = described
        return described

    def unknown(self, path: Path) -> Problem:
        """A key that the schema does not know, with the one that was most likely meant."""
        name = str(path[-1])
        names = [known for schema in self._schemas_at(path[:-1]) for known in known_names(self.root, schema)]
        close = nearest(name, names)
        what = "unknown argument" if len(path) == 1 else "unknown key"
        if close is not None:
            what += f"; did you mean {close!r}?"
            return Problem(path=render_path(path), what=what)
        listed = ", ".join(names[:12])
        return Problem(
            path=render_path(path), what=what, expected=f"only {listed}" if listed else "no arguments"
        )

    def _schemas_at(self, path: Path) -> list[JSONValue]:
        found: list[JSONValue] = [self.root]
        for part in path:
            found = unique(child for schema in found for child in children_at(self.root, schema, part))
        return found

    def invalid(self, problems: Iterable[Problem]) -> InvalidArguments:
        """The verdict, with one example of what would have been right."""
        return InvalidArguments(problems, self._show_example())

    def told(self, lines: list[str], problems: Callable[[], list[Problem]]) -> InvalidArguments:
        """The same, where the lines are known already."""
        return InvalidArguments.told(lines, problems, self._show_example())

    def _show_example(self) -> str | None:
        if self._example is None:
            text = _short(to_json_text(sample(self.root)))
            self._example = text if text and self.accepts(text) else ""
        return self._example or None

    def bounded(self, validate: Callable[[object], Verdict]) -> Callable[[object], Verdict]:
        """The same check, refusing what is nested too deep for this schema's alternatives to be tried."""
        most = deepest(self.root)
        if most is None:
            return validate

        def validate_bounded(raw: object) -> Verdict:
            if isinstance(raw, str):
                depth = nesting(raw) if len(raw) <= LONGEST_TEXT else 0
                if depth > most:
                    return self.invalid(
                        [Problem("", f"nested {depth} levels deep", f"at most {most} levels")]
                    )
                return validate(raw)
            return self.other(raw, None)

        return validate_bounded

    def not_json(self, trouble: str) -> InvalidArguments:
        """The verdict on a text that is not JSON at all."""
        hint = f" ({_HALF})" if "hex escape" in trouble else ""
        what = f"not valid JSON: {trouble}{hint}"
        return self.invalid([Problem(path="", what=what, expected="one JSON object")])

    def repeated(self, text: str) -> list[Problem]:
        """The keys that a JSON text gives twice."""
        return [
            Problem(path=render_path(path), what="the key is given twice") for path in repeated_keys(text)
        ]

    def repaired(
        self, value: JSONValue, recheck: Callable[[str], ValidArguments | None]
    ) -> ValidArguments | None:
        """The verdict on the value once it is repaired, or None where that does not help."""
        try:
            mended, repairs = repair(self.root, value)
        except TooMuchError:
            return None
        if not repairs:
            return None
        verdict = recheck(object_to_text(mended))
        return None if verdict is None else ValidArguments(verdict.params, repairs)

    def other(self, raw: object, error: Exception | None) -> Verdict:
        """The verdict on what is not a JSON text of bearable size, or on a check that itself broke."""
        if isinstance(raw, str):
            return self._other_text(raw, error)
        if isinstance(raw, bytes | bytearray):
            try:
                return self.check(bytes(raw).decode())
            except UnicodeDecodeError:
                return self.not_json("the bytes are not UTF-8")
        if isinstance(raw, UnreadArguments):
            return self.invalid([Problem("", clean(raw.problem))])
        return self._other_object(raw)

    def _other_object(self, raw: object) -> Verdict:
        if is_over_limit(raw):
            return self.invalid([Problem("", f"larger than the limit of {LONGEST_TEXT} characters")])
        try:
            text = object_to_text(
                dict(cast("Mapping[str, object]", raw)) if isinstance(raw, Mapping) else raw
            )
        except NotJSONError as trouble:
            told = _HALF if "surrogates not allowed" in str(trouble) else str(trouble)
            return self.invalid([Problem("", clean(f"not JSON: {told}"), "values that JSON has")])
        if "NaN" in text or "Infinity" in text:
            places = endless(cast("JSONValue", json.loads(text)))
            if places:
                return self.invalid([self.problem(path, "not a finite number") for path in places])
        return self.check(text)

    def _other_text(self, raw: str, error: Exception | None) -> Verdict:
        if len(raw) > LONGEST_TEXT:
            return self.invalid([Problem("", f"{len(raw)} characters, over the limit of {LONGEST_TEXT}")])
        try:
            raw.encode()
        except UnicodeEncodeError:
            return self.not_json("a lone surrogate")
        is_said = isinstance(error, ValueError | AssertionError)  # by the author's own check
        # what any other exception says is for the host: it may name a path or a secret
        said = clean(f"{error}") if is_said else f"could not be checked: {type(error).__name__}"
        return self.invalid([Problem("", said)])


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_EXAMPLE else ""


def _unset(raw: object) -> NoReturn:
    raise AssertionError(raw)
