"""Calls a handler with its arguments, and turns what it returns or raises into a result."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from copy import copy
from enum import Enum, auto
from functools import lru_cache, partial
from itertools import groupby
from math import inf
from time import monotonic
from typing import Any, Final, cast

from toolhaft import schema
from toolhaft.core.content import PART_TYPES, returned_parts, split_parts
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.result import ToolResult, plain_result
from toolhaft.define.toolspec import ToolResponse
from toolhaft.errors import CallEndedError, ToolError, ToolTimeoutError
from toolhaft.execute.active_call import ActiveCall
from toolhaft.execute.failures import (
    after_running,
    from_error,
    from_error_result,
    is_a,
    refused,
    reraised,
    text_of,
)
from toolhaft.execute.setup import Setup

PLAIN: Final = frozenset((bool, dict, float, int, list, str, tuple))
"""Types of values that need no conversion."""
_PLAIN_WITHOUT_SCHEMA: Final = PLAIN - {list, tuple}
"""Lists and tuples may contain parts such as images, unless an output schema describes them."""
_ANY_JSON: Final[tuple[object, ...]] = ({}, True)
_WHOLE: Final = PLAIN | {type(None), ToolResult}
"""Types of values that are neither awaited nor gathered from a stream."""
_TIMER_TOLERANCE_S: Final = 0.005  # a timer may fire a little early


@lru_cache(maxsize=1000)
def is_record(cls: type) -> bool:
    """True for a dataclass or a model; its values need no conversion either."""
    converted = (AsyncIterator, BaseException, ToolResponse, ToolResult, *PART_TYPES)
    return schema.fields_of(cls) is not None and not issubclass(cls, converted)


def plain_types(tool: AnyTool) -> frozenset[type]:
    """The types of values that a tool may return and that need no conversion."""
    return PLAIN if tool.output_schema is not None else _PLAIN_WITHOUT_SCHEMA


class HandlerKind(Enum):
    """What calling a handler returns: a value, a coroutine, or a stream of chunks."""

    SYNC = auto()
    ASYNC = auto()
    STREAM = auto()
    ASYNC_STREAM = auto()


def handler_kind(handler: object) -> HandlerKind:
    """What calling this handler returns."""
    while isinstance(handler, partial):
        handler = cast("object", handler.func)
    candidates = (handler, getattr(type(handler), "__call__", None))  # noqa: B004 -- not a test whether it can be called
    for candidate in candidates:
        if inspect.iscoroutinefunction(candidate):
            return HandlerKind.ASYNC
        if inspect.isasyncgenfunction(candidate):
            return HandlerKind.ASYNC_STREAM
        if inspect.isgeneratorfunction(candidate):
            return HandlerKind.STREAM
    return HandlerKind.SYNC


def binder(tool: AnyTool, setup: Setup) -> Callable[[ActiveCall], object]:
    """The function that calls the handler in the way in which its tool was defined."""
    handler = cast("Callable[..., object]", tool.handler)
    name = tool.context_name
    match tool.takes:
        case "params":
            return lambda active: handler(active.params, context=active.context)
        case "input":
            if name is None:
                return lambda active: handler(active.params)
            return lambda active: handler(active.params, **{name: active.context})
        case "runtime":  # values of the executor take precedence over arguments of the model
            inject = injector(tool, setup)
            if name is None:
                return lambda active: handler(**{**active.params, **inject(active)})
            return lambda active: handler(**{**active.params, **inject(active), name: active.context})
        case "keywords":
            if name is None:
                return lambda active: handler(**active.params)
            return lambda active: handler(**active.params, **{name: active.context})


def injector(tool: AnyTool, setup: Setup) -> Callable[[ActiveCall], dict[str, object]]:
    """The function that returns the run-time values for a class tool, and the extras of the previous call."""
    parameters = inspect.signature(cast("Callable[..., object]", tool.handler)).parameters.values()
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    names = frozenset(parameter.name for parameter in parameters)
    declared = cast("dict[str, object]", tool.input_schema.get("properties", {}))

    def inject(active: ActiveCall) -> dict[str, object]:
        # another tool must not replace an argument that was checked, and that a policy has seen
        extras = {name: value for name, value in active.extras.items() if name not in declared}
        injected = {**setup.inputs.runtime, **extras}
        return {name: value for name, value in injected.items() if takes_all or name in names}

    return inject


def drain(value: object, tool: AnyTool, active: ActiveCall) -> object:
    """The whole value of a handler; the chunks of a stream are passed on one by one and then joined."""
    if type(value) in _WHOLE:
        return value
    if isinstance(value, ToolResponse) and isinstance(value.observation, Iterator):
        whole = _gather(cast("Iterator[object]", value.observation), tool, active)
        return ToolResponse(final_answer=value.final_answer, observation=whole, extras=value.extras)
    if inspect.isgenerator(value):
        return _gather(cast("Iterator[object]", value), tool, active)
    return value


def _gather(chunks: Iterator[object], tool: AnyTool, active: ActiveCall) -> object:
    chunks_so_far: list[object] = []
    try:
        for chunk in chunks:
            active.give_sign()
            chunks_so_far.append(chunk)
            active.emit_chunk(chunk)
    finally:
        if isinstance(chunks, Generator):
            cast("Generator[object]", chunks).close()
    return join_chunks(chunks_so_far, tool)


async def drain_async(stream: AsyncIterator[object], tool: AnyTool, active: ActiveCall) -> object:
    """The joined chunks of an async stream, each of which is passed on."""
    chunks_so_far: list[object] = []
    try:
        async for chunk in stream:
            active.give_sign()
            chunks_so_far.append(chunk)
            active.emit_chunk(chunk)
    finally:
        if isinstance(stream, AsyncGenerator):
            await cast("AsyncGenerator[object]", stream).aclose()
    return join_chunks(chunks_so_far, tool)


def is_pending(value: object) -> bool:
    """True for a value that must be awaited: a coroutine, or an async stream."""
    if type(value) in _WHOLE:
        return False
    if isinstance(value, ToolResponse):
        value = value.observation
    return inspect.iscoroutine(value) or isinstance(value, AsyncIterator)


async def complete(value: object, tool: AnyTool, active: ActiveCall) -> object:
    """Await a pending value to its end."""
    if inspect.iscoroutine(value):
        value = await value
    if isinstance(value, AsyncIterator):
        return await drain_async(cast("AsyncIterator[object]", value), tool, active)
    if isinstance(value, ToolResponse) and isinstance(value.observation, AsyncIterator):
        whole = await drain_async(cast("AsyncIterator[object]", value.observation), tool, active)
        return ToolResponse(final_answer=value.final_answer, observation=whole, extras=value.extras)
    return drain(value, tool, active)


def join_chunks(chunks: list[object], tool: AnyTool) -> object:
    """Join chunks: texts into one text, unless the output schema is an array."""
    schema = tool.output_schema
    if isinstance(schema, dict) and schema.get("type") == "array":
        return chunks
    if all(isinstance(chunk, str) for chunk in chunks):
        return "".join(cast("list[str]", chunks))
    if returned_parts(chunks) is None:
        return chunks
    runs = groupby(chunks, key=lambda chunk: isinstance(chunk, str))  # a text between parts is one text
    return [
        part for is_text, run in runs for part in (["".join(cast("Iterator[str]", run))] if is_text else run)
    ]


def _own_copy(result: AnyResult) -> AnyResult:
    """A copy, because a handler may return the same result for many calls; its message becomes text."""
    own = result.with_fields() if type(result) is ToolResult else copy(result)
    message = cast("object", own.message)
    if not isinstance(message, str):
        own.message = "" if message is None else str(message)
    return own


def result_of(tool: AnyTool, active: ActiveCall, value: Any) -> AnyResult:  # noqa: ANN401 -- a handler returns anything
    """The result of a call whose handler returned this value."""
    if type(value) in plain_types(tool):
        return plain_result(value)
    if value is None:
        return plain_result(None, "null")
    if isinstance(value, ToolResult):
        result = _own_copy(cast("AnyResult", value))
        if not result.success:
            return from_error_result(tool, result)
        return _with_parts(result, is_described=tool.output_schema in _ANY_JSON)
    if isinstance(value, ToolError):  # a handler may return an error as well as raise it
        return error_result(tool, active, value)
    if isinstance(value, ToolResponse):
        active.next_extras = dict(value.extras)
        if returned_parts(value.observation) is None:
            made = result_of(tool, active, value.observation)
        else:  # no ToolReturn can describe parts: its schema does not apply to them
            made = _with_parts(plain_result(value.observation), is_described=tool.output_schema is not None)
        return made.with_fields(final=True) if value.final_answer else made
    return _with_parts(plain_result(value), is_described=tool.output_schema in _ANY_JSON)


def _with_parts(result: AnyResult, *, is_described: bool) -> AnyResult:
    """The result; if its value is made of images and other parts, they are its content.

    The value is left out if an output schema describes it, which can be for JSON only.
    """
    parts = None if result.content else returned_parts(result.value)
    if parts is None:
        return result
    text, media = split_parts(parts)
    message = "\n\n".join(filter(None, (result.message, text)))
    made = result.with_fields(message=message, content=media, exclude_value_from_context=True)
    if is_described:
        made.value = None
    return made


def limit_of(tool: AnyTool, active: ActiveCall, since: float | None = None) -> float:
    """Seconds that the handler has, or had at `since`: until the tool's limit or an earlier deadline."""
    limit_s = inf if tool.timeout_s is None else tool.timeout_s
    if active.deadline is None:
        return limit_s
    left = active.deadline.remaining()
    if since is not None:
        left += monotonic() - since
    return min(limit_s, left)


def is_late(tool: AnyTool, active: ActiveCall, began: float, took_s: float) -> bool:
    """True if a handler that has ended should have been stopped before."""
    if active.stall is not None:
        return began + took_s > active.stall.until()
    return took_s > limit_of(tool, active, began)


def late_result(tool: AnyTool, active: ActiveCall) -> AnyResult:
    """The result of a call whose deadline passed before its handler was started."""
    if _has_used_up_budget(active):
        return refused("budget", f"the budget of wall time is used up: {tool.name} was not run.")
    return refused("deadline", f"the deadline has passed: {tool.name} was not run.")


def _has_used_up_budget(active: ActiveCall) -> bool:
    budget = active.scope.setup.limits.budget
    left_s = None if budget is None else budget.remaining_s()
    return left_s is not None and left_s < _TIMER_TOLERANCE_S


def error_result(tool: AnyTool, active: ActiveCall, error: BaseException) -> AnyResult:
    """The result of a call whose handler raised this exception.

    Raises:
        BaseException: exceptions of prompts and interrupts, which the caller gets instead of a result.
    """
    active.is_over = active.has_raised = True
    if is_a(error, CallEndedError) and active.stall is not None and active.stall.left_s() <= 0:
        return timeout_result(tool, active, "it was stopped at its next beat")
    passing = reraised(error)
    if passing is None:
        return from_error(tool, error, _argument_text(active))
    if passing is error:
        raise error
    raise passing from error


def timeout_result(tool: AnyTool, active: ActiveCall, how: str) -> AnyResult:
    """The result of a handler that was stopped at its limit, or returned after it."""
    active.is_over = True
    if active.stall is not None and active.stall.is_stall:
        message = f"{tool.name} stalled: it gave no sign of life for {active.stall.stall_s:g} s ({how})"
        return after_running(tool, "timeout", message, error=ToolTimeoutError(message))
    if _has_used_up_budget(active):
        message = f"the budget of wall time was used up while {tool.name} ran ({how})"
        return after_running(tool, "budget", message)
    if active.deadline is not None and active.deadline.has_passed:
        return after_running(tool, "deadline", f"the deadline passed while {tool.name} ran ({how})")
    limit = "" if tool.timeout_s is None else f" of {tool.timeout_s:g} s"
    message = f"{tool.name} exceeded its time limit{limit} ({how})"
    return after_running(tool, "timeout", message, error=ToolTimeoutError(message))


def overrun_result(tool: AnyTool, setup: Setup, active: ActiveCall) -> AnyResult:
    """The result of a handler that could not be stopped and returned after its limit."""
    setup.workers.stats.count("overruns")
    return timeout_result(tool, active, "it could not be stopped")


def text_of_error(error: BaseException, active: ActiveCall) -> str:
    """The text of an exception, as a model may read it."""
    return text_of(error, _argument_text(active)) or type(error).__name__


def _argument_text(active: ActiveCall) -> str:
    raw = active.call.arguments
    return raw if isinstance(raw, str) else str(raw)
