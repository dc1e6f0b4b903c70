"""Checks arguments against a raw JSON Schema, compiled once.

Knows JSON Schema and JSON text; does not know Python types, functions or tools.
"""

import copy
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any, Final, cast

import jsonschema_rs
from pydantic_core import from_json

from toolhaft.schema.contract import Check, Contract, OutputContract, Read, Validate, Write
from toolhaft.schema.expected import known_names
from toolhaft.schema.explainer import Explainer, Verdict
from toolhaft.schema.json_text import (
    LONGEST_TEXT,
    MANY_COMMAS,
    endless,
    has_repeated_key,
    read_json,
)
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.output import output_checks
from toolhaft.schema.problems import Problem, ValidArguments, show
from toolhaft.schema.raw_definition import (
    check_bounds,
    check_required,
    check_root,
    compile_schema,
    copy_schema,
    is_open,
)
from toolhaft.schema.raw_problems import read_errors
from toolhaft.schema.raw_reader import AGAIN, COMPOSED, Reader, reader_of
from toolhaft.schema.repair import TooMuchError, repair

_MOST_TOLD: Final = 20


def compile_raw(schema: object, place: str = "input_schema") -> Contract:
    """The contract of a tool whose input is given as JSON Schema.

    Raises:
        DefinitionError: where the schema is not sound, not bounded or not self-contained.
    """
    root = check_root(copy_schema(schema, place), place)
    check_bounds(root, place)
    known = known_names(root, root)
    closed = not is_open(root)
    if closed:
        check_required(root, known, place)
    # only beside named properties does the engine say which key it did not expect
    is_simple = bool(root.get("properties")) and not any(key in root for key in COMPOSED)
    validator = compile_schema(
        {**root, "additionalProperties": False} if closed and is_simple else root, place
    )
    engine = _Engine(root, validator, None if not closed or is_simple else frozenset(known), closed=closed)

    def make(example: object) -> tuple[Validate, Read]:
        validate = engine.validate_for(Explainer(root, example))
        return validate, validate

    return Contract(root, make)


def compile_raw_output(schema: object, place: str = "output_schema") -> OutputContract:
    """The contract of a tool whose output is given as JSON Schema."""
    own = copy_schema(schema, place)
    check_bounds(own, place)
    validator = compile_schema(own, place)
    return OutputContract(cast("JSONObject | bool", own), lambda: output_checks(own, validator))


def output_checks_of(schema: JSONObject) -> tuple[Check, Write]:
    """The checks of a value against a schema that we made ourselves."""
    return output_checks(schema, compile_schema(schema, "output_schema"))


class _Engine:
    """One tool's compiled schema, with the roads that lead off the fast one."""

    __slots__ = ("defaults", "is_open", "known", "read", "root", "total", "validator")

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
        self.read = _only_known(reader_of(root, root, closed=closed), known)
        self.defaults = _defaults(root, validator)
        self.total = len(cast("JSONObject", root.get("properties", {}))) if self.defaults else 0

    def validate_for(self, explainer: Explainer) -> Validate:
        """The `validate` of a tool: fast where all is well, thorough where it is not."""
        is_valid, read, fill, total = self.validator.is_valid, self.read, self._fill, self.total

        def validate(raw: Any) -> Verdict:  # noqa: ANN401 -- text, bytes or an object
            try:
                if len(raw) <= LONGEST_TEXT:
                    value = from_json(raw, allow_inf_nan=False)
                    if is_valid(value) and raw.count(":") == read(value):
                        return ValidArguments(value if len(value) >= total else fill(value), ())
                    return self._thorough(raw, explainer)
            except ValueError as error:
                if isinstance(raw, str):
                    return explainer.not_json(f"{error!s:.200}")
                return explainer.other(raw, error)
            except (TypeError, AttributeError) as error:
                return explainer.other(raw, error)
            return explainer.other(raw, None)

        explainer.check = explainer.bounded(validate)
        explainer.accepts = lambda text: self._accepts(read_json(text))
        return explainer.check

    def _fill(self, value: JSONObject) -> JSONObject:
        """The parsed arguments, which are ours to change, with the defaults of those not given."""
        for name, make in self.defaults:
            if name not in value:
                value[name] = make()
        return value

    def _thorough(self, raw: str, explainer: Explainer) -> Verdict:
        value = read_json(raw)
        problems = explainer.repeated(raw) if has_repeated_key(raw, value) else []
        problems += [explainer.problem(path, "not a finite number") for path in endless(value)]
        if not problems:
            verdict = self._passed(value)
            if verdict is not None:
                return verdict
        # the engine collects every problem before it tells one: of many members only the arguments are told
        find = self._coarse if raw.count(",") > MANY_COMMAS else self._fine
        told = {problem.path for problem in problems}
        problems += [problem for problem in find(value, explainer) if problem.path not in told]
        return explainer.invalid(problems or [explainer.problem((), "the arguments do not fit together")])

    def _passed(self, value: JSONValue) -> ValidArguments | None:
        """The verdict on a value that passes as it is or once it is repaired."""
        accepted = self._accepts(value)
        try:
            mended, repairs = repair(self.root, value, is_valid=accepted)
        except TooMuchError:
            return None
        if repairs and self._accepts(mended):
            return ValidArguments(self._fill(cast("JSONObject", mended)), repairs)
        return ValidArguments(self._fill(cast("JSONObject", value)), ()) if accepted else None

    def _fine(self, value: JSONValue, explainer: Explainer) -> list[Problem]:
        """All that the engine finds wrong, and the keys that it does not see."""
        found = read_errors(self.validator.iter_errors(value), explainer)
        return found + self._unknown(value, explainer)

    def _coarse(self, value: JSONValue, explainer: Explainer) -> list[Problem]:
        """Which arguments are wrong, each as a whole."""
        properties, required = self.root.get("properties", {}), self.root.get("required", [])
        if not isinstance(value, dict) or not isinstance(properties, dict) or not isinstance(required, list):
            return [explainer.problem((), f"got {show(value)}")]
        parts = compile_schema({**self.root, "required": [], "additionalProperties": True}, "input_schema")
        found = [explainer.problem((str(name),), "missing") for name in required if name not in value]
        found += [
            explainer.problem((name,), f"got {show(child)}")
            for name, child in value.items()
            if name in properties and not parts.is_valid({name: child})
        ]
        found += self._unknown(value, explainer, frozenset(properties))
        return found

    def _unknown(
        self, value: JSONValue, explainer: Explainer, known: frozenset[str] | None = None
    ) -> list[Problem]:
        known = self.known if known is None or self.is_open else known
        if known is None or not isinstance(value, dict):
            return []
        return [
            explainer.unknown((name,)) for name in islice((n for n in value if n not in known), _MOST_TOLD)
        ]

    def _accepts(self, value: JSONValue) -> bool:
        if not isinstance(value, dict) or not self.validator.is_valid(value):
            return False
        return self.known is None or value.keys() <= self.known


def _only_known(read: Reader, known: frozenset[str] | None) -> Reader:
    """The reader, with unknown keys that the engine does not see sent down the thorough road."""
    return read if known is None else lambda value: read(value) if value.keys() <= known else AGAIN


def _defaults(
    root: JSONObject, validator: jsonschema_rs.Validator
) -> list[tuple[str, Callable[[], JSONValue]]]:
    """The parameters' own defaults, as far as the schema accepts them; a new copy for every call."""
    found: list[tuple[str, Callable[[], JSONValue]]] = []
    properties = root.get("properties")
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        if isinstance(schema, dict) and "default" in schema:
            errors = validator.iter_errors({name: schema["default"]})
            if not any(error.instance_path[:1] == [name] for error in errors):
                found.append((name, partial(copy.deepcopy, schema["default"])))
    return found
