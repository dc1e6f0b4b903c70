"""The answers of a turn's calls, put together.

Knows results and exceptions; does not know how they came about.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from toolhaft.errors import PromptError
from toolhaft.execute.aliases import AnyResult
from toolhaft.execute.failures import refused
from toolhaft.execute.run import Run


def answer_of(task: asyncio.Future[AnyResult]) -> AnyResult | BaseException:
    """What a task ended with."""
    if task.cancelled():  # by its own handler: the caller was not
        return refused("cancelled", "the call was cancelled from within.", outcome="unknown")
    return task.exception() or task.result()


def settle_answers(answers: Sequence[AnyResult | BaseException], runs: Sequence[Run]) -> list[AnyResult]:
    """The results; where a call raised what seed 003 re-raises, that, with all results on it."""
    results = [
        refused("failed", f"the run was ended by {type(answer).__name__}.")
        if isinstance(answer, BaseException)
        else answer
        for answer in answers
    ]
    for result, run in zip(results, runs, strict=True):
        result.call = run.call
    raised = [answer for answer in answers if isinstance(answer, BaseException)]
    if not raised:
        return results
    first = next((error for error in raised if not isinstance(error, Exception)), raised[0])
    if isinstance(first, PromptError):
        first.results = tuple(results)
    raise first
