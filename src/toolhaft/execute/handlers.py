"""How a handler is called, and what its answer is as a result.

Knows the doors' manners; does not know where a handler runs.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from copy import copy
from enum import Enum, auto
from functools import partial
from typing import Any, Final, cast

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.result import ToolResult, plain_result
from toolhaft.define.toolspec import ToolResponse
from toolhaft.errors import ToolError
from toolhaft.execute.failures import failed_error_result
from toolhaft.execute.outcomes import raised
from toolhaft.execute.run import Run
from toolhaft.execute.setup import Setup

PLAIN: Final = frozenset((bool, dict, float, int, list, str, tuple))
"""Values that are results as they are."""


class Kind(Enum):
    """What calling a handler gives."""

    SYNC = auto()
    ASYNC = auto()
    STREAM = auto()
    ASYNC_STREAM = auto()


def kind_of(handler: object) -> Kind:
    """What calling this handler will give."""
    while isinstance(handler, partial):
        handler = cast("object", handler.func)
    candidates = (handler, getattr(type(handler), "__call__", None))  # noqa: B004 -- its kind is wanted, not whether it can be called
    for candidate in candidates:
        if inspect.iscoroutinefunction(candidate):
            return Kind.ASYNC
        if inspect.isasyncgenfunction(candidate):
            return Kind.ASYNC_STREAM
        if inspect.isgeneratorfunction(candidate):
            return Kind.STREAM
    return Kind.SYNC


def binder(tool: AnyTool, setup: Setup) -> Callable[[Run], object]:
    """The function that calls the handler as its door wants it."""
    handler = cast("Callable[..., object]", tool.handler)
    name = tool.context_name
    match tool.takes:
        case "params":
            return lambda run: handler(run.params, context=run.context)
        case "input":
            if name is None:
                return lambda run: handler(run.params)
            return lambda run: handler(run.params, **{name: run.context})
        case "runtime":
            return _with_runtime(tool, setup)
        case "keywords":
            if name is None:
                return lambda run: handler(**run.params)
            return lambda run: handler(**run.params, **{name: run.context})


def _with_runtime(tool: AnyTool, setup: Setup) -> Callable[[Run], object]:
    """Seed 000: `tool(**validated, **runtime_ctx)`; what the host injects wins over what a model says."""
    handler = cast("Callable[..., object]", tool.handler)
    injected = injector(tool, setup)
    name = tool.context_name
    if name is None:
        return lambda run: handler(**{**run.params, **injected(run)})
    return lambda run: handler(**{**run.params, **injected(run), name: run.context})


def injector(tool: AnyTool, setup: Setup) -> Callable[[Run], dict[str, object]]:
    """Gives the run-time values that a class tool takes, with the extras of the call before."""
    taken = inspect.signature(cast("Callable[..., object]", tool.handler)).parameters.values()
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken)
    names = frozenset(parameter.name for parameter in taken)

    def inject(run: Run) -> dict[str, object]:
        injected = {**setup.runtime, **run.extras}
        return {name: value for name, value in injected.items() if takes_all or name in names}

    return inject


def drain(value: object, tool: AnyTool, run: Run) -> object:
    """A handler's value; of a stream of chunks all of them, each told to whoever streams the call."""
    if type(value) in PLAIN or value is None:
        return value
    if isinstance(value, ToolResponse) and isinstance(value.observation, Iterator):
        whole = _gather(cast("Iterator[object]", value.observation), tool, run)
        return ToolResponse(final_answer=value.final_answer, observation=whole, extras=value.extras)
    if inspect.isgenerator(value):
        return _gather(cast("Iterator[object]", value), tool, run)
    return value


def _gather(chunks: Iterator[object], tool: AnyTool, run: Run) -> object:
    gathered: list[object] = []
    try:
        for chunk in chunks:
            run.beat()
            gathered.append(chunk)
            run.emit_chunk(chunk)
    finally:
        if isinstance(chunks, Generator):
            cast("Generator[object]", chunks).close()
    return join_chunks(gathered, tool)


async def drain_async(stream: AsyncIterator[object], tool: AnyTool, run: Run) -> object:
    """All chunks of an async stream, each told to whoever streams the call."""
    gathered: list[object] = []
    try:
        async for chunk in stream:
            run.beat()
            gathered.append(chunk)
            run.emit_chunk(chunk)
    finally:
        if isinstance(stream, AsyncGenerator):
            await cast("AsyncGenerator[object]", stream).aclose()
    return join_chunks(gathered, tool)


def is_pending(value: object) -> bool:
    """True for a value that must be awaited before it is one: a coroutine, or an async stream."""
    if isinstance(value, ToolResponse):
        value = value.observation
    return inspect.iscoroutine(value) or isinstance(value, AsyncIterator)


async def complete(value: object, tool: AnyTool, run: Run) -> object:
    """A pending value, awaited to its end."""
    if inspect.iscoroutine(value):
        value = await value
    if isinstance(value, AsyncIterator):
        return await drain_async(cast("AsyncIterator[object]", value), tool, run)
    if isinstance(value, ToolResponse) and isinstance(value.observation, AsyncIterator):
        whole = await drain_async(cast("AsyncIterator[object]", value.observation), tool, run)
        return ToolResponse(final_answer=value.final_answer, observation=whole, extras=value.extras)
    return drain(value, tool, run)


def join_chunks(chunks: list[object], tool: AnyTool) -> object:
    """The whole that chunks make: one text of texts, unless the tool says that it gives a list."""
    schema = tool.output_schema
    if isinstance(schema, dict) and schema.get("type") == "array":
        return chunks
    if all(isinstance(chunk, str) for chunk in chunks):
        return "".join(cast("list[str]", chunks))
    return chunks


def _own(result: AnyResult) -> AnyResult:
    """The call's own copy of a result, since a handler may give one to many calls; its message is text."""
    own = result.with_rest() if type(result) is ToolResult else copy(result)
    said = cast("object", own.message)
    if not isinstance(said, str):
        own.message = "" if said is None else str(said)
    return own


def result_of(tool: AnyTool, run: Run, value: Any) -> AnyResult:  # noqa: ANN401 -- whatever a handler gives
    """A handler's value as the call's result."""
    if type(value) in PLAIN:
        return plain_result(value)
    if value is None:
        return plain_result(None, "null")
    if isinstance(value, ToolResult):
        result = _own(cast("AnyResult", value))
        return result if result.success else failed_error_result(tool, result)
    if isinstance(value, ToolError):  # seed 004: an error may be given back as well as raised
        return raised(tool, run, value)
    if isinstance(value, ToolResponse):
        run.left_extras = dict(value.extras)
        made = result_of(tool, run, value.observation)
        return made.with_rest(final=True) if value.final_answer else made
    return plain_result(value)
