"""The type of a prompt's answer: its JSON Schema, and the parser of a model's answer."""

from __future__ import annotations

import re
from dataclasses import make_dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar, cast, get_args, get_origin

from toolhaft import schema
from toolhaft.errors import DefinitionError, PromptEvaluationError, PromptValidationError
from toolhaft.schema.json_value import JSONObject

if TYPE_CHECKING:  # TypeVar defaults came with Python 3.13
    from typing_extensions import TypeVar as DefaultTypeVar

    OutputT = DefaultTypeVar("OutputT", default=Any)
else:
    OutputT = TypeVar("OutputT")

_FENCE: Final = re.compile(r"^[ \t]*```[^\n`]*$", re.MULTILINE)
_MAX_BLOCKS: Final = 50
_IN_LINE: Final = re.compile(r"```([^\n`]*+)```")


class StructuredOutput(Generic[OutputT]):
    """The type of the model's answer: one object, or a list of objects.

    Args:
        type: a dataclass, a Pydantic model, a TypedDict, or a list of one of them.

    Raises:
        PromptValidationError: for any other type.
    """

    def __init__(self, type: object) -> None:
        self.type = type
        self.container: Literal["object", "array"] = "array" if get_origin(type) is list else "object"
        wanted = make_dataclass("Items", [("items", type)]) if self.container == "array" else type
        try:
            self._contract = schema.compile_type(wanted)
        except DefinitionError as error:
            raise PromptValidationError(
                f"structured_output: {_name(type)} cannot be the type of an answer. "
                "Fix: give a dataclass, a Pydantic model, a TypedDict, or a list of one of them"
            ) from error

    @property
    def json_schema(self) -> JSONObject:
        """The JSON Schema for a provider; its root is an object, so a list is under `items`."""
        return self._contract.json_schema

    def parse(self, text: str) -> OutputT:
        """The answer in a text: all of it, or the last fenced block that is valid.

        A list may be given alone, or under `items`.

        Raises:
            PromptEvaluationError: if there is no valid answer; names the problems.
        """
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise PromptEvaluationError(f"the answer is not text but {text!r:.60}")
        blocks = _blocks(text)
        verdicts = [self._read(candidate) for candidate in (text, *reversed(blocks))]
        verdict = next((one for one in verdicts if isinstance(one, schema.ValidArguments)), None)
        if verdict is None:
            first = cast("schema.InvalidArguments", verdicts[1 if blocks else 0])
            problems = "; ".join(str(problem) for problem in first.problems) or first.message
            raise PromptEvaluationError(f"the answer is not of type {_name(self.type)}: {problems}")
        params: Any = verdict.params
        return cast("OutputT", params.items if self.container == "array" else params)

    def _read(self, text: str) -> schema.ValidArguments | schema.InvalidArguments:
        text = text.strip().removeprefix("\ufeff")
        if self.container == "array" and text.startswith("["):
            text = f'{{"items":{text}}}'
        return self._contract.validate(text)

    def __repr__(self) -> str:
        return f"<StructuredOutput {_name(self.type)}>"


def _blocks(text: str) -> list[str]:
    """The texts between code fences that may be the answer, the most likely last.

    Most likely are fences at the start of a line: any other may be part of a string in the answer.
    """
    plain = text.replace("\r\n", "\n")
    lines = list(_FENCE.finditer(plain))
    between = [plain[one.end() : other.start()] for one, other in pairwise(lines)]
    anywhere = [part.partition("\n")[2] for part in plain.split("```")[1:] if "\n" in part]
    in_line = [found[1].removeprefix("json") for found in _IN_LINE.finditer(plain)]
    return [*in_line[-_MAX_BLOCKS:], *anywhere[-_MAX_BLOCKS:], *between[-_MAX_BLOCKS:]]


def _name(type: object) -> str:
    inner = ", ".join(map(_name, get_args(type)))
    name = getattr(type, "__name__", repr(type))
    return f"{name}[{inner}]" if inner else str(name)
