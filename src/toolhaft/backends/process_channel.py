"""Messages over a socket between the host and a worker process, and the errors that the host sends."""

from __future__ import annotations

import pickle
import select
import socket
import traceback
from collections.abc import Callable
from functools import partial
from struct import Struct
from typing import Final, TypeVar, cast

from toolhaft.errors import ToolExecutionError

JOB: Final = 1
"""To the worker: run a handler."""
LOAD: Final = 2
"""To the worker: import handlers in advance; there is no response."""
RESPONSE: Final = 3
"""To the worker: the value of a requested operation."""
ERROR: Final = 4
"""To the worker: the error of a requested operation."""
RESULT: Final = 5
"""To the host: the value that the handler returned."""
RAISED: Final = 6
"""To the host: the error that the handler raised."""
NOT_RUN: Final = 7
"""To the host: why the handler or its arguments could not be loaded."""
REQUEST: Final = 8
"""To the host: an operation on the context; the handler waits for the response."""
NOTIFY: Final = 9
"""To the host: an operation on the context without a response."""
STARTED: Final = 10
"""To the host, if requested: the handler is loaded and begins to run."""
UNUSABLE: Final = 0x80
"""Added to RESULT, RAISED or NOT_RUN by a worker that must not be reused, as something still runs in it."""

PROTOCOL: Final = 5

T = TypeVar("T")
Wait = Callable[[int], None]
"""Blocks until the socket is ready for the events of a poll mask; raises to give up."""

_HEADER: Final = Struct("!BQ")
_READ_BYTES: Final = 65536
_MAX_FRAME: Final = 2**40
_MAX_MESSAGE: Final = 2000
_MAX_TRACE: Final = 20_000


class ChannelClosedError(Exception):
    """The other side has closed the connection."""


class Channel:
    """Sends and receives messages over a socket; each has a kind and a payload.

    A non-blocking socket needs a `wait`, which is called when the socket is not ready.
    """

    __slots__ = ("_max_bytes", "_rest", "socket")

    def __init__(self, end: socket.socket, *, max_bytes: int = _MAX_FRAME) -> None:
        self.socket = end
        self._max_bytes = max_bytes
        self._rest = b""

    def send(self, kind: int, payload: bytes, wait: Wait | None = None) -> None:
        """Send one message.

        Raises:
            ChannelClosedError: if the other side has closed the connection.
        """
        header = _HEADER.pack(kind, len(payload))
        parts = (header + payload,) if len(payload) < _READ_BYTES else (header, payload)
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
        """Receive the next message.

        Raises:
            ChannelClosedError: if the other side has closed the connection, or sends too much at a time.
        """
        head = self._rest
        while len(head) < _HEADER.size:
            head += self._read(wait, lambda: self.socket.recv(_READ_BYTES))
        kind, length = cast("tuple[int, int]", _HEADER.unpack_from(head))
        if length > self._max_bytes:
            raise ChannelClosedError("a message is too long")
        end = _HEADER.size + length
        if len(head) >= end:
            self._rest = head[end:]
            return kind, head[_HEADER.size : end]
        self._rest = b""
        return kind, self._read_long(head, length, wait)

    def _read(self, wait: Wait | None, read: Callable[[], T]) -> T:
        """The bytes that `read` returns, or their number."""
        if wait is not None:
            wait(select.POLLIN)
        try:
            received = read()
        except OSError as error:
            raise ChannelClosedError(str(error)) from error
        if not received:
            raise ChannelClosedError("end of file")
        return received

    def _read_long(self, head: bytes, length: int, wait: Wait | None) -> bytearray:
        payload = bytearray(length)
        at = len(head) - _HEADER.size
        payload[:at] = head[_HEADER.size :]
        with memoryview(payload) as view:
            while at < length:
                at += self._read(wait, partial(self.socket.recv_into, view[at:]))
        return payload

    @property
    def has_unread(self) -> bool:
        """True if a part of another message was received together with the last one."""
        return bool(self._rest)

    def has_more(self) -> bool:
        """True if `receive` would not block."""
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return bool(self._rest) or bool(poll.poll(0))

    def close(self) -> None:
        """Close this side."""
        self.socket.close()


def describe_error(error: BaseException) -> str:
    """The type and message of an error, even if its `__str__` raises."""
    try:
        if issubclass(type(error), SystemExit):
            return describe_exit(error)
        text = str(error)
    except BaseException:  # noqa: BLE001 -- the error of a handler may raise anything here
        text = "its message cannot be read"
    name = type(error).__qualname__
    return f"{name}: {text}"[:_MAX_MESSAGE] if text else name


def describe_exit(error: BaseException) -> str:
    """What a handler that raised this SystemExit has done."""
    return f"the handler called sys.exit({getattr(error, 'code', None)!r:.80})"


def format_trace(error: BaseException) -> str:
    """The beginning of the trace of an error; empty if it cannot be written."""
    try:
        # cut at the end: the host recognises a secret by its beginning
        return "".join(traceback.format_exception(error))[:_MAX_TRACE]
    except BaseException:  # noqa: BLE001 -- out of memory, or a message that raises: the error matters more
        return ""


def pack_error(error: BaseException) -> bytes:
    """Pickle an error of the host, together with its message in case the worker cannot rebuild it."""
    return pickle.dumps((_pickle_if_equal(error), describe_error(error)), PROTOCOL)


def _pickle_if_equal(error: BaseException) -> bytes | None:
    """The pickle of an error, if unpickling returns an equal error."""
    if not isinstance(error, Exception):
        return None  # an exit or cancellation concerns the host, not the worker
    try:
        body = pickle.dumps(error, PROTOCOL)
        copy = cast("object", pickle.loads(body))  # noqa: S301 -- written one line above
        same = isinstance(copy, type(error)) and copy.args == error.args and str(copy) == str(error)
    except BaseException:  # noqa: BLE001 -- pickling code of other people raises anything
        return None
    return body if same else None


def unpack_error(payload: bytes | bytearray) -> Exception:
    """Unpickle an error in the worker; a ToolExecutionError with its message if its type is not available."""
    body, text = cast("tuple[bytes | None, str]", pickle.loads(payload))  # noqa: S301 -- from the host that started this process
    error: object = None
    if body is not None:
        try:
            error = cast("object", pickle.loads(body))  # noqa: S301 -- from the host that started this process
        except Exception:  # noqa: BLE001 -- only the other process can import its type
            error = None
    return error if isinstance(error, Exception) else ToolExecutionError(text)
