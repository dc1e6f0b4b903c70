"""Asks the tool policies of a prompt before the handler runs, and tells them what came of it.

Knows decisions and forks; does not know what a policy is about.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from types import CoroutineType
from typing import Any, Final, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.tool_policy import PolicyDecision, ToolPolicy
from toolhaft.errors import CallEndedError, ReadOnlyError, VisibilityExpansionRequired
from toolhaft.execute.discretion import log_failure, shown
from toolhaft.execute.failures import after_running, refused, sentence
from toolhaft.execute.masks import mask_of
from toolhaft.execute.run import Answer, Run, Step, context_of, no_calls, then
from toolhaft.execute.setup import Setup
from toolhaft.session import Session

_LOG: Final = logging.getLogger("toolhaft")
_READS_ONLY: Final = "a policy's check may only read; it may write when it is told of the result"


def compose(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """Absent where no policy governs the tool."""
    policies = _policies(tool, setup)
    if not policies:
        return inner
    is_secret = mask_of(tool) is not None

    async def tell_later(hearing: _Hearing, answer: CoroutineType[Any, Any, AnyResult]) -> AnyResult:
        try:
            result = await answer
        except BaseException as error:
            hearing.tell_of_end(policies, error)
            raise
        return hearing.tell(policies, result)

    def heed(run: Run) -> Answer:
        hearing = _Hearing(tool=tool, setup=setup, run=run, params=_own(run.params), is_secret=is_secret)
        for policy in policies:
            why = hearing.objection(policy)
            if why is not None:
                return refused("not_allowed", sentence(f"{tool.name} is not allowed now: {why}"))
        try:
            answer = inner(run)
        except BaseException as error:
            hearing.tell_of_end(policies, error)
            raise
        return (
            tell_later(hearing, answer) if type(answer) is CoroutineType else hearing.tell(policies, answer)
        )

    return heed


def compose_replays(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """Tells of recorded results too: the model has them now, whatever became of the call that made them.

    They are not checked, for nothing is run.
    """
    policies = _policies(tool, setup)
    if not policies:
        return inner

    is_secret = mask_of(tool) is not None

    def tell(run: Run, result: AnyResult) -> AnyResult:
        if not run.is_replay:
            return result
        hearing = _Hearing(tool=tool, setup=setup, run=run, params=_own(run.params), is_secret=is_secret)
        return hearing.tell(policies, result)

    return then(inner, tell)


def _policies(tool: AnyTool, setup: Setup) -> tuple[ToolPolicy, ...]:
    found = () if setup.port is None else setup.port.policies_for(tool.name, setup.rendered_prompt)
    return cast("tuple[ToolPolicy, ...]", tuple(found))


def _own(params: object) -> object:
    """The parameters for policies: a handler may change the dictionary that it is handed."""
    return {**cast("dict[str, object]", params)} if type(params) is dict else params


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hearing:
    """One call before its policies."""

    tool: AnyTool
    setup: Setup
    run: Run
    params: object
    is_secret: bool
    """True if the arguments may hold secrets, which then nothing may say that is said beside the model."""

    def objection(self, policy: ToolPolicy) -> str | None:
        """Why the call may not be run, if so; a policy that gives no clear answer allows nothing."""
        tool, params = self.tool, self.params
        session = self.run.scope.session.fork(read_only=True, read_only_reason=_READS_ONLY)
        name = _name(policy)
        try:
            answer = self._ask(session, lambda context: policy.check(tool, params, context=context))
            if isinstance(answer, PolicyDecision):
                # exactly True: a policy that was written carelessly allows nothing, too
                return None if answer.allowed is True else _reason(answer, name)
            return self._odd(answer, name)
        except Exception as error:  # noqa: BLE001 -- a policy that fails allows nothing
            said = "the policy %s failed: %s was not run"
            log_failure(error, said, name, tool.name, is_secret=self.is_secret)
            return f"the policy {name!r} failed ({type(error).__name__})"

    def _odd(self, answer: object, name: str) -> str:
        """What is said of an answer that is none."""
        is_async = _is_awaited(answer)
        odd = shown(answer, 80, is_secret=self.is_secret)
        _LOG.error("the policy %s gave %s and no PolicyDecision: %s was not run", name, odd, self.tool.name)
        if is_async:
            return f"the policy {name!r} is async, and a check cannot wait"
        return (
            f"the policy {name!r} answered {shown(answer, 40, is_secret=self.is_secret)}, no PolicyDecision"
        )

    def tell(self, policies: tuple[ToolPolicy, ...], result: AnyResult) -> AnyResult:
        """Tell each policy; what one writes is kept by itself, or dropped where it fails."""
        for policy in policies:
            self._tell(policy, result)
        return result

    def tell_of_end(self, policies: tuple[ToolPolicy, ...], error: BaseException) -> None:
        """Tell each policy of a call that was cut off: what its handler was about to do may be done.

        Not where the prompt takes over: such a call has done nothing but to ask for that.
        """
        if isinstance(error, VisibilityExpansionRequired):
            return
        kind = "failed" if isinstance(error, Exception) else "cancelled"
        self.tell(policies, after_running(self.tool, kind, f"{self.tool.name} was cut off", error=error))

    def _tell(self, policy: ToolPolicy, result: AnyResult) -> None:
        tool, params = self.tool, self.params

        def told(context: ToolContext) -> object:
            return cast("object", policy.on_result(tool, params, result, context=context))

        try:
            if _is_awaited(self._ask(self.run.scope.session.fork(), told, keep=True)):
                _LOG.error("the policy %s has an async on_result: it was not run", _name(policy))
        except (ReadOnlyError, CallEndedError) as error:
            # within a tool that only reads, or is over itself, there is no place to keep anything
            why = type(error).__name__ if self.is_secret else error
            _LOG.warning("the policy %s could note nothing of %s: %s", _name(policy), tool.name, why)
        except Exception as error:  # noqa: BLE001 -- whatever it is, the call is over and has its outcome
            said = "the policy %s failed on the result of %s"
            log_failure(error, said, _name(policy), tool.name, is_secret=self.is_secret)

    def _ask(self, session: Session, ask: Callable[[ToolContext], object], *, keep: bool = False) -> object:
        """A policy's answer, given what a handler would be given, but for the right to change resources."""
        run = self.run
        resources = run.scope.resources.fork(read_only=True)
        context = context_of(self.tool, self.setup, run, session, resources)
        try:
            with no_calls(run):
                answer = ask(context)
            if keep:
                session.commit()
            return answer
        finally:
            session.discard()
            resources.discard()


def _is_awaited(answer: object) -> bool:
    """True for an answer that would have to be awaited; nobody does, and so it is ended here."""
    if inspect.iscoroutine(answer):
        answer.close()
        return True
    return inspect.isawaitable(answer)


def _reason(denial: PolicyDecision, name: str) -> str:
    """Why a policy denies, in its own words where it has any."""
    reason = cast("object", denial.reason)
    return ("" if reason is None else str(reason).strip().rstrip(" .")) or f"the policy {name!r} forbids it"


def _name(policy: object) -> str:
    return str(getattr(policy, "name", None) or type(policy).__name__)
