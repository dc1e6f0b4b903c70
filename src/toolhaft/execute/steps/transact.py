"""Gives a call its own fork of session and resources: kept on success, dropped on failure, then revoked.

Knows forks; does not know what a handler does with them.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final, cast

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.effect import Effect
from toolhaft.core.failure import Failure
from toolhaft.execute.failures import AFTERMATH, after_running
from toolhaft.execute.interrupts import HeldInterrupts
from toolhaft.execute.outcomes import words_of
from toolhaft.execute.run import CURRENT, Run, Scope, Step, arrive, context_of
from toolhaft.execute.setup import Setup

_LOG: Final = logging.getLogger("toolhaft")


def compose(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """Absent where the handler takes no context: there is nothing that it could change through us."""
    if tool.context_name is None:
        return inner
    read_only = tool.effect is Effect.READ

    async def transact(run: Run) -> AnyResult:
        forks = _Forks(run.scope, read_only=read_only)
        context = run.context = context_of(tool, setup, run, forks.session, forks.resources, watcher=run)
        run.inner_scope = Scope(
            setup=setup, session=forks.session, resources=forks.resources, deadline=context.deadline
        )
        token = CURRENT.set(run)
        try:
            result = await arrive(inner(run))
            return _commit(tool, forks, run, result) if result.success else _roll_back(tool, forks, result)
        except BaseException:
            forks.discard()
            raise
        finally:
            run.is_over = True
            CURRENT.reset(token)

    return transact


class _Forks:
    """The call's forks, and the handler's forks of those: even what a handler commits can be taken back.

    Of a session that refuses every write one will do; resources may be anybody's, and not keep their word.
    """

    __slots__ = ("_kept", "_own", "resources", "session")

    def __init__(self, around: Scope, *, read_only: bool) -> None:
        self._own = around.session.fork(read_only=read_only)
        self._kept = around.resources.fork(read_only=read_only)
        self.session = self._own if read_only else self._own.fork()
        self.resources = self._kept.fork(read_only=read_only)

    def commit(self) -> None:
        """Keep everything, or raise."""
        if self.session is self._own:  # what is only read cannot be left half-done
            self.session.commit(also=self.resources.commit)
            self._kept.commit()
            return
        with HeldInterrupts():
            self.session.commit(also=self.resources.commit)
            self._own.commit(also=self._kept.commit)

    def is_partly_kept(self) -> bool:
        """True where some resource has kept its changes and another could not."""
        return self._kept.kept > 0

    def discard(self) -> Exception | None:
        """Put everything back; where one cannot be, the others still are, and the trouble is loud."""
        trouble: Exception | None = None
        with HeldInterrupts():
            for drop in (self.resources.discard, self._kept.discard, self.session.discard, self._own.discard):
                try:
                    drop()
                except Exception as error:  # noqa: BLE001 -- a resource of the user's, or a disk
                    _LOG.exception("a failed call could not be rolled back")
                    trouble = trouble or error
        return trouble


def _commit(tool: AnyTool, forks: _Forks, run: Run, result: AnyResult) -> AnyResult:
    try:
        forks.commit()
    except Exception as error:  # noqa: BLE001 -- a reducer of the user's, or a disk: the call has failed
        message = f"{tool.name} ran, but what it wrote could not be kept: {words_of(error, run)}"
        failed = after_running(tool, "failed", message, error=error)
        if forks.is_partly_kept():
            failed = _unknown(failed, "Part of it was kept")
        return _roll_back(tool, forks, failed)
    return result


def _roll_back(tool: AnyTool, forks: _Forks, result: AnyResult) -> AnyResult:
    trouble = forks.discard()
    if trouble is None:
        return result
    return _unknown(result, f"What {tool.name} wrote could not be rolled back")


def _unknown(result: AnyResult, why: str) -> AnyResult:
    """A failure of which somebody must look what it has left behind."""
    _, advice = AFTERMATH[Effect.IRREVERSIBLE]
    failure = cast("Failure", result.failure)
    message = result.message.removesuffix(failure.advice).rstrip()
    advice = f"{why}. {advice}"
    told = result.with_rest(failure=replace(failure, advice=advice, outcome="unknown"))
    told.message = f"{message} {advice}"
    return told
