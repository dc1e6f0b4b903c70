"""Runs a handler in a process that can be killed; its context works, because each use of it travels back.

Knows jobs and their ends; does not know how a worker runs them.
"""

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
from toolhaft.execute.handlers import injector, join_chunks, result_of
from toolhaft.execute.outcomes import limit_of, raised, timed_out, too_late
from toolhaft.execute.run import Run, Step
from toolhaft.execute.setup import Setup

_PATIENCE_S: Final = 5.0  # beyond the limit: the pool itself kills long before


def invoke_process(tool: AnyTool, setup: Setup, *, is_stream: bool) -> Step:
    """The invoker of a tool with `isolation="process"`."""
    handler = setup.processes.check(tool)
    inject = injector(tool, setup) if tool.takes == "runtime" else _nothing

    async def invoke(run: Run) -> AnyResult:
        limit_s = limit_of(tool, run)
        if limit_s <= 0:
            return too_late(tool)
        work = _job(tool, run, handler, limit_s, inject(run))
        pool = setup.processes.pool()
        job = Job(lambda: pool.run(work), copy_context())

        def arm(wake: Callable[[], None]) -> None:
            job.wake = wake
            setup.threads.submit(job)

        try:
            await run.port.wait(arm, limit_s + _PATIENCE_S)
        except BaseException:
            run.is_over = True
            work.kill()
            setup.stats.count("killed_processes")
            raise
        if job.abandon():
            work.kill()
            setup.stats.count("abandoned_threads")
            return timed_out(tool, run, "its process does not answer")
        return _settle(tool, setup, run, work, job, is_stream=is_stream)

    return invoke


def _nothing(_: Run) -> dict[str, object]:
    return {}


def _settle(
    tool: AnyTool, setup: Setup, run: Run, work: ProcessJob, job: Job, *, is_stream: bool
) -> AnyResult:
    if work.ending == "timeout":
        setup.stats.count("killed_processes")
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


def _job(tool: AnyTool, run: Run, handler: bytes, limit_s: float, injected: dict[str, object]) -> ProcessJob:
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
    run: Run, context: ToolContext | None, path: str, args: tuple[object, ...], kwargs: dict[str, object]
) -> object:
    if path == "chunk":
        run.emit_chunk(args[0])
        return None
    if context is None:
        raise LookupError(f"a handler without a context asked for {path!r}")
    return serve_context(context, path, args, kwargs)
