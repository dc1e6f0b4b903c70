"""Runs a handler in a worker process, which can be killed; each use of its context is sent back here."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Final, cast

from toolhaft.backends.process import ProcessJob
from toolhaft.backends.process_context import copied_attributes, serve_context
from toolhaft.backends.threads import Job
from toolhaft.core.context import ToolContext
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.errors import ToolTimeoutError
from toolhaft.execute.failures import after_running, refused
from toolhaft.execute.handlers import (
    injector,
    join_chunks,
    limit_of,
    raised,
    result_of,
    timed_out,
    too_late,
)
from toolhaft.execute.pipeline import Step
from toolhaft.execute.run import CallRun
from toolhaft.execute.setup import Setup

_PATIENCE_S: Final = 5.0  # beyond the limit, at which the pool kills the process


def invoke_process(tool: AnyTool, setup: Setup, *, is_stream: bool) -> Step:
    """The innermost step of a tool with `isolation="process"`."""
    processes = setup.workers.processes
    handler = processes.pickled_handler(tool)
    inject = injector(tool, setup) if tool.takes == "runtime" else _no_values

    async def step(run: CallRun) -> AnyResult:
        limit_s = limit_of(tool, run)
        if limit_s <= 0:
            return too_late(tool)
        work = _job(tool, run, handler, limit_s, inject(run))
        pool = processes.pool()
        job = Job(lambda: pool.run(work), copy_context())

        def submit(wake: Callable[[], None]) -> None:
            job.wake = wake
            setup.workers.threads.submit(job)

        try:
            await run.waiter.wait(submit, limit_s + _PATIENCE_S)
        except BaseException:
            run.is_over = True
            work.kill()
            setup.workers.stats.count("killed_processes")
            raise
        if job.abandon():
            work.kill()
            setup.workers.stats.count("abandoned_threads")
            return timed_out(tool, run, "its process does not answer")
        return _result_of_job(tool, setup, run, work, job, is_stream=is_stream)

    return step


def _no_values(_: CallRun) -> dict[str, object]:
    return {}


def _result_of_job(
    tool: AnyTool, setup: Setup, run: CallRun, work: ProcessJob, job: Job, *, is_stream: bool
) -> AnyResult:
    if work.ending == "timeout":
        setup.workers.stats.count("killed_processes")
        return timed_out(tool, run, "it was killed, with everything that it had started")
    if work.ending == "unrun":
        is_late = isinstance(job.error, ToolTimeoutError)
        return refused("timeout" if is_late else "failed", f"{tool.name} was not run: {job.error}.")
    if work.ending == "died":
        return after_running(tool, "failed", f"{tool.name} failed: {job.error}", error=job.error)
    if job.error is not None:
        return raised(tool, run, job.error)
    return result_of(
        tool, run, join_chunks(cast("list[object]", job.value), tool) if is_stream else job.value
    )


def _job(
    tool: AnyTool, run: CallRun, handler: bytes, limit_s: float, injected: dict[str, object]
) -> ProcessJob:
    by_name = tool.takes in ("keywords", "runtime")
    context = run.context
    return ProcessJob(
        handler=handler,
        args=() if by_name else (run.params,),
        kwargs={**run.params, **injected} if by_name else {},
        timeout_s=limit_s,
        context_name=tool.context_name,
        context=None if context is None else copied_attributes(context),
        serve=partial(_serve, run, context),
    )


def _serve(
    run: CallRun, context: ToolContext | None, path: str, args: tuple[object, ...], kwargs: dict[str, object]
) -> object:
    if path == "chunk":
        run.emit_chunk(args[0])
        return None
    if context is None:
        raise LookupError(f"a handler without a context asked for {path!r}")
    return serve_context(context, path, args, kwargs)
