"""What a tool takes and what it gives back: a JSON Schema and the check that goes with it.

Knows no engine; each engine makes contracts.
"""

from collections.abc import Callable

from toolhaft.schema.json_value import JSONObject
from toolhaft.schema.problems import InvalidArguments, ValidArguments

Check = Callable[[object], str | None]
"""None if a value fits, else what is wrong with it."""
Write = Callable[[object], str | None]
"""The JSON text of a value that fits, empty where it is not written yet; None: only Check can say."""
Validate = Callable[[object], ValidArguments | InvalidArguments]


Read = Callable[[object], object]
"""The parameters themselves where all is plain, else the verdict that Validate would give."""


class Contract:
    """A tool's input: its JSON Schema, and `validate` for raw text or an object."""

    __slots__ = ("_make", "json_schema", "read", "validate")

    def __init__(self, json_schema: JSONObject, make: Callable[[object], tuple[Validate, Read]]) -> None:
        self.json_schema = json_schema
        self.validate, self.read = make(None)
        self._make = make

    def with_example(self, example: object) -> "Contract":
        """The same contract, whose messages show this example in place of one made from the schema."""
        return Contract(self.json_schema, lambda other: self._make(example if other is None else other))


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
