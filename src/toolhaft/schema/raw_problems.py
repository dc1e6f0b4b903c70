"""Reads the JSON Schema engine's errors as problems.

Knows its error kinds; the words for what was expected come from the schema.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final, cast

import jsonschema_rs

from toolhaft.schema.explainer import Explainer
from toolhaft.schema.problems import Path, Problem, show

_MOST: Final = 1000
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
    for error in islice(errors, _MOST):
        for path, problem in _read(error, explainer):
            problems.setdefault(path, problem)
    return list(problems.values())


def _read(error: jsonschema_rs.ValidationError, explainer: Explainer) -> Iterable[tuple[Path, Problem]]:
    path: Path = tuple(error.instance_path)
    keyword = error.kind.name
    if keyword == "required":
        missing = (*path, cast("jsonschema_rs.ValidationErrorKind.Required", error.kind).property)
        yield missing, explainer.problem(missing, "missing")
    elif keyword in ("additionalProperties", "unevaluatedProperties"):
        kind = cast("jsonschema_rs.ValidationErrorKind.AdditionalProperties", error.kind)
        for name in kind.unexpected:
            yield (*path, name), explainer.unknown((*path, name))
    elif keyword in _TOO:
        yield path, explainer.problem(path, f"{show(error.instance)} {_TOO[keyword]}")
    elif keyword == "format":
        named = cast("jsonschema_rs.ValidationErrorKind.Format", error.kind).format
        yield path, explainer.problem(path, f"{show(error.instance)} is not a valid {named}")
    else:
        yield path, explainer.problem(path, f"got {show(error.instance)}")
