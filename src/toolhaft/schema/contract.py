"""What a tool takes and what it gives back: a JSON Schema and the check that goes with it.

Knows no engine; each engine makes contracts.
"""

from collections.abc import Callable, Mapping
from typing import Final, cast

from toolhaft.errors import DefinitionError
from toolhaft.schema.json_value import JSONObject
from toolhaft.schema.nearest import nearest
from toolhaft.schema.problems import InvalidArguments, ValidArguments

Check = Callable[[object], str | None]
"""None if a value fits, else what is wrong with it."""
Write = Callable[[object], str | None]
"""The JSON text of a value that fits, empty where it is not written yet; None: only Check can say."""
Validate = Callable[[object], ValidArguments | InvalidArguments]


Read = Callable[[object], object]
"""The parameters themselves where all is plain, else the verdict that Validate would give."""
_MOST_LISTED: Final = 12


class Contract:
    """A tool's input: its JSON Schema, and `validate` for raw text or an object."""

    __slots__ = ("_make", "example", "json_schema", "read", "validate")

    def __init__(
        self,
        json_schema: JSONObject,
        make: Callable[[object], tuple[Validate, Read]],
        example: object = None,
    ) -> None:
        self.json_schema = json_schema
        self.example = example
        self.validate, self.read = make(example)
        self._make = make

    def with_example(self, example: object) -> "Contract":
        """The same contract, whose messages show this example; None: one made from the schema."""
        return Contract(self.json_schema, self._make, example)

    def with_descriptions(self, words: Mapping[str, str]) -> "Contract":
        """The same contract, whose schema describes these parameters in other words; it checks as before.

        Raises:
            DefinitionError: for a parameter that is not there, or cannot be described so.
        """
        properties = dict(cast("JSONObject", self.json_schema.get("properties", {})))
        for name, text in words.items():
            properties[name] = {**_describable(properties, name, text), "description": text}
        # a new schema around the old parts: this one may be in use by others
        return Contract({**self.json_schema, "properties": properties}, self._make, self.example)


def _describable(properties: JSONObject, name: str, text: object) -> JSONObject:
    """The schema of a parameter that can take this text for its description."""
    place = f"parameter {name!r:.80}"
    if name not in properties:
        close = nearest(name, properties)
        known = ", ".join(list(properties)[:_MOST_LISTED]) or "none"
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
    """A tool's output: its JSON Schema, and checks that are compiled when first needed."""

    __slots__ = ("_compile", "_made", "json_schema")

    def __init__(
        self,
        json_schema: JSONObject | bool,  # noqa: FBT001 -- a JSON Schema may be a boolean
        compile_checks: Callable[[], tuple[Check, Write]],
    ) -> None:
        self.json_schema = json_schema
        self._compile = compile_checks
        self._made: tuple[Check, Write] | None = None

    def check(self, value: object) -> str | None:
        """None if the value fits, else what is wrong with it."""
        return self._checks()[0](value)

    @property
    def write(self) -> Write:
        """The quick check, which writes the value on the way."""
        return self._checks()[1]

    def _checks(self) -> tuple[Check, Write]:
        if self._made is None:
            self._made = self._compile()
        return self._made
