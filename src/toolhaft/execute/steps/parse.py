"""Reads the raw arguments into checked parameters, or answers with every problem at once.

Knows the tool's contract; does not know who may call it.
"""

from __future__ import annotations

from typing import Final, cast

from toolhaft.core.conversion import AnyTool
from toolhaft.execute.failures import refused
from toolhaft.execute.run import Answer, Run, Step, then
from toolhaft.execute.setup import Setup
from toolhaft.schema.problems import InvalidArguments, ValidArguments

_VERDICTS: Final = frozenset((InvalidArguments, ValidArguments))


def compose(tool: AnyTool, _: Setup, inner: Step) -> Step:
    """Every tool has this step."""
    read = tool.read_input

    def parse(run: Run) -> Answer:
        run.params = verdict = read(run.call.arguments)
        return inner(run) if type(verdict) not in _VERDICTS else _judge(verdict, run, inner)

    return parse


def _judge(verdict: object, run: Run, inner: Step) -> Answer:
    if isinstance(verdict, ValidArguments):
        run.params = verdict.params
        repairs = verdict.repairs
        return (
            then(inner, lambda _, result: result.with_rest(repairs=repairs))(run) if repairs else inner(run)
        )
    invalid = cast("InvalidArguments", verdict)
    return refused("invalid_arguments", invalid.message, problems=tuple(invalid.problems))
