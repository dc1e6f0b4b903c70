"""Checks arguments and outputs against a raw JSON Schema."""

import copy
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any, Final, cast

import jsonschema_rs
from pydantic_core import from_json

from toolhaft.schema.bounds import check_bounds
from toolhaft.schema.contract import (
    CheckedJSON,
    Contract,
    OutputCheck,
    OutputContract,
    OutputWriter,
    Read,
    Validate,
)
from toolhaft.schema.expected import known_names
from toolhaft.schema.explainer import Explainer, Validation
from toolhaft.schema.json_schema import required_schemas
from toolhaft.schema.json_text import (
    LONGEST_TEXT,
    MANY_COMMAS,
    copy_json,
    has_repeated_key,
    non_finite_paths,
    read_json,
)
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.key_count import COMPOSED, RECHECK, KeyCounter, schema_key_counter
from toolhaft.schema.output import output_checks
from toolhaft.schema.problems import Problem, ValidArguments, show
from toolhaft.schema.raw_definition import (
    compile_validator,
    copy_schema,
    declare_required,
    is_open,
    object_root,
)
from toolhaft.schema.raw_problems import to_problems
from toolhaft.schema.references import localize_references
from toolhaft.schema.repair import InexactIntegerError, TooMuchError, repair

_MAX_UNKNOWN: Final = 20


def compile_raw(schema: object, place: str = "input_schema") -> Contract:
    """Make the contract of a tool's input from a JSON Schema.

    Raises:
        DefinitionError: if the schema is not valid, bounded and self-contained.
    """
    copied = copy_schema(schema, place)
    localize_references(copied)
    check_bounds(copied, place)
    root = object_root(copied, place)
    closed = not is_open(root)
    if closed:
        root = declare_required(root)
    known = known_names(root, root)
    # the engine names an unexpected key only if there are named properties
    properties = root.get("properties")
    is_simple = (
        isinstance(properties, dict)
        and bool(properties)
        and properties.keys() >= set(known)
        and not any(key in root for key in COMPOSED)
    )
    validator = compile_validator(
        {**root, "additionalProperties": False} if closed and is_simple else root, place
    )
    engine = _Engine(root, validator, None if not closed or is_simple else frozenset(known), closed=closed)

    def make(shown: JSONObject, example: object) -> tuple[Validate, Read]:
        validate = engine.validate_for(Explainer(shown, example))
        return validate, validate

    return Contract(root, make, engine)


def compile_raw_output(schema: object, place: str = "output_schema") -> OutputContract:
    """Make the contract of a tool's output from a JSON Schema."""
    copied = copy_schema(schema, place)
    localize_references(copied)
    check_bounds(copied, place)
    validator = compile_validator(copied, place)
    return OutputContract(cast("JSONObject | bool", copied), lambda: output_checks(copied, validator))


def output_checks_of(schema: JSONObject) -> tuple[OutputCheck, OutputWriter]:
    """Return the checks of a value against a schema that we made ourselves."""
    return output_checks(schema, compile_validator(schema, "output_schema"))


class _Engine:
    """One tool's compiled schema: a fast check, and a thorough one for what the fast one does not accept."""

    __slots__ = ("count", "defaults", "is_open", "known", "root", "total", "validator")
    varies = False

    def __init__(
        self,
        root: JSONObject,
        validator: jsonschema_rs.Validator,
        known: frozenset[str] | None,
        *,
        closed: bool,
    ) -> None:
        self.root = root
        self.validator = validator
        self.known = known
        self.is_open = not closed
        self.count = _recheck_unknown(schema_key_counter(root, root, closed=closed), known)
        self.defaults = _defaults(root, validator)
        self.total = len(_sure_properties(root)) if self.defaults else 0

    def validate_for(self, explainer: Explainer) -> Validate:
        """Make the tool's `validate`."""
        is_valid, count, fill, total = self.validator.is_valid, self.count, self._fill, self.total

        def validate(raw: Any) -> Validation:  # noqa: ANN401 -- text, bytes or an object
            try:
                if len(raw) <= LONGEST_TEXT:
                    value = from_json(raw, allow_inf_nan=False)
                    if is_valid(value) and raw.count(":") == count(value):
                        return ValidArguments(value if len(value) >= total else fill(value), ())
                    return self._check_thoroughly(raw, explainer)
            except ValueError as error:
                if isinstance(raw, str):
                    return explainer.not_json(f"{error!s:.200}")
                return explainer.check_other(raw, error)
            except (TypeError, AttributeError) as error:
                return explainer.check_other(raw, error)
            return explainer.check_other(raw, None)

        explainer.check = explainer.bounded(validate)
        explainer.accepts = lambda text: self._is_accepted(read_json(text))
        return explainer.check

    def _fill(self, value: JSONObject) -> JSONObject:
        """Add the defaults of missing arguments to the parsed arguments."""
        for name, make in self.defaults:
            if name not in value:
                value[name] = make()
        return value

    def add(self, given: JSONObject) -> CheckedJSON:
        """Add the defaults to the JSON of valid arguments."""
        return CheckedJSON(given, self._fill({**given}))

    def read_once(self, raw: object, validate: Validate) -> Validation:
        """Validate: a default of a JSON Schema is always the same."""
        return validate(raw)

    def _check_thoroughly(self, raw: str, explainer: Explainer) -> Validation:
        value = read_json(raw)
        problems = explainer.repeated(raw) if has_repeated_key(raw, value) else []
        problems += [explainer.problem(path, "not a finite number") for path in non_finite_paths(value)]
        if not problems:
            try:
                valid = self._valid_or_repaired(value, raw)
            except InexactIntegerError as error:
                valid, problems = None, [explainer.problem(error.path, "not exactly an integer")]
            if valid is not None:
                return valid
        # the engine collects all its errors first, which is too expensive for a value with many members
        find = self._problems_per_argument if raw.count(",") > MANY_COMMAS else self._all_problems
        paths = {problem.path for problem in problems}
        problems += [problem for problem in find(value, explainer) if problem.path not in paths]
        return explainer.invalid(problems or [explainer.problem((), "the arguments do not fit together")])

    def _valid_or_repaired(self, value: JSONValue, raw: str) -> ValidArguments | None:
        """Accept a value that is valid unchanged or after a repair."""
        accepted = self._is_accepted(value)
        try:
            repaired, repairs = repair(self.root, value, raw, is_valid=accepted)
        except TooMuchError:
            return None
        if repairs and self._is_accepted(repaired):
            given = cast("JSONObject", repaired)
            return ValidArguments(self._fill(copy_json(given)), repairs, given)
        return ValidArguments(self._fill(cast("JSONObject", value)), ()) if accepted else None

    def _all_problems(self, value: JSONValue, explainer: Explainer) -> list[Problem]:
        """Return all problems that the engine finds, and the unknown keys that it does not report."""
        found = to_problems(self.validator.iter_errors(value), explainer)
        return found + self._unknown(value, explainer)

    def _problems_per_argument(self, value: JSONValue, explainer: Explainer) -> list[Problem]:
        """Return one problem for each argument that is wrong."""
        properties, required = self.root.get("properties", {}), self.root.get("required", [])
        if not isinstance(value, dict) or not isinstance(properties, dict) or not isinstance(required, list):
            return [explainer.problem((), f"got {show(value)}")]
        parts = compile_validator({**self.root, "required": [], "additionalProperties": True}, "input_schema")
        found = [explainer.problem((str(name),), "missing") for name in required if name not in value]
        found += [
            explainer.problem((name,), f"got {show(child)}")
            for name, child in value.items()
            if name in properties and not parts.is_valid({name: child})
        ]
        found += self._unknown(value, explainer, self.known or frozenset(properties))
        return found

    def _unknown(
        self, value: JSONValue, explainer: Explainer, known: frozenset[str] | None = None
    ) -> list[Problem]:
        known = self.known if known is None or self.is_open else known
        if known is None or not isinstance(value, dict):
            return []
        return [
            explainer.unknown((name,)) for name in islice((n for n in value if n not in known), _MAX_UNKNOWN)
        ]

    def _is_accepted(self, value: JSONValue) -> bool:
        if not isinstance(value, dict) or not self.validator.is_valid(value):
            return False
        return self.known is None or value.keys() <= self.known


def _recheck_unknown(count: KeyCounter, known: frozenset[str] | None) -> KeyCounter:
    """Send a value with unknown keys, which the engine does not report, to the thorough check."""
    return count if known is None else lambda value: count(value) if value.keys() <= known else RECHECK


def _defaults(
    root: JSONObject, validator: jsonschema_rs.Validator
) -> list[tuple[str, Callable[[], JSONValue]]]:
    """Return the defaults that the schema accepts for its parameters; each call gets a new copy."""
    found: list[tuple[str, Callable[[], JSONValue]]] = []
    for name, schema in _sure_properties(root).items():
        if isinstance(schema, dict) and "default" in schema:
            errors = validator.iter_errors({name: schema["default"]})
            if not any(error.instance_path[:1] == [name] for error in errors):
                found.append((name, partial(copy.deepcopy, schema["default"])))
    return found


def _sure_properties(root: JSONObject) -> JSONObject:
    """Return the parameters that the schema has in every alternative."""
    found: JSONObject = {}
    for node in required_schemas(root, root):
        properties = node.get("properties")
        found |= properties if isinstance(properties, dict) else {}
    return found
