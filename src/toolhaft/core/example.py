"""An example of a call of a tool; the tool checks that it fits when it is compiled."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Generic, TypeVar, cast

from toolhaft.errors import DefinitionError

InputT = TypeVar("InputT")
OutputT = TypeVar("OutputT")

_FIELDS = frozenset(("description", "input", "output"))


class ToolExample(Generic[InputT, OutputT]):
    """Arguments that a caller might send and, if known, the value that is returned.

    Not a dataclass: `from toolhaft import tool` loads this file, and dataclasses load `inspect`.
    """

    __slots__ = ("description", "input", "output")

    description: str
    input: InputT
    output: OutputT | None

    def __init__(self, *, description: str = "", input: InputT, output: OutputT | None = None) -> None:
        self.description = description
        self.input = input
        self.output = output

    @staticmethod
    def read(value: object) -> ToolExample[object, object]:
        """Read a ToolExample, or a mapping with `input` and perhaps `output` and `description`."""
        if isinstance(value, ToolExample):
            given = cast("ToolExample[object, object]", value)
            return _copied(given.description, given.input, given.output)
        if not isinstance(value, Mapping) or "input" not in value:
            raise DefinitionError(
                f"an example must be a ToolExample or a mapping with 'input', not {value!r:.80}",
                place="examples",
                fix="write ToolExample(input={...}, output=...)",
            )
        fields = cast("Mapping[str, object]", value)
        unknown = sorted(set(fields) - _FIELDS)
        if unknown:
            raise DefinitionError(
                f"an example has no field {unknown[0]!r}",
                place="examples",
                fix="use description, input and output",
            )
        return _copied(fields.get("description", ""), fields["input"], fields.get("output"))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolExample):
            return NotImplemented
        another = cast("ToolExample[object, object]", other)
        return (self.description, self.input, self.output) == (
            another.description,
            another.input,
            another.output,
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- inputs are mostly dictionaries

    def __repr__(self) -> str:
        return f"ToolExample(description={self.description!r}, input={self.input!r}, output={self.output!r})"


def _copied(description: object, given: object, output: object) -> ToolExample[object, object]:
    """A deep copy, so that later changes by its author do not change the checked tool."""
    if not isinstance(description, str):
        raise DefinitionError(
            f"the description of an example must be text, not {description!r:.80}", place="examples"
        )
    return ToolExample(description=description, input=deepcopy(given), output=deepcopy(output))
