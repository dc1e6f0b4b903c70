"""Reads pydantic-core's errors as problems.

Knows its error types and places; the words for what was expected come from the JSON Schema.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast, get_args

from pydantic_core import ErrorDetails, ValidationError
from pydantic_core.core_schema import ErrorType

from toolhaft.schema.explainer import Explainer
from toolhaft.schema.json_text import endless
from toolhaft.schema.json_value import JSONValue, Path
from toolhaft.schema.problems import LONGEST_VALUE, MOST_PROBLEMS, Problem, clean, render_path, show

_MOST_KNOWN: Final = 500
_GOT: Final = ("got ", "")
_WORDS: Final[Mapping[str, tuple[str, str]]] = {
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
    "toolhaft_unique": ("", " has the same item twice"),
    "finite_number": ("", " is not a finite number"),
}
"""What is said around the value that failed, by the error's type; `_GOT` for every other."""
_REPAIRABLE: Final = (
    "_type",
    "literal",
    "literal_error",
    "none_required",
    "int_from_float",
    "toolhaft_decimal",
)
_OWN_RULES: Final = frozenset(("toolhaft_format", "toolhaft_key"))
_TAG: Final = frozenset(("union_tag_invalid", "union_tag_not_found"))
_UNKNOWN: Final = frozenset(("extra_forbidden", "unexpected_keyword_argument"))
_ENGINES_OWN: Final = frozenset(get_args(ErrorType))
_SAID_BY_AUTHOR: Final = frozenset(("value_error", "assertion_error"))


class Known(NamedTuple):
    """A problem met before: its line but for the value, which stands between head and tail."""

    kind: str
    head: str
    tail: str


Memory = dict[Path, Known]


def details(error: ValidationError) -> list[ErrorDetails]:
    """Every error inside a validation error."""
    return error.errors(include_url=False, include_context=False)


def is_repairable(errors: list[ErrorDetails], *, has_union: bool) -> bool:
    """True if a repair may mend every error: each is a string or a float where the type was wrong.

    Of a union all branches fail at once and one repair may mend them all: there one such error is enough.
    """
    for error in errors:
        fits = error["input"].__class__ in (str, float) and error["type"].endswith(_REPAIRABLE)
        if fits is has_union:
            return has_union
    return not has_union


def has_union(schema: object, kinds: tuple[str, ...] = ("union", "tagged-union")) -> bool:
    """True if a core schema has a choice of schemas anywhere in it."""
    if isinstance(schema, dict):
        node = cast("dict[str, object]", schema)
        return node.get("type") in kinds or any(has_union(part, kinds) for part in node.values())
    if isinstance(schema, list | tuple):
        return any(has_union(part, kinds) for part in cast("Sequence[object]", schema))
    return False


def recall_lines(errors: list[ErrorDetails], memory: Memory) -> list[str] | None:
    """The message's lines, where every problem is one that was met before: a model repeats its mistakes."""
    lines: list[str] = []
    recall = memory.get
    for detail in errors:
        known = recall(detail["loc"])
        if known is None or known[0] != detail["type"]:
            return None
        lines.append(f"{known[1]}{show(detail['input'])}{known[2]}")
    return lines


def read_errors(
    errors: list[ErrorDetails], value: JSONValue, explainer: Explainer, memory: Memory
) -> list[Problem]:
    """The problems behind pydantic-core's errors, one a place."""
    problems: dict[str, Problem] = {}
    for detail in _meant(errors[:MOST_PROBLEMS], value):
        problem = _meet(detail, value, explainer, memory)
        problems.setdefault(problem.path, problem)  # the branches of a union all fail at one place
    return list(problems.values())


def _meant(errors: list[ErrorDetails], value: JSONValue) -> list[ErrorDetails]:
    """The errors, those of a union reduced to the one branch whose type fits the value, if there is one."""
    kept: list[ErrorDetails] = []
    unions: dict[Path, dict[str | int, list[ErrorDetails]]] = {}
    for detail in errors:
        depth = _branch(detail, value)
        if depth is None:
            kept.append(detail)
        else:
            branches = unions.setdefault(detail["loc"][:depth], {})
            branches.setdefault(detail["loc"][depth], []).append(detail)
    for path, branches in unions.items():
        deep = [own for own in branches.values() if all(len(error["loc"]) > len(path) + 1 for error in own)]
        if len(deep) == 1:
            inner = [{**error, "loc": (*path, *error["loc"][len(path) + 1 :])} for error in deep[0]]
            kept += _meant(cast("list[ErrorDetails]", inner), value)
        else:
            kept.append(next(iter(branches.values()))[0])
    return kept


def _meet(detail: ErrorDetails, value: JSONValue, explainer: Explainer, memory: Memory) -> Problem:
    """One problem; where only the value can differ next time, its words are kept in the memory."""
    kind, location = detail["type"], detail["loc"]
    depth = _branch(detail, value)
    if depth is not None:
        return explainer.problem(location[:depth], f"got {show(_at(value, location[:depth]))}")
    path = location[:-1] if location[-1:] == ("[key]",) else location
    problem = _special(detail, path, value, explainer)
    if problem is not None:
        return problem
    before, after = ("", f" is {detail['msg']}") if kind in _OWN_RULES else _WORDS.get(kind, _GOT)
    problem = explainer.problem(path, f"{before}{show(detail['input'])}{after}")
    if len(memory) < _MOST_KNOWN:
        wanted = f"; expected {problem.expected}" if problem.expected else ""
        memory[location] = Known(kind, f"- {problem.path or 'arguments'}: {before}", f"{after}{wanted}")
    return problem


def _special(detail: ErrorDetails, path: Path, value: JSONValue, explainer: Explainer) -> Problem | None:
    """A problem whose words are more than the value that failed; None for the others."""
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
        inside = endless(_at(value, path))
        return explainer.problem((*path, *inside[0]) if inside else path, "not a finite number")
    if kind in _SAID_BY_AUTHOR:
        return Problem(render_path(path), _said(detail["msg"].partition(", ")[2], detail["input"]))
    if kind not in _ENGINES_OWN and not kind.startswith("toolhaft_"):
        return Problem(render_path(path), _said(detail["msg"], detail["input"]))
    return None


def _tag_problem(detail: ErrorDetails, path: Path, explainer: Explainer) -> Problem:
    """The member by which a union tells its branches apart is missing, or names none of them."""
    named = re.search(r"(?:using|discriminator) '(\w+)'", detail["msg"])
    if named is None or not isinstance(detail["input"], dict):
        return explainer.problem(path, f"got {show(detail['input'])}")
    place = (*path, named[1])
    sent = cast("dict[str, object]", detail["input"])
    return explainer.problem(place, f"got {show(sent[named[1]])}" if named[1] in sent else "missing")


def _said(text: str, value: object) -> str:
    """What the author's own check said, without the value where that is long."""
    if isinstance(value, str) and len(value) > LONGEST_VALUE:
        text = text.replace(value, show(value))
    return clean(text)


def _branch(detail: ErrorDetails, value: JSONValue) -> int | None:
    """Where an error's place names a branch of a union, which the value does not have; None if nowhere."""
    location = detail["loc"]
    node: Any = value
    for depth, part in enumerate(location):
        try:
            node = node[part]
        except (KeyError, IndexError, TypeError):
            is_last = depth == len(location) - 1
            return None if part == "[key]" or (is_last and detail["type"] == "missing") else depth
    return None


def _at(value: Any, path: Path) -> JSONValue:  # noqa: ANN401 -- walked before, so every step is there
    for part in path:
        value = value[part]
    return value
