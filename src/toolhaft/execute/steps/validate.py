"""The steps `parse` and `verify`: check the arguments of a call, and the value that its handler returns.

What could take long is checked in a worker process: validators hold the interpreter's lock and cannot be
interrupted, so that a thread would not help.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from types import CoroutineType
from typing import Any, Final, cast

from toolhaft import schema
from toolhaft.backends.process import ProcessJob, ProcessPool
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.effect import Effect
from toolhaft.core.events import ToolInvoked
from toolhaft.errors import ToolExecutionError, ToolTimeoutError
from toolhaft.execute.active_call import ActiveCall
from toolhaft.execute.failures import after_running, refused
from toolhaft.execute.handlers import limit_of
from toolhaft.execute.pipeline import Step, StepAnswer, resolve, then
from toolhaft.execute.setup import Setup
from toolhaft.execute.steps.watch import has_telemetry
from toolhaft.schema.json_text import object_to_text, to_json_text
from toolhaft.schema.json_value import JSONObject
from toolhaft.schema.problems import (
    InvalidArguments,
    UncheckedOutput,
    ValidArguments,
    show,
)

_MEMORY_BYTES: Final = 1024**3
_VERDICTS: Final = frozenset((InvalidArguments, ValidArguments))


def parse(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """In every chain: turns the raw arguments into checked parameters, or reports all problems."""
    return _parse(tool, setup, _reader(tool, setup), inner)


def parse_keyed(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """In every chain for calls that have their own idempotency key, which needs the checked JSON."""
    contract = tool.input_contract
    read = contract.read_once if contract.defaults.varies else tool.read_input
    return _parse(tool, setup, read, inner)


def _reader(tool: AnyTool, setup: Setup) -> Callable[[object], object]:
    """The function that checks arguments; computes each default once if another step needs the JSON."""
    needs_json = (
        setup.permission.policy is not None
        or setup.limits.max_repeats is not None
        or setup.limits.retry is not None
        or not tool.retryable
        or bool(tool.idempotency)
        or tool.cache_s is not None
        or tool.effect is Effect.IDEMPOTENT
        or setup.session.has_listener(ToolInvoked)
        or has_telemetry()
    )
    contract = tool.input_contract
    return contract.read_once if needs_json and contract.defaults.varies else tool.read_input


def _parse(tool: AnyTool, setup: Setup, read: Callable[[object], object], inner: Step) -> Step:
    def step(active: ActiveCall) -> StepAnswer:
        params = active.params = read(active.call.arguments)
        return (
            inner(active) if type(params) not in _VERDICTS else use_params(tool, setup, params, active, inner)
        )

    return step


def use_params(tool: AnyTool, setup: Setup, params: object, active: ActiveCall, inner: Step) -> StepAnswer:
    """Continue with checked parameters, or report all problems.

    `params` are bare parameters, or a verdict if something was repaired, is not valid or was not checked.
    """
    if isinstance(params, ValidArguments):
        active.params = params.params
        active.given = params.given
        repairs = params.repairs
        if not repairs:
            return inner(active)
        return then(inner, lambda _, result: result.with_fields(repairs=repairs))(active)
    if isinstance(params, InvalidArguments):
        active.params = None
        unchecked = params.unchecked is not None
        return _check_later(tool, setup, inner, active, params) if unchecked else _refuse(params)
    return inner(active)


def _check_later(
    tool: AnyTool, setup: Setup, inner: Step, active: ActiveCall, unchecked: InvalidArguments
) -> StepAnswer:
    """Check arguments that could take too long for an event loop."""
    if not active.waiter.is_loop:
        verdict = tool.validate(active.call.arguments)
        if isinstance(verdict, ValidArguments) or verdict.unchecked is None:
            return use_params(tool, setup, verdict, active, inner)
    return _check_elsewhere(tool, setup, inner, active, unchecked)


async def _check_elsewhere(
    tool: AnyTool, setup: Setup, inner: Step, active: ActiveCall, unchecked: InvalidArguments
) -> AnyResult:
    arguments: object = active.call.arguments
    if isinstance(arguments, bytes | bytearray):
        arguments = arguments.decode()
    text = arguments if isinstance(arguments, str) else object_to_text(arguments)
    args = (to_json_text(unchecked.unchecked), text)
    try:
        checked = await _check_in_worker(schema.check_arguments, args, tool, setup, active)
    except ToolTimeoutError as error:
        return refused("timeout", f"{tool.name} was not run: its arguments were not checked: {error}.")
    except (MemoryError, ToolExecutionError):
        return _refuse(unchecked)
    verdict = schema.verdict_of(cast("str", checked), unchecked.example)
    if isinstance(verdict, ValidArguments):  # the worker does not know the defaults of secrets
        whole = tool.input_contract.defaults.add(cast("JSONObject", verdict.params))
        verdict = replace(verdict, params=whole)
    return await resolve(use_params(tool, setup, verdict, active, inner))


def _refuse(invalid: InvalidArguments) -> AnyResult:
    return refused("invalid_arguments", invalid.message, problems=tuple(invalid.problems))


def verify(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """In a chain if the tool has an output schema."""
    write = tool.write_output
    if write is None:
        return inner

    finish = _finisher(tool, setup, write)

    async def later(active: ActiveCall, answer: CoroutineType[Any, Any, AnyResult]) -> AnyResult:
        verified = finish(active, await answer)
        return await verified if type(verified) is CoroutineType else verified

    def step(active: ActiveCall) -> StepAnswer:
        answer = inner(active)
        return later(active, answer) if type(answer) is CoroutineType else finish(active, answer)

    return step


def _finisher(
    tool: AnyTool, setup: Setup, write: Callable[[object], str | None]
) -> Callable[[ActiveCall, AnyResult], StepAnswer]:
    def finish(active: ActiveCall, result: AnyResult) -> StepAnswer:
        value = result.value
        # no value: like `result.has_value`, which would be one more call on the path of every call
        if not result.success or (value is None and result.json_text is None):
            return result
        text = write(value)
        if text is None:
            problem = tool.check_output(value, on_loop=active.waiter.is_loop)
            if isinstance(problem, UncheckedOutput):
                return _verify_elsewhere(tool, setup, active, result)
            return _verified(tool, result, problem)
        if text and type(value) is not str:  # a text is rendered without quotes
            result.json_text = text
        return result

    return finish


async def _verify_elsewhere(tool: AnyTool, setup: Setup, active: ActiveCall, result: AnyResult) -> AnyResult:
    args = (to_json_text(tool.output_schema), object_to_text(result.value))
    problem: object = f"{show(result.value)} took too long to check"
    with suppress(MemoryError, ToolExecutionError, ToolTimeoutError):
        problem = await _check_in_worker(schema.check_value, args, tool, setup, active)
    return _verified(tool, result, cast("str | None", problem))


def _verified(tool: AnyTool, result: AnyResult, problem: str | None) -> AnyResult:
    if problem is None:
        return result
    message = f"{tool.name} returned a value that does not fit its output schema: {problem}"
    failed = after_running(tool, "invalid_output", message, value=result.value)
    return failed.with_fields(untrusted=True) if result.untrusted else failed


@cache
def _checkers() -> ProcessPool:
    """The workers that check, started on first use and shared by all executors."""
    return ProcessPool(memory_bytes=_MEMORY_BYTES)


async def _check_in_worker(
    check: Callable[..., object], args: tuple[str, str], tool: AnyTool, setup: Setup, active: ActiveCall
) -> object:
    """Run a check in a worker, which is killed at the end of the call's time or if the call is cancelled.

    Raises:
        ToolTimeoutError: if it took too long.
        ToolExecutionError: if it took too much memory, or no worker could be started.
    """
    limit_s = limit_of(tool, active)
    if limit_s <= 0:
        raise ToolTimeoutError("the deadline has passed")
    pool = _checkers()
    work = ProcessJob(handler=pool.check(check), args=args, timeout_s=limit_s)
    job = await setup.workers.run_in_process(pool, work, active.waiter, limit_s)
    if job is None:
        raise ToolTimeoutError("the worker process does not answer")
    if job.error is not None:
        raise job.error
    return job.value
