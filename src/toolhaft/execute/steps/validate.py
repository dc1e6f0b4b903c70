"""The steps `parse` and `verify`: check the arguments of a call, and the value that its handler returns."""

from __future__ import annotations

from typing import Final, cast

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.execute.active_call import ActiveCall
from toolhaft.execute.failures import after_running, refused
from toolhaft.execute.pipeline import Step, StepAnswer, then
from toolhaft.execute.setup import Setup
from toolhaft.schema.problems import InvalidArguments, ValidArguments

_VERDICTS: Final = frozenset((InvalidArguments, ValidArguments))


def parse(tool: AnyTool, _: Setup, inner: Step) -> Step:
    """In every chain: turns the raw arguments into checked parameters, or reports all problems."""
    read = tool.read_input

    def step(active: ActiveCall) -> StepAnswer:
        active.params = verdict = read(active.call.arguments)
        # usually the bare parameters; a verdict object only if something was repaired or is not valid
        return inner(active) if type(verdict) not in _VERDICTS else _use_verdict(verdict, active, inner)

    return step


def _use_verdict(verdict: object, active: ActiveCall, inner: Step) -> StepAnswer:
    if isinstance(verdict, ValidArguments):
        active.params = verdict.params
        repairs = verdict.repairs
        if not repairs:
            return inner(active)
        return then(inner, lambda _, result: result.with_fields(repairs=repairs))(active)
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
