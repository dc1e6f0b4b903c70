"""Checks arguments and outputs against a raw JSON Schema."""

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any, Final, cast

import jsonschema_rs
from pydantic_core import from_json

from toolhaft.schema.bounds import check_bounds
from toolhaft.schema.contract import (
    Contract,
    OutputCheck,
    OutputContract,
    OutputWriter,
    Read,
    Validate,
)
from toolhaft.schema.expected import known_names
from toolhaft.schema.explainer import Explainer, Validation
from toolhaft.schema.json_key_count import COMPOSED, RECHECK, KeyCounter, has_odd_float, schema_key_counter
from toolhaft.schema.json_schema import required_schemas
from toolhaft.schema.json_text import (
    LONGEST_TEXT,
    SHORT_TEXT,
    copy_json,
    has_repeated_key,
    most_keys,
    non_finite_paths,
    object_to_text,
    read_json,
)
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.older_drafts import read_old_forms
from toolhaft.schema.output import output_checks
from toolhaft.schema.problems import MAX_PROBLEMS, Problem, ValidArguments, show
from toolhaft.schema.raw_definition import (
    compile_validator,
    copy_schema,
    declare_names,
    is_open,
    object_root,
)
from toolhaft.schema.raw_problems import to_problems
from toolhaft.schema.references import localize_references
from toolhaft.schema.repair import InexactIntegerError, TooMuchError, repair
from toolhaft.schema.work import DIRECT_STEPS, INLINE_STEPS, WorkBound
from toolhaft.schema.wrong_parts import EXPLAIN_STEPS, PartsValidator, wrong_parts

_MAX_UNKNOWN: Final = 20
_MANY_SCHEMAS: Final = 1_000
_ABOUT_ARGUMENTS: Final = frozenset(("additionalProperties", "maxProperties", "minProperties", "required"))
_INLINE_VISITS: Final = 1_500
"""At most about 25 ms: on an event loop, a value with more parts is not repaired."""
_WORKER_VISITS: Final = 300_000
"""At most about 4 s: in a worker process, a value with more parts is not repaired."""
_DEFAULT_STEPS: Final = 20_000
"""At most about 0.4 s, once per parameter, when a tool is defined."""


def compile_raw(schema: object, place: str = "input_schema", *, max_steps: int | None = None) -> Contract:
    """Make the contract of a tool's input from a JSON Schema; it refuses values that may take more steps.

    Raises:
        DefinitionError: if the schema is not valid, bounded and self-contained.
    """
    root = object_root(_read_schema(schema, place), place)
    closed = not is_open(root)
    known = known_names(root, root)
    declare_names(root, known if closed else ())
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
    bound = WorkBound(root)
    engine = _Engine(
        root, validator, None if not closed or is_simple else frozenset(known), bound, closed=closed
    )

    def make(shown: JSONObject, example: object) -> tuple[Validate, Read]:
        explainer = Explainer(shown, example)
        read = engine.check_for(explainer, max_steps or INLINE_STEPS, wraps=False)
        return engine.validate_for(explainer, max_steps or DIRECT_STEPS), read

    return Contract(root, make, engine)


def compile_raw_output(
    schema: object, place: str = "output_schema", *, max_steps: int = DIRECT_STEPS
) -> OutputContract:
    """Make the contract of a tool's output from a JSON Schema; it refuses values that may take more steps."""
    copied = _read_schema(schema, place)
    validator = compile_validator(copied, place)
    bound = WorkBound(copied if isinstance(copied, dict) else {})
    # not during a call: it takes long to compile
    parts = PartsValidator.of(bound.root, place) if bound.schemas > _MANY_SCHEMAS else None
    return OutputContract(
        cast("JSONObject | bool", copied), lambda: output_checks(copied, validator, bound, parts), max_steps
    )


def _read_schema(schema: object, place: str) -> JSONValue:
    """Copy a schema with its old forms and references rewritten, and check its bounds."""
    copied = copy_schema(schema, place)
    read_old_forms(copied)
    localize_references(copied)
    check_bounds(copied, place)
    return copied


def output_checks_of(schema: JSONObject) -> tuple[OutputCheck, OutputWriter]:
    """Return the checks of a value against a schema that we made ourselves."""
    return output_checks(schema, compile_validator(schema, "output_schema"), WorkBound(schema))


class _Engine:
    """One tool's compiled schema: a fast check, and a thorough one for what the fast one does not accept."""

    __slots__ = (
        "bound",
        "count",
        "defaults",
        "is_open",
        "known",
        "parts",
        "root",
        "total",
        "validator",
    )
    varies = False

    def __init__(
        self,
        root: JSONObject,
        validator: jsonschema_rs.Validator,
        known: frozenset[str] | None,
        bound: WorkBound,
        *,
        closed: bool,
    ) -> None:
        self.root = root
        self.is_open = not closed
        self.bound = bound
        self.parts: PartsValidator | None = None
        if bound.schemas > _MANY_SCHEMAS:  # not during a call: it takes long to compile
            self.parts = self._parts_validator()
        self.validator = validator
        self.known = known
        self.count = _recheck_unknown(schema_key_counter(root, root, closed=closed), known)
        self.defaults = _defaults(root, validator, bound)
        self.total = len(_sure_properties(root)) if self.defaults else 0

    def validate_for(self, explainer: Explainer, max_steps: int) -> Validate:
        """Make the tool's `validate`."""
        explainer.check = self.check_for(explainer, max_steps, wraps=True)
        explainer.accepts = self._accepts_example
        return explainer.check

    def check_for(self, explainer: Explainer, max_steps: int, *, wraps: bool) -> Any:  # noqa: ANN401 -- a Validate or a Read
        """Make a check that refuses values that may take more steps.

        A Validate wraps valid parameters in a verdict; a Read, for the call pipeline, does not.
        """
        is_valid, count, fill, total = self.validator.is_valid, self.count, self._fill, self.total
        most_chars = min(LONGEST_TEXT, self.bound.safe_chars(max_steps))

        def validate(raw: Any) -> Any:  # noqa: ANN401 -- text, bytes or an object; see above
            try:
                if len(raw) <= most_chars or self._is_bounded(raw, max_steps):
                    value = from_json(raw, allow_inf_nan=False)
                    if is_valid(value):
                        keys = count(value)
                        # they also differ if a string has a colon
                        if raw.count(":") == keys or most_keys(raw) == keys:
                            params = value if len(value) >= total else fill(value)
                            return ValidArguments(params) if wraps else params
                    return self._check_thoroughly(raw, value, explainer, max_steps)
            except (ValueError, TypeError, AttributeError) as error:
                if isinstance(raw, str) and isinstance(error, ValueError):
                    return explainer.not_json(f"{error!s:.200}")
                return explainer.check_other(raw, error, validate)
            return _refuse_long(raw, explainer)

        return validate

    def _fill(self, value: JSONObject) -> JSONObject:
        """Add the defaults of missing arguments to the parsed arguments."""
        for name, make in self.defaults:
            if name not in value:
                value[name] = make()
        return value

    def add(self, given: JSONObject) -> JSONObject:
        """Add the defaults to the JSON of valid arguments."""
        return self._fill({**given})

    def read_once(self, raw: object, validate: Validate) -> Validation:
        """Validate: a default of a JSON Schema is always the same."""
        return validate(raw)

    def _accepts_example(self, text: str) -> bool:
        """True if an example of valid arguments is valid; False if it could take too long to check."""
        value = read_json(text)
        return not self.bound.exceeds(value, text, INLINE_STEPS) and self._is_accepted(value)

    def _check_thoroughly(
        self, raw: str, value: JSONValue, explainer: Explainer, max_steps: int
    ) -> Validation:
        accepted = self._is_accepted(value)
        if not accepted and max_steps == INLINE_STEPS and len(raw) > SHORT_TEXT:
            return _refuse_long(raw, explainer)
        problems = explainer.repeated(raw) if has_repeated_key(raw, value) else []
        problems += [explainer.problem(path, "not a finite number") for path in non_finite_paths(value)]
        unrepaired: JSONObject | None = None
        if not problems:
            try:
                read = self._valid_or_repaired(value, raw, max_steps, accepted=accepted)
                if isinstance(read, ValidArguments):
                    return read
                value = read
            except InexactIntegerError as error:
                problems = [explainer.problem(error.path, "not exactly an integer")]
            except TooMuchError:
                if max_steps == INLINE_STEPS:
                    return _refuse_long(raw, explainer)
                unrepaired = explainer.root
        # the engine collects all its errors first, which takes too long if there may be many
        is_small = self.bound.error_steps_of(value, len(raw)) <= EXPLAIN_STEPS
        find = self._all_problems if is_small else self._problems_by_part
        found = find(value, explainer)
        paths = {problem.path for problem in problems}
        problems += [problem for problem in found if problem.path not in paths]
        invalid = explainer.invalid(problems or [explainer.problem((), "the arguments do not fit together")])
        invalid.unchecked = unrepaired
        return invalid

    def _valid_or_repaired(
        self, value: JSONValue, raw: str, max_steps: int, *, accepted: bool
    ) -> "ValidArguments | JSONValue":
        """Accept a value that is valid unchanged or after a repair; else return it, with its repairs.

        Raises:
            TooMuchError: if the repair, or the check of the repaired value, could take too long here.
        """
        if accepted and not has_odd_float(value):
            return ValidArguments(self._fill(cast("JSONObject", value)), ())
        is_inline = max_steps == INLINE_STEPS
        if is_inline and len(raw) > SHORT_TEXT:
            raise TooMuchError
        in_worker = _WORKER_VISITS if max_steps > DIRECT_STEPS else None
        visits = _INLINE_VISITS if is_inline else in_worker
        try:
            repaired, repairs = repair(self.root, value, raw, is_valid=accepted, max_visits=visits)
        except TooMuchError:
            if is_inline or not accepted:
                raise
            repaired, repairs = value, ()
        # a string that is read as JSON can hold many values
        if repairs and self.bound.exceeds(repaired, raw, max_steps):
            raise TooMuchError
        if repairs and self._is_accepted(repaired):
            given = cast("JSONObject", repaired)
            return ValidArguments(self._fill(copy_json(given)), repairs, given)
        return ValidArguments(self._fill(cast("JSONObject", value)), ()) if accepted else repaired

    def _all_problems(self, value: JSONValue, explainer: Explainer) -> list[Problem]:
        """Return all problems that the engine finds, and the unknown keys that it does not report."""
        found = to_problems(self.validator.iter_errors(value), value, explainer)
        return found + self._unknown(value, explainer, self.known)

    def _problems_by_part(self, value: JSONValue, explainer: Explainer) -> list[Problem]:
        """Return the first problems of the arguments that are wrong alone, and missing and unknown names."""
        properties, required = self.root.get("properties", {}), self.root.get("required", [])
        if not isinstance(value, dict) or not isinstance(properties, dict) or not isinstance(required, list):
            return [explainer.problem((), f"got {show(value)}")]
        if self.parts is None:
            self.parts = self._parts_validator()
        missing = (name for name in required if name not in value)
        found = [explainer.problem((str(name),), "missing") for name in islice(missing, MAX_PROBLEMS)]
        known = frozenset(properties) if self.known is None else self.known
        given = value if self.is_open else {name: value[name] for name in value if name in known}
        found += wrong_parts(self.parts, self.bound, explainer, given)
        found += self._unknown(value, explainer, None if self.is_open else known)
        return found or self._wrong_arguments(given, explainer)

    def _wrong_arguments(self, given: JSONObject, explainer: Explainer) -> list[Problem]:
        """Name the arguments that are wrong as a whole: each part of them would be right."""
        if self.bound.schemas > _MANY_SCHEMAS:
            return []
        root = {key: value for key, value in self.root.items() if key not in _ABOUT_ARGUMENTS}
        validator = compile_validator(root, "input_schema")
        return [
            explainer.problem((name,), f"got {show(child)}")
            for name, child in islice(given.items(), MAX_PROBLEMS)
            if not validator.is_valid({name: child})
        ]

    def _parts_validator(self) -> PartsValidator:
        root: JSONObject = self.root if self.is_open else {**self.root, "additionalProperties": True}
        return PartsValidator.of(root, "input_schema")

    @staticmethod
    def _unknown(value: JSONValue, explainer: Explainer, known: frozenset[str] | None) -> list[Problem]:
        if known is None or not isinstance(value, dict):
            return []
        unknown = (name for name in value if name not in known)
        return [explainer.unknown((name,)) for name in islice(unknown, _MAX_UNKNOWN)]

    def _is_bounded(self, raw: object, limit: int) -> bool:
        """True unless checking this text could take too long; any error in it is found later."""
        if not isinstance(raw, str):
            return True
        if len(raw) > LONGEST_TEXT:
            return False
        if not self.bound.may_exceed(raw, limit):
            return True
        # on an event loop, even parsing a long text takes too long
        is_long = limit == INLINE_STEPS and len(raw) > SHORT_TEXT
        return not is_long and not self.bound.exceeds(read_json(raw), raw, limit)

    def _is_accepted(self, value: JSONValue) -> bool:
        if not isinstance(value, dict) or not self.validator.is_valid(value):
            return False
        return self.known is None or value.keys() <= self.known


def _refuse_long(raw: str, explainer: Explainer) -> Validation:
    """Refuse a text that is too long, or could take too long to check here."""
    if len(raw) > LONGEST_TEXT:
        return explainer.check_other(raw, None)
    refused = explainer.too_much(raw)
    refused.unchecked = explainer.root
    return refused


def _recheck_unknown(count: KeyCounter, known: frozenset[str] | None) -> KeyCounter:
    """Send a value with unknown keys, which the engine does not report, to the thorough check."""
    return count if known is None else lambda value: count(value) if value.keys() <= known else RECHECK


def _defaults(
    root: JSONObject, validator: jsonschema_rs.Validator, bound: WorkBound
) -> list[tuple[str, Callable[[], JSONValue]]]:
    """Return the defaults that the schema accepts for its parameters; each call gets a new copy."""
    found: list[tuple[str, Callable[[], JSONValue]]] = []
    for name, schema in _sure_properties(root).items():
        if not isinstance(schema, dict) or "default" not in schema:
            continue
        if _fits(validator, bound, name, schema["default"]):
            found.append((name, partial(from_json, object_to_text(schema["default"]))))
    return found


def _fits(validator: jsonschema_rs.Validator, bound: WorkBound, name: str, default: JSONValue) -> bool:
    """True if the schema accepts a default; False for one that could take too long to check."""
    value: JSONValue = {name: default}
    if bound.error_steps_of(value) > _DEFAULT_STEPS:
        return False
    text = object_to_text(value)
    # such as a long text with a large pattern
    if bound.may_exceed(text, INLINE_STEPS) and bound.exceeds(value, text, INLINE_STEPS):
        return False
    return not any(error.instance_path[:1] == [name] for error in validator.iter_errors(value))


def _sure_properties(root: JSONObject) -> JSONObject:
    """Return the parameters that the schema has in every alternative."""
    found: JSONObject = {}
    for node in required_schemas(root, root):
        properties = node.get("properties")
        found |= properties if isinstance(properties, dict) else {}
    return found
