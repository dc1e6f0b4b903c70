"""The contract of a tool's input and output: a JSON Schema and the check that belongs to it."""

from collections.abc import Callable, Mapping
from typing import Final, Protocol, cast

from toolhaft.errors import DefinitionError
from toolhaft.schema.json_schema import argument_schemas
from toolhaft.schema.json_value import JSONObject
from toolhaft.schema.nearest import nearest
from toolhaft.schema.problems import InvalidArguments, ValidArguments
from toolhaft.schema.work import DIRECT_STEPS, INLINE_STEPS

OutputCheck = Callable[[object, int], str | None]
"""Returns None for a valid value, else what is wrong with it; the number is the most steps it may take."""
OutputWriter = Callable[[object], str | None]
"""Returns the JSON text of a valid value, "" for a string; None if only OutputCheck can decide."""
Validate = Callable[[object], ValidArguments | InvalidArguments]
Read = Callable[[object], object]
"""Returns the parameters themselves if nothing was repaired, else the result that Validate returns."""
_MAX_LISTED: Final = 12


class Defaults(Protocol):
    """The defaults of a tool's arguments."""

    @property
    def varies(self) -> bool:
        """True if a default may differ at each use: a new id, or the current time."""
        ...

    def add(self, given: JSONObject) -> JSONObject:
        """Add the defaults to the JSON of valid arguments; one that JSON cannot hold is left out."""
        ...

    def read_once(self, raw: object, validate: Validate) -> ValidArguments | InvalidArguments:
        """Validate with each default computed once; the result has its `checked` JSON."""
        ...


class Contract:
    """A tool's input: its JSON Schema, and `validate` for raw text or an object."""

    __slots__ = ("_make", "defaults", "example", "json_schema", "may_hold_secrets", "read", "validate")

    def __init__(
        self,
        json_schema: JSONObject,
        make: Callable[[JSONObject, object], tuple[Validate, Read]],
        defaults: Defaults,
        example: object = None,
        *,
        may_hold_secrets: bool = True,
    ) -> None:
        self.json_schema = json_schema
        self.may_hold_secrets = may_hold_secrets
        self.defaults = defaults
        self.example = example
        self.validate, self.read = make(json_schema, example)
        self._make = make

    def read_once(self, raw: object) -> ValidArguments | InvalidArguments:
        """Validate with each default computed once: it is the same in the JSON and in the parameters."""
        return self.defaults.read_once(raw, self.validate)

    def with_schema(self, json_schema: JSONObject) -> "Contract":
        """Return the contract with another schema to show; its checks and defaults do not change."""
        return Contract(json_schema, self._make, self.defaults, self.example)

    def with_example(self, example: object) -> "Contract":
        """Return the contract with another example for its messages; None for one made from the schema."""
        return Contract(self.json_schema, self._make, self.defaults, example)

    def with_descriptions(self, descriptions: Mapping[str, str]) -> "Contract":
        """Return the contract with other descriptions of these parameters; its checks do not change.

        Raises:
            DefinitionError: for an unknown parameter, or a description that is not text.
        """
        known = argument_schemas(self.json_schema)
        properties = dict(cast("JSONObject", self.json_schema.get("properties", {})))
        for name, text in descriptions.items():
            described = _schema_to_describe(known, name, text)
            properties[name] = {**(described if name in properties else {}), "description": text}
        # a new schema: this one may be in use elsewhere
        return self.with_schema({**self.json_schema, "properties": properties})


def _schema_to_describe(properties: JSONObject, name: str, text: object) -> JSONObject:
    """Return the schema of a parameter that can have this description."""
    place = f"parameter {name!r:.80}"
    if name not in properties:
        close = nearest(name, properties)
        known = ", ".join(list(properties)[:_MAX_LISTED]) or "none"
        fix = f"did you mean {close!r}?" if close else f"the parameters are: {known}"
        raise DefinitionError("there is no such parameter", place=place, fix=fix)
    if not isinstance(text, str) or not text.strip():
        raise DefinitionError("the description is not text", place=place, fix="write at least a word")
    schema = properties[name]
    if not isinstance(schema, dict):
        raise DefinitionError(
            "its schema is a boolean, which has no place for a description",
            place=place,
            fix="define the parameter with a type",
        )
    return schema


class OutputContract:
    """A tool's output: its JSON Schema, and checks that are compiled when first used."""

    __slots__ = ("_compile", "_made", "json_schema", "max_steps")

    def __init__(
        self,
        json_schema: JSONObject | bool,  # noqa: FBT001 -- a JSON Schema may be a boolean
        compile_checks: Callable[[], tuple[OutputCheck, OutputWriter]],
        max_steps: int = DIRECT_STEPS,
    ) -> None:
        self.json_schema = json_schema
        self.max_steps = max_steps
        self._compile = compile_checks
        self._made: tuple[OutputCheck, OutputWriter] | None = None

    def check(self, value: object, *, on_loop: bool = False) -> str | None:
        """Return None for a valid value, else what is wrong with it; it gives up sooner on an event loop."""
        return self._checks()[0](value, INLINE_STEPS if on_loop else self.max_steps)

    @property
    def write(self) -> OutputWriter:
        """The fast check, which also writes the value as JSON."""
        return self._checks()[1]

    def with_description(self, text: str) -> "OutputContract":
        """Return the contract with a description in its schema, if it has none; its checks do not change."""
        schema = self.json_schema
        if not text or not isinstance(schema, dict) or "description" in schema:
            return self
        # a new schema: this one may be in use elsewhere
        return OutputContract({**schema, "description": text}, self._checks, self.max_steps)

    def _checks(self) -> tuple[OutputCheck, OutputWriter]:
        if self._made is None:
            self._made = self._compile()
        return self._made
