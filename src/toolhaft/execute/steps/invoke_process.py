"""Runs a handler in a worker process, which can be killed; each use of its context is sent back here."""

from __future__ import annotations

from functools import partial
from typing import cast

from toolhaft.backends.process import ProcessJob
from toolhaft.backends.process_context import copied_attributes, serve_context
from toolhaft.backends.threads import Job
from toolhaft.core.content import PART_TYPES
from toolhaft.core.context import ToolContext
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.define.toolspec import ToolResponse
from toolhaft.errors import ToolTimeoutError
from toolhaft.execute.active_call import ActiveCall
from toolhaft.execute.failures import refused
from toolhaft.execute.handlers import (
    error_result,
    injector,
    join_chunks,
    late_result,
    limit_of,
    result_of,
    timeout_result,
)
from toolhaft.execute.pipeline import Step
from toolhaft.execute.setup import Setup
from toolhaft.session import Session


def invoke_process(tool: AnyTool, setup: Setup, *, is_stream: bool) -> Step:
    """The innermost step of a tool with `isolation="process"`."""
    processes, running = setup.workers.processes, setup.workers.running
    handler = processes.pickled_handler(tool)
    inject = injector(tool, setup) if tool.takes == "runtime" else None

    async def step(active: ActiveCall) -> AnyResult:
        limit_s = limit_of(tool, active)
        if limit_s <= 0:
            return late_result(tool, active)
        left_s = None
        if (stall := active.stall) is not None:
            limit_s, left_s = min(limit_s, stall.start_limit_s), stall.left_s
        work = _job(tool, active, handler, limit_s, {} if inject is None else inject(active))
        running.begin(active)
        try:
            job = await setup.workers.run_in_process(processes.pool(), work, active.waiter, limit_s, left_s)
        except BaseException:
            active.is_over = True
            setup.workers.stats.count("killed_processes")
            raise
        finally:
            running.end(active)
        if job is None:
            setup.workers.stats.count("abandoned_threads")
            return timeout_result(tool, active, "its process does not answer")
        return _result_of_job(tool, setup, active, work, job, is_stream=is_stream)

    return step


def _result_of_job(
    tool: AnyTool, setup: Setup, active: ActiveCall, work: ProcessJob, job: Job, *, is_stream: bool
) -> AnyResult:
    if work.ending == "timeout":
        setup.workers.stats.count("killed_processes")
        return timeout_result(tool, active, "it was killed, with everything that it had started")
    if work.ending == "not_run":
        is_late = isinstance(job.error, ToolTimeoutError)
        return refused("timeout" if is_late else "failed", f"{tool.name} was not run: {job.error}.")
    if job.error is not None:
        return error_result(tool, active, job.error)
    return result_of(
        tool, active, join_chunks(cast("list[object]", job.value), tool) if is_stream else job.value
    )


def _job(
    tool: AnyTool, active: ActiveCall, handler: bytes, limit_s: float, injected: dict[str, object]
) -> ProcessJob:
    by_name = tool.takes in ("keywords", "runtime")
    context, stall = active.context, active.stall
    return ProcessJob(
        handler=handler,
        args=() if by_name else (active.params,),
        kwargs={**active.params, **injected} if by_name else {},
        timeout_s=limit_s,
        context_name=tool.context_name,
        context=None if context is None else copied_attributes(context),
        serve=partial(_serve, active, context),
        types=partial(_types, context),
        until=None if stall is None else stall.until,
        on_start=None if stall is None else stall.begin,
    )


def _types(context: ToolContext | None) -> tuple[type, ...]:
    """Types that a worker may send objects of, whatever its handler's module names."""
    session: object = None if context is None else context.session
    own = session.known_types() if isinstance(session, Session) else ()
    return (ToolResponse, *PART_TYPES, *own)


def _serve(
    active: ActiveCall,
    context: ToolContext | None,
    path: str,
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> object:
    if path == "chunk":
        active.give_sign()
        active.emit_chunk(args[0])
        return None
    if context is None:
        raise LookupError(f"a handler without a context asked for {path!r}")
    return serve_context(context, path, args, kwargs)
