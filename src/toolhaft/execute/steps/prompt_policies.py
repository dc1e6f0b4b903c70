"""The steps `prompt_policies` and `policy_replays`: a prompt's tool policies decide, and get the results."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.masking import argument_mask, log_failure, short_repr
from toolhaft.core.prompt_hooks import PolicyDecision, ToolPolicy
from toolhaft.errors import CallEndedError, ReadOnlyError, VisibilityExpansionRequired
from toolhaft.execute.active_call import ActiveCall, context_of, no_calls
from toolhaft.execute.failures import after_running, refused, sentence
from toolhaft.execute.pipeline import Step, StepAnswer, then
from toolhaft.execute.setup import Setup
from toolhaft.execute.steps.permit import watch_changes
from toolhaft.session import Session

_LOG: Final = logging.getLogger("toolhaft")
_READ_ONLY_REASON: Final = "a policy's check may only read; its on_result may write"


def prompt_policies(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """In a chain if the prompt has a policy for the tool: asks it first, and reports the result to it."""
    policies = setup.prompt.policies_for(tool)
    if not policies:
        return inner

    def step(active: ActiveCall) -> StepAnswer:
        policy_call = _PolicyCall.of(tool, setup, active, policies)
        for policy in policies:
            why = policy_call.objection(policy)
            if why is not None:
                return refused("not_allowed", sentence(f"{tool.name} is not allowed now: {why}"))
        return then(inner, policy_call.report, policy_call.report_interrupt)(active)

    return step


def policy_replays(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """In the same chains as `prompt_policies`: reports recorded results too, because the model reads them.

    The policies do not decide about such a call, because nothing runs.
    """
    policies = setup.prompt.policies_for(tool)
    if not policies:
        return inner

    def finish(active: ActiveCall, result: AnyResult) -> AnyResult:
        if not active.report.is_replay:
            return result
        return _PolicyCall.of(tool, setup, active, policies).report(active, result)

    return then(inner, finish)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PolicyCall:
    """A call and the policies that decide about it."""

    tool: AnyTool
    setup: Setup
    active: ActiveCall
    params: object
    policies: tuple[ToolPolicy, ...]
    is_secret: bool
    """True if the arguments may contain secrets, which must not be logged."""

    @staticmethod
    def of(tool: AnyTool, setup: Setup, active: ActiveCall, policies: tuple[ToolPolicy, ...]) -> _PolicyCall:
        params = cast("object", active.params)
        if type(params) is dict:  # a copy: the handler may change the dictionary that it receives
            params = {**cast("dict[str, object]", params)}
        is_secret = argument_mask(tool) is not None
        return _PolicyCall(
            tool=tool, setup=setup, active=active, params=params, policies=policies, is_secret=is_secret
        )

    def objection(self, policy: ToolPolicy) -> str | None:
        """Why the call may not run, if so; a policy without a clear answer allows nothing."""
        tool, params = self.tool, self.params
        session = self.active.scope.session.fork(read_only=True, read_only_reason=_READ_ONLY_REASON)
        name = _name(policy)
        has_changed = watch_changes(params)
        try:
            answer = self._call(session, lambda context: policy.check(tool, params, context=context))
            if has_changed():
                return f"the policy {name!r} changed the parameters, which it may only read"
            if isinstance(answer, PolicyDecision):
                # exactly True: another truthy value may be a mistake in the policy
                return None if answer.allowed is True else _reason(answer, name)
            return self._wrong_answer(answer, name)
        except Exception as error:  # noqa: BLE001 -- a policy that fails allows nothing
            message = "the policy %s failed: %s was not run"
            log_failure(error, message, name, tool.name, is_secret=self.is_secret)
            return f"the policy {name!r} failed ({type(error).__name__})"

    def _wrong_answer(self, answer: object, name: str) -> str:
        is_async = _is_awaitable(answer)
        shown = short_repr(answer, 80, is_secret=self.is_secret)
        _LOG.error(
            "the policy %s returned %s, not a PolicyDecision: %s was not run", name, shown, self.tool.name
        )
        if is_async:
            return f"the policy {name!r} is async, and a check cannot wait"
        shown = short_repr(answer, 40, is_secret=self.is_secret)
        return f"the policy {name!r} answered {shown}, not a PolicyDecision"

    def report(self, _: ActiveCall, result: AnyResult) -> AnyResult:
        """Report the result to each policy; the writes of each are committed, or discarded if it fails."""
        for policy in self.policies:
            self._report(policy, result)
        return result

    def report_interrupt(self, active: ActiveCall, error: BaseException) -> None:
        """Report a call that was interrupted: its handler may have done its work.

        A call that only asks for more sections of the prompt is not reported.
        """
        if isinstance(error, VisibilityExpansionRequired):
            return
        kind = "failed" if isinstance(error, Exception) else "cancelled"
        self.report(active, after_running(self.tool, kind, f"{self.tool.name} was interrupted", error=error))

    def _report(self, policy: ToolPolicy, result: AnyResult) -> None:
        tool, params = self.tool, self.params

        def on_result(context: ToolContext) -> object:
            return cast("object", policy.on_result(tool, params, result, context=context))

        try:
            if _is_awaitable(self._call(self.active.scope.session.fork(), on_result, commit=True)):
                _LOG.error("the policy %s has an async on_result: it was not run", _name(policy))
        except (ReadOnlyError, CallEndedError) as error:
            # nested in a read-only tool, or in a call that has ended: its writes cannot be kept
            why = type(error).__name__ if self.is_secret else error
            _LOG.warning(
                "the policy %s could not write about the result of %s: %s", _name(policy), tool.name, why
            )
        except Exception as error:  # noqa: BLE001 -- the call has ended and has its outcome
            message = "the policy %s failed on the result of %s"
            log_failure(error, message, _name(policy), tool.name, is_secret=self.is_secret)

    def _call(
        self, session: Session, call: Callable[[ToolContext], object], *, commit: bool = False
    ) -> object:
        """Call a policy with a handler's context, in which resources are read-only."""
        active = self.active
        resources = active.scope.resources.fork(read_only=True)
        context = context_of(self.tool, self.setup, active, session, resources)
        try:
            with no_calls(active):
                answer = call(context)
            if commit:
                session.commit()
            return answer
        finally:
            session.discard()
            resources.discard()


def _is_awaitable(answer: object) -> bool:
    """True for an answer that must be awaited; a coroutine is closed, because nothing will await it."""
    if inspect.iscoroutine(answer):
        answer.close()
        return True
    return inspect.isawaitable(answer)


def _reason(denial: PolicyDecision, name: str) -> str:
    reason = cast("object", denial.reason)
    return ("" if reason is None else str(reason).strip().rstrip(" .")) or f"the policy {name!r} forbids it"


def _name(policy: object) -> str:
    return str(getattr(policy, "name", None) or type(policy).__name__)
