"""Checks the value that a tool returns: fast if it is small and plain, thoroughly if it is not."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import isfinite
from typing import Final, cast

import jsonschema_rs
from pydantic_core import PydanticSerializationError, from_json, to_json, to_jsonable_python

from toolhaft.schema.contract import OutputCheck, OutputWriter
from toolhaft.schema.explainer import Explainer
from toolhaft.schema.json_text import SHORT_TEXT, non_finite_paths, to_json_text
from toolhaft.schema.json_value import JSONValue
from toolhaft.schema.problems import UncheckedOutput, show
from toolhaft.schema.raw_problems import to_problems
from toolhaft.schema.value_size import is_light, is_writable
from toolhaft.schema.work import INLINE_STEPS, WorkBound
from toolhaft.schema.wrong_parts import EXPLAIN_STEPS, PartsValidator, wrong_parts

_MAX_PROBLEMS: Final = 20
_MAX_FIRST: Final = 5
_MAX_CLASSES: Final = 1000
_ANNOTATIONS: Final = frozenset(("$schema", "default", "description", "examples", "title"))


def output_checks(
    schema: JSONValue,
    validator: jsonschema_rs.Validator,
    bound: WorkBound,
    parts: PartsValidator | None = None,
) -> tuple[OutputCheck, OutputWriter]:
    """Return the thorough check of a value, and the fast one that also writes it as JSON.

    Without `parts`, which find the problems of large values, the first such value compiles them.
    """
    return _thorough_check(validator, bound, parts), _fast_check(schema, validator.is_valid, bound)


def _thorough_check(
    validator: jsonschema_rs.Validator, bound: WorkBound, parts: PartsValidator | None
) -> OutputCheck:
    explainer = Explainer(bound.root)

    def check(value: object, max_steps: int) -> str | None:
        nonlocal parts
        if not is_writable(value):
            return "the value is too large to check, or contains itself"
        try:
            plain = cast("JSONValue", to_jsonable_python(value, inf_nan_mode="constants"))
            paths = non_finite_paths(plain)
        except (PydanticSerializationError, ValueError, RecursionError) as error:
            return f"the value has no JSON form: {error!s:.200}"
        problems = [explainer.problem(path, "not a finite number") for path in paths]
        text = "" if problems else to_json_text(plain)
        if not problems and bound.exceeds(plain, text, max_steps):
            return UncheckedOutput(f"{show(plain)} could take too long to check")
        if not problems and validator.is_valid(plain):
            return None
        if len(text) > SHORT_TEXT or (
            not problems and bound.error_steps_of(plain, len(text)) > EXPLAIN_STEPS
        ):
            parts = parts or PartsValidator.of(bound.root, "output_schema")
            found = wrong_parts(parts, bound, explainer, plain)[:_MAX_FIRST]
            return "; ".join((f"{show(plain)} does not fit the schema", *map(str, found)))
        problems = problems or to_problems(validator.iter_errors(plain), plain, explainer)
        lines = [str(problem).replace("arguments:", "value:", 1) for problem in problems[:_MAX_PROBLEMS]]
        if len(problems) > _MAX_PROBLEMS:
            lines.append(f"and {len(problems) - _MAX_PROBLEMS} more")
        return "; ".join(lines) or "the value does not fit its schema"

    return check


def _fast_check(schema: JSONValue, is_valid: Callable[[object], bool], bound: WorkBound) -> OutputWriter:
    sole = _sole_type(schema)
    if sole in _SCALARS:
        return _SCALARS[sole]
    return _writer({"object": dict, "array": list}.get(sole), is_valid, bound)


def _writer(wanted: type | None, is_valid: Callable[[object], bool], bound: WorkBound) -> OutputWriter:
    """Return the fast check of values that are not scalars; `wanted` is the type if that is the only rule."""
    safe_chars = bound.safe_chars(INLINE_STEPS)
    objects: list[type] = []  # not empty once a value has contained objects, such as dataclasses

    def write(value: object) -> str | None:
        if (wanted is not None and type(value) is not wanted) or not is_light(value, objects):
            return None
        try:
            text = to_json(value).decode()
            # one letter is found faster than a word; the thorough check allows the word inside a string
            if ("N" in text and "NaN" in text) or ("I" in text and "Infinity" in text):
                return None
            if wanted is None and (
                (len(text) > safe_chars and bound.may_exceed(text, INLINE_STEPS))
                or not is_valid(from_json(text) if objects else value)
            ):
                return None
        except (PydanticSerializationError, RecursionError):
            return None
        except ValueError:
            if objects:
                return None
            objects.append(type(value))  # their text is checked: only plain JSON can be checked itself
            return write(value)
        return "" if objects and renders_itself(type(value)) else text

    return write


@lru_cache(maxsize=_MAX_CLASSES)
def renders_itself(cls: type) -> bool:
    """True for a class whose values write their own text for models."""
    return callable(getattr(cls, "render", None))


def _sole_type(schema: JSONValue) -> str:
    """Return the type of a schema that has no other rule; '' if it has one."""
    if not isinstance(schema, dict) or not schema.keys() - _ANNOTATIONS <= {"type", "items"}:
        return ""
    kind = schema.get("type")
    is_open = schema.get("items", {}) in ({}, True)
    return kind if isinstance(kind, str) and is_open else ""


def _write_integer(value: object) -> str | None:
    return repr(value) if type(value) is int else None


def _write_number(value: object) -> str | None:
    if type(value) is float and isfinite(value):
        return to_json(value).decode()
    return _write_integer(value)


def _write_boolean(value: object) -> str | None:
    if type(value) is not bool:
        return None
    return "true" if value else "false"


def _write_string(value: object) -> str | None:
    if type(value) is not str:
        return None
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return None
    return ""  # a string is shown unchanged, so nothing is written


_SCALARS: Final[dict[str, OutputWriter]] = {
    "boolean": _write_boolean,
    "integer": _write_integer,
    "number": _write_number,
    "string": _write_string,
}
