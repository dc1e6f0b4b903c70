"""What a tool takes and what it gives back: a JSON Schema and the check that goes with it.

Knows no engine; each engine makes contracts.
"""

from collections.abc import Callable

from toolhaft.schema.json_value import JSONObject
from toolhaft.schema.problems import InvalidArguments, ValidArguments

Validate = Callable[[object], ValidArguments | InvalidArguments]


class Contract:
    """A tool's input: its JSON Schema, and `validate` for raw text or an object."""

    __slots__ = ("_make", "json_schema", "validate")

    def __init__(self, json_schema: JSONObject, make: Callable[[object], Validate]) -> None:
        self.json_schema = json_schema
        self.validate = make(None)
        self._make = make

    def with_example(self, example: object) -> "Contract":
        """The same contract, whose messages show this example in place of one made from the schema."""
        return Contract(self.json_schema, lambda other: self._make(example if other is None else other))


class OutputContract:
    """A tool's output: its JSON Schema, and a check that is compiled when first needed."""

    __slots__ = ("_check", "_compile", "json_schema")

    def __init__(
        self,
        json_schema: JSONObject | bool,  # noqa: FBT001 -- a JSON Schema may be a boolean
        compile_check: Callable[[], Callable[[object], str | None]],
    ) -> None:
        self.json_schema = json_schema
        self._compile = compile_check
        self._check: Callable[[object], str | None] | None = None

    def check(self, value: object) -> str | None:
        """None if the value fits, else what is wrong with it."""
        if self._check is None:
            self._check = self._compile()
        return self._check(value)
