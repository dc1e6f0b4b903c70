"""The innermost step: run the handler where it belongs, within its time, and make its outcome a result.

The only step that turns a handler's exception into a result. Does not know state, permission or limits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import copy_context
from time import monotonic
from typing import Any, cast

from toolhaft.backends.loop import GivenUpError, TimeIsUpError, drive_on
from toolhaft.backends.threads import Job
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.result import plain_result
from toolhaft.execute.coroutines import run_coroutine
from toolhaft.execute.failures import refused
from toolhaft.execute.handlers import PLAIN, Kind, binder, complete, drain, is_pending, kind_of, result_of
from toolhaft.execute.outcomes import limit_of, overran, raised, timed_out, too_late
from toolhaft.execute.run import Answer, Run, Step, arrive
from toolhaft.execute.setup import Setup


def compose(tool: AnyTool, setup: Setup, _inner: Step) -> Step:
    """The invoker that suits the handler."""
    if tool.handler is None:
        return _inactive(tool)
    kind = kind_of(tool.handler)
    if tool.isolation == "process":
        from toolhaft.execute.steps.invoke_process import invoke_process  # noqa: PLC0415 -- few tools need it

        return invoke_process(tool, setup, is_stream=kind in (Kind.STREAM, Kind.ASYNC_STREAM))
    if (kind is Kind.ASYNC or kind is Kind.ASYNC_STREAM) and tool.isolation != "thread":
        return _on_loop(tool, setup, kind)
    return _inline(tool, setup) if tool.isolation == "inline" else _on_thread(tool, setup)


def _inactive(tool: AnyTool) -> Step:
    is_off = getattr(tool, "says_active", None) is False  # a file's own words
    why = "its file says is_active: false" if is_off else "it has no handler"
    remedy = " by is_active: true there" if is_off else f" with: toolhaft tool set {tool.name} --endpoint URL"

    def invoke(_: Run) -> AnyResult:
        return refused(
            "failed",
            f"{tool.name} is not active: {why}.",
            advice=f"Its owner can activate it{remedy}.",
        )

    return invoke


def _inline(tool: AnyTool, setup: Setup) -> Step:
    bind = binder(tool, setup)
    handler = cast("Callable[..., object]", tool.handler)
    is_plain = tool.takes == "keywords" and tool.context_name is None
    timeout_s = tool.timeout_s

    def invoke(run: Run) -> Answer:
        if run.deadline is not None and run.deadline.has_passed:
            return too_late(tool)
        began = monotonic()
        try:
            value = handler(**run.params) if is_plain else bind(run)
            if type(value) not in PLAIN:
                value = drain(value, tool, run)
        except BaseException as error:  # noqa: BLE001 -- the one place where handlers are caught
            return raised(tool, run, error)
        if monotonic() - began > (timeout_s if run.deadline is None else limit_of(tool, run, began)):
            return overran(tool, setup, run)
        return plain_result(value) if type(value) in PLAIN else _result(tool, setup, run, value)

    return invoke


def _result(tool: AnyTool, setup: Setup, run: Run, value: object) -> Answer:
    """The result of a value that may still have to be awaited."""
    if is_pending(value):
        return _elsewhere(tool, setup, run, lambda: complete(value, tool, run))
    return result_of(tool, run, value)


def _on_thread(tool: AnyTool, setup: Setup) -> Step:
    bind = binder(tool, setup)

    async def invoke(run: Run) -> AnyResult:
        if run.deadline is not None and run.deadline.has_passed:
            return too_late(tool)

        def work() -> object:
            try:
                return _finish(bind(run), tool, run)
            finally:
                run.ended = monotonic()

        job = Job(work, copy_context())
        refusal = await _wait_for(job, tool, setup, run)
        if refusal is not None:
            return refusal
        if job.error is not None:
            return raised(tool, run, job.error)
        return await arrive(_result(tool, setup, run, job.value))

    return invoke


def _finish(value: object, tool: AnyTool, run: Run) -> object:
    """The whole value; an async handler that was asked onto a thread has a loop of its own there."""
    if tool.isolation == "thread" and is_pending(value):
        return asyncio.run(complete(value, tool, run))
    return drain(value, tool, run)


async def _wait_for(job: Job, tool: AnyTool, setup: Setup, run: Run) -> AnyResult | None:
    """None once the job has its outcome in time, else the result of a job that was given up or came late."""

    def arm(wake: Callable[[], None]) -> None:
        job.wake = wake
        setup.threads.submit(job)

    limit_s = limit_of(tool, run)
    began = monotonic()
    try:
        await run.port.wait(arm, limit_s)
    except BaseException:
        run.is_over = True
        if job.abandon():
            setup.stats.count("abandoned_threads")
        raise
    if not job.abandon():
        # whoever waits may hear of it long after, or of the limit too late to cut it off
        return overran(tool, setup, run) if run.ended - began > limit_s else None
    run.is_over = True
    if job.was_dropped:
        return refused("timeout", f"no thread was free for {tool.name} in {limit_s:g} s: it was not run.")
    setup.stats.count("abandoned_threads")
    return timed_out(tool, run, "its thread is cut off from session and files")


def _on_loop(tool: AnyTool, setup: Setup, kind: Kind) -> Step:  # noqa: C901 -- one branch a way to end, in line for speed
    bind = cast("Callable[[Run], Any]", binder(tool, setup))
    handler = cast("Callable[..., Coroutine[Any, Any, Any]]", tool.handler)
    is_plain = tool.takes == "keywords" and tool.context_name is None
    timeout_s = tool.timeout_s
    if kind is Kind.ASYNC_STREAM:
        return lambda run: _elsewhere(tool, setup, run, lambda: complete(bind(run), tool, run))

    def invoke(run: Run) -> Answer:
        if run.deadline is not None and run.deadline.has_passed:
            return too_late(tool)
        if not run.port.is_loop:
            return _elsewhere(tool, setup, run, lambda: bind(run))
        began = monotonic()
        try:
            coroutine = handler(**run.params) if is_plain else bind(run)
            waits_for = coroutine.send(None)
        except StopIteration as done:  # it never waited: there is nothing to time or to await
            value = done.value
        except BaseException as error:  # noqa: BLE001 -- as above
            return raised(tool, run, error)
        else:
            limit_s = timeout_s if run.deadline is None else limit_of(tool, run, began)
            return _go_on(tool, setup, run, drive_on(coroutine, waits_for, limit_s))
        if type(value) in PLAIN and run.deadline is None and monotonic() - began <= timeout_s:
            return plain_result(value)
        return _came_back(tool, setup, run, value, began=began, took_s=monotonic() - began)

    return invoke


def _came_back(
    tool: AnyTool, setup: Setup, run: Run, value: object, *, began: float, took_s: float
) -> Answer:
    """The result of an async handler that has its value, unless it came too late to be stopped."""
    if took_s > (tool.timeout_s if run.deadline is None else limit_of(tool, run, began)):
        return overran(tool, setup, run)
    return _result(tool, setup, run, value)


async def _go_on(tool: AnyTool, setup: Setup, run: Run, rest: Awaitable[object]) -> AnyResult:
    """The result of a handler that waits for something."""
    began = monotonic()
    try:
        value = await rest
        heard = monotonic()
        took_s = (run.ended or heard) - began
        if type(value) not in PLAIN:
            value = drain(value, tool, run)
            took_s += monotonic() - heard
    except BaseException as error:  # noqa: BLE001 -- as above
        return _stopped(tool, setup, run, error)
    if type(value) in PLAIN and run.deadline is None and took_s <= tool.timeout_s:
        return plain_result(value)
    return await arrive(_came_back(tool, setup, run, value, began=began, took_s=took_s))


async def _elsewhere(
    tool: AnyTool, setup: Setup, run: Run, start: Callable[[], Coroutine[Any, Any, Any]]
) -> AnyResult:
    """The result of an async handler of a sync caller, or of an async stream."""
    run.ended = 0.0  # a thread may have given back what is awaited here

    def note_end() -> None:
        run.ended = monotonic()

    return await _go_on(tool, setup, run, run_coroutine(run.port, start, limit_of(tool, run), note_end))


def _stopped(tool: AnyTool, setup: Setup, run: Run, error: BaseException) -> AnyResult:
    run.is_over = True
    if isinstance(error, TimeIsUpError):
        if error.was_abandoned:
            setup.stats.count("abandoned_tasks")
        return timed_out(tool, run, "it was cancelled")
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task() if run.port.is_loop else None
        if isinstance(error, GivenUpError):
            setup.stats.count("abandoned_tasks")
        if task is not None and task.cancelling():
            raise error
    return raised(tool, run, error)
