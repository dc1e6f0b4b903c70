"""Converts the errors of the JSON Schema engine to problems."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from types import MappingProxyType
from typing import Final, cast

import jsonschema_rs
from jsonschema_rs import ValidationErrorKind as _Kind

from toolhaft.schema.explainer import Explainer
from toolhaft.schema.json_schema import member_at
from toolhaft.schema.json_value import JSONObject, JSONValue, ValuePath
from toolhaft.schema.problems import MAX_PROBLEMS, Problem, render_path, show
from toolhaft.schema.unions import Branches, Kind, UnionReader, Wrong, WrongUnion, member

_MAX_NAMES: Final = 50
_KINDS: Final[Mapping[str, Kind]] = {
    "const": "constant",
    "enum": "constant",
    "falseSchema": "type",
    "type": "type",
}
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
    value: JSONValue,
    explainer: Explainer,
    indices: Mapping[int, int] = MappingProxyType({}),
) -> list[Problem]:
    """Convert the engine's errors of a value, to at most one problem per path.

    `indices` replace the indices at these depths of all paths, for a value that has one item of each array.
    """
    found = _wrong(islice(errors, MAX_PROBLEMS), explainer.root, value)
    problems: dict[str, Problem] = {}
    for wrong, branches in UnionReader(explainer.root, value).read(found):
        problem = _convert(wrong, value, explainer, branches)
        if indices:
            problem.path = render_path(
                tuple(indices.get(depth, part) for depth, part in enumerate(wrong.path))
            )
        problems.setdefault(problem.path, problem)
        if len(problems) >= MAX_PROBLEMS:
            break
    return list(problems.values())


def _wrong(
    errors: Iterable[jsonschema_rs.ValidationError], root: JSONObject, value: JSONValue
) -> Iterator[Wrong | WrongUnion]:
    for error in errors:
        path = _path_of(error, value)
        match error.kind:
            case _Kind.Required(missing):
                yield Wrong((*path, missing), "missing", error)
            case _Kind.AdditionalProperties(unexpected) | _Kind.UnevaluatedProperties(unexpected):
                yield from (Wrong((*path, name), "unknown", error) for name in unexpected[:_MAX_NAMES])
            case _Kind.AnyOf(context) | _Kind.OneOfNotValid(context):
                branches = [list(_wrong(branch, root, value)) for branch in context]
                yield _wrong_union(error, path, branches, root)
            case kind:
                yield Wrong(path, _KINDS.get(kind.name, "other"), error)


def _path_of(error: jsonschema_rs.ValidationError, value: JSONValue) -> ValuePath:
    """Return the path of an error: the engine leaves empty keys out, and reports a key "0" as an index."""
    return _find_path(error, value, tuple(error.instance_path)) or ()


def _find_path(
    error: jsonschema_rs.ValidationError, value: JSONValue, reported: ValuePath, *, is_unsure: bool = False
) -> ValuePath | None:
    """Return the first path that can be meant and leads to what is wrong; None if there is none."""
    has_empty = isinstance(value, dict) and "" in value
    is_unsure = is_unsure or has_empty
    if not reported and (not is_unsure or value == error.instance):
        return ()
    steps: list[tuple[str | int, ValuePath]] = []
    if reported:
        steps.append((str(reported[0]) if isinstance(value, dict) else reported[0], reported[1:]))
    if has_empty:
        steps.append(("", reported))
    for key, rest in steps:
        with suppress(LookupError, TypeError):  # there is no such member
            path = _find_path(error, member(value, (key,)), rest, is_unsure=is_unsure)
            if path is not None:
                return (key, *path)
    return None


def _wrong_union(
    error: jsonschema_rs.ValidationError,
    path: ValuePath,
    branches: list[list[Wrong | WrongUnion]],
    root: JSONObject,
) -> Wrong | WrongUnion:
    *parents, keyword = error.schema_path
    node: JSONValue = root
    for part in parents:
        node = member_at(node, str(part).replace("~", "~0").replace("/", "~1"))
    union = node if isinstance(node, dict) else {}
    # `for_parts` has replaced oneOf by anyOf
    schemas = union.get(str(keyword), union.get("oneOf"))
    if not isinstance(schemas, list) or len(schemas) != len(branches):
        return WrongUnion(path, branches)
    discriminator = union.get("discriminator")
    if not isinstance(discriminator, dict) or not isinstance(error.instance, dict):
        return WrongUnion(path, branches, schemas)
    tag = str(discriminator.get("propertyName"))
    sent = cast("JSONObject", error.instance).get(tag)
    missing = Wrong((*path, tag), "missing")
    if sent is None and any(each[:2] == missing[:2] for branch in branches for each in branch):
        return missing
    return WrongUnion(path, branches, schemas, _declared(discriminator, schemas, sent))


def _declared(discriminator: JSONObject, schemas: list[JSONValue], tag: JSONValue) -> int | None:
    """Return the branch that a discriminator names, by a mapping or by the name of its definition."""
    mapping = discriminator.get("mapping")
    target = mapping.get(tag, tag) if isinstance(mapping, dict) and isinstance(tag, str) else tag
    name = str(target).rpartition("/")[2]
    references = [schema.get("$ref") if isinstance(schema, dict) else None for schema in schemas]
    named = [n for n, reference in enumerate(references) if str(reference).rpartition("/")[2] == name]
    return named[0] if isinstance(tag, str) and len(named) == 1 else None


def _convert(wrong: Wrong, value: JSONValue, explainer: Explainer, branches: Branches) -> Problem:
    match wrong:
        case Wrong(path, "missing"):
            return explainer.problem(path, "missing", branches)
        case Wrong(path, "unknown"):
            return explainer.unknown(path, branches)
        case Wrong(path, _, None):
            return explainer.problem(path, f"got {show(member(value, path))}", branches)
        case Wrong(path, _, error):
            return explainer.problem(path, _phrase(error), branches)


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
