"""The steps `parse` and `verify`: check the arguments of a call, and the value that its handler returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.effect import Effect
from toolhaft.core.events import ToolInvoked
from toolhaft.execute.active_call import ActiveCall
from toolhaft.execute.failures import after_running, refused
from toolhaft.execute.pipeline import Step, StepAnswer, then
from toolhaft.execute.setup import Setup
from toolhaft.execute.steps.watch import has_telemetry
from toolhaft.schema.problems import InvalidArguments, ValidArguments

_VERDICTS: Final = frozenset((InvalidArguments, ValidArguments))


def parse(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """In every chain: turns the raw arguments into checked parameters, or reports all problems."""
    return _parse(_reader(tool, setup), inner)


def parse_keyed(tool: AnyTool, _: Setup, inner: Step) -> Step:
    """In every chain for calls that have their own idempotency key, which needs the checked JSON."""
    contract = tool.input_contract
    return _parse(contract.read_once if contract.defaults.varies else tool.read_input, inner)


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


def _parse(read: Callable[[object], object], inner: Step) -> Step:
    def step(active: ActiveCall) -> StepAnswer:
        active.params = verdict = read(active.call.arguments)
        # usually the bare parameters; a verdict object only if something was repaired or is not valid
        return inner(active) if type(verdict) not in _VERDICTS else _use_verdict(verdict, active, inner)

    return step


def _use_verdict(verdict: object, active: ActiveCall, inner: Step) -> StepAnswer:
    if isinstance(verdict, ValidArguments):
        active.params = verdict.params
        active.given = verdict.given
        repairs = verdict.repairs
        if not repairs:
            return inner(active)
        return then(inner, lambda _, result: result.with_fields(repairs=repairs))(active)
    active.params = None
    invalid = cast("InvalidArguments", verdict)
    return refused("invalid_arguments", invalid.message, problems=tuple(invalid.problems))


def verify(tool: AnyTool, _: Setup, inner: Step) -> Step:
    """In a chain if the tool has an output schema."""
    write = tool.write_output
    if write is None:
        return inner

    def finish(_: ActiveCall, result: AnyResult) -> AnyResult:
        value = result.value
        # no value: like `result.has_value`, which would be one more call on the path of every call
        if not result.success or (value is None and result.json_text is None):
            return result
        text = write(value)
        if text is not None:
            if text and type(value) is not str:  # a text is rendered without quotes
                result.json_text = text
            return result
        problem = tool.check_output(value)
        if problem is None:
            return result
        message = f"{tool.name} returned a value that does not fit its output schema: {problem}"
        failed = after_running(tool, "invalid_output", message, value=value)
        return failed.with_fields(untrusted=True) if result.untrusted else failed

    return then(inner, finish)
