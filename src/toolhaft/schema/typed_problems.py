"""Converts pydantic-core's errors to problems."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast, get_args

from pydantic_core import ErrorDetails, ValidationError
from pydantic_core.core_schema import ErrorType

from toolhaft.schema.explainer import Explainer
from toolhaft.schema.json_schema import applied_schemas
from toolhaft.schema.json_text import non_finite_paths
from toolhaft.schema.json_value import JSONObject, JSONValue, ValuePath
from toolhaft.schema.problems import LONGEST_VALUE, MAX_PROBLEMS, Problem, clean, render_path, show
from toolhaft.schema.strict_core import NO_KEYS
from toolhaft.schema.unions import Branches, Kind, UnionReader, Wrong, WrongUnion, member, schemas_at

_MAX_KNOWN: Final = 500
_MAX_PARTS: Final = 10_000
"""Parts of locations that are read to group errors by the branches of unions: at most about 15 ms."""
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
_CONSTANT: Final = frozenset(("enum", "literal_error", "toolhaft_literal"))
_WRONG_TYPE: Final = ("_type", "none_required", "int_from_float", "toolhaft_decimal")
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


_NEVER_REPAIRED = frozenset((bool, dict, int, list))


def may_repair(errors: list[ErrorDetails]) -> bool:
    """True if a repair may fix an error: a null, a float, or a string that could be another JSON value."""
    for error in errors:
        given = error["input"]
        if given.__class__ in _NEVER_REPAIRED:
            continue
        if given is None:
            return True
        if error["type"].endswith(_REPAIRABLE):
            word = given.strip() if given.__class__ is str else "0"
            if word[:1] in _JSON_STARTS or word in _JSON_WORDS:
                return True
    return False


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


def recall_lines(errors: list[ErrorDetails], known: KnownProblems) -> list[str] | None:
    """Return the line of each problem if all occurred before: models repeat their mistakes."""
    lines: list[str] = []
    for detail in errors[:MAX_PROBLEMS]:
        given = detail["input"]
        found = known.get(detail["loc"])
        if found is None or given is None or found[0] != detail["type"]:
            return None
        tail = found[2]
        lines.append(found[1] if tail is None else f"{found[1]}{show(given)}{tail}")
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
    wrong = _wrong(errors, value, explainer.root)
    for each, branches in UnionReader(explainer.root, value).read(wrong):
        problem = _convert(each, value, explainer, branches, known)
        problems.setdefault(problem.path, problem)  # the branches of a union all fail at the same path
        if len(problems) >= MAX_PROBLEMS:
            break
    return list(problems.values())


class _Group:
    """The errors of a value or of one branch of a union, in their order."""

    __slots__ = ("errors", "unions")

    def __init__(self) -> None:
        self.errors: list[Wrong | ValuePath] = []
        """A path is the place of its union."""
        self.unions: dict[ValuePath, dict[str, _Group]] = {}

    def branch(self, path: ValuePath, label: str) -> "_Group":
        if path not in self.unions:
            self.unions[path] = {}
            self.errors.append(path)
        return self.unions[path].setdefault(label, _Group())

    def read(self) -> list[Wrong | WrongUnion]:
        return [each if isinstance(each, Wrong) else self._read_union(each) for each in self.errors]

    def _read_union(self, path: ValuePath) -> WrongUnion:
        return WrongUnion(path, [branch.read() for branch in self.unions[path].values()])


def _wrong(errors: list[ErrorDetails], value: JSONValue, root: JSONObject) -> list[Wrong | WrongUnion]:
    """Group the errors of each union by its branches, which their locations name."""
    whole = _Group()
    left = _MAX_PARTS
    for detail in errors:
        left -= len(detail["loc"])
        if left < 0:
            if not isinstance(whole.errors[-1], Wrong):  # not all branches of this union are here
                whole.errors[-1] = Wrong(whole.errors[-1], "unclear")
            break
        group, path = _locate(detail, value, whole, root)
        group.errors.append(Wrong(path, _kind_of(detail["type"]), detail))
    return whole.read()


def _locate(
    detail: ErrorDetails, value: JSONValue, group: _Group, root: JSONObject
) -> tuple[_Group, ValuePath]:
    """Return the group of the innermost branch in an error's location, and the path without branches."""
    location = detail["loc"]
    path: ValuePath = ()
    node: Any = value
    tagged: ValuePath | None = None  # the last path at which the location has named a tag
    for depth, part in enumerate(location):
        if part == "[key]" or (depth == len(location) - 1 and detail["type"] == "missing"):
            return group, (*path, part)
        try:
            below = node[part]
        except (KeyError, IndexError, TypeError):
            group = group.branch(path, str(part))
            continue
        # `{"type": "text", "text": "..."}`: the value has a key that is also the tag
        may_be_tag = part.__class__ is str and part in node.values() and tagged is not path
        if may_be_tag and _is_tag(root, path, node, part):
            tagged = path
            group = group.branch(path, str(part))
        else:
            node, path = below, (*path, part)
    return group, path


def _is_tag(root: JSONObject, path: ValuePath, node: JSONObject, part: object) -> bool:
    """True if a union with a discriminator is at this path, and this is the value's tag."""
    unions = [each for schema in schemas_at(root, path, {}) for each in applied_schemas(root, schema)]
    named = [each["discriminator"] for each in unions if isinstance(each.get("discriminator"), dict)]
    return any(node.get(str(cast("JSONObject", each).get("propertyName"))) == part for each in named)


def _kind_of(error_type: str) -> Kind:
    if error_type == "missing":
        return "missing"
    if error_type in _UNKNOWN:
        return "unknown"
    if error_type in _CONSTANT:
        return "constant"
    return "type" if error_type.endswith(_WRONG_TYPE) else "other"


def _convert(
    wrong: Wrong, value: JSONValue, explainer: Explainer, branches: Branches, known: KnownProblems
) -> Problem:
    """Convert one error; its line is cached if only the value can differ next time."""
    path = wrong.path
    if wrong.error is None:
        return explainer.problem(path, f"got {show(member(value, path))}", branches)
    detail = cast("ErrorDetails", wrong.error)
    kind, location = detail["type"], detail["loc"]
    is_plain = len(location) == len(path) and len(known) < _MAX_KNOWN
    is_key = path[-1:] == ("[key]",)
    path = path[:-1] if is_key else path
    problem = _convert_special(detail, path, value, explainer, branches, is_key=is_key)
    if problem is not None:
        if is_plain and (kind == "missing" or kind in _UNKNOWN):
            known[location] = _known(kind, problem, problem.what, None)
        return problem
    before, after = ("", f" is {detail['msg']}") if kind in _OWN_RULES else _PHRASES.get(kind, _GOT)
    problem = explainer.problem(path, f"{before}{show(detail['input'])}{after}", branches)
    if is_plain:
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
    detail: ErrorDetails,
    path: ValuePath,
    value: JSONValue,
    explainer: Explainer,
    branches: Branches,
    *,
    is_key: bool,
) -> Problem | None:
    """Convert an error whose line does not just quote the value; None for the others."""
    kind = detail["type"]
    if kind == "missing":
        return explainer.problem(path, "missing", branches)
    if kind in _TAG:
        return _tag_problem(detail, path, explainer, branches)
    if kind in _UNKNOWN:
        return explainer.unknown(path, branches)
    if is_key:
        return Problem(render_path(path), "not a key that is allowed here")
    if kind == "toolhaft_finite":
        inside = non_finite_paths(member(value, path))
        return explainer.problem((*path, *inside[0]) if inside else path, "not a finite number", branches)
    if kind in _AUTHOR_ERRORS:
        return Problem(render_path(path), _author_message(detail["msg"].partition(", ")[2], detail["input"]))
    if kind not in _ENGINE_ERRORS and not kind.startswith("toolhaft_"):
        return Problem(render_path(path), _author_message(detail["msg"], detail["input"]))
    return None


def _tag_problem(detail: ErrorDetails, path: ValuePath, explainer: Explainer, branches: Branches) -> Problem:
    """Describe a discriminator that is missing or names no branch."""
    named = re.search(r"(?:using|discriminator) '(\w+)'", detail["msg"])
    if named is None or not isinstance(detail["input"], dict):
        return explainer.problem(path, f"got {show(detail['input'])}", branches)
    place = (*path, named[1])
    sent = cast("dict[str, object]", detail["input"])
    what = f"got {show(sent[named[1]])}" if named[1] in sent else "missing"
    return explainer.problem(place, what, branches)


def _author_message(text: str, value: object) -> str:
    """Return the message of the author's own check, with a long value shortened."""
    if isinstance(value, str) and len(value) > LONGEST_VALUE:
        text = text.replace(value, show(value))
    return clean(text)
