"""Converts the errors of the JSON Schema engine to problems."""

from collections.abc import Iterable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Final

import jsonschema_rs
from jsonschema_rs import ValidationErrorKind as _Kind

from toolhaft.schema.explainer import Explainer
from toolhaft.schema.json_value import ValuePath
from toolhaft.schema.problems import MAX_PROBLEMS, Problem, show

_MAX_NAMES: Final = 50
_TYPE: Final = ("type", "enum", "const")
_CONSTANT: Final = ("enum", "const")
_MISSING: Final = ("required",)
_COMPLAINTS: Final[Mapping[str, str]] = {
    "minimum": "is too small",
    "exclusiveMinimum": "is too small",
    "maximum": "is too large",
    "exclusiveMaximum": "is too large",
    "multipleOf": "is not a multiple",
    "minLength": "is too short",
    "maxLength": "is too long",
    "pattern": "does not match",
    "minItems": "has too few items",
    "maxItems": "has too many items",
    "uniqueItems": "has the same item twice",
    "minProperties": "has too few keys",
    "maxProperties": "has too many keys",
}


def to_problems(
    errors: Iterable[jsonschema_rs.ValidationError],
    explainer: Explainer,
    indices: Mapping[int, int] = MappingProxyType({}),
) -> list[Problem]:
    """Convert the engine's errors, to at most one problem per path.

    `indices` replace the indices at these depths of all paths, for a value that has one item of each array.
    """
    problems: dict[ValuePath, Problem] = {}
    for error in islice(errors, MAX_PROBLEMS):
        for path, problem in _convert(error, explainer, indices):
            problems.setdefault(path, problem)
            if len(problems) >= MAX_PROBLEMS:
                return list(problems.values())
    return list(problems.values())


def _convert(
    error: jsonschema_rs.ValidationError, explainer: Explainer, indices: Mapping[int, int]
) -> Iterable[tuple[ValuePath, Problem]]:
    path: ValuePath = tuple(indices.get(depth, part) for depth, part in enumerate(error.instance_path))
    match error.kind:
        case _Kind.Required(missing):
            yield (*path, missing), explainer.problem((*path, missing), "missing")
        case _Kind.AdditionalProperties(unexpected) | _Kind.UnevaluatedProperties(unexpected):
            for name in unexpected[:_MAX_NAMES]:
                yield (*path, name), explainer.unknown((*path, name))
        case _Kind.AnyOf(context) | _Kind.OneOfNotValid(context) if (
            inner_errors := _errors_of_matching_branch(context, len(path))
        ):
            for inner in inner_errors:
                yield from _convert(inner, explainer, indices)
        case _:
            yield path, explainer.problem(path, _phrase(error))


def _phrase(error: jsonschema_rs.ValidationError) -> str:
    value = show(error.instance)
    match error.kind:
        case _Kind.Format(named):
            return f"{value} is not a valid {named}{_hint(named, error.instance)}"
        case _Kind.OneOfMultipleValid():
            return f"{value} fits more than one alternative, and must fit exactly one"
        case kind:
            return f"{value} {_COMPLAINTS[kind.name]}" if kind.name in _COMPLAINTS else f"got {value}"


def _hint(form: str, value: object) -> str:
    """Name the most common mistake in a URI."""
    if form not in ("uri", "uri-reference") or not isinstance(value, str):
        return ""
    _, _, after_scheme = value.rpartition("//")
    path = after_scheme.partition("/")[2]  # a host has its own encoding
    return "" if path.isascii() and " " not in path else " (percent-encode spaces and non-ASCII characters)"


def _errors_of_matching_branch(
    branches: list[list[jsonschema_rs.ValidationError]], depth: int
) -> list[jsonschema_rs.ValidationError]:
    """Return the errors of the branch that was meant; [] if that is not clear.

    It is the only one whose type matches, else the only one whose constant members match (such as a `kind`),
    else, for the arguments themselves, the only one whose required members are all there.
    """
    for names, below in ((_TYPE, 0), (_CONSTANT, 1), *([] if depth else [(_MISSING, 0)])):
        fitting = [
            branch
            for branch in branches
            if not any(
                error.kind.name in names and len(error.instance_path) == depth + below for error in branch
            )
        ]
        if len(fitting) == 1:
            return fitting[0]
        if not fitting:
            return _wrong_constant(branches) if names is _CONSTANT else []
        branches = fitting
    return []


def _wrong_constant(
    branches: list[list[jsonschema_rs.ValidationError]],
) -> list[jsonschema_rs.ValidationError]:
    """Return one error for the member whose constant no branch has; [] if there are several such members."""
    wrong = [error for branch in branches for error in branch if error.kind.name in _CONSTANT]
    paths = {tuple(error.instance_path) for error in wrong}
    return wrong[:1] if len(paths) == 1 else []
