"""The threads and processes that run handlers, and counts of the handlers that were stopped or abandoned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass
from threading import Lock
from typing import Final, cast

from toolhaft.backends.process import ProcessJob, ProcessPool
from toolhaft.backends.threads import Job, ThreadPool, shared_pool
from toolhaft.core.conversion import AnyTool
from toolhaft.errors import DefinitionError
from toolhaft.execute.running_calls import RunningCalls
from toolhaft.execute.tool_stats import ToolCounter, ToolCounters, ToolStats
from toolhaft.execute.waiting import LeftSeconds, Waiter, wait_up_to

_KILL_S: Final = 5.0
"""How long the pool may take to kill a process that has reached its limit."""


class Stats:
    """Counters of one executor; can be read at any time."""

    __slots__ = (
        "_counters",
        "_lock",
        "_pool",
        "abandoned_tasks",
        "abandoned_threads",
        "killed_processes",
        "overruns",
    )

    def __init__(self, pool: ThreadPool) -> None:
        self._lock = Lock()
        self._pool = pool
        self._counters = ToolCounters()
        self.abandoned_threads = 0
        """Handlers on a thread that were abandoned at their time limit or by a cancellation."""
        self.abandoned_tasks = 0
        """Async handlers that ignored their cancellation and were abandoned."""
        self.killed_processes = 0
        """Handlers in a process that were killed."""
        self.overruns = 0
        """Handlers that could not be stopped and returned after their time limit."""

    @property
    def tools(self) -> Mapping[str, ToolStats]:
        """Calls, failures and durations of each tool that was called, by name."""
        return self._counters.read()

    def counter_of(self, name: str) -> ToolCounter:
        """What counts the calls of a tool."""
        return self._counters.of(name)

    @property
    def abandoned(self) -> int:
        """Every handler that was abandoned while it still ran."""
        return self.abandoned_threads + self.abandoned_tasks

    @property
    def stuck_threads(self) -> int:
        """Threads that still work on a call that has ended."""
        return self._pool.stuck

    @property
    def threads(self) -> int:
        """Threads of the pool, without the stuck ones."""
        return self._pool.threads

    def count(self, name: str) -> None:
        """Add one to a counter."""
        with self._lock:
            setattr(self, name, getattr(self, name) + 1)

    def to_dict(self) -> dict[str, int]:
        """Every counter by name."""
        names = ("abandoned_threads", "abandoned_tasks", "killed_processes", "overruns")
        own = {name: int(getattr(self, name)) for name in names}
        return {**own, "stuck_threads": self.stuck_threads, "threads": self.threads}

    def __repr__(self) -> str:
        return f"Stats({', '.join(f'{name}={value}' for name, value in self.to_dict().items())})"


class WorkerProcesses:
    """The process pool of one executor, created when a tool first needs it."""

    __slots__ = ("_lock", "_max_workers", "_memory_bytes", "_pickled", "_pool")

    def __init__(self, max_workers: int | None, memory_bytes: int | None) -> None:
        self._max_workers = max_workers
        self._memory_bytes = memory_bytes
        self._pool: ProcessPool | None = None
        self._pickled: dict[str, tuple[object, bytes]] = {}
        self._lock = Lock()

    def pickled_handler(self, tool: AnyTool) -> bytes:
        """The handler of a tool, as it is sent to a worker.

        Raises:
            DefinitionError: if it cannot be sent.
        """
        handler, pickled = self._pickled.get(tool.name, (None, b""))
        if handler is not tool.handler:  # another prompt may have another tool of this name
            try:
                pickled = self.pool().check(cast("Callable[..., object]", tool.handler))
            except DefinitionError as error:
                raise error.of(tool.name) from error.__cause__
            self._pickled[tool.name] = tool.handler, pickled
        return pickled

    def prepare(self, tools: Mapping[str, AnyTool]) -> None:
        """Check the handlers that run in a process, and start a worker that has loaded them.

        Raises:
            DefinitionError: for the first handler that cannot be sent to a process.
        """
        for name in self._pickled.keys() - tools.keys():
            self._pickled.pop(name, None)
        isolated = [tool for tool in tools.values() if tool.isolation == "process"]
        handlers = [self.pickled_handler(tool) for tool in isolated if tool.handler is not None]
        if handlers:
            self.pool().warm_up(handlers)

    def pool(self) -> ProcessPool:
        """The pool, created on first use."""
        with self._lock:
            if self._pool is None:
                self._pool = ProcessPool(max_workers=self._max_workers, memory_bytes=self._memory_bytes)
            return self._pool

    def close(self) -> None:
        """End every worker."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Workers:
    """Where handlers run."""

    threads: ThreadPool
    owns_threads: bool
    processes: WorkerProcesses
    stats: Stats
    running: RunningCalls

    @staticmethod
    def create(
        *, max_threads: int | None, max_processes: int | None, process_memory_bytes: int | None
    ) -> Workers:
        """The workers for these limits; without `max_threads`, the thread pool is shared."""
        threads = shared_pool() if max_threads is None else ThreadPool(max_threads)
        return Workers(
            threads=threads,
            owns_threads=max_threads is not None,
            processes=WorkerProcesses(max_processes, process_memory_bytes),
            stats=Stats(threads),
            running=RunningCalls(),
        )

    async def run_in_process(
        self,
        pool: ProcessPool,
        work: ProcessJob,
        waiter: Waiter,
        limit_s: float,
        left_s: LeftSeconds | None = None,
    ) -> Job | None:
        """Run a job in a process, on a thread that waits for it; None if the process does not answer in time.

        The process is killed then, and if the caller is cancelled. `left_s` replaces the limit by one that
        may grow meanwhile.
        """
        job = Job(lambda: pool.run(work), copy_context())

        def submit(wake: Callable[[], None]) -> None:
            job.wake = wake
            self.threads.submit(job)

        try:
            await wait_up_to(waiter, submit, limit_s, left_s, extra_s=_KILL_S)
        except BaseException:
            work.kill()
            raise
        if not job.abandon():
            return job
        work.kill()
        return None

    def close(self) -> None:
        """End the processes and the executor's own threads; the next call starts new ones."""
        self.processes.close()
        if self.owns_threads:
            self.threads.close()
