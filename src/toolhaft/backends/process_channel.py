"""Whole messages over a socket between the host and a worker process, and errors made fit to travel.

Knows neither what a message asks for nor who reads it.
"""

from __future__ import annotations

import pickle
import select
import socket
import traceback
from collections.abc import Callable
from struct import Struct
from typing import Final, cast

from toolhaft.errors import ToolExecutionError

JOB: Final = 1
"""To the worker: run a handler."""
LOAD: Final = 2
"""To the worker: import handlers, so that the first job finds them; nothing comes back."""
ANSWER: Final = 3
"""To the worker: the value of what it asked."""
REFUSAL: Final = 4
"""To the worker: the error of what it asked."""
RESULT: Final = 5
"""To the host: what the handler returned."""
RAISED: Final = 6
"""To the host: what the handler raised."""
UNRUN: Final = 7
"""To the host: why the handler, or its arguments, could not be loaded."""
ASK: Final = 8
"""To the host: an operation on the context; the handler waits for its answer."""
TELL: Final = 9
"""To the host: an operation on the context that nobody waits for."""
STARTED: Final = 10
"""To the host, where it wants to know: the handler is loaded, from here on it runs."""
SPENT: Final = 0x80
"""Added to RESULT, RAISED or UNRUN by a worker that must not be used again: something still runs in it."""

PROTOCOL: Final = 5

Wait = Callable[[int], None]
"""Blocks until the socket can do what a poll mask says; raises to give up."""

_HEADER: Final = Struct("!BQ")
_ONE_READ: Final = 65536
_LONGEST_TEXT: Final = 2000
_LONGEST_TRACE: Final = 20_000


class ChannelClosedError(Exception):
    """The other end is gone."""


class Channel:
    """Sends and receives messages, each of a kind and a payload.

    With a `wait`, the socket must not block, and `wait` is called where it would; without one, it blocks.
    """

    __slots__ = ("_rest", "socket")

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self._rest = b""

    def send(self, kind: int, payload: bytes, wait: Wait | None = None) -> None:
        """Send one message whole.

        Raises:
            ChannelClosedError: where nobody is left to read it.
        """
        header = _HEADER.pack(kind, len(payload))
        parts = (header + payload,) if len(payload) < _ONE_READ else (header, payload)
        try:
            for part in parts:
                self._send_all(part, wait)
        except OSError as error:
            raise ChannelClosedError(str(error)) from error

    def _send_all(self, part: bytes, wait: Wait | None) -> None:
        sent = 0
        while sent < len(part):
            try:
                sent += self.socket.send(memoryview(part)[sent:] if sent else part)
            except BlockingIOError:
                if wait is None:
                    raise
                wait(select.POLLOUT)

    def receive(self, wait: Wait | None = None) -> tuple[int, bytes | bytearray]:
        """The next message.

        Raises:
            ChannelClosedError: where none comes any more.
        """
        head = self._rest
        while len(head) < _HEADER.size:
            head += self._read(wait)
        kind, length = cast("tuple[int, int]", _HEADER.unpack_from(head))
        end = _HEADER.size + length
        if len(head) >= end:
            self._rest = head[end:]
            return kind, head[_HEADER.size : end]
        self._rest = b""
        return kind, self._read_long(head, length, wait)

    def _read(self, wait: Wait | None) -> bytes:
        if wait is not None:
            wait(select.POLLIN)
        try:
            read = self.socket.recv(_ONE_READ)
        except OSError as error:
            raise ChannelClosedError(str(error)) from error
        if not read:
            raise ChannelClosedError("end of file")
        return read

    def _read_long(self, head: bytes, length: int, wait: Wait | None) -> bytearray:
        payload = bytearray(length)
        at = len(head) - _HEADER.size
        payload[:at] = head[_HEADER.size :]
        with memoryview(payload) as view:
            while at < length:
                if wait is not None:
                    wait(select.POLLIN)
                try:
                    read = self.socket.recv_into(view[at:])
                except OSError as error:
                    raise ChannelClosedError(str(error)) from error
                if not read:
                    raise ChannelClosedError("end of file")
                at += read
        return payload

    def has_more(self) -> bool:
        """True if something has come that was not received yet, or nothing will come any more."""
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return bool(self._rest) or bool(poll.poll(0))

    def close(self) -> None:
        """Close this end."""
        self.socket.close()


def reason(error: BaseException) -> str:
    """An error in a few words, whatever its own text does."""
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 -- a handler's error may have a text that raises, even drastically
        text = "its text cannot be read"
    name = type(error).__qualname__
    return f"{name}: {text}"[:_LONGEST_TEXT] if text else name


def pack_error(error: BaseException, *, with_trace: bool = False) -> bytes:
    """An error as bytes: the same type with the same arguments where it can be rebuilt, else its words."""
    trace = ""
    if with_trace:
        try:
            trace = "".join(traceback.format_exception(error))[-_LONGEST_TRACE:]
        except BaseException:  # noqa: BLE001 -- out of memory, or a text that raises: the error matters more
            trace = ""
    return pickle.dumps((_rebuildable(error), reason(error), trace), PROTOCOL)


def _rebuildable(error: BaseException) -> bytes | None:
    """Its pickle, if what comes out of that is equal to the error."""
    if not isinstance(error, Exception):
        return None  # an exit or a cancellation is the worker's own, not the host's
    try:
        body = pickle.dumps(error, PROTOCOL)
        twin = cast("object", pickle.loads(body))  # noqa: S301 -- written one line above
        same = isinstance(twin, type(error)) and twin.args == error.args and str(twin) == str(error)
    except BaseException:  # noqa: BLE001 -- constructors and reducers of handlers' errors raise anything
        return None
    return body if same else None


def unpack_error(payload: bytes | bytearray) -> Exception:
    """The error that was packed; a ToolExecutionError with its words where its type cannot be had here."""
    body, text, trace = cast("tuple[bytes | None, str, str]", pickle.loads(payload))  # noqa: S301 -- of our own worker
    error: object = None
    if body is not None:
        try:
            error = cast("object", pickle.loads(body))  # noqa: S301 -- of our own worker
        except Exception:  # noqa: BLE001 -- a type that only the other process can import
            error = None
    if not isinstance(error, Exception):
        error = ToolExecutionError(text)
    if trace:
        error.add_note(f"In the worker process:\n{trace}")
    return error
