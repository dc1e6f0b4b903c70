"""Writes every call as one line of JSON to a file."""

from __future__ import annotations

import json
import logging
import os
import weakref
from threading import Lock
from typing import Final, Protocol, Self, cast

from toolhaft.core.events import ToolInvoked
from toolhaft.core.ports import DispatcherPort, SessionPort

_OWNER_ONLY: Final = 0o600
_log: Final = logging.getLogger("toolhaft")


class Writable(Protocol):
    """An open text file, or any object with the same `write`."""

    def write(self, text: str, /) -> object:
        """Write a line."""
        ...


class _Executor(Protocol):
    @property
    def session(self) -> SessionPort: ...


def log_calls(source: _Executor | SessionPort, target: str | os.PathLike[str] | Writable) -> CallLog:
    """Log every call of an executor, or of all executors on a session, including failed ones; masks secrets.

    `target` is a path (lines are appended; a new file is readable by its owner only), or an open text file,
    which stays open. A line that cannot be written fails no call: the first one is reported to the logger
    `toolhaft`, and all are counted in `lost`.

    Raises:
        OSError: if the file cannot be opened.
        TypeError: if `source` is neither an executor nor a session, or `target` cannot be written to.
    """
    dispatcher = getattr(getattr(source, "session", source), "dispatcher", None)
    if dispatcher is None:
        raise TypeError(
            f"log_calls takes an executor or a session, not {type(source).__name__}; "
            "write log_calls(executor, 'calls.jsonl')"
        )
    return CallLog(cast("DispatcherPort", dispatcher), target)


class CallLog:
    """A log that is open until `close`; made by `log_calls`."""

    __slots__ = ("__weakref__", "_is_open", "_lock", "_stop", "_target", "lost")

    def __init__(self, dispatcher: DispatcherPort, target: str | os.PathLike[str] | Writable) -> None:
        self.lost = 0
        """How many calls could not be written."""
        self._is_open = True
        self._lock = Lock()
        self._target = _opened(target)
        self._stop = dispatcher.subscribe(ToolInvoked, self._write)

    def close(self) -> None:
        """Stop writing, and close the file if it was given as a path."""
        self._stop()
        with self._lock:
            if self._is_open and isinstance(self._target, _AppendedFile):
                self._target.close()
            self._is_open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, event: ToolInvoked) -> None:
        with self._lock:
            if not self._is_open:  # the event came while the log was being closed
                return
            try:
                self._target.write(_line(event))
                flush = getattr(self._target, "flush", None)
                if flush is not None:
                    flush()
            except Exception:  # noqa: BLE001 -- a full disk, or the user's own file object: the call goes on
                self.lost += 1
                if self.lost == 1:
                    _log.exception("the log of calls has lost a line; further ones are only counted")


class _AppendedFile:
    """A file to which several processes can append whole lines: one write per line."""

    __slots__ = ("__weakref__", "_close", "_descriptor", "_is_torn")

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _OWNER_ONLY)
        self._is_torn = False
        self._close = weakref.finalize(self, os.close, self._descriptor)
        self._close.atexit = False  # the last calls of a program are still logged

    def write(self, line: str) -> None:
        """Append a line.

        Raises:
            OSError: if it could not be written, or only in part.
        """
        # the rest of a line that was cut short must stay on a separate line
        data = (f"\n{line}" if self._is_torn else line).encode()
        written = os.write(self._descriptor, data)
        self._is_torn = written < len(data)
        if self._is_torn:
            raise OSError(f"only {written} of {len(data)} bytes were written")

    def close(self) -> None:
        """Close the file."""
        self._close()


def _opened(target: str | os.PathLike[str] | Writable) -> Writable:
    if isinstance(target, str | os.PathLike):
        return _AppendedFile(target)
    if not callable(getattr(target, "write", None)):
        raise TypeError(
            f"log_calls writes to a path or an open text file, not to {type(target).__name__}; "
            "write log_calls(executor, 'calls.jsonl')"
        )
    return target


def _line(event: ToolInvoked) -> str:
    # ASCII only: no character ends a line for some readers, or controls a terminal
    return json.dumps(event.to_dict(), separators=(",", ":"), default=str) + "\n"
