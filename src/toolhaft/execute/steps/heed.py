"""Asks the tool policies of a prompt before the handler runs, and tells them what came of it.

Knows decisions and forks; does not know what a policy is about.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.limits import Deadline
from toolhaft.core.tool_policy import PolicyDecision, ToolPolicy
from toolhaft.errors import ReadOnlyError
from toolhaft.execute.aliases import AnyResult, AnyTool
from toolhaft.execute.failures import refused
from toolhaft.execute.run import Answer, Run, Step, no_calls, then
from toolhaft.execute.setup import Setup
from toolhaft.session import Session

_LOG: Final = logging.getLogger("toolhaft")
_READS_ONLY: Final = "a policy's check may only read; it may write when it is told of the result"


def compose(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """Absent where no policy governs the tool."""
    policies = _policies(tool, setup)
    if not policies:
        return inner

    def heed(run: Run) -> Answer:
        hearing = _Hearing(tool=tool, setup=setup, run=run, params=_own(run.params))
        for policy in policies:
            why = hearing.objection(policy)
            if why is not None:
                return refused("not_allowed", f"{tool.name} is not allowed now: {why.rstrip('. ')}.")
        return then(inner, lambda _, result: hearing.tell(policies, result))(run)

    return heed


def compose_replays(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """Tells of recorded results too: the model has them now, whatever became of the call that made them.

    They are not checked, for nothing is run.
    """
    policies = _policies(tool, setup)
    if not policies:
        return inner

    def tell(run: Run, result: AnyResult) -> AnyResult:
        if not run.is_replay:
            return result
        return _Hearing(tool=tool, setup=setup, run=run, params=_own(run.params)).tell(policies, result)

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

    def objection(self, policy: ToolPolicy) -> str | None:
        """Why the call may not be run, if so; a policy that gives no clear answer allows nothing."""
        tool, params = self.tool, self.params
        session = self.run.scope.session.fork(read_only=True, read_only_reason=_READS_ONLY)
        name = _name(policy)
        try:
            answer = self._ask(session, lambda context: policy.check(tool, params, context=context))
        except Exception as error:  # noqa: BLE001 -- a policy that fails allows nothing
            _LOG.exception("the policy %s failed: %s was not run", name, tool.name)
            return f"the policy {name!r} failed ({type(error).__name__})"
        if isinstance(answer, PolicyDecision):
            # exactly True: a policy that was written carelessly allows nothing, too
            return None if answer.allowed is True else str(answer.reason) or f"the policy {name!r} forbids it"
        is_async = _is_awaited(answer)
        _LOG.error("the policy %s gave %.80r and no PolicyDecision: %s was not run", name, answer, tool.name)
        how = (
            "is async, and a check cannot wait" if is_async else f"answered {answer!r:.40}, no PolicyDecision"
        )
        return f"the policy {name!r} {how}"

    def tell(self, policies: tuple[ToolPolicy, ...], result: AnyResult) -> AnyResult:
        """Tell each policy; what one writes is kept by itself, or dropped where it fails."""
        for policy in policies:
            self._tell(policy, result)
        return result

    def _tell(self, policy: ToolPolicy, result: AnyResult) -> None:
        tool, params = self.tool, self.params

        def told(context: ToolContext) -> object:
            return cast("object", policy.on_result(tool, params, result, context=context))

        try:
            if _is_awaited(self._ask(self.run.scope.session.fork(), told, keep=True)):
                _LOG.error("the policy %s has an async on_result: it was not run", _name(policy))
        except ReadOnlyError as error:  # within a tool that only reads there is no place to keep anything
            _LOG.warning("the policy %s could note nothing of %s: %s", _name(policy), tool.name, error)
        except Exception:  # noqa: BLE001 -- whatever it is, the call is over and has its outcome
            _LOG.exception("the policy %s failed on the result of %s", _name(policy), tool.name)

    def _ask(self, session: Session, ask: Callable[[ToolContext], object], *, keep: bool = False) -> object:
        """A policy's answer, given what a handler would be given, but for the right to change resources."""
        setup, run, timeout_s = self.setup, self.run, self.tool.timeout_s
        resources = run.scope.resources.fork(read_only=True)
        context = ToolContext(
            prompt=setup.prompt,
            rendered_prompt=setup.rendered_prompt,
            adapter=setup.adapter,
            session=session,
            deadline=Deadline.after(timeout_s) if run.deadline is None else run.deadline.within(timeout_s),
            budget_tracker=setup.budget,
            resources=resources,
            principal=run.principal,
            call=run.call,
        )
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


def _name(policy: object) -> str:
    return str(getattr(policy, "name", None) or type(policy).__name__)
