"""Runs handlers in worker processes, and kills them on timeout or on request."""

from __future__ import annotations

import math
import os
import pickle
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, cast

from toolhaft.backends import process_handler
from toolhaft.backends.process_channel import PROTOCOL, RAISED, RESULT, describe_error
from toolhaft.backends.process_errors import WorkerError
from toolhaft.backends.process_types import data_types, find_type, handler_types
from toolhaft.backends.process_worker import JobMessage
from toolhaft.backends.worker_handle import ServeOperation, WorkerDiedError, WorkerHandle, WorkerTimeoutError
from toolhaft.backends.worker_pool import WorkerPool
from toolhaft.errors import DefinitionError, ToolExecutionError, ToolTimeoutError

MEMORY_BYTES: Final = 2 * 1024**3
IDLE_S: Final = 60.0

JobEnding = Literal["returned", "raised", "timeout", "killed", "died", "not_run"]


class ProcessKilledError(ToolExecutionError):
    """The job was killed on request."""


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class ProcessJob:
    """One execution of a handler in a process.

    `handler` is the result of `ProcessPool.check`. For a handler that takes a context:

    - `context` has the attributes to copy, from `copied_attributes`; None replaces what cannot be pickled.
    - `serve(path, args, kwargs)` performs all other operations on the context, on the thread that runs the
      job; see `serve_context`. It also receives the chunks of a generator, as 'chunk'.

    `types` returns further types that the worker may send objects of, besides those that are registered,
    those of the arguments, and those that the handler's module and annotations name.
    """

    handler: bytes
    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] | None = None
    timeout_s: float | None = None
    context_name: str | None = None
    context: Mapping[str, object] | None = None
    serve: ServeOperation | None = None
    types: Callable[[], Iterable[type]] | None = None
    until: Callable[[], float] | None = None
    """By when it must be done, by the monotonic clock; replaces `timeout_s`. It is called again after the
    handler has started and after each operation, because they may give the handler more time."""
    on_start: Callable[[], None] | None = None
    has_started: bool = field(default=False, init=False)
    """True once the handler may have begun to run."""
    was_killed: bool = field(default=False, init=False)
    ending: JobEnding | None = field(default=None, init=False)
    """How it ended; None before it has ended."""
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _stop: Callable[[], None] | None = field(default=None, init=False)
    _found: dict[str, type] = field(default_factory=dict[str, type], init=False)

    def kill(self) -> None:
        """Kill the job with everything that it started; from any thread, at any time."""
        with self._lock:
            self.was_killed = True
            if self._stop is not None:
                self._stop()

    def start(self) -> None:
        """Record that the handler may have begun to run."""
        self.has_started = True
        if self.on_start is not None:
            self.on_start()

    def find_type(self, name: str) -> type | None:
        """A type that the worker may send objects of; None if it may not."""
        found = self._found.get(name)
        if found is None:
            found = find_type(name, self._known())
            if found is not None:
                self._found[name] = found
        return found

    def _known(self) -> Iterator[type]:
        yield from handler_types(self.handler)
        yield from data_types(map(type, (*self.args, *(self.kwargs or {}).values())))
        yield from () if self.types is None else self.types()

    def on_kill(self, stop: Callable[[], None] | None) -> bool:
        """Set the function that `kill` calls; False if `kill` was called already."""
        with self._lock:
            self._stop = stop
            return not self.was_killed


class ProcessPool:
    """A pool of worker processes, which are reused; a killed worker is replaced.

    A pool without references closes automatically, at the latest when the interpreter exits.

    Args:
        max_workers: the most workers at a time, by default one per processor core and at least 2; other jobs
            wait until one is free or their time is up.
        memory_bytes: the limit of each process of a job; None means no limit.
        idle_s: when idle workers are stopped, except for one.

    Raises:
        ValueError: if `max_workers` is less than 1.
    """

    def __init__(
        self,
        *,
        max_workers: int | None = None,
        memory_bytes: int | None = MEMORY_BYTES,
        idle_s: float = IDLE_S,
    ) -> None:
        if max_workers is None:
            max_workers = max(2, os.cpu_count() or 2)
        if max_workers < 1:
            raise ValueError(f"max_workers is at least 1, not {max_workers}")
        self._workers = WorkerPool(max_workers=max_workers, memory_bytes=memory_bytes, idle_s=idle_s)
        # not the ProcessPool itself, which the maintenance thread would keep alive
        self._close = weakref.finalize(self, self._workers.close)

    @property
    def workers(self) -> int:
        """The number of living workers."""
        return self._workers.count

    @property
    def idle(self) -> int:
        """The number of idle workers."""
        return self._workers.idle_count

    @property
    def started(self) -> int:
        """The number of workers started so far, without replacements of killed ones."""
        return self._workers.started

    @property
    def killed(self) -> int:
        """The number of jobs killed by timeout or on request."""
        return self._workers.killed

    def check(self, handler: Callable[..., object]) -> bytes:
        """Pickle a handler for `ProcessJob`.

        Raises:
            DefinitionError: if it cannot be pickled, such as a closure or a lambda.
        """
        return process_handler.pack_handler(handler)

    def warm_up(self, handlers: list[bytes]) -> None:
        """Let new workers import these handlers, and start one in the background if there is none."""
        self._workers.warm_up(handlers)

    def run(self, job: ProcessJob) -> object:
        """Run a job on a worker, wait until it has ended, and return its value.

        Raises:
            ToolTimeoutError: if the time was up; everything that the handler started is killed.
                `job.has_started` is False if it did not run: no worker was free, or it was still loading.
            ProcessKilledError: if `job.kill()` was called, or the pool was closed.
            ToolExecutionError: if the worker died, or something could not be sent.
            Exception: from the handler.
        """
        _refuse_while_loading()
        ends_at = math.inf if job.timeout_s is None else time.monotonic() + job.timeout_s
        until = job.until or (lambda: ends_at)
        job.ending = "not_run"
        content = _pack(job)
        worker = self._take(job, until())
        try:
            return self._run_on(worker, job, content, until)
        finally:
            self._workers.release(worker)

    def _take(self, job: ProcessJob, until: float) -> WorkerHandle:
        try:
            worker = self._workers.acquire(until, job)
        except WorkerTimeoutError:
            raise ToolTimeoutError(
                f"no worker process was free within {job.timeout_s:g} s; the handler did not run"
            ) from None
        except WorkerDiedError as error:
            raise ToolExecutionError(
                f"no worker process can be started: {_death(error.exit_code)}; the handler did not run"
            ) from None
        if worker is None:
            raise _killed(job)
        return worker

    def _run_on(
        self, worker: WorkerHandle, job: ProcessJob, content: bytes, until: Callable[[], float]
    ) -> object:
        number = worker.number
        if not job.on_kill(lambda: worker.kill(number)):
            raise _killed(job)
        try:
            kind, outcome = worker.run(
                job.handler,
                content,
                serve=job.serve or _refuse,
                find_type=job.find_type,
                until=until,
                on_start=job.start,
            )
        except WorkerTimeoutError:
            self._kill(worker, job, "timeout")
            raise ToolTimeoutError(f"not done within {job.timeout_s:g} s: {_what_happened(job)}") from None
        except WorkerDiedError as error:
            if not job.on_kill(None):
                self._kill(worker, job, "killed")
                raise _killed(job) from None
            job.ending = "died"
            raise WorkerError(f"the process died: {_death(error.exit_code)}") from None
        except BaseException:  # from `serve`, or an interrupt: nobody waits for the handler any more
            self._kill(worker, job, "killed")
            raise
        if not job.on_kill(None):
            self._kill(worker, job, "killed")
            raise _killed(job)
        if kind == RESULT:
            job.ending = "returned"
            self._workers.remember(job.handler)
            return outcome
        job.has_started = kind == RAISED
        job.ending = "raised" if job.has_started else "not_run"
        raise cast("Exception", outcome)

    def _kill(self, worker: WorkerHandle, job: ProcessJob, ending: JobEnding) -> None:
        job.on_kill(None)
        job.ending = ending
        self._workers.count_kill()
        worker.kill(worker.number)
        worker.wait_for_exit()

    def close(self) -> None:
        """Kill running jobs, stop all workers, and refuse further jobs; safe to repeat."""
        self._close()


def _refuse_while_loading() -> None:
    if process_handler.is_loading_main:
        raise DefinitionError(
            "the script runs a tool while a worker process is loading it to find a handler",
            place="isolation='process'",
            fix="put what the script does under `if __name__ == '__main__':`",
        )


def _refuse(path: str, _args: tuple[object, ...], _kwargs: dict[str, object]) -> object:
    raise ToolExecutionError(f"{path}: this call has no context")


def _killed(job: ProcessJob) -> ProcessKilledError:
    return ProcessKilledError(f"stopped on request: {_what_happened(job)}")


def _what_happened(job: ProcessJob) -> str:
    return "killed with everything that it started" if job.has_started else "the handler did not run"


def _pack(job: ProcessJob) -> bytes:
    """Pickle a job for its worker."""
    context: dict[str, bytes] = {}
    for name, value in (job.context or {}).items() if job.context_name is not None else ():
        try:
            context[name] = pickle.dumps(value, PROTOCOL)
        except Exception:  # noqa: BLE001, S112 -- pickling raises anything; the attribute is None in the worker
            continue
    message = JobMessage(
        job.handler, job.args, dict(job.kwargs or {}), job.context_name, context, job.serve is not None
    )
    try:
        return pickle.dumps(tuple(message), PROTOCOL)
    except Exception as error:
        raise ToolExecutionError(
            f"the arguments of the handler cannot be sent to a process: {describe_error(error)}. "
            "Fix: pass data, or use isolation='thread'"
        ) from error


def _death(exit_code: int | None) -> str:
    if exit_code is None:
        return "it closed its connection to the host, or its supervisor was killed"
    if exit_code >= 0:
        return f"it ended with exit code {exit_code}"
    try:
        name = f" ({signal.Signals(-exit_code).name})"
    except ValueError:
        name = ""
    return f"killed by signal {-exit_code}{name}"
