"""What the parts of a tool must be, whichever door they come through.

Does not know the Tool class; it asks here before it takes a part.
"""

from __future__ import annotations

import re
from typing import Final, cast

from toolhaft import schema
from toolhaft.core.example import ToolExample
from toolhaft.errors import DefinitionError

_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}")
_LONGEST_EXAMPLE_TEXT: Final = 200  # in the typed door, as seed 003 has it


def check_words(name: object, description: object, handler: object) -> None:
    """The core's rules: a name that every wire can carry or rename, something said, something to call."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise DefinitionError(
            f"{name!r:.140} is not a tool name",
            place="name",
            fix="use 1 to 128 letters, digits, '_', '-' or '.', not starting with '.'",
        )
    if not isinstance(description, str) or not description.strip():
        raise DefinitionError(
            "there is no description", place="description", fix="write a docstring, or give description='...'"
        )
    if handler is not None and not callable(handler):
        raise DefinitionError(
            f"the handler {handler!r:.80} cannot be called", place="handler", fix="give a function"
        )


def refuse_schemas(*schemas: object) -> None:
    """The typed door takes no schemas beside its types."""
    if any(given is not None for given in schemas):
        raise DefinitionError(
            "a typed tool takes its schemas from its types",
            place="input_schema",
            fix="leave the schemas out, or leave the types out: Tool(input_schema=...)",
        )


def check_idempotency(names: object, contract: schema.Contract) -> None:
    """The arguments that make a key exist."""
    for name in cast("tuple[str, ...]", names):
        if name not in cast("dict[str, object]", contract.json_schema.get("properties", {})):
            raise DefinitionError(
                f"{name!r} is not a parameter", place="idempotency", fix="name parameters of the tool"
            )


def check_examples(
    examples: tuple[ToolExample[object, object], ...],
    params_type: object,
    contract: schema.Contract,
    output: schema.OutputContract | None,
) -> None:
    """Every example fits the tool's input and output, and in the typed door its Params."""
    for number, example in enumerate(examples, 1):
        place = f"example {number}"
        if params_type is not ... and len(example.description) > _LONGEST_EXAMPLE_TEXT:
            raise DefinitionError(
                "the description is longer than 200 characters", place=place, fix="shorten it"
            )
        if isinstance(params_type, type) and _is_instance_of_another(example.input, params_type):
            raise DefinitionError(
                f"the input is a {type(example.input).__name__}, not a {params_type.__name__}", place=place
            )
        verdict = contract.validate(example.input if example.input is not None else {})
        if isinstance(verdict, schema.InvalidArguments):
            lines = "; ".join(str(problem) for problem in verdict.problems)
            raise DefinitionError(f"the input is not valid: {lines}", place=place)
        if verdict.repairs:
            raise DefinitionError(
                f"the input is not as the schema wants it: {verdict.repairs[0]}", place=place
            )
        trouble = output.check(example.output) if output is not None and example.output is not None else None
        if trouble is not None:
            raise DefinitionError(f"the output is not valid: {trouble}", place=place)


def _is_instance_of_another(value: object, wanted: type) -> bool:
    """True for a typed object of the wrong class; plain data is left to the validator."""
    if value is None or isinstance(value, dict | list | str | int | float):
        return False
    return hasattr(wanted, "__annotations__") and not isinstance(value, wanted)
