"""The steps `parse` and `verify`: check the arguments of a call, and the value that its handler returns."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from types import CoroutineType
from typing import Any, Final, cast

from toolhaft import schema
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.effect import Effect
from toolhaft.core.events import ToolInvoked
from toolhaft.errors import ToolExecutionError, ToolTimeoutError
from toolhaft.execute.active_call import ActiveCall
from toolhaft.execute.check_worker import check_in_worker
from toolhaft.execute.failures import after_running, refused
from toolhaft.execute.pipeline import Step, StepAnswer, resolve, then
from toolhaft.execute.setup import Setup
from toolhaft.execute.steps.watch import has_telemetry
from toolhaft.schema.json_text import object_to_text, to_json_text
from toolhaft.schema.json_value import JSONObject
from toolhaft.schema.problems import (
    InvalidArguments,
    LargeOutputError,
    UncheckedOutput,
    ValidArguments,
    show,
)

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
        active.params = verdict = read(active.call.arguments)
        # usually the bare parameters; a verdict object only if something was repaired or is not valid
        if type(verdict) not in _VERDICTS:
            return inner(active)
        if type(verdict) is InvalidArguments and verdict.unchecked is not None:
            return _check_later(tool, setup, inner, active, verdict)
        return _use_verdict(verdict, active, inner)

    return step


def _check_later(
    tool: AnyTool, setup: Setup, inner: Step, active: ActiveCall, unchecked: InvalidArguments
) -> StepAnswer:
    """Check arguments that could take too long for an event loop."""
    if not active.waiter.is_loop:
        verdict = tool.validate(active.call.arguments)
        if isinstance(verdict, ValidArguments) or verdict.unchecked is None:
            return _use_verdict(verdict, active, inner)
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
        plain = await check_in_worker(schema.check_arguments, args, tool, setup, active)
    except ToolTimeoutError as error:
        return refused("timeout", f"{tool.name} was not run: its arguments were not checked: {error}.")
    except (MemoryError, ToolExecutionError):
        return _refuse(unchecked)
    verdict = schema.verdict_of(cast("Any", plain), unchecked.example)
    if isinstance(verdict, ValidArguments):  # the worker does not know the defaults of secrets
        whole = tool.input_contract.defaults.add(cast("JSONObject", verdict.params))
        verdict = replace(verdict, params=whole.arguments)
    return await resolve(_use_verdict(verdict, active, inner))


def _use_verdict(verdict: object, active: ActiveCall, inner: Step) -> StepAnswer:
    if isinstance(verdict, ValidArguments):
        active.params = verdict.params
        active.given = verdict.given
        repairs = verdict.repairs
        if not repairs:
            return inner(active)
        return then(inner, lambda _, result: result.with_fields(repairs=repairs))(active)
    active.params = None
    return _refuse(cast("InvalidArguments", verdict))


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
        try:
            text = write(value)
        except LargeOutputError:
            return _verify_large(tool, setup, active, result)
        if text is None:
            problem = tool.check_output(value, on_loop=active.waiter.is_loop)
            if isinstance(problem, UncheckedOutput):
                return _verify_elsewhere(tool, setup, active, result)
            return _verified(tool, result, problem)
        if text and type(value) is not str:  # a text is rendered without quotes
            result.json_text = text
        return result

    return finish


def _verify_large(tool: AnyTool, setup: Setup, active: ActiveCall, result: AnyResult) -> StepAnswer:
    if not active.waiter.is_loop:
        problem = tool.check_output(result.value)
        if not isinstance(problem, UncheckedOutput):
            return _verified(tool, result, problem)
    return _verify_elsewhere(tool, setup, active, result)


async def _verify_elsewhere(tool: AnyTool, setup: Setup, active: ActiveCall, result: AnyResult) -> AnyResult:
    args = (to_json_text(tool.output_schema), object_to_text(result.value))
    problem: object = f"{show(result.value)} took too long to check"
    with suppress(MemoryError, ToolExecutionError, ToolTimeoutError):
        problem = await check_in_worker(schema.check_value, args, tool, setup, active)
    return _verified(tool, result, cast("str | None", problem))


def _verified(tool: AnyTool, result: AnyResult, problem: str | None) -> AnyResult:
    if problem is None:
        return result
    message = f"{tool.name} returned a value that does not fit its output schema: {problem}"
    failed = after_running(tool, "invalid_output", message, value=result.value)
    return failed.with_fields(untrusted=True) if result.untrusted else failed
