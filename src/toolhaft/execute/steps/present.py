"""The steps `feedback`, `truncate` and `mask`: what the model reads of a result."""

from __future__ import annotations

import inspect
import logging
from dataclasses import dataclass, replace
from typing import Final, cast

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.masking import ArgumentMask, argument_mask, log_failure, mask_text, short_repr
from toolhaft.core.ports import Clock, PromptPort
from toolhaft.core.prompt_hooks import FeedbackContext, FeedbackProvider
from toolhaft.core.result import LONGEST_OUTPUT, Feedback
from toolhaft.errors import ResourceMissingError
from toolhaft.execute.failures import refused
from toolhaft.execute.feedback_counts import (
    FeedbackGiven,
    PromptCalls,
    claim_feedback,
    count_call,
    last_feedback,
)
from toolhaft.execute.pipeline import Step, then
from toolhaft.execute.run import CallRun, is_nested, no_calls, raw_arguments
from toolhaft.execute.setup import Setup
from toolhaft.resources import ResourceRegistry, SystemClock
from toolhaft.session import Session

_LOG: Final = logging.getLogger("toolhaft")
_READ_ONLY_REASON: Final = "feedback may only read"
_TRIES: Final = 3
"""How often a provider is called again that has given feedback on a parallel call meanwhile."""


def truncate(_: AnyTool, setup: Setup, inner: Step) -> Step:
    """In a chain if the executor has another limit than the default, which results apply themselves."""
    longest = setup.limits.max_output_chars
    if longest == LONGEST_OUTPUT:
        return inner
    return then(inner, lambda _, result: result.with_fields(max_output_chars=longest))


def mask(tool: AnyTool, _: Setup, inner: Step) -> Step:
    """In a chain if the tool takes secrets: masks them in messages and problems."""
    mask = argument_mask(tool)
    if mask is None:
        return inner

    def finish(run: CallRun, result: AnyResult) -> AnyResult:
        failure = result.failure
        if failure is None and not result.message and not run.report.repeats:
            return result
        given = raw_arguments(run)
        if not isinstance(given, dict):
            return refused("invalid_arguments", f"the arguments of {tool.name} are not a JSON object.")
        arguments = cast("object", given)
        repeats = tuple(mask_text(text, arguments, mask) for text in run.report.repeats)
        run.report = run.report._replace(repeats=repeats)
        message = mask_text(result.message, arguments, mask)
        if failure is None:
            return result.with_fields(message=message)
        problems = tuple(mask_text(str(problem), arguments, mask) for problem in failure.problems)
        return result.with_fields(message=message, failure=replace(failure, problems=problems, error=None))

    return then(inner, finish)


def feedback(tool: AnyTool | None, setup: Setup, inner: Step) -> Step:
    """In a chain if the prompt has feedback providers: adds their texts to the result."""
    if not setup.prompt.feedback:
        return inner
    mask = setup.tools.mask_for(tool)
    clock = _clock_of(setup.resources)

    def finish(run: CallRun, result: AnyResult) -> AnyResult:
        if run.nesting.parent is not None and is_nested(run, setup):  # the model does not read it
            return result
        texts = _feedback(setup, clock, run, result, mask)
        return result.with_fields(feedback=(*result.feedback, *texts)) if texts else result

    return then(inner, finish)


def _clock_of(resources: ResourceRegistry) -> Clock:
    """The clock among the resources, else the system's."""
    try:
        return resources.get(Clock)
    except ResourceMissingError:
        pass
    except Exception:  # noqa: BLE001 -- a user's factory must not change the outcome
        _LOG.exception("feedback uses the system clock: the clock among the resources failed")
    return SystemClock()


def _feedback(
    setup: Setup, clock: Clock, run: CallRun, result: AnyResult, mask: ArgumentMask | None
) -> list[Feedback]:
    """The texts of all providers, in their order."""
    texts: list[Feedback] = []
    given: object = None if mask is None else raw_arguments(run)
    view = setup.session.fork(read_only=True, read_only_reason=_READ_ONLY_REASON)
    try:
        now = clock.time()
        counted = count_call(setup.session, cast("PromptPort", setup.prompt.port).name, now)
        question = _Question(
            setup=setup,
            run=run,
            result=result,
            view=view,
            counted=counted,
            now=now,
            is_secret=mask is not None,
        )
        if mask is not None and not isinstance(given, dict):
            return texts  # a provider may quote the arguments, and it is not known which part is secret
        with no_calls(run):
            for provider in setup.prompt.feedback:
                text = question.text_of(provider)
                if text is not None:
                    texts.append(
                        Feedback(
                            provider.name,
                            text if mask is None else mask_text(text, cast("object", given), mask),
                        )
                    )
    except Exception as error:  # noqa: BLE001 -- a user's reducer or clock must not change the outcome
        log_failure(
            error, "there is no feedback on the call of %s", run.call.name, is_secret=mask is not None
        )
    finally:
        view.discard()
    return texts


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """What the providers are asked after one call."""

    setup: Setup
    run: CallRun
    result: AnyResult
    view: Session
    counted: PromptCalls
    now: float
    is_secret: bool

    def text_of(self, provider: FeedbackProvider) -> str | None:
        """The text of a provider; None if it has none, fails, or has just answered for a parallel call."""
        session, prompt = self.setup.session, self.counted.prompt
        for _ in range(_TRIES):
            last = last_feedback(session, prompt, provider.name)
            text = _call_provider(provider, self._context(last), is_secret=self.is_secret)
            given = FeedbackGiven(prompt=prompt, provider=provider.name, call=self.counted.calls, at=self.now)
            if text is None or claim_feedback(session, last, given):
                return text
        return None

    def _context(self, last: FeedbackGiven | None) -> FeedbackContext:
        run = self.run
        return FeedbackContext(
            session=self.view,
            prompt=self.setup.prompt.prompt,
            deadline=run.deadline,
            call=run.call,
            result=self.result,
            calls=self.counted.calls,
            seconds=max(0.0, self.now - self.counted.first_at),
            # parallel calls may end in any order
            calls_since=None if last is None else max(0, self.counted.calls - last.call),
            seconds_since=None if last is None else max(0.0, self.now - last.at),
        )


def _call_provider(provider: FeedbackProvider, context: FeedbackContext, *, is_secret: bool) -> str | None:
    try:
        text = cast("object", provider.provide(context))
    except Exception as error:  # noqa: BLE001 -- the call has ended and has its outcome
        log_failure(error, "the feedback %s failed", provider.name, is_secret=is_secret)
        return None
    if text is None or (isinstance(text, str) and not text.strip()):
        return None
    if isinstance(text, str):
        return text
    if inspect.iscoroutine(text):
        text.close()
    shown = short_repr(text, 80, is_secret=is_secret)
    _LOG.error("the feedback %s gave %s, and no text", provider.name, shown)
    return None
