"""Checks arguments against Python types, with one precompiled pydantic-core validator a tool.

Knows core schemas and JSON text; does not know functions, tools or raw JSON Schemas.
"""

import typing
from collections.abc import Callable, Mapping
from typing import Any, cast

from pydantic_core import ErrorDetails, SchemaError, SchemaValidator, ValidationError
from pydantic_core.core_schema import CoreSchema

from toolhaft.errors import DefinitionError
from toolhaft.schema.annotations import Builder
from toolhaft.schema.contract import Contract, OutputContract, Read, Validate
from toolhaft.schema.explainer import Explainer, Verdict
from toolhaft.schema.json_text import (
    LONGEST_TEXT,
    MANY_COMMAS,
    SHORT_TEXT,
    has_repeated_key,
    keys_in_text,
    read_json,
)
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.key_count import key_count
from toolhaft.schema.problems import Problem, ValidArguments
from toolhaft.schema.raw import output_checks_of
from toolhaft.schema.records import (
    Field,
    Fields,
    build_fields,
    build_record,
    dataclass_fields,
    is_plain_dataclass,
    is_typed_dict,
    typed_dict_fields,
)
from toolhaft.schema.strict_core import STRICT, by_name, core
from toolhaft.schema.tighten import hasten
from toolhaft.schema.typed_problems import (
    Memory,
    details,
    has_union,
    is_repairable,
    read_errors,
    recall_lines,
)

Finish = Callable[[Any], object]
_MOST_ERRORS = 100_000


def new_builder(names: Mapping[str, object] | None = None) -> Builder:
    """A builder that knows every kind of type, and the local names that annotations in text may use."""
    return Builder(build_record, names=names)


def compile_fields(
    builder: Builder, fields: list[Field], make: Callable[..., object] | None = None
) -> Contract:
    """The contract of named fields; `make` turns them into what the handler takes, a dict if it is None."""
    built = build_fields(builder, fields)
    return _compile(builder, built.core, built.json, _finisher(built, make))


def compile_type(params_type: object) -> Contract:
    """The contract of the typed door's Params: a dataclass, a TypedDict, a Pydantic model or None.

    Raises:
        DefinitionError: for any other type.
    """
    builder = new_builder()
    if params_type is None or params_type is type(None):
        return compile_fields(builder, [], lambda: None)
    cls: object = typing.get_origin(params_type) or params_type
    if not isinstance(cls, type):
        raise _not_params(params_type)
    if is_plain_dataclass(cls) and typing.get_origin(params_type) is None:
        return compile_fields(builder, dataclass_fields(cls, builder.names), cls)
    if is_typed_dict(cls):
        built = build_fields(builder, typed_dict_fields(cls, builder.names))
        return _compile(builder, built.core, built.json, None)
    if hasattr(cls, "__pydantic_validator__") or hasattr(cls, "__dataclass_fields__"):
        schema, json = builder.build(params_type)
        if isinstance(json.get("$ref"), str):  # a recursive one: its own definition is the root
            name = cast("str", json["$ref"]).removeprefix("#/$defs/")
            json = cast("JSONObject", builder.json_defs[name])
        if json.get("type") == "object":
            return _compile(builder, schema, json, None)
    raise _not_params(params_type)


def _not_params(params_type: object) -> DefinitionError:
    word = getattr(params_type, "__name__", str(params_type))
    return DefinitionError(
        f"{word} cannot be a tool's parameters",
        place="Params",
        fix="use a dataclass, a Pydantic model, a TypedDict or None",
    )


def compile_type_output(result_type: object, names: Mapping[str, object] | None = None) -> OutputContract:
    """The contract of a result type."""
    builder = Builder(build_record, "serialization", names)
    _, json = builder.build(result_type)
    schema = _with_defs(json, builder.json_defs)
    return OutputContract(schema, lambda: output_checks_of(schema))


def _with_defs(json: JSONObject, defs: JSONObject) -> JSONObject:
    return {**json, "$defs": defs} if defs else json


def _finisher(built: Fields, make: Callable[..., object] | None) -> Finish | None:
    """What is left to do with the given fields: put the defaults in, or let the constructor do it."""
    if make is not None:
        return by_name(make)
    defaults, factories = built.defaults, built.factories
    if not defaults and not factories:
        return None
    # in the order of the signature; what is required is always there to take its place
    template = {name: defaults.get(name) for name in built.names}
    total = len(template)

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
    try:
        # not prebuilt: a model's own validator is less strict than the schema that was tightened
        validator = SchemaValidator(schema, STRICT, _use_prebuilt=False)
    except SchemaError as error:
        raise _uncheckable(schema, error) from error
    engine = _Engine(validator, schema, finish)
    root = _with_defs(json, builder.json_defs)

    def make(example: object) -> tuple[Validate, Read]:
        explainer = Explainer(root, example)
        return engine.validate_for(explainer), engine.read_for(explainer)

    return Contract(root, make)


def _uncheckable(schema: CoreSchema, error: SchemaError) -> DefinitionError:
    """Which parameter the engine cannot check, and the last thing that it said about it."""
    inner = schema["schema"] if schema["type"] == "definitions" else schema
    fields = cast("dict[str, dict[str, CoreSchema]]", cast("dict[str, object]", inner).get("fields", {}))
    place, said = "", error
    for name, field in fields.items():
        try:
            SchemaValidator(field["schema"], STRICT, _use_prebuilt=False)
        except SchemaError as own:
            place, said = f"parameter {name!r}", own
            break
    last = str(said).strip().splitlines()[-1].strip()
    return DefinitionError(
        f"its pattern or bound cannot be checked: {last:.200}",
        place=place,
        fix="use a pattern without lookaround or backreferences, and bounds of the parameter's own type",
    )


class _Engine:
    """One tool's validator, with the roads that lead off the fast one."""

    __slots__ = ("count", "finish", "has_union", "is_recursive", "memory", "run", "run_hastily", "schema")

    def __init__(self, validator: SchemaValidator, schema: CoreSchema, finish: Finish | None) -> None:
        self.run = cast("Callable[[object], object]", validator.validate_json)
        self.count = key_count(schema)
        self.schema = schema
        self.has_union: bool | None = None
        # a tagged union goes straight to its branch, however deep
        self.is_recursive = schema["type"] == "definitions" and has_union(schema, ("union",))
        self.run_hastily: Callable[[object], object] | None = None
        self.finish = finish
        self.memory: Memory = {}

    def validate_for(self, explainer: Explainer) -> Validate:
        """The `validate` of a tool: fast where all is well, thorough where it is not."""
        made = self._fast(explainer, wraps=True)
        made = explainer.bounded(made) if self.is_recursive else made
        explainer.check = made
        explainer.accepts = lambda text: self._recheck(text) is not None
        return made

    def read_for(self, explainer: Explainer) -> Read:
        """The same for the road of a call, which needs no verdict around what is plainly valid."""
        made = self._fast(explainer, wraps=False)
        return explainer.bounded(made) if self.is_recursive else made

    def _fast(self, explainer: Explainer, *, wraps: bool) -> Any:  # noqa: ANN401 -- a Validate or a Read
        if isinstance(self.count, int) and self.finish is None:
            return self._plain(explainer, wraps=wraps)
        return self._general(explainer, wraps=wraps)

    def _plain(self, explainer: Explainer, *, wraps: bool) -> Read:
        """For a fixed number of keys and nothing to finish: the least that can be done."""
        run, count = self.run, self.count

        def validate(raw: Any) -> object:  # noqa: ANN401 -- text, bytes or an object
            try:
                if len(raw) <= SHORT_TEXT:
                    params = run(raw)
                    if raw.count(":") == count:
                        return ValidArguments(params, ()) if wraps else params
                    return self._settle(raw, params, explainer)
            except ValidationError as error:
                return self._explain(raw, error, explainer)
            except Exception as error:  # noqa: BLE001 -- a model's own validator may raise anything; validate never does
                return explainer.other(raw, error)
            return self._long(raw, explainer)

        return validate

    def _general(self, explainer: Explainer, *, wraps: bool) -> Read:
        run = self.run
        count = self._counter()
        finish = self.finish or _as_is

        def validate(raw: Any) -> object:  # noqa: ANN401 -- text, bytes or an object
            try:
                if len(raw) <= SHORT_TEXT:
                    given = run(raw)
                    if raw.count(":") == count(given):
                        return ValidArguments(finish(given), ()) if wraps else finish(given)
                    return self._settle(raw, given, explainer)
            except ValidationError as error:
                return self._explain(raw, error, explainer)
            except Exception as error:  # noqa: BLE001 -- as above; a dataclass's own checks run here too
                return explainer.other(raw, error)
            return self._long(raw, explainer)

        return validate

    def _long(self, raw: Any, explainer: Explainer) -> Verdict:  # noqa: ANN401 -- text, bytes or an object
        """A long text: one of many members by a validator that gives up early, since problems cost memory."""
        if not isinstance(raw, str) or len(raw) > LONGEST_TEXT:
            return explainer.other(raw, None)
        run = self._hasty() if raw.count(",") > MANY_COMMAS else self.run
        try:
            return self._settle(raw, run(raw), explainer)
        except ValidationError as error:
            return self._explain(raw, error, explainer)
        except Exception as error:  # noqa: BLE001 -- as above
            return explainer.other(raw, error)

    def _hasty(self) -> Callable[[object], object]:
        if self.run_hastily is None:
            hasty = SchemaValidator(hasten(self.schema), STRICT, _use_prebuilt=False)
            self.run_hastily = cast("Callable[[object], object]", hasty.validate_json)
        return self.run_hastily

    def _counter(self) -> Callable[[Any], int]:
        count = self.count
        if callable(count):
            return count
        fixed = -1 if count is None else count  # no text has -1 colons, so that it is read again
        return lambda _: fixed

    def _settle(self, raw: str, given: object, explainer: Explainer) -> Verdict:
        """Colons and keys differ in number: a colon in a string, hidden keys, or a repeated one."""
        count = self.count(given) if callable(self.count) else self.count
        if keys_in_text(raw) != count and has_repeated_key(raw, read_json(raw)):
            return explainer.invalid(explainer.repeated(raw))
        return ValidArguments(given if self.finish is None else self.finish(given), ())

    def _explain(self, raw: object, error: ValidationError, explainer: Explainer) -> Verdict:
        if not isinstance(raw, str):
            return explainer.other(raw, error)
        try:
            value = read_json(raw)
        except ValueError as trouble:
            return explainer.not_json(f"{trouble!s:.200}")
        if error.error_count() > _MOST_ERRORS:
            return explainer.invalid([Problem("", f"{error.error_count()} problems, too many to tell")])
        errors = details(error)
        if has_repeated_key(raw, value):
            problems = read_errors(errors, value, explainer, self.memory)
            return explainer.invalid(problems + explainer.repeated(raw))
        return self._repaired(value, errors, explainer) or self._tell(value, errors, explainer)

    def _repaired(
        self, value: JSONValue, errors: list[ErrorDetails], explainer: Explainer
    ) -> ValidArguments | None:
        if self.has_union is None:
            self.has_union = has_union(self.schema)
        if not is_repairable(errors, has_union=self.has_union):
            return None
        return explainer.repaired(value, self._recheck)

    def _recheck(self, text: str) -> ValidArguments | None:
        try:
            given = self.run(text)
            return ValidArguments(given if self.finish is None else self.finish(given), ())
        except Exception:  # noqa: BLE001 -- as above; then the first verdict stands
            return None

    def _tell(self, value: JSONValue, errors: list[ErrorDetails], explainer: Explainer) -> Verdict:
        lines = recall_lines(errors, self.memory)
        if lines is None:
            return explainer.invalid(read_errors(errors, value, explainer, self.memory))
        return explainer.told(lines, lambda: read_errors(errors, value, explainer, self.memory))


def _as_is(given: object) -> object:
    return given
