"""Asks the prompt's providers of feedback after each call of the model, and adds what they say to its result.

Knows results; does not know what a provider looks at.
"""

from __future__ import annotations

import inspect
import logging
from dataclasses import dataclass
from typing import Final, cast

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.feedback import FeedbackContext, FeedbackProvider
from toolhaft.core.ports import Clock, PromptPort
from toolhaft.core.result import Feedback
from toolhaft.errors import ResourceMissingError
from toolhaft.execute.arguments import raw_arguments
from toolhaft.execute.discretion import log_failure, shown
from toolhaft.execute.masks import Mask, hide, mask_of
from toolhaft.execute.pace import FeedbackGiven, PromptCalls, count_call, last_given, take_turn
from toolhaft.execute.run import Run, Step, is_nested, no_calls, then
from toolhaft.execute.setup import Setup
from toolhaft.resources import ResourceRegistry, SystemClock
from toolhaft.session import Session

_LOG: Final = logging.getLogger("toolhaft")
_READS_ONLY: Final = "feedback may only read"
_TRIES: Final = 3
"""How often a provider is asked anew that has spoken beside another call meanwhile."""


def compose(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """Absent where the prompt has no feedback."""
    return advised(tool, setup, inner)


def advised(tool: AnyTool | None, setup: Setup, inner: Step) -> Step:
    """The step itself, absent as `compose` says; also around calls of tools that do not exist."""
    if not setup.feedback:
        return inner
    mask = setup.mask_unknown() if tool is None else mask_of(tool)
    clock = _clock_of(setup.resources)

    def advise(run: Run, result: AnyResult) -> AnyResult:
        if run.around is not None and is_nested(run, setup):  # the model does not read it
            return result
        said = _said(setup, clock, run, result, mask)
        return result.with_rest(feedback=(*result.feedback, *said)) if said else result

    return then(inner, advise)


def _clock_of(resources: ResourceRegistry) -> Clock:
    """The clock among the resources, which a test turns by hand; else the machine's own."""
    try:
        return resources.get(Clock)
    except ResourceMissingError:
        pass
    except Exception:  # noqa: BLE001 -- a factory of the user's changes no outcome
        _LOG.exception("there is no clock for feedback but the machine's own")
    return SystemClock()


def _said(setup: Setup, clock: Clock, run: Run, result: AnyResult, mask: Mask | None) -> list[Feedback]:
    """What the providers have to say, in their order."""
    said: list[Feedback] = []
    given = None if mask is None else raw_arguments(run)
    view = setup.session.fork(read_only=True, read_only_reason=_READS_ONLY)
    try:
        now = clock.time()
        counted = count_call(setup.session, cast("PromptPort", setup.port).name, now)
        asking = _Asking(
            setup=setup,
            run=run,
            result=result,
            view=view,
            counted=counted,
            now=now,
            is_secret=mask is not None,
        )
        if mask is not None and not isinstance(given, dict):
            return (
                said  # whoever quotes these arguments quotes a secret, and nobody can tell which part is one
            )
        with no_calls(run):
            for provider in setup.feedback:
                text = asking.text_of(provider)
                if text is not None:
                    said.append(Feedback(provider.name, text if mask is None else hide(text, given, mask)))
    except Exception as error:  # noqa: BLE001 -- a reducer or a clock of the user's changes no outcome
        log_failure(
            error, "there is no feedback on the call of %s", run.call.name, is_secret=mask is not None
        )
    finally:
        view.discard()
    return said


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """The question after one call, put to one provider after the other."""

    setup: Setup
    run: Run
    result: AnyResult
    view: Session
    counted: PromptCalls
    now: float
    is_secret: bool

    def text_of(self, provider: FeedbackProvider) -> str | None:
        """What a provider says; None where it says nothing, fails, or spoke beside another call just now."""
        session, prompt = self.setup.session, self.counted.prompt
        for _ in range(_TRIES):
            last = last_given(session, prompt, provider.name)
            text = _ask(provider, self._context(last), is_secret=self.is_secret)
            given = FeedbackGiven(prompt=prompt, provider=provider.name, call=self.counted.calls, at=self.now)
            if text is None or take_turn(session, last, given):
                return text
        return None

    def _context(self, last: FeedbackGiven | None) -> FeedbackContext:
        run = self.run
        return FeedbackContext(
            session=self.view,
            prompt=self.setup.prompt,
            deadline=run.deadline,
            call=run.call,
            result=self.result,
            calls=self.counted.calls,
            seconds=max(0.0, self.now - self.counted.first_at),
            # calls that run at once may be asked about in any order
            calls_since=None if last is None else max(0, self.counted.calls - last.call),
            seconds_since=None if last is None else max(0.0, self.now - last.at),
        )


def _ask(provider: FeedbackProvider, context: FeedbackContext, *, is_secret: bool) -> str | None:
    try:
        text = cast("object", provider.provide(context))
    except Exception as error:  # noqa: BLE001 -- whatever it is, the call is over and has its outcome
        log_failure(error, "the feedback %s failed", provider.name, is_secret=is_secret)
        return None
    if text is None or (isinstance(text, str) and not text.strip()):
        return None
    if isinstance(text, str):
        return text
    if inspect.iscoroutine(text):
        text.close()
    odd = shown(text, 80, is_secret=is_secret)
    _LOG.error("the feedback %s gave %s, and no text", provider.name, odd)
    return None
