"""The supervisor process: starts a worker, kills it with everything it started, and starts the next."""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from struct import Struct
from typing import Final, NoReturn

from toolhaft.backends.process_tree import kill, kill_descendants, kill_group
from toolhaft.backends.process_worker import work

COMMAND: Final = Struct("!I")
"""From the host: kill the worker with this number; ignored if another one has replaced it."""
REPORT: Final = Struct("!cIi")
"""To the host: WORKER_STARTED with number, pid and socket, or WORKER_EXITED with number and wait status."""
WORKER_STARTED: Final = b"b"
WORKER_EXITED: Final = b"d"

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_PAUSE_S: Final = 0.0005
_EARLY_EXIT_S: Final = 0.02
_MAX_EARLY_EXITS: Final = 5


def main(control_fd: int, memory_bytes: int) -> None:
    """Supervise workers until the host closes the connection or dies; `memory_bytes` 0 means no limit."""
    os.set_inheritable(control_fd, False)  # noqa: FBT003 -- the signature of the function
    os.environ.clear()  # handlers must not see the variables that the interpreter needed to start
    signal.pthread_sigmask(
        signal.SIG_SETMASK, []
    )  # the host may have started it from a thread with blocked signals
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    Supervisor(socket.socket(fileno=control_fd), memory_bytes).run()


class Supervisor:
    """Starts numbered workers, one at a time.

    Its process has one thread and few modules, so that forking it is fast and safe. It is the subreaper of
    its descendants: a process that loses its parent becomes a child of the supervisor.
    """

    def __init__(self, control: socket.socket, memory_bytes: int) -> None:
        self._control = control
        self._memory_bytes = memory_bytes
        self._number = 0
        self._worker = 0
        self._status = 0
        self._early_exits = 0
        self._started_at = 0.0
        self._signal_reader, writer = socket.socketpair()
        self._signal_writer = writer
        self._signal_reader.setblocking(False)  # noqa: FBT003 -- the signature of the method
        writer.setblocking(False)  # noqa: FBT003 -- the signature of the method
        signal.signal(signal.SIGCHLD, _ignore_signal)  # SIG_IGN would not write to the wakeup socket
        signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        self._host_fd = _open_pidfd(os.getppid())

    def run(self) -> None:
        """Serve the host until it is gone, then kill everything."""
        with suppress(OSError):  # the host died while it received a report
            self._start_worker()
            self._serve()
        self._kill_all()

    def _serve(self) -> None:
        """Handle commands and ended workers until the host is gone."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._signal_reader, select.POLLIN)
        if self._host_fd >= 0:
            poll.register(self._host_fd, select.POLLIN)
        continues = True
        while continues:
            ready = {fd for fd, _ in poll.poll()}
            continues = self._host_fd not in ready
            if self._signal_reader.fileno() in ready:
                self._signal_reader.recv(4096)
                self._reap()
            if self._control.fileno() in ready:
                continues = self._handle_command() and continues
            if continues and not self._worker:
                continues = self._replace_worker()

    def _handle_command(self) -> bool:
        """Handle one command of the host; False if it has closed the connection."""
        command = self._control.recv(COMMAND.size, socket.MSG_WAITALL)
        if len(command) < COMMAND.size:
            return False
        if COMMAND.unpack(command)[0] == self._number:
            self._kill_all()
        return True

    def _replace_worker(self) -> bool:
        """Report that the worker ended and start the next; False if workers keep ending immediately."""
        self._kill_all()  # processes that the worker left behind
        self._control.sendall(REPORT.pack(WORKER_EXITED, self._number, self._status))
        ran_s = time.monotonic() - self._started_at
        self._early_exits = self._early_exits + 1 if ran_s < _EARLY_EXIT_S else 0
        if self._early_exits >= _MAX_EARLY_EXITS:
            return False
        self._start_worker()
        return True

    def _kill_all(self) -> None:
        """Kill the worker and all descendants of this process, and wait until none is left."""
        if self._worker:
            kill_group(self._worker)
            kill(self._worker)
        while self._reap():
            kill_descendants(os.getpid())
            time.sleep(_PAUSE_S)

    def _reap(self) -> bool:
        """Collect ended children; False if none is left."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return True
                if pid == self._worker:
                    self._worker, self._status = 0, status
                    kill_group(pid)  # for systems that do not list the children of a process
        except ChildProcessError:
            return False

    def _start_worker(self) -> None:
        host_end, worker_end = socket.socketpair()
        supervisor = os.getpid()
        self._number += 1
        self._started_at = time.monotonic()
        self._worker = os.fork()
        if not self._worker:
            host_end.close()
            self._become_worker(worker_end, supervisor)
        worker_end.close()
        with suppress(OSError):  # both sides set the group, so that neither can be too late
            os.setpgid(self._worker, self._worker)
        with host_end:
            report = REPORT.pack(WORKER_STARTED, self._number, self._worker)
            socket.send_fds(self._control, [report], [host_end.fileno()])

    def _become_worker(self, channel: socket.socket, supervisor: int) -> NoReturn:
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            with suppress(OSError):
                os.setpgid(0, 0)
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            for end in (self._control, self._signal_reader, self._signal_writer):
                end.close()
            if self._host_fd >= 0:
                os.close(self._host_fd)
            _limit(self._memory_bytes)
            if os.getppid() == supervisor:  # it may have died before prctl was called
                work(channel, supervisor)
            code = 0
        except BaseException as error:  # noqa: BLE001 -- printed, then the process ends
            sys.excepthook(type(error), error, error.__traceback__)
        finally:
            os._exit(code)


def _ignore_signal(_signal: int, _frame: object) -> None:
    pass


def _limit(memory_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_bytes:
        # data, not address space: runtimes such as Java reserve far more than they use
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        limit = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _prctl(option: int, value: int) -> None:
    """Set a Linux-only attribute of this process."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 -- only Linux has prctl

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _open_pidfd(pid: int) -> int:
    """A handle that becomes readable when a process ends; -1 if the system has none."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return -1
