"""The host's side of one keeper and its worker: start them, hand over a job, kill, hang up.

Knows one worker; does not know how many there are, nor which job comes next.
"""

from __future__ import annotations

import math
import os
import pickle
import select
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from subprocess import TimeoutExpired
from typing import Final, NoReturn, cast

from toolhaft.backends.process_channel import (
    ANSWER,
    ASK,
    JOB,
    LOAD,
    PROTOCOL,
    RAISED,
    REFUSAL,
    RESULT,
    SPENT,
    STARTED,
    UNRUN,
    Channel,
    ChannelClosedError,
    pack_error,
    reason,
    unpack_error,
)
from toolhaft.backends.process_handler import surroundings
from toolhaft.backends.process_keeper import BORN, COMMAND, REPORT
from toolhaft.backends.process_start import start_keeper
from toolhaft.backends.process_tree import kill_below, kill_session
from toolhaft.backends.process_worker import Errand
from toolhaft.errors import ToolExecutionError

Asked = tuple[str, tuple[object, ...], dict[str, object]]
"""The path of an operation, its arguments and its keywords."""
Serve = Callable[[str, tuple[object, ...], dict[str, object]], object]
"""Does an operation that a handler asks of its host."""

PATIENCE_S: Final = 0.075
"""How long an answer waits for the dead to be buried; killed they are before, which is what counts."""
_DEATH_S: Final = 0.5
"""How long a worker that has hung up may take to die of itself."""
_LAST_PATIENCE_S: Final = 5.0
_ROUNDS: Final = 3
_ROUND_S: Final = 0.01
_LONGEST_POLL_S: Final = 3600.0
_CLOSE_ON_EXEC: Final = getattr(socket, "MSG_CMSG_CLOEXEC", 0)  # not on every system


class TimeUpError(Exception):
    """The time is up and the worker is not done."""


class WorkerDiedError(Exception):
    """The worker is no more; `exit_code` is negative for a signal, None where nobody knows."""

    def __init__(self, exit_code: int | None) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


class Slot:
    """One worker, or the next one that its keeper starts."""

    __slots__ = (
        "_both",
        "_channel",
        "_control",
        "_exit_code",
        "_is_alive",
        "_keeper",
        "_ran",
        "_reports",
        "_told",
        "_until",
        "idle_since",
        "number",
    )

    def __init__(self, memory_bytes: int | None) -> None:
        try:
            self._keeper, self._control = start_keeper(memory_bytes)
        except OSError as error:
            raise ToolExecutionError(f"no worker process can be started: {reason(error)}") from error
        self._channel: Channel | None = None
        self._is_alive = False
        self._told: tuple[list[str], str | None] | None = None
        self._ran: set[bytes] = set()
        self._exit_code: int | None = None
        self._until = math.inf
        self._both = self._reports = select.poll()
        self._reports.register(self._control, select.POLLIN)
        self.number = 0
        """Of the worker; a new one has a new number."""
        self.idle_since = 0.0

    @property
    def is_warm(self) -> bool:
        """True if there is a worker, as far as is known."""
        return self._channel is not None

    def be_ready(self, until: float) -> None:
        """Have a worker that lives.

        Raises:
            TimeUpError: where none has come by then.
            WorkerDiedError: where none will come: the keeper is gone.
        """
        self._until = until
        while True:
            if self._channel is None:
                if self._reports.poll(self._poll_ms()):
                    self._read_report()
                elif time.monotonic() >= until:
                    raise TimeUpError
                continue
            ready = self._both.poll(0)
            if not ready:
                return
            if any(fd == self._control.fileno() for fd, _ in ready):
                self._read_report()
            else:  # an idle worker has nothing to say: it is dying
                self.kill(self.number)
                self._lose_channel()

    def load(self, handlers: list[bytes]) -> None:
        """Have the worker import these handlers meanwhile; where that fails, the job that needs one tells."""
        with suppress(ChannelClosedError, TimeUpError, WorkerDiedError):
            self._send(LOAD, self._errand(pickle.dumps(handlers, PROTOCOL)))

    def run(
        self, handler: bytes, content: bytes, *, serve: Serve, until: float, on_start: Callable[[], None]
    ) -> tuple[int, object]:
        """Do a job to its end: RESULT with its value, RAISED or UNRUN with an exception.

        `on_start` is called as soon as the handler may have begun to run.

        Raises:
            TimeUpError: where it is not done by then; it still runs.
            WorkerDiedError: where the worker died of it.
        """
        self._until = until
        is_new = handler not in self._ran
        if not is_new:
            on_start()
        try:
            self._send(JOB, self._errand(content, tells_start=is_new))
            while True:
                kind, payload = cast("Channel", self._channel).receive(self._wait)
                if kind & ~SPENT in (RESULT, RAISED, UNRUN):
                    break
                if kind == STARTED:
                    self._ran.add(handler)
                    on_start()
                else:
                    self._answer(kind, payload, serve)
                if time.monotonic() >= until:  # a handler that never stops talking is never waited for
                    raise TimeUpError
        except ChannelClosedError:
            self._await_death()
        if kind & SPENT:
            self.kill(self.number)
            self.bury()
        return _outcome(kind & ~SPENT, payload)

    def _errand(self, content: bytes, *, tells_start: bool = False) -> bytes:
        try:
            directory = os.getcwd()  # noqa: PTH109 -- on the path of every job, and a Path is slow
        except OSError:  # it was deleted
            directory = None
        told, self._told = self._told, (sys.path.copy(), directory)
        now = None if told == self._told else surroundings()
        return pickle.dumps(tuple(Errand(now, directory, tells_start, content)), PROTOCOL)

    def _send(self, kind: int, payload: bytes) -> None:
        cast("Channel", self._channel).send(kind, payload, self._wait)

    def _answer(self, kind: int, payload: bytes | bytearray, serve: Serve) -> None:
        try:
            asked = cast("Asked", pickle.loads(payload))  # noqa: S301 -- of our own worker
            value = serve(*asked)
            answer, message = ANSWER, _pack_answer(asked, value) if kind == ASK else b""
        except Exception as error:  # noqa: BLE001 -- of a session or a filesystem: it belongs to the handler
            answer, message = REFUSAL, pack_error(error)
        if kind == ASK:
            self._send(answer, message)

    def _wait(self, events: int) -> None:
        """Block until the worker can be read from, or written to."""
        poll = self._both
        if events == select.POLLOUT:
            poll = select.poll()
            poll.register(cast("Channel", self._channel).socket, select.POLLOUT)
            poll.register(self._control, select.POLLIN)
        control = self._control.fileno()
        while True:
            ready = poll.poll(self._poll_ms())
            if any(fd != control for fd, _ in ready):
                return
            if ready:
                self._read_report()
            elif time.monotonic() >= self._until:
                raise TimeUpError
            if self._channel is None:
                raise WorkerDiedError(self._exit_code)

    def _poll_ms(self) -> int:
        left = min(self._until - time.monotonic(), _LONGEST_POLL_S)
        return math.ceil(left * 1000) if left > 0 else 0

    def _read_report(self) -> None:
        try:
            report, handles, _, _ = socket.recv_fds(self._control, REPORT.size, 1, _CLOSE_ON_EXEC)
        except OSError:
            report, handles = b"", []
        # no handle comes with a birth where this process has too many open
        if len(report) < REPORT.size or (report.startswith(BORN) and not handles):
            self._lose_channel()
            self._is_alive = False
            raise WorkerDiedError(None)
        kind, number, detail = cast("tuple[bytes, int, int]", REPORT.unpack(report))
        if kind != BORN:
            self._lose_channel()
            self._is_alive = False
            self._exit_code = os.waitstatus_to_exitcode(detail)
            return
        os.set_inheritable(handles[0], False)  # noqa: FBT003 -- the function's own signature
        end = socket.socket(fileno=handles[0])
        end.setblocking(False)  # noqa: FBT003 -- the socket's own signature
        self._channel, self._told, self._ran = Channel(end), None, set()
        self.number, self._is_alive = number, True
        self._both = select.poll()
        self._both.register(end, select.POLLIN)
        self._both.register(self._control, select.POLLIN)

    def _lose_channel(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _await_death(self) -> NoReturn:
        """The worker has hung up: say what it died of, or kill it where it only closed its handles."""
        if not self.bury(max(PATIENCE_S, min(_DEATH_S, self._until - time.monotonic()))):
            self.kill(self.number)
            self.bury()
            self._exit_code = None
        raise WorkerDiedError(self._exit_code)

    def kill(self, number: int) -> None:
        """Have the keeper kill the worker of this number, if it is still that one; from any thread."""
        with suppress(OSError):
            self._control.send(COMMAND.pack(number))

    def bury(self, patience_s: float = PATIENCE_S) -> bool:
        """Wait until the worker and all that it started are dead; False where that takes too long."""
        self._lose_channel()  # nothing more is said to this worker
        self._until = time.monotonic() + patience_s
        while self._is_alive and self._reports.poll(self._poll_ms()):
            with suppress(WorkerDiedError):  # the keeper too
                self._read_report()
        return not self._is_alive

    def cut(self) -> None:
        """Have the keeper end, and whoever waits for it give up; from any thread."""
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)

    def hang_up(self) -> None:
        """Tell the keeper to kill everything and end."""
        self._control.close()
        self._lose_channel()

    def end(self) -> None:
        """Wait until keeper and worker are gone, by force where they do not go; after `hang_up`."""
        try:
            self._keeper.wait(_LAST_PATIENCE_S)
        except TimeoutExpired:
            for _ in range(_ROUNDS):  # what loses its parent becomes the keeper's, even if that is stuck
                kill_below(self._keeper.pid)
                time.sleep(_ROUND_S)
            self._keeper.kill()
            self._keeper.wait()
        if self._keeper.returncode:  # it did not come to its own end: what it kept may live on
            kill_session(self._keeper.pid)

    def forget(self) -> None:
        """In a fork of the host: close the handles; the worker is the original's."""
        self.hang_up()
        self._keeper.returncode = 0  # not this process's child


def _outcome(kind: int, payload: bytes | bytearray) -> tuple[int, object]:
    if kind != RESULT:
        return kind, unpack_error(payload)
    try:
        return kind, cast("object", pickle.loads(payload))  # noqa: S301 -- of our own worker
    except Exception as error:  # noqa: BLE001 -- types that only the worker can import raise anything
        return RAISED, ToolExecutionError(f"the handler's value cannot be read back: {reason(error)}")


def _pack_answer(asked: Asked, value: object) -> bytes:
    try:
        return pickle.dumps(value, PROTOCOL)
    except Exception as error:
        path, args, _ = asked
        what = f"the resource {getattr(args[0], '__qualname__', '?')}" if path == "resources.get" else path
        raise ToolExecutionError(
            f"{what} cannot travel to a process: {reason(error)}. "
            "Fix: give the handler data, or use isolation='thread'"
        ) from error
