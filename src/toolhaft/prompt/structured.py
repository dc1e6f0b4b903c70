"""The shape that a prompt wants its answer in, and the check that goes with it.

Knows types; does not know how a provider is asked for it.
"""

from __future__ import annotations

import re
from dataclasses import make_dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar, cast, get_args, get_origin

from toolhaft import schema
from toolhaft.errors import DefinitionError, PromptEvaluationError, PromptValidationError
from toolhaft.schema.json_value import JSONObject

if TYPE_CHECKING:  # a variable with a default came with Python 3.13
    from typing_extensions import TypeVar as DefaultTypeVar

    OutputT = DefaultTypeVar("OutputT", default=Any)
else:
    OutputT = TypeVar("OutputT")

_FENCE: Final = re.compile(r"^[ \t]*```[^\n`]*$", re.MULTILINE)
_MOST_BLOCKS: Final = 50
_IN_LINE: Final = re.compile(r"```([^\n`]*+)```")


class StructuredOutput(Generic[OutputT]):
    """A type that the model's answer must have: one object, or a list of them.

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
                f"structured_output: {_name(type)} is no type of an answer. "
                "Fix: give a dataclass, a Pydantic model, a TypedDict, or a list of one of them"
            ) from error

    @property
    def json_schema(self) -> JSONObject:
        """What a provider is told; its root is an object, so a list stands under `items`."""
        return self._contract.json_schema

    def parse(self, text: str) -> OutputT:
        """The answer in this text: all of it, or the last fenced block in it that is the answer.

        A list may stand alone, or under `items`.

        Raises:
            PromptEvaluationError: where there is none, saying what is wrong with it.
        """
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- what a provider gave
            raise PromptEvaluationError(f"there is no answer to read, but {text!r:.60}")
        blocks = _blocks(text)
        verdicts = [self._read(candidate) for candidate in (text, *reversed(blocks))]
        verdict = next((one for one in verdicts if isinstance(one, schema.ValidArguments)), None)
        if verdict is None:
            told = cast("schema.InvalidArguments", verdicts[1 if blocks else 0])
            problems = "; ".join(str(problem) for problem in told.problems)
            raise PromptEvaluationError(f"the answer is no {_name(self.type)}: {problems or told.message}")
        params = verdict.params
        return cast("OutputT", getattr(params, "items") if self.container == "array" else params)  # noqa: B009 -- of a class that is made here

    def _read(self, text: str) -> schema.ValidArguments | schema.InvalidArguments:
        text = text.strip().removeprefix("\ufeff")
        if self.container == "array" and text.startswith("["):
            text = f'{{"items":{text}}}'
        return self._contract.validate(text)

    def __repr__(self) -> str:
        return f"<StructuredOutput {_name(self.type)}>"


def _blocks(text: str) -> list[str]:
    """What stands between fences, which may be the answer: the newest of it last, and what is likeliest.

    A fence begins a line, as a rule; one that does not may stand in a text within the answer.
    """
    plain = text.replace("\r\n", "\n")
    lines = list(_FENCE.finditer(plain))
    between = [plain[one.end() : other.start()] for one, other in pairwise(lines)]
    anywhere = [part.partition("\n")[2] for part in plain.split("```")[1:] if "\n" in part]
    in_line = [found[1].removeprefix("json") for found in _IN_LINE.finditer(plain)]
    return [*in_line[-_MOST_BLOCKS:], *anywhere[-_MOST_BLOCKS:], *between[-_MOST_BLOCKS:]]


def _name(type: object) -> str:
    inner = ", ".join(map(_name, get_args(type)))
    name = getattr(type, "__name__", repr(type))
    return f"{name}[{inner}]" if inner else str(name)
