"""Runs one program with limits on time and output, and kills everything that it started."""

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

from toolhaft.backends.process_tree import MARK_VARIABLE, kill_program

ProgramEnding: TypeAlias = Literal["ended", "timeout", "overflow", "stopped"]

_CHUNK: Final = 65_536
_POLL_S: Final = 0.05
"""The polling interval on systems without pidfd."""
_REAP_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramResult:
    """How a program ended, and its output."""

    ending: ProgramEnding
    code: int | None
    """None if another part of this process has already read it."""
    stdout: bytes
    stderr: bytes


class ProgramRun:
    """One run of a program; `stop` may be called from any thread.

    Raises:
        OSError: if the program cannot be started.
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
        self._wake_reader, self._wake_writer = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603 -- a list, never a shell; the author of the file chose the program
                argv,
                stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env={**env, MARK_VARIABLE: self._mark},
                start_new_session=True,
                bufsize=0,
            )
        except BaseException:
            os.close(self._wake_reader)
            os.close(self._wake_writer)
            raise
        _RUNNING.add(self)

    @property
    def output_bytes(self) -> int:
        """How much the program has written so far."""
        return len(self._stdout) + len(self._stderr)

    def stop(self) -> None:
        """Ask the waiting thread to kill the program and everything that it has started."""
        with self._lock:
            if not self._is_over and not self._is_stopped:
                self._is_stopped = True
                os.write(self._wake_writer, b"!")

    def kill(self) -> None:
        """Kill the program and everything that it has started, in this thread."""
        kill_program(self._process.pid, self._mark)

    def wait(self, seconds: float) -> ProgramResult:
        """Wait until the program has ended or was killed; then everything that it started is dead."""
        process = self._process
        ending: ProgramEnding = "stopped"
        try:
            ending = self._watch(monotonic() + seconds)
        finally:
            self.kill()
            _RUNNING.discard(self)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_REAP_S)
            with self._lock:
                self._is_over = True
                os.close(self._wake_reader)
                os.close(self._wake_writer)
            for stream in (process.stdin, process.stdout, process.stderr):
                _close(stream)
        code = None if self._is_lost else process.returncode
        return ProgramResult(ending=ending, code=code, stdout=bytes(self._stdout), stderr=bytes(self._stderr))

    def _watch(self, end: float) -> ProgramEnding:
        """Transfer input and output until the program ends or a limit is reached."""
        process = self._process
        with selectors.DefaultSelector() as selector, _ExitWatch(process) as exit_watch:
            selector.register(self._wake_reader, selectors.EVENT_READ)
            if exit_watch.file is not None:
                selector.register(exit_watch.file, selectors.EVENT_READ)
            for stream, buffer in ((process.stdout, self._stdout), (process.stderr, self._stderr)):
                if stream is not None:
                    os.set_blocking(stream.fileno(), False)
                    selector.register(stream, selectors.EVENT_READ, buffer)
            if process.stdin is not None:
                os.set_blocking(process.stdin.fileno(), False)
                selector.register(process.stdin, selectors.EVENT_WRITE)
            return self._loop(selector, exit_watch, end)

    def _loop(self, selector: selectors.BaseSelector, exit_watch: _ExitWatch, end: float) -> ProgramEnding:
        while True:
            # before reading, so that its last output is read
            has_ended = exit_watch.has_ended()
            self._is_lost = exit_watch.is_lost
            left = end - monotonic()
            pause = 0.0 if has_ended else left if exit_watch.file is not None else min(left, _POLL_S)
            was_read = False
            for key, _ in selector.select(max(pause, 0.0)):
                was_read = self._transfer(selector, key) or was_read
            if self._is_stopped:
                return "stopped"
            if self.output_bytes > self._max_bytes:
                return "overflow"
            if has_ended and not was_read:
                return "ended"
            if monotonic() >= end and not has_ended:
                return "timeout"

    def _transfer(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> bool:
        """Transfer one chunk; True if output was read."""
        stream = key.fileobj
        if isinstance(stream, int):  # these two only wake the selector
            return False
        if key.data is None:
            return self._write(selector)
        chunk = _read(key.fd)
        if chunk is None:
            return False
        if not chunk:
            selector.unregister(stream)
        key.data.extend(chunk)
        return bool(chunk)

    def _write(self, selector: selectors.BaseSelector) -> bool:
        stream = cast("IO[bytes]", self._process.stdin)
        try:
            self._input = self._input[os.write(stream.fileno(), self._input[:_CHUNK]) :]
        except BlockingIOError:
            return False
        except OSError:  # the program has closed its input
            self._input = self._input[:0]
        if not self._input:
            selector.unregister(stream)
            _close(stream)
        return False


_RUNNING: Final[set[ProgramRun]] = set()
"""The running programs, which are killed when this process exits."""


@atexit.register
def _kill_all_running() -> None:
    for run in list(_RUNNING):
        run.kill()


if hasattr(os, "register_at_fork"):  # a forked child must not kill its parent's programs
    os.register_at_fork(after_in_child=_RUNNING.clear)


class _ExitWatch:
    """Detects that a program has ended without reaping it, so that its pid is not reused meanwhile."""

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

    def has_ended(self) -> bool:
        """True once the program has ended."""
        try:
            found = os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:  # another part of this process has reaped the program
            self.is_lost = True
            return True
        return found is not None


def _read(file: int) -> bytes | None:
    try:
        return os.read(file, _CHUNK)
    except BlockingIOError:
        return None


def _close(stream: IO[bytes] | None) -> None:
    if stream is not None:
        with suppress(OSError):
            stream.close()
