"""Reads the JSON Schema engine's errors as problems.

Knows its error kinds; the words for what was expected come from the schema.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final

import jsonschema_rs
from jsonschema_rs import ValidationErrorKind as _Kind

from toolhaft.schema.explainer import Explainer
from toolhaft.schema.json_value import Path
from toolhaft.schema.problems import MOST_PROBLEMS, Problem, show

_MOST_NAMES: Final = 50
_TYPE: Final = ("type", "enum", "const")
_TOO: Final[Mapping[str, str]] = {
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


def read_errors(errors: Iterable[jsonschema_rs.ValidationError], explainer: Explainer) -> list[Problem]:
    """The problems behind the engine's errors, one a place."""
    problems: dict[Path, Problem] = {}
    for error in islice(errors, MOST_PROBLEMS):
        for path, problem in _read(error, explainer):
            problems.setdefault(path, problem)
    return list(problems.values())


def _read(error: jsonschema_rs.ValidationError, explainer: Explainer) -> Iterable[tuple[Path, Problem]]:  # noqa: C901 -- one case a kind
    path: Path = tuple(error.instance_path)
    keyword = error.kind.name
    match error.kind:
        case _Kind.Required(missing):
            yield (*path, missing), explainer.problem((*path, missing), "missing")
        case _Kind.AdditionalProperties(unexpected) | _Kind.UnevaluatedProperties(unexpected):
            for name in unexpected[:_MOST_NAMES]:
                yield (*path, name), explainer.unknown((*path, name))
        case _Kind.Format(named):
            told = f"{show(error.instance)} is not a valid {named}{_hint(named, error.instance)}"
            yield path, explainer.problem(path, told)
        case _Kind.OneOfMultipleValid():
            yield (
                path,
                explainer.problem(path, f"{show(error.instance)} fits more than one of what one must fit"),
            )
        case _Kind.AnyOf(context) | _Kind.OneOfNotValid(context) if meant := _meant(context, len(path)):
            for inner in meant:
                yield from _read(inner, explainer)
        case _ if keyword in _TOO:
            yield path, explainer.problem(path, f"{show(error.instance)} {_TOO[keyword]}")
        case _:
            yield path, explainer.problem(path, f"got {show(error.instance)}")


def _hint(form: str, value: object) -> str:
    """What is mostly wrong with a value that is not of its form."""
    if form not in ("uri", "uri-reference") or not isinstance(value, str):
        return ""
    _, _, after_scheme = value.rpartition("//")
    path = after_scheme.partition("/")[2]  # a host is spelled otherwise
    return "" if path.isascii() and " " not in path else " (percent-encode blanks and what is not ASCII)"


def _meant(
    branches: list[list[jsonschema_rs.ValidationError]], depth: int
) -> list[jsonschema_rs.ValidationError]:
    """The errors of the one branch whose type fits the value, such as the array of an array or null."""
    fitting = [
        branch
        for branch in branches
        if not any(error.kind.name in _TYPE and len(error.instance_path) == depth for error in branch)
    ]
    return fitting[0] if len(fitting) == 1 else []
