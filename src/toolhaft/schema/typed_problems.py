"""Converts pydantic-core's errors to problems."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast, get_args

from pydantic_core import ErrorDetails, ValidationError
from pydantic_core.core_schema import ErrorType

from toolhaft.schema.explainer import Explainer
from toolhaft.schema.json_text import non_finite_paths
from toolhaft.schema.json_value import JSONValue, ValuePath
from toolhaft.schema.problems import LONGEST_VALUE, MAX_PROBLEMS, Problem, clean, render_path, show
from toolhaft.schema.strict_core import NO_KEYS

_MAX_KNOWN: Final = 500
_GOT: Final = ("got ", "")
_PHRASES: Final[Mapping[str, tuple[str, str]]] = {
    "greater_than": ("", " is too small"),
    "greater_than_equal": ("", " is too small"),
    "less_than": ("", " is too large"),
    "less_than_equal": ("", " is too large"),
    "multiple_of": ("", " is not a multiple"),
    "toolhaft_multiple_of": ("", " is not a multiple"),
    "string_too_short": ("", " is too short"),
    "string_too_long": ("", " is too long"),
    "string_pattern_mismatch": ("", " does not match"),
    "too_short": ("", " has too few items"),
    "too_long": ("", " has too many items"),
    "toolhaft_repeated_item": ("", " has the same item twice"),
    "toolhaft_repeated_key": ("", " has two keys that mean the same"),
    "toolhaft_hashes": ("", " has too many values with the same hash"),
    "finite_number": ("", " is not a finite number"),
}
"""The text before and after the failed value, by the type of the error; `_GOT` for all others."""
_REPAIRABLE: Final = (
    "_type",
    "literal",
    "literal_error",
    "none_required",
    "int_from_float",
    "toolhaft_decimal",
)
_JSON_STARTS: Final = frozenset("{[-0123456789")
_JSON_WORDS: Final = frozenset(("true", "false", "null"))
_OWN_RULES: Final = frozenset(("toolhaft_format", "toolhaft_key"))
_TAG: Final = frozenset(("union_tag_invalid", "union_tag_not_found"))
_UNKNOWN: Final = frozenset(("extra_forbidden", "unexpected_keyword_argument"))
_ENGINE_ERRORS: Final = frozenset(get_args(ErrorType))
_AUTHOR_ERRORS: Final = frozenset(("value_error", "assertion_error"))


class KnownProblem(NamedTuple):
    """A problem that occurred before: the next one differs only in the value."""

    kind: str
    head: str
    tail: str | None
    """What is before and after the value in the line of the message; None if the line has no value."""
    path: str
    what: slice
    """Which part of the line is the problem's `what`."""
    expected: str


KnownProblems = dict[ValuePath, KnownProblem]


def error_details(error: ValidationError) -> list[ErrorDetails]:
    """Return every error inside a validation error."""
    return error.errors(include_url=False, include_context=False)


def is_repairable(errors: list[ErrorDetails], *, has_union: bool) -> bool:
    """True if a repair may fix every error: each is a null, or a string or a float of the wrong type.

    All branches of a union fail together and one repair may fix them all, so one such error is enough.
    """
    for error in errors:
        fits = error["input"] is None or (
            error["input"].__class__ in (str, float) and error["type"].endswith(_REPAIRABLE)
        )
        if fits is has_union:
            return has_union
    return not has_union


def has_union(schema: object, kinds: tuple[str, ...] = ("union", "tagged-union")) -> bool:
    """True if a core schema contains a union of types anywhere; the forms of a text are no such union."""
    if isinstance(schema, dict):
        node = cast("dict[str, object]", schema)
        if node.get("metadata") == NO_KEYS:
            return False
        return node.get("type") in kinds or any(has_union(part, kinds) for part in node.values())
    if isinstance(schema, list | tuple):
        return any(has_union(part, kinds) for part in cast("Sequence[object]", schema))
    return False


def is_hopeless(errors: list[ErrorDetails]) -> bool:
    """True if an error is a string that no repair can read as another JSON value."""
    for error in errors:
        text = error["input"]
        if text.__class__ is str:
            word = text.strip()
            if word[:1] not in _JSON_STARTS and word not in _JSON_WORDS:
                return True
    return False


def recall_lines(errors: list[ErrorDetails], known: KnownProblems) -> list[str] | None:
    """Return the line of each problem if all occurred before: models repeat their mistakes."""
    lines: list[str] = []
    for detail in errors[:MAX_PROBLEMS]:
        found = known.get(detail["loc"])
        if found is None or found[0] != detail["type"] or detail["input"] is None:
            return None
        _, head, tail, _, _, _ = found
        lines.append(head if tail is None else f"{head}{show(detail['input'])}{tail}")
    return lines


def recall_problems(lines: list[str], errors: list[ErrorDetails], known: KnownProblems) -> list[Problem]:
    """Return the problems of such lines."""
    found = [known[detail["loc"]] for detail in errors[:MAX_PROBLEMS]]
    return [Problem(one.path, line[one.what], one.expected) for one, line in zip(found, lines, strict=True)]


def to_problems(
    errors: list[ErrorDetails], value: JSONValue, explainer: Explainer, known: KnownProblems
) -> list[Problem]:
    """Convert pydantic-core's errors, to at most one problem per path."""
    problems: dict[str, Problem] = {}
    for detail in _without_other_branches(errors[:MAX_PROBLEMS], value):
        problem = _convert(detail, value, explainer, known)
        problems.setdefault(problem.path, problem)  # the branches of a union all fail at the same path
    return list(problems.values())


def _without_other_branches(errors: list[ErrorDetails], value: JSONValue) -> list[ErrorDetails]:
    """Reduce the errors of each union to those of the only branch whose type matches, if there is one."""
    kept: list[ErrorDetails] = []
    unions: dict[ValuePath, dict[str | int, list[ErrorDetails]]] = {}
    for detail in errors:
        depth = _branch_depth(detail, value)
        if depth is None:
            kept.append(detail)
        else:
            branches = unions.setdefault(detail["loc"][:depth], {})
            branches.setdefault(detail["loc"][depth], []).append(detail)
    for path, branches in unions.items():
        deep = [own for own in branches.values() if all(len(error["loc"]) > len(path) + 1 for error in own)]
        if len(deep) == 1:
            inner = [{**error, "loc": (*path, *error["loc"][len(path) + 1 :])} for error in deep[0]]
            kept += _without_other_branches(cast("list[ErrorDetails]", inner), value)
        else:
            kept.append(next(iter(branches.values()))[0])
    return kept


def _convert(detail: ErrorDetails, value: JSONValue, explainer: Explainer, known: KnownProblems) -> Problem:
    """Convert one error; its line is cached if only the value can differ next time."""
    kind, location = detail["type"], detail["loc"]
    depth = _branch_depth(detail, value)
    if depth is not None:
        return explainer.problem(location[:depth], f"got {show(_member(value, location[:depth]))}")
    path = location[:-1] if location[-1:] == ("[key]",) else location
    problem = _convert_special(detail, path, value, explainer)
    if problem is not None:
        if (kind == "missing" or kind in _UNKNOWN) and len(known) < _MAX_KNOWN:
            known[location] = _known(kind, problem, problem.what, None)
        return problem
    before, after = ("", f" is {detail['msg']}") if kind in _OWN_RULES else _PHRASES.get(kind, _GOT)
    problem = explainer.problem(path, f"{before}{show(detail['input'])}{after}")
    if len(known) < _MAX_KNOWN:
        known[location] = _known(kind, problem, before, after)
    return problem


def _known(kind: str, problem: Problem, before: str, after: str | None) -> KnownProblem:
    """Return what all such problems have in common; `after` is None if they quote no value."""
    start = f"- {problem.path or 'arguments'}: "
    end = f"; expected {problem.expected}" if problem.expected else ""
    what = slice(len(start), -len(end) or None)
    if after is None:
        return KnownProblem(kind, f"{start}{before}{end}", None, problem.path, what, problem.expected)
    return KnownProblem(kind, f"{start}{before}", f"{after}{end}", problem.path, what, problem.expected)


def _convert_special(
    detail: ErrorDetails, path: ValuePath, value: JSONValue, explainer: Explainer
) -> Problem | None:
    """Convert an error whose line does not just quote the value; None for the others."""
    kind = detail["type"]
    if kind == "missing":
        return explainer.problem(path, "missing")
    if kind in _TAG:
        return _tag_problem(detail, path, explainer)
    if kind in _UNKNOWN:
        return explainer.unknown(path)
    if detail["loc"][-1:] == ("[key]",):
        return Problem(render_path(path), "not a key that is allowed here")
    if kind == "toolhaft_finite":
        inside = non_finite_paths(_member(value, path))
        return explainer.problem((*path, *inside[0]) if inside else path, "not a finite number")
    if kind in _AUTHOR_ERRORS:
        return Problem(render_path(path), _author_message(detail["msg"].partition(", ")[2], detail["input"]))
    if kind not in _ENGINE_ERRORS and not kind.startswith("toolhaft_"):
        return Problem(render_path(path), _author_message(detail["msg"], detail["input"]))
    return None


def _tag_problem(detail: ErrorDetails, path: ValuePath, explainer: Explainer) -> Problem:
    """Describe a discriminator that is missing or names no branch."""
    named = re.search(r"(?:using|discriminator) '(\w+)'", detail["msg"])
    if named is None or not isinstance(detail["input"], dict):
        return explainer.problem(path, f"got {show(detail['input'])}")
    place = (*path, named[1])
    sent = cast("dict[str, object]", detail["input"])
    return explainer.problem(place, f"got {show(sent[named[1]])}" if named[1] in sent else "missing")


def _author_message(text: str, value: object) -> str:
    """Return the message of the author's own check, with a long value shortened."""
    if isinstance(value, str) and len(value) > LONGEST_VALUE:
        text = text.replace(value, show(value))
    return clean(text)


def _branch_depth(detail: ErrorDetails, value: JSONValue) -> int | None:
    """Return at which depth an error's location names a branch of a union; None if it does not."""
    location = detail["loc"]
    node: Any = value
    for depth, part in enumerate(location):
        try:
            node = node[part]
        except (KeyError, IndexError, TypeError):
            is_last = depth == len(location) - 1
            return None if part == "[key]" or (is_last and detail["type"] == "missing") else depth
    return None


def _member(value: Any, path: ValuePath) -> JSONValue:  # noqa: ANN401 -- any JSON value
    for part in path:
        value = value[part]
    return value
