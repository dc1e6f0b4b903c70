"""Checks the parts of a tool, and reads the signature of a typed handler."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Coroutine
from functools import lru_cache
from types import FunctionType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Final,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from toolhaft import schema
from toolhaft.core.content import PART_TYPES
from toolhaft.core.example import ToolExample
from toolhaft.core.result import ToolResult
from toolhaft.errors import DefinitionError
from toolhaft.schema.json_schema import holds_secret

if TYPE_CHECKING:  # at run time it would load `dataclasses` and `inspect` with every `import toolhaft`
    from toolhaft.core.context import ToolContext

ParamsT_contra = TypeVar("ParamsT_contra", contravariant=True)
ResultT = TypeVar("ResultT")

_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}")
_TYPED_NAME: Final = re.compile(r"[a-z0-9_-]{1,64}")
_LONGEST_TYPED_TEXT: Final = 200


def check_texts(name: object, description: object, handler: object) -> None:
    """Check the name, the description and the handler, by the rules for every tool."""
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
    """Refuse schemas for a typed tool, whose types define them."""
    if any(given is not None for given in schemas):
        raise DefinitionError(
            "a typed tool takes its schemas from its types",
            place="input_schema",
            fix="leave the schemas out, or leave the types out: Tool(input_schema=...)",
        )


def check_idempotency(names: object, contract: schema.Contract) -> None:
    """Check that the arguments that make up the idempotency key exist."""
    from toolhaft.schema.json_schema import argument_schemas  # noqa: PLC0415 -- `import toolhaft` need not load it

    for name in cast("tuple[str, ...]", names):
        if name not in argument_schemas(contract.json_schema):
            raise DefinitionError(
                f"{name!r} is not a parameter", place="idempotency", fix="name parameters of the tool"
            )


def with_shown(
    contract: schema.Contract, examples: tuple[ToolExample[object, object], ...]
) -> schema.Contract:
    """The contract with the first example for its messages, and without defaults of secrets in its schema."""
    example = examples[0].input if examples else None
    if contract.may_hold_secrets and holds_secret(contract.json_schema):
        from toolhaft.core import masking  # noqa: PLC0415 -- few tools take secrets: not loaded for the others

        contract = contract.with_schema(masking.hide_secret_defaults(contract.json_schema))
        example = masking.mask_example(contract.json_schema, example)
    return contract if example is None and contract.example is None else contract.with_example(example)


def check_examples(
    examples: tuple[ToolExample[object, object], ...],
    params_type: object,
    contract: schema.Contract,
    output: schema.OutputContract | None,
    where: str = "",
) -> None:
    """Check that every example fits the tool's input and output, and the Params of a typed tool."""
    for number, example in enumerate(examples, 1):
        place = f"{where}example {number}"
        if params_type is not ... and len(example.description) > _LONGEST_TYPED_TEXT:
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
                f"the input does not match the schema exactly: {verdict.repairs[0]}", place=place
            )
        wrong = output.check(example.output) if output is not None and example.output is not None else None
        if wrong is not None:
            raise DefinitionError(f"the output is not valid: {wrong}", place=place)


def _is_instance_of_another(value: object, wanted: type) -> bool:
    """True for a typed object of the wrong class; the validator checks plain data."""
    if value is None or isinstance(value, dict | list | str | int | float):
        return False
    return hasattr(wanted, "__annotations__") and not isinstance(value, wanted)


class ToolHandler(Protocol[ParamsT_contra, ResultT]):
    """A typed handler: takes the parameters and the context, and returns a result."""

    def __call__(self, params: ParamsT_contra, /, *, context: ToolContext) -> ToolResult[ResultT]:
        """Do the work."""
        ...


class AsyncToolHandler(Protocol[ParamsT_contra, ResultT]):
    """A typed handler that is async."""

    def __call__(self, params: ParamsT_contra, /, *, context: ToolContext) -> Awaitable[ToolResult[ResultT]]:
        """Do the work."""
        ...


RawHandler: TypeAlias = Callable[[Any], object] | Callable[Concatenate[Any, ...], object]
"""A handler of a raw tool: takes the arguments as a dictionary, and perhaps a context.

Mypy infers the type of a lambda from the first part only; the second would do for others.
"""


class HandlerSignature(NamedTuple):
    """What the definition of a handler declares about its tool."""

    name: str
    description: str
    params_type: object
    result_type: object
    returns: str


def check_typed_texts(name: object, description: object) -> None:
    """Check the name and the description of a typed tool, whose limits are narrower."""
    if not isinstance(name, str) or not _TYPED_NAME.fullmatch(name):
        raise DefinitionError(
            f"{name!r:.140} is not a typed tool's name",
            place="name",
            fix="use 1 to 64 lowercase letters, digits, '_' or '-'",
        )
    if not isinstance(description, str) or not description.strip() or len(description) > _LONGEST_TYPED_TEXT:
        length = len(description) if isinstance(description, str) else 0
        raise DefinitionError(
            f"the description has {length} characters", place="description", fix="write 1 to 200 characters"
        )


def typed_contracts(
    params_type: object, result_type: object
) -> tuple[schema.Contract, schema.OutputContract | None]:
    """The input and output contracts of `Tool[Params, Result]`."""
    is_json = result_type is not None and result_type is not type(None)
    if is_json and not schema.mentions(result_type, PART_TYPES):
        return schema.compile_type(params_type), schema.compile_type_output(result_type)
    return schema.compile_type(params_type), None


def context_parameter(function: object) -> str | None:
    """The name of the parameter that is annotated with ToolContext, None if there is none."""
    target = function if hasattr(function, "__code__") else getattr(type(function), "__call__", None)  # noqa: B004 -- its annotations are wanted, not whether it can be called
    target = getattr(function, "__func__", target)
    find = _annotated_parameter if target is function else _annotated_parameter_of_method
    try:
        return find(target)
    except (NameError, TypeError, AttributeError):
        return None


def refuse_untyped_context(function: object) -> None:
    """Refuse a handler of a raw tool that wants a context but does not say so: nobody would pass it.

    Raises:
        DefinitionError: for a parameter `context` or `ctx` without an annotation and a default.
    """
    if not isinstance(function, FunctionType):
        return
    code, count = function.__code__, function.__code__.co_argcount
    given = {*code.co_varnames[count - len(function.__defaults__ or ()) : count]}
    given |= {*(function.__kwdefaults__ or ()), *code.co_varnames[:1], *function.__annotations__}
    for name in code.co_varnames[: count + code.co_kwonlyargcount]:
        if name in ("context", "ctx") and name not in given:
            raise DefinitionError(
                "it has no type, so the executor does not pass it",
                place=f"parameter {name!r}",
                fix=f"write {name}: ToolContext",
            )


def _annotated_parameter(target: object) -> str | None:
    from toolhaft.core.context import ToolContext as Context  # noqa: PLC0415 -- see the import at the top

    hints = get_type_hints(target)
    hints.pop("return", None)
    for name, hint in hints.items():
        if hint is Context or Context in get_args(hint):
            return name
    return None


# thousands of YAML tools have handlers of the same few classes
_annotated_parameter_of_method = lru_cache(maxsize=64)(_annotated_parameter)


def read_handler(handler: Callable[..., object]) -> HandlerSignature:
    """Read the name, the docstring, Params and Result of a typed handler.

    Raises:
        DefinitionError: if it is not `handler(params: Params, *, context) -> ToolResult[Result]`.
    """
    name = str(getattr(handler, "__name__", type(handler).__name__))
    try:
        hints = get_type_hints(handler, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        raise DefinitionError(
            f"its annotations cannot be read: {error}", tool=name, fix="import the types that it names"
        ) from error
    returned = hints.pop("return", None)
    if get_origin(returned) in (Awaitable, Coroutine):
        returned = get_args(returned)[-1]
    if get_origin(returned) is not ToolResult:
        raise DefinitionError(
            "it does not return ToolResult[Result]",
            tool=name,
            place="return",
            fix="annotate -> ToolResult[Result]",
        )
    taken = [hint for parameter, hint in hints.items() if parameter != "context"]
    if len(taken) != 1 or "context" not in hints:
        raise DefinitionError(
            f"it takes {len(taken)} annotated parameters and {'a' if 'context' in hints else 'no'} context",
            tool=name,
            fix="write handler(params: Params, *, context: ToolContext) -> ToolResult[Result]",
        )
    (result_type,) = get_args(returned)
    doc = schema.read_docstring(handler.__doc__)
    return HandlerSignature(name, doc.description, taken[0], result_type, doc.returns)
