"""The steps `feedback`, `truncate` and `mask`: what the model reads of a result."""

from __future__ import annotations

import inspect
import logging
from contextlib import suppress
from dataclasses import replace
from typing import Final, cast

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.masking import ArgumentMask, SecretTexts, argument_mask, log_failure, short_repr
from toolhaft.core.ports import Clock, PromptPort
from toolhaft.core.prompt_hooks import FeedbackContext, FeedbackProvider
from toolhaft.core.result import LONGEST_OUTPUT, Failure, Feedback
from toolhaft.errors import ResourceMissingError, ToolError, ToolhaftError
from toolhaft.execute.active_call import ActiveCall, is_nested, no_calls, secrets_of
from toolhaft.execute.failures import refused, text_of
from toolhaft.execute.feedback_counts import (
    FeedbackGiven,
    PromptCalls,
    claim_feedback,
    count_call,
    last_feedback,
)
from toolhaft.execute.pipeline import Step, then
from toolhaft.execute.setup import Setup
from toolhaft.resources import ResourceRegistry, SystemClock
from toolhaft.session import Session

_LOG: Final = logging.getLogger("toolhaft")
_KNOWN_MODULES: Final = ("builtins", ToolhaftError.__module__)
_TOO_GENERAL: Final = (BaseException, Exception, ToolError, ToolhaftError)
_READ_ONLY_REASON: Final = "feedback may only read"
_TRIES: Final = 3
"""How often a provider is called if it gives feedback on parallel calls at the same time."""


def truncate(_: AnyTool, setup: Setup, inner: Step) -> Step:
    """In a chain if the executor's limit is not the default, which every result already has."""
    longest = setup.limits.max_output_chars
    if longest == LONGEST_OUTPUT:
        return inner
    return then(inner, lambda _, result: result.with_fields(max_output_chars=longest))


def mask(tool: AnyTool, _: Setup, inner: Step) -> Step:
    """In a chain if the tool takes secrets: masks them in messages and problems."""
    mask = argument_mask(tool)
    if mask is None:
        return inner

    def finish(active: ActiveCall, result: AnyResult) -> AnyResult:
        failure = result.failure
        if failure is None and not (result.message or result.repairs or active.report.repeats):
            return result
        secrets = secrets_of(tool, active, mask)
        if secrets is None:
            return refused("invalid_arguments", f"the arguments of {tool.name} are not a JSON object.")
        repeats = tuple(map(secrets.text, active.report.repeats))
        active.report = active.report._replace(repeats=repeats)
        repairs = tuple(secrets.repair(repair) for repair in result.repairs)
        masked = result.with_fields(message=secrets.text(result.message), repairs=repairs)
        return masked if failure is None else _masked_failure(masked, failure, secrets)

    return then(inner, finish)


def _masked_failure(result: AnyResult, failure: Failure, secrets: SecretTexts) -> AnyResult:
    masked = result.with_fields(
        failure=replace(
            failure,
            problems=tuple(map(secrets.problem, failure.problems)),
            cause=None if failure.cause is None else _masked_error(failure.cause, secrets),
            message=secrets.text(failure.message),
        )
    )
    if result.has_value:
        masked.value, masked.json_text = secrets.value(result.value), None
    return masked


def _masked_error(error: BaseException, secrets: SecretTexts) -> BaseException | None:
    """An exception of the nearest class that is known to have nothing but its text, with secrets masked."""
    text = text_of(error, "")
    for kind in type(error).__mro__:
        if kind in _TOO_GENERAL:
            break
        if kind.__module__ in _KNOWN_MODULES:
            with suppress(Exception):  # it needs other arguments
                return cast("BaseException", kind(secrets.text(text)))
    return None


def feedback(tool: AnyTool | None, setup: Setup, inner: Step) -> Step:
    """In a chain if the prompt has feedback providers: adds their texts to the result."""
    if not setup.prompt.feedback:
        return inner
    mask = setup.tools.mask_for(tool)
    clock = _clock_of(setup.resources)

    def finish(active: ActiveCall, result: AnyResult) -> AnyResult:
        if active.nesting.parent is not None and is_nested(active, setup):  # the model does not read it
            return result
        texts = _feedback(setup, clock, active, result, mask)
        return result.with_fields(feedback=(*result.feedback, *texts)) if texts else result

    return then(inner, finish)


def _clock_of(resources: ResourceRegistry) -> Clock:
    """The clock resource, or the system clock if there is none."""
    try:
        return resources.get(Clock)
    except ResourceMissingError:
        pass
    except Exception:  # noqa: BLE001 -- a user's factory must not change the outcome
        _LOG.exception("feedback uses the system clock: the clock resource failed")
    return SystemClock()


def _feedback(
    setup: Setup, clock: Clock, active: ActiveCall, result: AnyResult, mask: ArgumentMask | None
) -> list[Feedback]:
    """The texts of all providers, in their order."""
    texts: list[Feedback] = []
    tool = setup.tools.by_name.get(active.call.name)
    secrets = None if mask is None else secrets_of(tool, active, mask)
    view = setup.session.fork(read_only=True, read_only_reason=_READ_ONLY_REASON)
    try:
        now = clock.time()
        counted = count_call(setup.session, cast("PromptPort", setup.prompt.port).name, now)
        if mask is not None and secrets is None:
            return texts  # a provider may quote the arguments, and it is not known which part is secret
        context = FeedbackContext(
            session=view,
            prompt=setup.prompt.prompt,
            deadline=active.deadline,
            call=active.call,
            result=result,
            calls=counted.calls,
            seconds=max(0.0, now - counted.first_at),
        )
        with no_calls(active):
            for provider in setup.prompt.feedback:
                text = _text_of(provider, context, setup.session, counted, now, is_secret=mask is not None)
                if text is not None:
                    shown = text if secrets is None else secrets.text(text)
                    texts.append(Feedback(provider.name, shown))
    except Exception as error:  # noqa: BLE001 -- a user's reducer or clock must not change the outcome
        log_failure(
            error, "there is no feedback on the call of %s", active.call.name, is_secret=mask is not None
        )
    finally:
        view.discard()
    return texts


def _text_of(
    provider: FeedbackProvider,
    context: FeedbackContext,
    session: Session,
    counted: PromptCalls,
    now: float,
    *,
    is_secret: bool,
) -> str | None:
    """The text of a provider; None if it has none, fails, or has just answered for a parallel call."""
    given = FeedbackGiven(prompt=counted.prompt, provider=provider.name, call=counted.calls, at=now)
    for _ in range(_TRIES):
        last = last_feedback(session, counted.prompt, provider.name)
        if last is not None:  # parallel calls may end in any order
            calls, seconds = max(0, counted.calls - last.call), max(0.0, now - last.at)
            context = replace(context, calls_since=calls, seconds_since=seconds)
        text = _call_provider(provider, context, is_secret=is_secret)
        if text is None or claim_feedback(session, last, given):
            return text
    return None


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
    _LOG.error("the feedback %s returned %s, not a text", provider.name, shown)
    return None
