"""The process that keeps one worker: starts it, kills it with everything that it started, starts the next.

Knows processes only; what a worker does, and for whom, it does not know. It has one thread and few modules,
so that a fork of it is quick and safe, and whatever loses its parent below it becomes its child.
"""

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

from toolhaft.backends.process_tree import kill, kill_below, kill_group
from toolhaft.backends.process_worker import work

COMMAND: Final = Struct("!I")
"""From the host: kill the worker of this number; a number that has passed is ignored."""
REPORT: Final = Struct("!cIi")
"""To the host: BORN with a worker's number, its pid and its socket; DEAD with its number and wait status."""
BORN: Final = b"b"
DEAD: Final = b"d"

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_PAUSE_S: Final = 0.0005
_SHORT_LIFE_S: Final = 0.02
_MOST_SHORT_LIVES: Final = 5


def main(control_fd: int, memory_bytes: int) -> None:
    """Keep a worker until the host hangs up or dies; a `memory_bytes` of 0 sets no limit."""
    os.set_inheritable(control_fd, False)  # noqa: FBT003 -- the function's own signature
    os.environ.clear()  # what the loader or the locale needed is no business of handlers
    signal.pthread_sigmask(signal.SIG_SETMASK, [])  # a host's thread may have had signals blocked
    _ask_kernel(_PR_SET_CHILD_SUBREAPER, 1)
    Keeper(socket.socket(fileno=control_fd), memory_bytes).keep()


class Keeper:
    """One worker at a time, each with a number of its own."""

    def __init__(self, control: socket.socket, memory_bytes: int) -> None:
        self._control = control
        self._memory_bytes = memory_bytes
        self._number = 0
        self._worker = 0
        self._status = 0
        self._short_lives = 0
        self._born_at = 0.0
        self._waker, bell = socket.socketpair()
        self._bell = bell
        self._waker.setblocking(False)  # noqa: FBT003 -- the socket's own signature
        bell.setblocking(False)  # noqa: FBT003 -- the socket's own signature
        signal.signal(signal.SIGCHLD, _pass)  # an ignored signal rings no bell
        signal.set_wakeup_fd(bell.fileno(), warn_on_full_buffer=False)
        self._host_fd = _watch(os.getppid())

    def keep(self) -> None:
        """Serve the host until it is gone, then leave nothing running."""
        with suppress(OSError):  # the host is gone in the middle of a report
            self._start_worker()
            self._attend()
        self._clear()

    def _attend(self) -> None:
        """Answer commands and deaths until the host is gone."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._waker, select.POLLIN)
        if self._host_fd >= 0:
            poll.register(self._host_fd, select.POLLIN)
        goes_on = True
        while goes_on:
            ready = {fd for fd, _ in poll.poll()}
            goes_on = self._host_fd not in ready
            if self._waker.fileno() in ready:
                self._waker.recv(4096)
                self._reap()
            if self._control.fileno() in ready:
                goes_on = self._obey() and goes_on
            if goes_on and not self._worker:
                goes_on = self._replace_worker()

    def _obey(self) -> bool:
        """Do what the host commands; False where it has hung up."""
        command = self._control.recv(COMMAND.size, socket.MSG_WAITALL)
        if len(command) < COMMAND.size:
            return False
        if COMMAND.unpack(command)[0] == self._number:
            self._clear()
        return True

    def _replace_worker(self) -> bool:
        """Tell of a death and start the next worker; False where they die as soon as they live."""
        self._clear()  # what the worker left behind
        self._control.sendall(REPORT.pack(DEAD, self._number, self._status))
        lived_s = time.monotonic() - self._born_at
        self._short_lives = self._short_lives + 1 if lived_s < _SHORT_LIFE_S else 0
        if self._short_lives >= _MOST_SHORT_LIVES:
            return False
        self._start_worker()
        return True

    def _clear(self) -> None:
        """Kill the worker and everything below this process, and wait until nothing is left."""
        if self._worker:
            kill_group(self._worker)
            kill(self._worker)
        while self._reap():
            kill_below(os.getpid())
            time.sleep(_PAUSE_S)

    def _reap(self) -> bool:
        """Collect the dead; False where no child is left."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return True
                if pid == self._worker:
                    self._worker, self._status = 0, status
                    kill_group(pid)  # what it left behind, where the system does not tell its children
        except ChildProcessError:
            return False

    def _start_worker(self) -> None:
        ours, theirs = socket.socketpair()
        keeper = os.getpid()
        self._number += 1
        self._born_at = time.monotonic()
        self._worker = os.fork()
        if not self._worker:
            ours.close()
            self._become_worker(theirs, keeper)
        theirs.close()
        with suppress(OSError):  # both sides set the group: neither can be too late
            os.setpgid(self._worker, self._worker)
        with ours:
            report = REPORT.pack(BORN, self._number, self._worker)
            socket.send_fds(self._control, [report], [ours.fileno()])

    def _become_worker(self, channel: socket.socket, keeper: int) -> NoReturn:
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            with suppress(OSError):
                os.setpgid(0, 0)
            _ask_kernel(_PR_SET_PDEATHSIG, signal.SIGKILL)
            for end in (self._control, self._waker, self._bell):
                end.close()
            if self._host_fd >= 0:
                os.close(self._host_fd)
            _limit(self._memory_bytes)
            if os.getppid() == keeper:  # it may have died before the kernel was asked
                work(channel, keeper)
            code = 0
        except BaseException as error:  # noqa: BLE001 -- shown, then the process ends all the same
            sys.excepthook(type(error), error, error.__traceback__)
        finally:
            os._exit(code)


def _pass(_signal: int, _frame: object) -> None:
    pass


def _limit(memory_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_bytes:
        # data, not address space: node, Java and their like reserve far more than they use
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        limit = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _ask_kernel(option: int, value: int) -> None:
    """Set something about this process that only Linux has."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 -- where there is no prctl there is no need for it either

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _watch(pid: int) -> int:
    """A handle that becomes readable when a process ends; -1 where the system has none."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return -1
