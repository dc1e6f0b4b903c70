"""The answers of a turn's calls, put together.

Knows results and exceptions; does not know how they came about.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from toolhaft.core.conversion import AnyResult
from toolhaft.errors import PromptError, VisibilityExpansionRequired
from toolhaft.execute.failures import refused
from toolhaft.execute.run import Run


def answer_of(task: asyncio.Future[AnyResult]) -> AnyResult | BaseException:
    """What a task ended with."""
    if task.cancelled():  # by its own handler: the caller was not
        return refused("cancelled", "the call was cancelled from within.", outcome="unknown")
    return task.exception() or task.result()


def settle_answers(answers: Sequence[AnyResult | BaseException], runs: Sequence[Run]) -> list[AnyResult]:
    """The results; where a call raised what seed 003 re-raises, that, with all results on it.

    Of several that ask for sections one is raised, which asks for all of them.
    """
    results = [
        _in_place_of(answer, run) if isinstance(answer, BaseException) else answer
        for answer, run in zip(answers, runs, strict=True)
    ]
    for result, run in zip(results, runs, strict=True):
        result.call = run.call
    raised = [answer for answer in answers if isinstance(answer, BaseException)]
    if not raised:
        return results
    first = next((error for error in raised if not isinstance(error, Exception)), raised[0])
    if isinstance(first, VisibilityExpansionRequired):
        first = _merged([error for error in raised if isinstance(error, VisibilityExpansionRequired)])
    if isinstance(first, PromptError):
        first.results = tuple(results)
    raise first


def _in_place_of(error: BaseException, run: Run) -> AnyResult:
    """What a model reads in the place of a result that there is none of."""
    name = run.call.name
    if not isinstance(error, VisibilityExpansionRequired):
        return refused("failed", f"{name} was not finished: it ended the run.", outcome="unknown")
    asked = f": {', '.join(error.section_keys)}" if error.section_keys else ""
    return refused("failed", f"{name}: the sections are shown in full from the next message on{asked}.")


def _merged(errors: list[VisibilityExpansionRequired]) -> VisibilityExpansionRequired:
    """One that asks for everything that these ask for, in their order; of one that itself."""
    if len(errors) == 1:
        return errors[0]
    overrides: dict[tuple[str, ...], str] = {}
    for error in errors:
        overrides.update(error.requested_overrides)
    merged = VisibilityExpansionRequired(
        "; ".join(_each_once(str(error) for error in errors)),
        requested_overrides=overrides,
        reason="; ".join(_each_once(error.reason for error in errors)),
        section_keys=tuple(_each_once(key for error in errors for key in error.section_keys)),
        section_path=errors[0].section_path,
    )
    merged.__cause__ = errors[0]
    return merged


def _each_once(texts: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text]
