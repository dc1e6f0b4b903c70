"""The steps `extras` and `invoke`: run the handler inline, on a thread, on the loop or in a process.

`invoke` is the only step that turns a handler's exception into a result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import copy_context
from time import monotonic
from typing import Any, Final, cast

from toolhaft.backends.loop import HandlerAbandonedError, TimeIsUpError, drive_on
from toolhaft.backends.threads import Job
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.effect import Effect
from toolhaft.core.result import plain_result
from toolhaft.execute.active_call import ActiveCall
from toolhaft.execute.failures import is_a, refused
from toolhaft.execute.handlers import (
    HandlerKind,
    binder,
    complete,
    drain,
    error_result,
    handler_kind,
    is_late,
    is_pending,
    late_result,
    limit_of,
    overrun_result,
    plain_types,
    result_of,
    timeout_result,
)
from toolhaft.execute.pipeline import Step, StepAnswer, resolve, then
from toolhaft.execute.setup import Setup
from toolhaft.execute.stall_limit import StallLimit
from toolhaft.execute.waiting import run_coroutine, wait_up_to
from toolhaft.resources import CallResources

_STREAMS: Final = (HandlerKind.STREAM, HandlerKind.ASYNC_STREAM)


def extras(_: AnyTool, setup: Setup, inner: Step) -> Step:
    """In a chain if the executor has class tools: passes their extras to the next call of any tool."""
    if not setup.tools.has_class_tools:
        return inner

    def finish(active: ActiveCall, result: AnyResult) -> AnyResult:
        if result.success and active.next_extras:
            active.attempts.extras = active.next_extras
        return result

    inner = then(inner, finish)

    def step(active: ActiveCall) -> StepAnswer:
        active.extras, active.attempts.extras = active.attempts.extras, {}
        return inner(active)

    return step


def invoke(tool: AnyTool, setup: Setup, _: Step) -> Step:
    """In every chain, as the innermost step."""
    if tool.handler is None:
        return _inactive(tool)
    run = _runner(tool, setup)
    if tool.stall_s is not None:
        run = _with_stall_limit(tool, run)
    return _noted_in_parents(tool, run) if tool.effect is Effect.IRREVERSIBLE else run


def _noted_in_parents(tool: AnyTool, run: Step) -> Step:
    """Also record, in each call that this one is nested in, that it has run: it cannot be rolled back."""

    def finish(active: ActiveCall, result: AnyResult) -> AnyResult:
        if result.failure is not None and result.failure.outcome == "nothing_happened":
            for calls in active.parents_irreversible_calls():
                calls.remove(tool.name)
        return result

    run_and_finish = then(run, finish)

    def step(active: ActiveCall) -> StepAnswer:
        if active.nesting.parent is None:
            return run(active)
        for calls in active.parents_irreversible_calls():
            calls.append(tool.name)
        return run_and_finish(active)

    return step


def _runner(tool: AnyTool, setup: Setup) -> Step:
    kind = handler_kind(tool.handler)
    if tool.isolation == "process":
        from toolhaft.execute.steps.invoke_process import invoke_process  # noqa: PLC0415 -- few tools need it

        return invoke_process(tool, setup, is_stream=kind in _STREAMS)
    if kind in (HandlerKind.ASYNC, HandlerKind.ASYNC_STREAM) and tool.isolation != "thread":
        return _on_loop(tool, setup, kind)
    return _inline(tool, setup) if tool.isolation == "inline" else _on_thread(tool, setup)


def _with_stall_limit(tool: AnyTool, run: Step) -> Step:
    """Also stop a handler that gives no sign of life."""

    def step(active: ActiveCall) -> StepAnswer:
        active.stall = StallLimit(tool, active.deadline)
        return run(active)

    return step


def _inactive(tool: AnyTool) -> Step:
    from toolhaft.define.running.activation import why_inactive  # noqa: PLC0415 -- few tools need it

    is_off = getattr(tool, "is_active_in_file", None) is False
    command = f"tool get {tool.name}" if is_off else f"tool set {tool.name} --endpoint URL"

    def step(_: ActiveCall) -> AnyResult:
        return refused(
            "failed",
            f"{tool.name} is not active: {why_inactive(tool)}.",
            advice=f"Its owner can activate it with: toolhaft {command}.",
        )

    return step


def _inline(tool: AnyTool, setup: Setup) -> Step:
    handler = cast("Callable[..., object]", tool.handler)
    is_plain = tool.takes == "keywords" and tool.context_name is None and tool.stall_s is None
    quick_s, plain = _quick_s(tool), plain_types(tool)
    run = _listed(tool, setup)

    def step(active: ActiveCall) -> StepAnswer:
        if active.deadline is not None and active.deadline.has_passed:
            return late_result(tool, active)
        began = monotonic()
        try:
            value = handler(**active.params) if is_plain else run(active, began)
        except BaseException as error:  # noqa: BLE001 -- the handler may raise anything
            active.took_s = monotonic() - began
            return error_result(tool, active, error)
        active.took_s = took_s = monotonic() - began
        if type(value) in plain and active.deadline is None and took_s <= quick_s:
            return plain_result(value)
        return finish_inline(tool, setup, active, value, began)

    return step


def _listed(tool: AnyTool, setup: Setup) -> Callable[[ActiveCall, float], object]:
    """The function that calls the handler here, and lists the call as running meanwhile."""
    bind = binder(tool, setup)
    calls = setup.workers.running.calls
    is_stream = handler_kind(tool.handler) is HandlerKind.STREAM

    def run(active: ActiveCall, began: float) -> object:
        active.began_at = began
        calls[active] = None
        if active.stall is not None:
            active.stall.begin()
        try:
            return drain(bind(active), tool, active) if is_stream else bind(active)
        finally:
            del calls[active]

    return run


def _quick_s(tool: AnyTool) -> float:
    """How long a handler may have taken, if nothing more needs to be checked; -1 if always something does."""
    return -1.0 if tool.stall_s is not None or tool.timeout_s is None else tool.timeout_s


def finish_inline(tool: AnyTool, setup: Setup, active: ActiveCall, value: object, began: float) -> StepAnswer:
    """The result of a handler that returned any value, perhaps after its limit."""
    try:
        value = drain(value, tool, active)
    except BaseException as error:  # noqa: BLE001 -- a stream may raise anything
        return error_result(tool, active, error)
    active.took_s = took_s = monotonic() - began
    return finish_on_loop(tool, setup, active, value, began=began, took_s=took_s)


def _result(tool: AnyTool, setup: Setup, active: ActiveCall, value: object) -> StepAnswer:
    """The result for a value that may have to be awaited."""
    try:
        if is_pending(value):
            return _on_other_loop(tool, setup, active, lambda: complete(value, tool, active))
        return result_of(tool, active, value)
    except BaseException as error:  # noqa: BLE001 -- the methods of a value may raise anything
        return error_result(tool, active, error)


def _on_thread(tool: AnyTool, setup: Setup) -> Step:
    bind = binder(tool, setup)
    running = setup.workers.running

    async def step(active: ActiveCall) -> AnyResult:
        if active.deadline is not None and active.deadline.has_passed:
            return late_result(tool, active)

        def work() -> object:
            if active.stall is not None:
                active.stall.begin()
            value: object = None
            try:
                value = _finish(bind(active), tool, active)
            finally:
                active.ended_at = monotonic()
                if not is_pending(value):
                    _close_resources(active)
            return value

        job = Job(work, copy_context())
        running.begin(active)
        try:
            refusal = await _wait_for(job, tool, setup, active)
        finally:
            running.end(active)
        if refusal is not None:
            return refusal
        if job.error is not None:
            return error_result(tool, active, job.error)
        return await resolve(_result(tool, setup, active, job.value))

    return step


def _close_resources(active: ActiveCall) -> None:
    """Close what was created for the call, on the thread of its handler."""
    if active.context is not None:
        cast("CallResources", active.context.resources).close_unshared()


def _finish(value: object, tool: AnyTool, active: ActiveCall) -> object:
    """The whole value; an async handler with `isolation="thread"` gets its own loop on the thread."""
    if tool.isolation == "thread" and is_pending(value):
        return asyncio.run(complete(value, tool, active))
    return drain(value, tool, active)


async def _wait_for(job: Job, tool: AnyTool, setup: Setup, active: ActiveCall) -> AnyResult | None:
    """None if the job ended in time, else the result of a job that was abandoned or ended late."""

    def submit(wake: Callable[[], None]) -> None:
        job.wake = wake
        setup.workers.threads.submit(job)

    stall = active.stall
    limit_s = limit_of(tool, active)
    if stall is not None:
        limit_s = min(limit_s, stall.start_limit_s)
    began = monotonic()
    try:
        if stall is None:
            await active.waiter.wait(submit, limit_s)
        else:
            await wait_up_to(active.waiter, submit, limit_s, stall.left_s)
    except BaseException:
        active.is_over = True
        if job.abandon():
            setup.workers.stats.count("abandoned_threads")
        raise
    if not job.abandon():
        # measured on the job's thread: this one may have been woken long after the job ended
        took_s = active.ended_at - began
        late = took_s > limit_s if stall is None else is_late(tool, active, began, took_s)
        return overrun_result(tool, setup, active) if late else None
    active.is_over = True
    if job.was_dropped:
        return refused("timeout", f"no thread was free for {tool.name} in {limit_s:g} s: it was not run.")
    setup.workers.stats.count("abandoned_threads")
    return timeout_result(tool, active, "its thread lost access to session and files")


def _on_loop(tool: AnyTool, setup: Setup, kind: HandlerKind) -> Step:  # noqa: C901 -- inlined for speed
    bind = cast("Callable[[ActiveCall], Any]", binder(tool, setup))
    handler = cast("Callable[..., Coroutine[Any, Any, Any]]", tool.handler)
    is_plain = tool.takes == "keywords" and tool.context_name is None
    quick_s, plain = _quick_s(tool), plain_types(tool)
    if kind is HandlerKind.ASYNC_STREAM:
        return lambda active: _on_other_loop(
            tool, setup, active, lambda: complete(bind(active), tool, active)
        )

    def step(active: ActiveCall) -> StepAnswer:
        if active.deadline is not None and active.deadline.has_passed:
            return late_result(tool, active)
        if not active.waiter.is_loop:
            return _on_other_loop(tool, setup, active, lambda: bind(active))
        began = monotonic()
        if active.stall is not None:
            active.stall.begin()
        try:
            coroutine = handler(**active.params) if is_plain else bind(active)
            waits_for = coroutine.send(None)
        except StopIteration as done:  # it never suspended: no timer is needed
            value = done.value
            active.took_s = took_s = monotonic() - began
        except BaseException as error:  # noqa: BLE001 -- the handler may raise anything
            active.took_s = monotonic() - began
            return error_result(tool, active, error)
        else:
            stall = active.stall
            limit_s = limit_of(tool, active, began)
            rest = drive_on(coroutine, waits_for, limit_s, None if stall is None else stall.left_s)
            return _await_rest(tool, setup, active, rest)
        if type(value) in plain and active.deadline is None and took_s <= quick_s:
            return plain_result(value)
        return finish_on_loop(tool, setup, active, value, began=began, took_s=took_s)

    return step


def finish_on_loop(
    tool: AnyTool, setup: Setup, active: ActiveCall, value: object, *, began: float, took_s: float
) -> StepAnswer:
    """The result of a handler that has returned a whole value, perhaps after its limit."""
    if is_late(tool, active, began, took_s):
        return overrun_result(tool, setup, active)
    return _result(tool, setup, active, value)


async def _await_rest(tool: AnyTool, setup: Setup, active: ActiveCall, rest: Awaitable[object]) -> AnyResult:
    """The result of a handler that has suspended."""
    began, plain = monotonic(), plain_types(tool)
    running = setup.workers.running
    running.begin(active)
    try:
        value = await rest
        returned = monotonic()
        took_s = (active.ended_at or returned) - began
        if type(value) not in plain:
            value = drain(value, tool, active)
            took_s += monotonic() - returned
    except BaseException as error:  # noqa: BLE001 -- the handler may raise anything
        return stopped(tool, setup, active, error)
    finally:
        running.end(active)
    if type(value) in plain and active.deadline is None and took_s <= _quick_s(tool):
        return plain_result(value)
    return await resolve(finish_on_loop(tool, setup, active, value, began=began, took_s=took_s))


async def _on_other_loop(
    tool: AnyTool, setup: Setup, active: ActiveCall, start: Callable[[], Coroutine[Any, Any, Any]]
) -> AnyResult:
    """The result of an async handler of a sync caller, or of an async stream."""
    active.ended_at = 0.0  # already set if a handler on a thread returned this coroutine

    def on_end() -> None:
        active.ended_at = monotonic()
        _close_resources(active)

    left_s = None
    if active.stall is not None:
        active.stall.begin()
        left_s = active.stall.left_s
    rest = run_coroutine(active.waiter, start, limit_of(tool, active), on_end, left_s)
    return await _await_rest(tool, setup, active, rest)


def stopped(tool: AnyTool, setup: Setup, active: ActiveCall, error: BaseException) -> AnyResult:
    """The result of an async handler that was stopped, or has raised an exception, after it had suspended."""
    active.is_over = True
    if is_a(error, TimeIsUpError):
        if error.was_abandoned:
            setup.workers.stats.count("abandoned_tasks")
        return timeout_result(tool, active, "it was cancelled")
    if is_a(error, asyncio.CancelledError):
        task = asyncio.current_task() if active.waiter.is_loop else None
        if isinstance(error, HandlerAbandonedError):
            setup.workers.stats.count("abandoned_tasks")
        if task is not None and task.cancelling():
            raise error
    return error_result(tool, active, error)
