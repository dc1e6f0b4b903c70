"""Checks arguments against Python types with one compiled pydantic-core validator per tool."""

import typing
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from pydantic_core import ErrorDetails, SchemaError, SchemaValidator, ValidationError
from pydantic_core.core_schema import CoreSchema

from toolhaft.errors import DefinitionError
from toolhaft.schema.annotations import Builder
from toolhaft.schema.checked_json import ArgumentDefaults
from toolhaft.schema.contract import Contract, OutputContract, Read, Validate
from toolhaft.schema.core_key_count import core_key_count, flat_key_count
from toolhaft.schema.deferred import Make, make_lean
from toolhaft.schema.explainer import Explainer, Validation
from toolhaft.schema.json_schema import all_schemas
from toolhaft.schema.json_text import (
    LONGEST_TEXT,
    MANY_COMMAS,
    SHORT_TEXT,
    has_repeated_key,
    keys_in_text,
    most_keys,
    object_to_text,
    read_json,
)
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.key_count import KeyCount
from toolhaft.schema.patterns import is_costly, own_patterns, timed
from toolhaft.schema.problems import Problem, ValidArguments
from toolhaft.schema.raw import output_checks_of
from toolhaft.schema.raw_definition import compile_validator
from toolhaft.schema.records import (
    PYDANTIC_MARKS,
    RecordField,
    RecordSchemas,
    absent,
    build_fields,
    build_record,
    dataclass_fields,
    is_plain_dataclass,
    is_typed_dict,
    typed_dict_fields,
)
from toolhaft.schema.strict_core import STRICT, by_name, core
from toolhaft.schema.tighten import fail_fast
from toolhaft.schema.typed_problems import (
    KnownProblems,
    error_details,
    has_union,
    may_repair,
    recall_lines,
    recall_problems,
    to_problems,
)
from toolhaft.schema.wide_gaps import MAX_COPIES, most_required, wide_gaps
from toolhaft.schema.work import WorkBound

Finish = Callable[[Any], object]
_MAX_ERRORS = 5_000
_FEW_COMMAS = 50
_MAX_STEPS = 300_000
"""At most about 20 ms of pydantic-core for a valid value; its unions try all their branches."""
_MAX_ERROR_STEPS = 30_000
"""At most about 30 ms for any other value: each branch that fails takes 20 times as long."""


def new_builder(names: Mapping[str, object] | None = None, owner: type | None = None) -> Builder:
    """Make a builder for all kinds of types.

    `names` are local names that annotations in text may use; `owner` is the class that `Self` means.
    """
    return Builder(build_record, names=names, owner=owner)


def compile_fields(
    builder: Builder, fields: list[RecordField], make: Callable[..., object] | None = None
) -> Contract:
    """Make the contract of named fields; `make` builds the handler's argument, a dict if it is None."""
    built = build_fields(builder, fields)
    return _compile(builder, built.core, built.json, _make_finish(built, make))


def compile_type(params_type: object) -> Contract:
    """Make the contract of a typed tool's Params: a dataclass, a TypedDict, a Pydantic model or None.

    Raises:
        DefinitionError: for any other type.
    """
    cls: object = typing.get_origin(params_type) or params_type
    builder = new_builder(owner=cls if isinstance(cls, type) else None)
    if params_type is None or params_type is type(None):
        return compile_fields(builder, [], lambda: None)
    if not isinstance(cls, type):
        raise _not_params(params_type)
    if is_plain_dataclass(cls) and typing.get_origin(params_type) is None:
        return compile_fields(builder, dataclass_fields(cls, builder.names), cls)
    if is_typed_dict(cls):
        built = build_fields(builder, typed_dict_fields(cls, builder.names))
        return _compile(builder, built.core, built.json, None)
    if hasattr(cls, "__dataclass_fields__") or any(hasattr(cls, name) for name in PYDANTIC_MARKS):
        schema, json = builder.build(params_type)
        if isinstance(json.get("$ref"), str):  # a recursive type: its definition is the root
            name = cast("str", json["$ref"]).removeprefix("#/$defs/")
            json = cast("JSONObject", builder.json_defs[name])
        if json.get("type") == "object":
            return _compile(builder, schema, json, None)
    raise _not_params(params_type)


def _not_params(params_type: object) -> DefinitionError:
    name = getattr(params_type, "__name__", str(params_type))
    return DefinitionError(
        f"{name} cannot be a tool's parameters",
        place="Params",
        fix="use a dataclass, a Pydantic model, a TypedDict or None",
    )


def compile_type_output(
    result_type: object, names: Mapping[str, object] | None = None, owner: type | None = None
) -> OutputContract:
    """Make the contract of a result type."""
    builder = Builder(build_record, "serialization", names, owner)
    _, json = builder.build(result_type)
    schema = _with_defs(json, builder.json_defs)
    return OutputContract(schema, lambda: output_checks_of(schema))


def _with_defs(json: JSONObject, defs: JSONObject) -> JSONObject:
    return {**json, "$defs": defs} if defs else json


def _make_finish(built: RecordSchemas, make: Callable[..., object] | None) -> Finish | None:
    """Return the function that adds the defaults, or calls the constructor, after the check."""
    if make is not None:
        return by_name(make)
    defaults, factories = built.defaults, built.factories
    if not defaults and not factories:
        return None
    # in the order of the signature; required fields always overwrite their None
    template = {name: defaults.get(name) for name in built.names if factories.get(name) is not absent}
    factories = {name: factory for name, factory in factories.items() if factory is not absent}
    total = len(built.names)

    def fill(given: dict[str, object]) -> dict[str, object]:
        if len(given) == total:
            return given
        filled = {**template, **given}
        for name, factory in factories.items():
            if name not in given:
                filled[name] = factory()
        return filled

    return fill


def _compile(builder: Builder, schema: CoreSchema, json: JSONObject, finish: Finish | None) -> Contract:
    if builder.core_defs:
        schema = core(type="definitions", schema=schema, definitions=list(builder.core_defs.values()))
    root = _with_defs(json, builder.json_defs)
    flat = flat_key_count(schema)
    lean = make_lean(schema) if flat is None else None
    is_plain = flat is not None and not builder.has_metadata  # no union, no pattern, one object
    costs = _Costs(None, most_required([root])) if is_plain else _costs_of(schema, root)
    if lean is None:
        engine = _Engine(schema, finish, costs, flat or core_key_count(schema))
    else:
        full = _Engine(schema, finish, costs)
        engine = _Engine(lean.schema, _after_making(lean.make, finish), costs, lean.key_count, full)
    try:
        engine.compile()
    except SchemaError as error:
        raise _schema_error(schema, error) from error

    def make(shown: JSONObject, example: object) -> tuple[Validate, Read]:
        explainer = Explainer(shown, example)
        return engine.validate_for(explainer), engine.read_for(explainer)

    return Contract(root, make, ArgumentDefaults(schema), may_hold_secrets=builder.has_metadata)


def _after_making(make: Make | None, finish: Finish | None) -> Finish | None:
    if make is None or finish is None:
        return make or finish
    return lambda given: finish(make(given))


class _Costs(NamedTuple):
    """What can make a check of arguments slow."""

    bound: WorkBound | None
    """The bound of the work, if it can be more than linear."""
    most_required: int
    has_costly_pattern: bool = False


def _costs_of(schema: CoreSchema, root: JSONObject) -> _Costs:
    nodes = list(all_schemas(root))
    # only a union can multiply the work; a tagged one tries one branch only
    is_bounded = not any(map(_has_alternatives, nodes)) or not has_union(schema, ("union",))
    return _Costs(
        None if is_bounded else WorkBound(root, tags=True),
        most_required(nodes),
        any(is_costly(pattern) for node in nodes for pattern in own_patterns(node)),
    )


def _has_alternatives(node: JSONObject) -> bool:
    """True for a schema with more than one alternative beside null."""
    branches = node.get("anyOf") or node.get("oneOf")
    if not isinstance(branches, list):
        return False
    return len(branches) - ({"type": "null"} in branches) > 1


def _schema_error(schema: CoreSchema, error: SchemaError) -> DefinitionError:
    """Name the parameter whose schema pydantic-core refuses, with the last line of its message."""
    inner = schema["schema"] if schema["type"] == "definitions" else schema
    fields = cast("dict[str, dict[str, CoreSchema]]", cast("dict[str, object]", inner).get("fields", {}))
    place, found = "", error
    for name, field in fields.items():
        try:
            SchemaValidator(field["schema"], STRICT, _use_prebuilt=False)
        except SchemaError as own:
            place, found = f"parameter {name!r}", own
            break
    last = str(found).strip().splitlines()[-1].strip()
    return DefinitionError(
        f"its pattern or bound cannot be checked: {last:.200}",
        place=place,
        fix="use a shorter pattern, and bounds of the parameter's own type",
    )


class _Engine:
    """One tool's validator: a fast check, and a thorough one for all that the fast one does not accept.

    If this engine calls functions after its check, `full` is the one that calls them during the check. What
    this one does not accept is checked again there: each problem has its path there.
    """

    __slots__ = (
        "bound",
        "count",
        "finish",
        "fits_schema",
        "full",
        "is_costly",
        "known_problems",
        "most_required",
        "run",
        "run_fail_fast",
        "schema",
    )

    def __init__(
        self,
        schema: CoreSchema,
        finish: Finish | None,
        costs: _Costs,
        count: KeyCount | None = None,
        full: "_Engine | None" = None,
    ) -> None:
        self.run: Callable[[object], object] = self._compile_and_run
        self.count = KeyCount(is_exact=False) if count is None else count  # then keys are always looked for
        self.schema = schema
        self.bound, self.most_required, self.is_costly = costs
        self.fits_schema: Callable[[object], bool] | None = None
        self.run_fail_fast: Callable[[object], object] | None = None
        self.finish = finish
        self.full = full
        self.known_problems: KnownProblems = {}

    def compile(self) -> None:
        """Compile the validator.

        Raises:
            SchemaError: for a pattern or bound that pydantic-core refuses.
        """
        # not prebuilt: a model's own validator is less strict than the tightened schema
        validator = SchemaValidator(self.schema, STRICT, _use_prebuilt=False)
        run = cast("Callable[[object], object]", validator.validate_json)
        self.run = timed(run) if self.is_costly else run

    def _compile_and_run(self, raw: object) -> object:
        self.compile()
        return self.run(raw)

    def validate_for(self, explainer: Explainer) -> Validate:
        """Make the tool's `validate`."""
        explainer.check = self._check_for(explainer, wraps=True)
        explainer.accepts = lambda text: isinstance(self._recheck(text), ValidArguments)
        return explainer.check

    def read_for(self, explainer: Explainer) -> Read:
        """Make the check for the call pipeline, which returns valid parameters without wrapping them."""
        return self._check_for(explainer, wraps=False)

    def _check_for(self, explainer: Explainer, *, wraps: bool) -> Any:  # noqa: ANN401 -- a Validate or a Read
        run, finish = self.run, self.finish
        count, keys, is_exact = self.count.one, self.count.least, self.count.is_exact
        most_chars = min(SHORT_TEXT, 2 * MAX_COPIES // self.most_required)  # two characters are one member
        if self.bound is not None:
            most_chars = min(most_chars, self.bound.safe_chars(_MAX_ERROR_STEPS))

        def validate(raw: Any) -> object:  # noqa: ANN401 -- text, bytes or an object
            try:
                if len(raw) <= most_chars:
                    given = run(raw)
                    number = keys if count is None else count(given)
                    # they also differ if a string has a colon
                    if raw.count(":") == number or (is_exact and most_keys(raw) == number):
                        if finish is not None:
                            given = finish(given)
                        return ValidArguments(given) if wraps else given
                    return self._accept_unless_repeated(raw, given, explainer)
            except Exception as error:  # noqa: BLE001 -- a model's validator or a dataclass's checks may raise anything
                return self._refuse_or_repair(raw, error, explainer)
            return self.check_text(raw, explainer)

        return validate

    def _refuse_or_repair(self, raw: object, error: Exception, explainer: Explainer) -> Validation:
        is_invalid = isinstance(error, ValidationError)
        # again only for the paths of few problems: many take too long to find twice
        if self.full is not None and isinstance(raw, str):
            if not is_invalid or error.error_count() <= _MAX_ERRORS:
                return self.full.check_text(raw, explainer)
            return self.full._explain(raw, error, explainer)  # noqa: SLF001 -- of the same class
        if is_invalid:
            return self._explain(raw, error, explainer)
        return explainer.check_other(raw, error)

    def check_text(self, raw: Any, explainer: Explainer) -> Validation:  # noqa: ANN401 -- text, bytes or an object
        """Check a text of any length; if it has many members, stop early, since errors take memory."""
        if not isinstance(raw, str) or len(raw) > LONGEST_TEXT:
            return explainer.check_other(raw, None)
        try:
            if self.bound is not None and self._is_costly_union(raw, self.bound):
                return explainer.too_much(raw)
            problems = wide_gaps(explainer, raw, self.most_required, self.schema)
        except ValueError as error:
            return explainer.not_json(f"{error!s:.200}")
        if problems:
            return explainer.invalid(problems)
        commas = raw.count(",")
        is_wide = commas > MANY_COMMAS or commas * self.most_required > MAX_COPIES
        run = self._fail_fast_validator() if is_wide else self.run
        try:
            return self._accept_unless_repeated(raw, run(raw), explainer)
        except Exception as error:  # noqa: BLE001 -- as above
            return self._refuse_or_repair(raw, error, explainer)

    def _is_costly_union(self, raw: str, bound: WorkBound) -> bool:
        """True if the check of a text could take too long, or would take too long since it is not valid."""
        if not bound.may_exceed(raw, _MAX_ERROR_STEPS):
            return False
        value = read_json(raw)
        if not bound.exceeds(value, raw, _MAX_ERROR_STEPS):
            return False
        if bound.exceeds(value, raw, _MAX_STEPS):
            return True
        if self.fits_schema is None:
            self.fits_schema = compile_validator(bound.root, "input_schema").is_valid
        return not self.fits_schema(value)

    def _fail_fast_validator(self) -> Callable[[object], object]:
        if self.run_fail_fast is None:
            hasty = SchemaValidator(fail_fast(self.schema), STRICT, _use_prebuilt=False)
            self.run_fail_fast = cast("Callable[[object], object]", hasty.validate_json)
        return self.run_fail_fast

    def _accept_unless_repeated(self, raw: str, given: object, explainer: Explainer) -> Validation:
        """Refuse repeated keys; the numbers of colons and keys also differ if a string has a colon."""
        count = self.count.of(given)
        is_certain = self.count.is_exact and keys_in_text(raw) == count
        if not is_certain and has_repeated_key(raw, read_json(raw)):
            return explainer.invalid(explainer.repeated(raw))
        return ValidArguments(given if self.finish is None else self.finish(given), ())

    def _explain(self, raw: object, error: ValidationError, explainer: Explainer) -> Validation:
        if not isinstance(raw, str):
            return explainer.check_other(raw, error)
        try:
            value = read_json(raw)
        except ValueError as problem:
            return explainer.not_json(f"{problem!s:.200}")
        if error.error_count() > _MAX_ERRORS:
            return self._explain_first(raw, value, error, explainer)
        errors = error_details(error)
        if has_repeated_key(raw, value):
            problems = to_problems(errors, value, explainer, self.known_problems)
            return explainer.invalid(problems + explainer.repeated(raw))
        repaired = explainer.repaired(value, raw) if may_repair(errors) else None
        if repaired is None:
            return self._refuse(value, errors, explainer)
        checked = self._recheck(object_to_text(repaired[0]))
        if isinstance(checked, ValidArguments):
            return ValidArguments(checked.params, repaired[1], repaired[0])
        # what a repair would have fixed is not a problem
        return (
            self._refuse(value, errors, explainer)
            if checked is None
            else self._refuse(repaired[0], checked, explainer)
        )

    def _explain_first(
        self, raw: str, value: JSONValue, error: ValidationError, explainer: Explainer
    ) -> Validation:
        """List only the problems at which a validator that stops early ends."""
        problems = [Problem("", f"{error.error_count()} problems, too many to list")]
        if raw.count(",") < _FEW_COMMAS:  # they are of nested unions, in which it cannot stop early
            return explainer.invalid(problems)
        try:
            self._fail_fast_validator()(raw)
        except ValidationError as first:
            if first.error_count() <= _MAX_ERRORS:
                problems += to_problems(error_details(first), value, explainer, self.known_problems)
        return explainer.invalid(problems)

    def _recheck(self, text: str) -> ValidArguments | list[ErrorDetails] | None:
        """Check a text that was repaired, or made as an example; None if it could take too long."""
        try:
            if self.bound is not None and self.bound.exceeds(read_json(text), text, _MAX_STEPS):
                return None
            given = self.run(text)
            return ValidArguments(given if self.finish is None else self.finish(given), ())
        except ValidationError as error:
            return error_details(error) if error.error_count() <= _MAX_ERRORS else None
        except Exception:  # noqa: BLE001 -- as above; then the arguments stay invalid
            return None

    def _refuse(self, value: JSONValue, errors: list[ErrorDetails], explainer: Explainer) -> Validation:
        known = self.known_problems
        lines = recall_lines(errors, known)
        if lines is None:
            return explainer.invalid(to_problems(errors, value, explainer, known))
        return explainer.invalid_lines(lines, lambda: recall_problems(lines, errors, known))
