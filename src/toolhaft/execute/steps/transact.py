"""The steps `nest` and `transact`: bind nested calls to their parent, and roll back failed calls."""

from __future__ import annotations

import logging
import signal
import threading

# not signal.getsignal: its lookup in an enum costs 20 µs and an exception for a handler of asyncio
from _signal import getsignal  # pyright: ignore[reportMissingImports, reportUnknownVariableType] -- not in typeshed
from dataclasses import replace
from math import inf
from time import monotonic
from typing import Final, cast

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.effect import Effect
from toolhaft.core.events import ToolInvoked
from toolhaft.core.result import Failure
from toolhaft.execute.active_call import CURRENT, ActiveCall, CommitScope, context_of
from toolhaft.execute.failures import OUTCOME_BY_EFFECT, after_running
from toolhaft.execute.handlers import HandlerKind, handler_kind, text_of_error
from toolhaft.execute.pipeline import Step, resolve
from toolhaft.execute.setup import Setup
from toolhaft.execute.steps.limit import takes_turns
from toolhaft.execute.thread_calls import follow_threads

_LOG: Final = logging.getLogger("toolhaft")
_ASYNC: Final = (HandlerKind.ASYNC, HandlerKind.ASYNC_STREAM)


def nest(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """In the chain of a tool that `transact` leaves alone, if calls of its handler must know their parent."""
    if _has_forks(tool) or tool.handler is None:
        return inner
    is_bounded = setup.is_bounded or setup.has_bounded_calls
    # a thread may outlive its call, and then must not begin another
    may_outlive = tool.isolation != "inline" and handler_kind(tool.handler) not in _ASYNC
    # events name the parent, and nested calls get no feedback
    is_observed = setup.session.has_listener(ToolInvoked) or bool(setup.prompt.feedback)
    # beats of the calls that it makes are signs of life
    may_stall = tool.stall_s is not None
    if not (is_bounded or may_outlive or may_stall or takes_turns(tool) or is_observed):
        return inner
    follow_threads()
    limit_s = inf if tool.timeout_s is None else tool.timeout_s

    async def step(active: ActiveCall) -> AnyResult:
        active.must_end_at = monotonic() + limit_s
        token = CURRENT.set(active)
        try:
            return await resolve(inner(active))
        finally:
            CURRENT.reset(token)

    return step


def _has_forks(tool: AnyTool) -> bool:
    # without a context, a reversible tool can still change things by the calls that it makes
    return tool.context_name is not None or (tool.effect is Effect.REVERSIBLE and tool.handler is not None)


def transact(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """In the chain of a tool with a context, or a reversible one: it works on forks of session and resources.

    They are committed on success and discarded on failure; then writing through them raises CallEndedError.
    """
    if not _has_forks(tool):
        return inner
    read_only = tool.effect is Effect.READ
    follow_threads()

    async def step(active: ActiveCall) -> AnyResult:
        forks = _Forks(active.scope, read_only=read_only)
        context = active.context = context_of(
            tool, setup, active, forks.session, forks.resources, watcher=active
        )
        forks.resources.deadline = context.time_limit
        active.inner_scope = CommitScope(
            setup=setup, session=forks.session, resources=forks.resources, deadline=context.time_limit
        )
        token = CURRENT.set(active)
        try:
            result = await resolve(inner(active))
            if not result.success:
                return _roll_back(tool, forks, active, result)
            try:
                while wait_s := forks.resources.catch_up():
                    await active.waiter.wait(lambda _: None, wait_s)
                forks.commit()
            except Exception as error:  # noqa: BLE001 -- a user's reducer, or a disk: the call has failed
                return _not_kept(tool, forks, active, error)
        except BaseException:
            forks.discard()
            raise
        else:
            return result
        finally:
            active.is_over = True
            CURRENT.reset(token)

    return step


class _Forks:
    """Two levels of forks: the handler gets the inner ones, so what it commits can still be rolled back.

    One fork is enough for a read-only session; a user's resource may write although its fork is read-only.
    """

    __slots__ = ("_outer_resources", "_outer_session", "resources", "session")

    def __init__(self, scope: CommitScope, *, read_only: bool) -> None:
        self._outer_session = scope.session.fork(read_only=read_only)
        self._outer_resources = scope.resources.fork(read_only=read_only)
        self.session = self._outer_session if read_only else self._outer_session.fork()
        self.resources = self._outer_resources.fork(read_only=read_only)

    def commit(self) -> None:
        """Commit everything, or raise."""
        if self.session is self._outer_session:  # read-only: nothing can be half done
            self.session.commit(also=self.resources.commit)
            self._outer_resources.commit()
            return
        with _HeldInterrupts():
            self.session.commit(also=self.resources.commit)
            self._outer_session.commit(also=self._outer_resources.commit)

    def is_partly_committed(self) -> bool:
        """True if some resource has committed its changes and another could not."""
        return self._outer_resources.kept > 0

    def discard(self) -> Exception | None:
        """Roll everything back; if one part fails, the others are rolled back all the same."""
        failure: Exception | None = None
        with _HeldInterrupts():
            for discard in (
                self.resources.discard,
                self._outer_resources.discard,
                self.session.discard,
                self._outer_session.discard,
            ):
                try:
                    discard()
                except Exception as error:  # noqa: BLE001 -- a user's resource, or a disk
                    _LOG.exception("a failed call could not be rolled back")
                    failure = failure or error
        return failure


def _not_kept(tool: AnyTool, forks: _Forks, active: ActiveCall, error: Exception) -> AnyResult:
    """The result of a call that succeeded, and whose changes could not be committed."""
    message = f"{tool.name} ran, but what it wrote could not be kept: {text_of_error(error, active)}"
    active.has_raised = True
    failed = after_running(tool, "failed", message, error=error)
    if forks.is_partly_committed():
        failed = _with_unknown_outcome(failed, "Part of it was kept")
    return _roll_back(tool, forks, active, failed)


def _roll_back(tool: AnyTool, forks: _Forks, active: ActiveCall, result: AnyResult) -> AnyResult:
    if forks.discard() is not None:
        return _with_unknown_outcome(result, f"What {tool.name} wrote could not be rolled back")
    if active.irreversible_calls:
        return _with_unknown_outcome(
            result, f"It has called {active.irreversible_calls[0]}, which cannot be undone"
        )
    return result


def _with_unknown_outcome(result: AnyResult, why: str) -> AnyResult:
    """A failure after which somebody must check what has changed."""
    _, advice = OUTCOME_BY_EFFECT[Effect.IRREVERSIBLE]
    failure = cast("Failure", result.failure)
    message = result.message.removesuffix(failure.advice).rstrip()
    advice = f"{why}. {advice}"
    return result.with_fields(
        message=f"{message} {advice}", failure=replace(failure, advice=advice, outcome="unknown")
    )


class _HeldInterrupts:
    """A block that Ctrl-C does not interrupt: KeyboardInterrupt is raised at its end.

    Only on the main thread, and only if Python's own signal handler is installed: another one, such as
    asyncio's, decides itself when to raise.
    """

    __slots__ = ("_holds", "_was_interrupted")

    def __enter__(self) -> None:
        self._was_interrupted = False
        self._holds = (
            threading.current_thread() is threading.main_thread()
            and getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self._holds:
            signal.signal(signal.SIGINT, self._note)

    def __exit__(self, *_: object) -> None:
        if self._holds:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if self._was_interrupted:
                raise KeyboardInterrupt

    def _note(self, *_: object) -> None:
        self._was_interrupted = True
