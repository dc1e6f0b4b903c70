"""Controls one supervisor process and its worker from the host."""

from __future__ import annotations

import fcntl
import math
import os
import pickle
import select
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, Popen, TimeoutExpired
from typing import Any, Final, NoReturn, cast

from toolhaft.backends.process_channel import (
    ERROR,
    JOB,
    LOAD,
    NOT_RUN,
    NOTIFY,
    PROTOCOL,
    RAISED,
    REQUEST,
    RESPONSE,
    RESULT,
    STARTED,
    UNUSABLE,
    Channel,
    ChannelClosedError,
    describe_error,
    pack_error,
)
from toolhaft.backends.process_data import MAX_MESSAGE_BYTES, DataError, TypeFinder, decode, decode_error
from toolhaft.backends.process_handler import import_settings
from toolhaft.backends.process_supervisor import COMMAND, REPORT, WORKER_STARTED
from toolhaft.backends.process_tree import kill_descendants, kill_session
from toolhaft.backends.process_worker import Envelope
from toolhaft.errors import ToolExecutionError

_CODE: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from toolhaft.backends.process_supervisor import main; main(int(sys.argv[2]), int(sys.argv[3]))"
)
_ROOT: Final = str(Path(__file__).absolute().parents[2])
_LOADER_PATHS: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Some interpreters need these to start; the supervisor deletes them before it starts a worker."""

ContextOperation = tuple[str, tuple[object, ...], dict[str, object]]
"""The path of an operation, its arguments and keyword arguments."""
ServeOperation = Callable[[str, tuple[object, ...], dict[str, object]], object]
"""Performs an operation that a handler requests from its host."""
EXIT_WAIT_S: Final = 0.075
"""How long a result waits until killed processes are gone."""
_WORKER_EXIT_S: Final = 0.5
"""How long a worker that closed its connection may take to end."""
_SUPERVISOR_EXIT_S: Final = 5.0
_ROUNDS: Final = 3
_ROUND_S: Final = 0.01
_MAX_POLL_S: Final = 3600.0
_CLOSE_ON_EXEC: Final = getattr(socket, "MSG_CMSG_CLOEXEC", 0)  # not available on every system


class WorkerTimeoutError(Exception):
    """The worker is not done in time."""


class WorkerDiedError(Exception):
    """The worker has ended; `exit_code` is negative for a signal, None if unknown."""

    def __init__(self, exit_code: int | None) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


class WorkerHandle:
    """One supervisor and its current worker; the supervisor replaces a worker that ends."""

    __slots__ = (
        "_channel",
        "_control",
        "_events",
        "_exit_code",
        "_is_alive",
        "_sent_settings",
        "_started_handlers",
        "_supervisor",
        "_supervisor_events",
        "_until",
        "idle_since",
        "number",
    )

    def __init__(self, memory_bytes: int | None) -> None:
        try:
            self._supervisor, self._control = start_supervisor(memory_bytes)
        except OSError as error:
            raise ToolExecutionError(f"no worker process can be started: {describe_error(error)}") from error
        self._channel: Channel | None = None
        self._is_alive = False
        self._sent_settings: tuple[list[str], str | None] | None = None
        self._started_handlers: set[bytes] = set()
        self._exit_code: int | None = None
        self._until = math.inf
        self._events = self._supervisor_events = select.poll()
        self._supervisor_events.register(self._control, select.POLLIN)
        self.number = 0
        """The number of the current worker; 0 before the first one."""
        self.idle_since = 0.0

    @property
    def has_worker(self) -> bool:
        """True if there is a worker, as far as known."""
        return self._channel is not None

    def wait_for_worker(self, until: float) -> None:
        """Wait until there is a living worker.

        Raises:
            WorkerTimeoutError: if there is none in time.
            WorkerDiedError: if there will be none, because the supervisor is gone.
        """
        self._until = until
        while True:
            if self._channel is None:
                if self._supervisor_events.poll(self._poll_ms()):
                    self._read_report()
                elif time.monotonic() >= until:
                    raise WorkerTimeoutError
                continue
            ready = self._events.poll(0)
            if not ready:
                return
            if any(fd == self._control.fileno() for fd, _ in ready):
                self._read_report()
            else:  # an idle worker sends nothing unless it is ending
                self.kill(self.number)
                self._close_channel()

    def load(self, handlers: list[bytes]) -> None:
        """Let the worker import handlers in advance; the job that needs one reports errors."""
        with suppress(ChannelClosedError, WorkerTimeoutError, WorkerDiedError):
            self._send(LOAD, self._envelope(pickle.dumps(handlers, PROTOCOL)))

    def run(
        self,
        handler: bytes,
        content: bytes,
        *,
        serve: ServeOperation,
        find_type: TypeFinder,
        until: Callable[[], float],
        on_start: Callable[[], None],
    ) -> tuple[int, object]:
        """Run a job; returns RESULT and its value, or RAISED or NOT_RUN and an exception.

        Calls `on_start` as soon as the handler may have begun to run. `find_type` finds the types of what the
        worker sends. `until` returns by when the job must be done; it is called again after each message.

        Raises:
            WorkerTimeoutError: if it is not done in time; it still runs.
            WorkerDiedError: if the worker ended.
        """
        is_new = handler not in self._started_handlers
        if not is_new:
            on_start()
        self._until = until()
        try:
            self._send(JOB, self._envelope(content, reports_start=is_new))
            while True:
                channel = cast("Channel", self._channel)
                kind, payload = channel.receive(self._wait)
                if kind & ~UNUSABLE in (RESULT, RAISED, NOT_RUN):
                    break
                if kind == STARTED:
                    self._started_handlers.add(handler)
                    on_start()
                else:
                    self._respond(kind, payload, serve, find_type)
                self._until = until()
                if time.monotonic() >= self._until:  # a handler that never stops sending never lets us wait
                    raise WorkerTimeoutError
        except ChannelClosedError:
            self._raise_death()
        if kind & UNUSABLE or channel.has_unread:  # nothing follows an outcome: it would answer the next job
            self.kill(self.number)
            self.wait_for_exit()
        return _outcome(kind & ~UNUSABLE, payload, find_type)

    def _envelope(self, content: bytes, *, reports_start: bool = False) -> bytes:
        try:
            directory = os.getcwd()  # noqa: PTH109 -- runs for every job, and Path.cwd is slow
        except OSError:  # it was deleted
            directory = None
        previous, self._sent_settings = self._sent_settings, (sys.path.copy(), directory)
        settings = None if previous == self._sent_settings else import_settings()
        return pickle.dumps(tuple(Envelope(settings, directory, reports_start, content)), PROTOCOL)

    def _send(self, kind: int, payload: bytes) -> None:
        cast("Channel", self._channel).send(kind, payload, self._wait)

    def _respond(
        self, kind: int, payload: bytes | bytearray, serve: ServeOperation, find_type: TypeFinder
    ) -> None:
        if kind not in (REQUEST, NOTIFY):
            raise ChannelClosedError("a message of an unknown kind")
        try:
            operation = _operation(decode(payload, find_type))
            value = serve(*operation)
            response, message = RESPONSE, _pack_response(operation, value) if kind == REQUEST else b""
        except DataError as error:
            response, message = ERROR, pack_error(ToolExecutionError(str(error)))
        except Exception as error:  # noqa: BLE001 -- raised again in the handler
            response, message = ERROR, pack_error(error)
        if kind == REQUEST:
            self._send(response, message)

    def _wait(self, events: int) -> None:
        """Block until the connection to the worker is ready."""
        poll = self._events
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
                raise WorkerTimeoutError
            if self._channel is None:
                raise WorkerDiedError(self._exit_code)

    def _poll_ms(self) -> int:
        left = min(self._until - time.monotonic(), _MAX_POLL_S)
        return math.ceil(left * 1000) if left > 0 else 0

    def _read_report(self) -> None:
        try:
            report, sockets, _, _ = socket.recv_fds(self._control, REPORT.size, 1, _CLOSE_ON_EXEC)
        except OSError:
            report, sockets = b"", []
        # the socket is missing if this process has too many open files
        if len(report) < REPORT.size or (report.startswith(WORKER_STARTED) and not sockets):
            self._close_channel()
            self._is_alive = False
            raise WorkerDiedError(None)
        kind, number, detail = cast("tuple[bytes, int, int]", REPORT.unpack(report))
        if kind != WORKER_STARTED:
            self._close_channel()
            self._is_alive = False
            self._exit_code = os.waitstatus_to_exitcode(detail)
            return
        os.set_inheritable(sockets[0], False)  # noqa: FBT003 -- the signature of the function
        end = socket.socket(fileno=sockets[0])
        end.setblocking(False)  # noqa: FBT003 -- the signature of the method
        self._channel, self._sent_settings, self._started_handlers = (
            Channel(end, max_bytes=MAX_MESSAGE_BYTES + 16),
            None,
            set(),
        )
        self.number, self._is_alive = number, True
        self._events = select.poll()
        self._events.register(end, select.POLLIN)
        self._events.register(self._control, select.POLLIN)

    def _close_channel(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _raise_death(self) -> NoReturn:
        """The worker closed its connection: raise its exit code, or kill it if it still runs."""
        if not self.wait_for_exit(max(EXIT_WAIT_S, min(_WORKER_EXIT_S, self._until - time.monotonic()))):
            self.kill(self.number)
            self.wait_for_exit()
            self._exit_code = None
        raise WorkerDiedError(self._exit_code)

    def kill(self, number: int) -> None:
        """Let the supervisor kill the worker with this number, if it still runs; from any thread."""
        with suppress(OSError):
            self._control.send(COMMAND.pack(number))

    def wait_for_exit(self, wait_s: float = EXIT_WAIT_S) -> bool:
        """Wait until the worker and all that it started have ended; False if that takes too long."""
        self._close_channel()  # nothing more is sent to this worker
        self._until = time.monotonic() + wait_s
        while self._is_alive and self._supervisor_events.poll(self._poll_ms()):
            with suppress(WorkerDiedError):  # the supervisor ended too
                self._read_report()
        return not self._is_alive

    def disconnect(self) -> None:
        """Disconnect the supervisor, which ends it and wakes waiting threads; from any thread."""
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)

    def close_connections(self) -> None:
        """Close all connections; the supervisor then kills everything and ends."""
        self._control.close()
        self._close_channel()

    def stop(self) -> None:
        """Wait until supervisor and worker have ended, and kill them otherwise; after `close_connections`."""
        try:
            self._supervisor.wait(_SUPERVISOR_EXIT_S)
        except TimeoutExpired:
            for _ in range(_ROUNDS):  # orphans become children of the supervisor, even if it is stuck
                kill_descendants(self._supervisor.pid)
                time.sleep(_ROUND_S)
            self._supervisor.kill()
            self._supervisor.wait()
        if self._supervisor.returncode:  # it was killed: its worker may still run
            kill_session(self._supervisor.pid)

    def forget(self) -> None:
        """Close the connections in a forked child: supervisor and worker belong to the parent."""
        self.close_connections()
        self._supervisor.returncode = 0  # not a child of this process


def _outcome(kind: int, payload: bytes | bytearray, find_type: TypeFinder) -> tuple[int, object]:
    if kind != RESULT:
        return kind, decode_error(payload, find_type)
    try:
        return kind, decode(payload, find_type)
    except DataError as error:
        return RAISED, ToolExecutionError(f"the value of the handler cannot be received: {error}")


def _operation(request: object) -> ContextOperation:
    if isinstance(request, list):
        path, args, kwargs = cast("list[Any]", request)
        if isinstance(path, str) and isinstance(args, list) and isinstance(kwargs, dict):
            return path, tuple(cast("list[object]", args)), cast("dict[str, object]", kwargs)
    raise DataError("the process sent a request that is not valid")


def _pack_response(operation: ContextOperation, value: object) -> bytes:
    try:
        return pickle.dumps(value, PROTOCOL)
    except Exception as error:
        path, args, _ = operation
        what = f"the resource {str(args[0]).rpartition(':')[2]}" if path == "resources.get" else path
        raise ToolExecutionError(
            f"{what} cannot be sent to a process: {describe_error(error)}. "
            "Fix: use data, or isolation='thread'"
        ) from error


def start_supervisor(memory_bytes: int | None) -> tuple[Popen[bytes], socket.socket]:
    """Start a supervisor process with an empty environment; returns it and a connection to it.

    Raises:
        OSError: if it cannot be started.
    """
    if not sys.executable or getattr(sys, "frozen", False):
        raise OSError("there is no Python interpreter to start")
    output = _error_output()
    host_end, supervisor_end = (_above_standard(end) for end in socket.socketpair())
    with supervisor_end:
        command = [
            sys.executable,
            *_flags(),
            "-c",
            _CODE,
            _ROOT,
            str(supervisor_end.fileno()),
            str(memory_bytes or 0),
        ]
        try:
            supervisor = Popen(  # noqa: S603 -- this interpreter with our own code
                command,
                stdin=DEVNULL,
                stdout=output,  # not stdout: the host may use its stdout for a protocol
                stderr=output,
                close_fds=True,
                pass_fds=(supervisor_end.fileno(),),
                env={name: os.environ[name] for name in _LOADER_PATHS if name in os.environ},
                start_new_session=True,
            )
        except BaseException:
            host_end.close()
            raise
    return supervisor, host_end


def _error_output() -> int:
    try:
        os.fstat(2)
    except OSError:  # closed
        return DEVNULL
    return 2


def _above_standard(end: socket.socket, lowest: int = 3) -> socket.socket:
    """The same socket with a number above those of the standard files, which the host may have closed."""
    if end.fileno() >= lowest:
        return end
    with end:
        return socket.socket(fileno=fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, lowest))


def _flags() -> list[str]:
    """The interpreter options of the host."""
    own = sys.flags
    flags = ["-u", "-P"]  # unbuffered output, and no imports from the current directory
    flags += ["-B"] if sys.dont_write_bytecode else []
    flags += ["-O"] * own.optimize
    flags += [f"-X{name}" for name, on in (("dev", own.dev_mode), ("utf8", own.utf8_mode)) if on]
    flags += [f"-Xpycache_prefix={sys.pycache_prefix}"] if sys.pycache_prefix else []
    switches = {"-I": own.isolated, "-E": own.ignore_environment, "-s": own.no_user_site, "-S": own.no_site}
    flags += [switch for switch, on in switches.items() if on]
    return flags + [f"-W{option}" for option in sys.warnoptions]
