"""Runs handlers in worker processes, warm where possible; kills them when time is up, or on request.

Knows handlers, their arguments and their time; does not know tools, calls, sessions or files.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Final, Literal, cast

from toolhaft.backends import process_handler
from toolhaft.backends.process_channel import PROTOCOL, RAISED, RESULT, reason
from toolhaft.backends.process_shelf import Shelf
from toolhaft.backends.process_slot import Serve, Slot, TimeUpError, WorkerDiedError
from toolhaft.backends.process_worker import Order
from toolhaft.errors import DefinitionError, ToolExecutionError, ToolTimeoutError

MEMORY_BYTES: Final = 2 * 1024**3
IDLE_S: Final = 60.0

Ending = Literal["returned", "raised", "timeout", "killed", "died", "unrun"]


class ProcessKilledError(ToolExecutionError):
    """The job was killed because somebody asked for it."""


class ProcessJob:
    """One run of a handler in a process.

    `handler` is what `ProcessPool.check` gave. `context` and `serve` are for one that takes a context: what
    `copied_attributes` reads off it travels as copies (None where one cannot be pickled); for all else the
    worker asks, and `serve(path, args, kwargs)` answers on the thread that runs the job, as `serve_context`
    does. The chunks of a generator come there too, as 'chunk', before the list of them is returned.
    """

    __slots__ = (
        "_lock",
        "_stop",
        "args",
        "context",
        "context_name",
        "ending",
        "handler",
        "has_started",
        "kwargs",
        "serve",
        "timeout_s",
        "was_killed",
    )

    def __init__(
        self,
        *,
        handler: bytes,
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
        timeout_s: float | None = None,
        context_name: str | None = None,
        context: Mapping[str, object] | None = None,
        serve: Serve | None = None,
    ) -> None:
        self.handler = handler
        self.args = args
        self.kwargs = kwargs or {}
        self.timeout_s = timeout_s
        self.context_name = context_name
        self.context = context or {}
        self.serve = serve
        self.has_started = False
        """True once the handler may have begun to run."""
        self.was_killed = False
        self.ending: Ending | None = None
        """How it ended; None before."""
        self._lock = threading.Lock()
        self._stop: Callable[[], None] | None = None

    def kill(self) -> None:
        """End the job at once, with everything that it started; from any thread, at any time."""
        with self._lock:
            self.was_killed = True
            if self._stop is not None:
                self._stop()

    def start(self) -> None:
        """Note that the handler may have begun to run."""
        self.has_started = True

    def stop_by(self, stop: Callable[[], None] | None) -> bool:
        """Say what `kill` does from now on; False if it has been called already."""
        with self._lock:
            self._stop = stop
            return not self.was_killed


class ProcessPool:
    """Worker processes, reused for one job after the other; a worker that was killed is replaced.

    At most `max_workers` (by default one a processor core, at least 2) run at once; more jobs wait, as long
    as their time allows. `memory_bytes` bounds each process of a job; None sets no bound. Idle workers beyond
    one end after `idle_s`. A pool that is dropped closes itself, at the latest when the interpreter ends.

    Raises:
        ValueError: where there could be no worker at all.
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
        self._shelf = Shelf(max_workers=max_workers, memory_bytes=memory_bytes, idle_s=idle_s)
        # not the pool itself: a thread that tends the shelf must not keep the pool alive
        self._close = weakref.finalize(self, self._shelf.close)

    @property
    def workers(self) -> int:
        """Workers alive, busy ones too."""
        return self._shelf.count

    @property
    def idle(self) -> int:
        """Workers that wait for a job."""
        return self._shelf.idle_count

    @property
    def started(self) -> int:
        """Workers that were ever started, but for those that replaced a killed one."""
        return self._shelf.started

    @property
    def killed(self) -> int:
        """Jobs that were killed, by their time or on request."""
        return self._shelf.killed

    def check(self, handler: Callable[..., object]) -> bytes:
        """What travels to a worker to find this handler again.

        Raises:
            DefinitionError: where it cannot travel: a closure, a lambda, a method of what cannot be pickled.
        """
        return process_handler.pack_handler(handler)

    def warm_up(self, handlers: list[bytes]) -> None:
        """Have new workers import these at once, and start one in the background where there is none."""
        self._shelf.warm_up(handlers)

    def run(self, job: ProcessJob) -> object:
        """Run a job on a worker, block until it has ended, and give its value.

        Raises:
            ToolTimeoutError: the time was up; everything that the handler started is dead. `job.has_started`
                is False where it did not run: no worker was free, or it was still being loaded.
            ProcessKilledError: `job.kill()` was called, or the pool was closed.
            ToolExecutionError: the worker died by itself, or something could not travel.
            Exception: whatever the handler raised.
        """
        _refuse_while_loading()
        until = math.inf if job.timeout_s is None else time.monotonic() + job.timeout_s
        job.ending = "unrun"
        content = _pack(job)
        slot = self._take(job, until)
        try:
            return self._run_on(slot, job, content, until)
        finally:
            self._shelf.put_back(slot)

    def _take(self, job: ProcessJob, until: float) -> Slot:
        try:
            slot = self._shelf.take(until, job)
        except TimeUpError:
            raise ToolTimeoutError(
                f"no worker process was free within {job.timeout_s:g} s; the handler did not run"
            ) from None
        except WorkerDiedError as error:
            raise ToolExecutionError(
                f"no worker process can be started: {_death(error.exit_code)}; the handler did not run"
            ) from None
        if slot is None:
            raise _killed(job)
        return slot

    def _run_on(self, slot: Slot, job: ProcessJob, content: bytes, until: float) -> object:
        number = slot.number
        if not job.stop_by(lambda: slot.kill(number)):
            raise _killed(job)
        try:
            kind, outcome = slot.run(
                job.handler, content, serve=job.serve or _refuse, until=until, on_start=job.start
            )
        except TimeUpError:
            self._kill(slot, job, "timeout")
            raise ToolTimeoutError(f"not done within {job.timeout_s:g} s: {_fate(job)}") from None
        except WorkerDiedError as error:
            if not job.stop_by(None):
                self._kill(slot, job, "killed")
                raise _killed(job) from None
            job.ending = "died"
            raise ToolExecutionError(f"the process died: {_death(error.exit_code)}") from None
        except BaseException:  # of `serve`, an interrupt for one: nobody waits for the handler any more
            self._kill(slot, job, "killed")
            raise
        if not job.stop_by(None):
            self._kill(slot, job, "killed")
            raise _killed(job)
        if kind == RESULT:
            job.ending = "returned"
            self._shelf.know(job.handler)
            return outcome
        job.has_started = kind == RAISED
        job.ending = "raised" if job.has_started else "unrun"
        raise cast("Exception", outcome)

    def _kill(self, slot: Slot, job: ProcessJob, ending: Ending) -> None:
        job.stop_by(None)
        job.ending = ending
        self._shelf.count_kill()
        slot.kill(slot.number)
        slot.bury()

    def close(self) -> None:
        """Kill what runs, end every worker, and refuse jobs from now on; safe to repeat."""
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
    return ProcessKilledError(f"stopped on request: {_fate(job)}")


def _fate(job: ProcessJob) -> str:
    return "killed with everything that it started" if job.has_started else "the handler did not run"


def _pack(job: ProcessJob) -> bytes:
    """The job as its worker reads it, apart from where the worker is."""
    context: dict[str, bytes] = {}
    for name, value in job.context.items() if job.context_name is not None else ():
        try:
            context[name] = pickle.dumps(value, PROTOCOL)
        except Exception:  # noqa: BLE001, S112 -- a reducer raises anything; what cannot travel is None over there
            continue
    order = Order(job.handler, job.args, dict(job.kwargs), job.context_name, context, job.serve is not None)
    try:
        return pickle.dumps(tuple(order), PROTOCOL)
    except Exception as error:
        raise ToolExecutionError(
            f"the handler's arguments cannot travel to a process: {reason(error)}. "
            "Fix: give it data, or use isolation='thread'"
        ) from error


def _death(exit_code: int | None) -> str:
    if exit_code is None:
        return "it closed its own line to the host, or its keeper was killed"
    if exit_code >= 0:
        return f"it ended with exit code {exit_code}"
    try:
        name = f" ({signal.Signals(-exit_code).name})"
    except ValueError:
        name = ""
    return f"killed by signal {-exit_code}{name}"
