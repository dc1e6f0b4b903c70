"""Runs one program to its end, within its time and its output, and leaves nothing of it behind.

Knows processes and pipes; does not know tools.
"""

from __future__ import annotations

import atexit
import os
import secrets
import selectors
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import IO, Final, Literal, Self, TypeAlias, cast

from toolhaft.define.running.killing import MARK, kill_all

Ending: TypeAlias = Literal["ended", "timeout", "overflow", "stopped"]

_PIECE: Final = 65_536
_BLINK_S: Final = 0.05
"""Between looks at a program whose end the system does not tell."""
_PATIENCE_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a program ended, and what it said until then."""

    ending: Ending
    code: int | None
    """None where another part of this process, or the system, has taken it away."""
    stdout: bytes
    stderr: bytes


class ProgramRun:
    """One run; `stop` may be called from any thread.

    Raises:
        OSError: where the program cannot be started.
    """

    def __init__(
        self,
        argv: Sequence[bytes],
        *,
        cwd: str,
        env: Mapping[str, str],
        stdin: bytes | None,
        max_bytes: int,
    ) -> None:
        self._mark = secrets.token_hex(16)
        self._max_bytes = max_bytes
        self._input = memoryview(stdin or b"")
        self._lock = Lock()
        self._is_stopped = False
        self._is_over = False
        self._is_lost = False
        self._stdout, self._stderr = bytearray(), bytearray()
        self._wake, self._waker = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603 -- a list, never a shell; the program is its file's
                argv,
                stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env={**env, MARK: self._mark},
                start_new_session=True,
                bufsize=0,
            )
        except BaseException:
            os.close(self._wake)
            os.close(self._waker)
            raise
        _LIVE.add(self)

    def stop(self) -> None:
        """Have the program killed, with everything that it has started; it is over soon after."""
        with self._lock:
            if not self._is_over and not self._is_stopped:
                self._is_stopped = True
                os.write(self._waker, b"!")

    def kill(self) -> None:
        """Kill the program, with everything that it has started, from where one stands."""
        kill_all(self._process.pid, self._mark)

    def wait(self, seconds: float) -> Ended:
        """Wait until the program has ended or was killed; all that it started is dead by then."""
        process = self._process
        ending: Ending = "stopped"
        try:
            ending = self._watch(monotonic() + seconds)
        finally:
            self.kill()
            _LIVE.discard(self)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE_S)
            with self._lock:
                self._is_over = True
                os.close(self._wake)
                os.close(self._waker)
            for stream in (process.stdin, process.stdout, process.stderr):
                _close(stream)
        code = None if self._is_lost else process.returncode
        return Ended(ending=ending, code=code, stdout=bytes(self._stdout), stderr=bytes(self._stderr))

    def _watch(self, end: float) -> Ending:
        """Carry input and output until something ends it."""
        process = self._process
        with selectors.DefaultSelector() as selector, _Exit(process) as exit_:
            selector.register(self._wake, selectors.EVENT_READ)
            if exit_.file is not None:
                selector.register(exit_.file, selectors.EVENT_READ)
            for stream, kept in ((process.stdout, self._stdout), (process.stderr, self._stderr)):
                if stream is not None:
                    os.set_blocking(stream.fileno(), False)
                    selector.register(stream, selectors.EVENT_READ, kept)
            if process.stdin is not None:
                os.set_blocking(process.stdin.fileno(), False)
                selector.register(process.stdin, selectors.EVENT_WRITE)
            return self._loop(selector, exit_, end)

    def _loop(self, selector: selectors.BaseSelector, exit_: _Exit, end: float) -> Ending:
        while True:
            # asked before reading: what it wrote last is then there to be read
            has_ended = exit_.has_come()
            self._is_lost = exit_.is_lost
            left = end - monotonic()
            pause = 0.0 if has_ended else left if exit_.file is not None else min(left, _BLINK_S)
            moved = False
            for key, _ in selector.select(max(pause, 0.0)):
                moved = self._carry(selector, key) or moved
            if self._is_stopped:
                return "stopped"
            if len(self._stdout) + len(self._stderr) > self._max_bytes:
                return "overflow"
            if has_ended and not moved:
                return "ended"
            if monotonic() >= end and not has_ended:
                return "timeout"

    def _carry(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> bool:
        """Carry one piece; False where there was none."""
        stream = key.fileobj
        if isinstance(stream, int):  # the two that only wake
            return False
        if key.data is None:
            return self._write(selector)
        piece = _read(key.fd)
        if piece is None:
            return False
        if not piece:
            selector.unregister(stream)
        key.data.extend(piece)
        return bool(piece)

    def _write(self, selector: selectors.BaseSelector) -> bool:
        stream = cast("IO[bytes]", self._process.stdin)
        try:
            self._input = self._input[os.write(stream.fileno(), self._input[:_PIECE]) :]
        except BlockingIOError:
            return False
        except OSError:  # it does not want to read any more
            self._input = self._input[:0]
        if not self._input:
            selector.unregister(stream)
            _close(stream)
        return False


_LIVE: Final[set[ProgramRun]] = set()
"""Programs that run; none of them outlives this process, unless that is killed itself."""


@atexit.register
def _kill_all_live() -> None:
    for run in list(_LIVE):
        run.kill()


if hasattr(os, "register_at_fork"):  # a copy of this process has its own end, and no programs
    os.register_at_fork(after_in_child=_LIVE.clear)


class _Exit:
    """Tells that a program has ended, without taking its exit code away: until then its number is its own."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._pid = process.pid
        self.file: int | None = None
        self.is_lost = False
        with suppress(OSError, AttributeError):  # an old kernel, or another system
            self.file = os.pidfd_open(process.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            os.close(self.file)

    def has_come(self) -> bool:
        """True once the program has ended."""
        try:
            found = os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:  # somebody waits for every child, whoever started it
            self.is_lost = True
            return True
        return found is not None


def _read(file: int) -> bytes | None:
    try:
        return os.read(file, _PIECE)
    except BlockingIOError:
        return None


def _close(stream: IO[bytes] | None) -> None:
    if stream is not None:
        with suppress(OSError):
            stream.close()
