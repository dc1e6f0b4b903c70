"""Gives a call its own fork of session and resources: kept on success, dropped on failure, then revoked.

Knows forks; does not know what a handler does with them.
"""

from __future__ import annotations

from toolhaft.core.context import ToolContext
from toolhaft.core.effect import Effect
from toolhaft.core.limits import Deadline
from toolhaft.execute.aliases import AnyResult, AnyTool
from toolhaft.execute.failures import after_running
from toolhaft.execute.run import CURRENT, Run, Scope, Step, arrive
from toolhaft.execute.setup import Setup
from toolhaft.resources import CallResources
from toolhaft.session import Session


def compose(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """Absent where the handler takes no context: there is nothing that it could change through us."""
    if tool.context_name is None:
        return inner
    read_only = tool.effect is Effect.READ

    async def transact(run: Run) -> AnyResult:
        around = run.scope
        session = around.session.fork(read_only=read_only)
        resources = around.resources.fork(read_only=read_only)
        deadline = run.deadline
        deadline = Deadline.after(tool.timeout_s) if deadline is None else deadline.within(tool.timeout_s)
        run.context = ToolContext(
            prompt=setup.prompt,
            rendered_prompt=setup.rendered_prompt,
            adapter=setup.adapter,
            session=session,
            deadline=deadline,
            budget_tracker=setup.budget,
            resources=resources,
            principal=run.principal,
            call=run.call,
            watcher=run,
        )
        run.inner_scope = Scope(setup=setup, session=session, resources=resources, deadline=deadline)
        token = CURRENT.set(run)
        try:
            result = await arrive(inner(run))
            if not result.success:
                _discard(session, resources)
                return result
            return _commit(tool, session, resources, result)
        except BaseException:
            _discard(session, resources)
            raise
        finally:
            run.is_over = True
            CURRENT.reset(token)

    return transact


def _commit(tool: AnyTool, session: Session, resources: CallResources, result: AnyResult) -> AnyResult:
    try:
        session.commit(also=resources.commit)
    except Exception as error:  # noqa: BLE001 -- a reducer of the user's, or a disk: the call has failed
        _discard(session, resources)
        message = f"{tool.name} ran, but what it wrote could not be kept: {error}"
        return after_running(tool, "failed", message, error=error)
    return result


def _discard(session: Session, resources: CallResources) -> None:
    """Put everything back; where one cannot be, the other still is, and the trouble is loud."""
    try:
        resources.discard()
    finally:
        session.discard()
