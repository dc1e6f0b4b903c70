"""The worker process: runs one handler after another and reports each outcome."""

from __future__ import annotations

import os
import pickle
import socket
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from types import AsyncGeneratorType, GeneratorType
from typing import Final, NamedTuple, cast

from toolhaft.backends.process_channel import (
    JOB,
    NOT_RUN,
    NOTIFY,
    RAISED,
    REQUEST,
    RESPONSE,
    RESULT,
    STARTED,
    UNUSABLE,
    Channel,
    ChannelClosedError,
    describe_error,
    unpack_error,
)
from toolhaft.backends.process_data import DataError, encode, encode_error
from toolhaft.backends.process_handler import MAIN_MARK, ImportSettings, Main, load_main
from toolhaft.backends.process_tree import children_file
from toolhaft.errors import CallEndedError, ToolExecutionError

_LISTED_BYTES: Final = 256


class JobMessage(NamedTuple):
    """The content of a JOB message; pickled as a plain tuple, which is faster."""

    handler: bytes
    args: tuple[object, ...]
    kwargs: dict[str, object]
    context_name: str | None
    context: dict[str, bytes]
    """The pickle of each attribute."""
    is_served: bool
    """True if the host performs operations on the context."""


class Envelope(NamedTuple):
    """The outer part of a JOB or LOAD message, which can be unpickled without importing handlers."""

    import_settings: ImportSettings | None
    """None if they have not changed since the last message."""
    directory: str | None
    reports_start: bool
    content: bytes
    """The pickle of the fields of a JobMessage, or of a list of handlers."""


class HostConnection:
    """The connection of a running handler to the host; closed when the handler ends."""

    __slots__ = ("_channel", "_is_served", "_lock", "has_ended")

    def __init__(self, channel: Channel, *, is_served: bool) -> None:
        self._channel = channel
        self._is_served = is_served
        self._lock = threading.Lock()
        self.has_ended = False

    def request(self, path: str, /, *args: object, **kwargs: object) -> object:
        """Let the host perform an operation, and return its value."""
        request = _pack([path, list(args), kwargs], f"the arguments of {path}")
        with self._lock:
            self._check(path)
            self._channel.send(REQUEST, request)
            kind, payload = self._channel.receive()
        if kind == RESPONSE:
            return cast("object", pickle.loads(payload))  # noqa: S301 -- from the host that started this process
        raise unpack_error(payload)

    def notify(self, path: str, /, *args: object, **kwargs: object) -> None:
        """Let the host perform an operation, without waiting for it."""
        if self._is_served:
            request = _pack([path, list(args), kwargs], f"the arguments of {path}")
            with self._lock:
                self._check(path)
                self._channel.send(NOTIFY, request)

    def finish(self, kind: int, payload: bytes) -> None:
        """Send the outcome; after that no thread can send anything."""
        with self._lock:
            self.has_ended = True
            self._channel.send(kind, payload)

    def _check(self, path: str) -> None:
        if self.has_ended:
            raise CallEndedError(f"{path}: the call has ended; nothing was changed")


class Worker:
    """Handles messages until the channel is closed."""

    def __init__(self, channel: Channel, supervisor: int) -> None:
        self._channel = channel
        self._pid = os.getpid()
        self._main: Main | None = None
        self._has_main = False
        self._handlers: dict[bytes, Callable[..., object]] = {}
        self._only_child = f"{self._pid} ".encode()
        self._children_fd = -1
        with suppress(OSError):  # not on this system
            self._children_fd = os.open(children_file(supervisor), os.O_RDONLY)

    def run(self) -> None:
        """Handle messages."""
        while True:
            kind, payload = self._channel.receive()
            if kind == JOB:
                self._do_job(payload)
            else:
                self._load(payload)
            del payload  # an idle worker must not keep objects alive

    def _open_envelope(self, payload: bytes | bytearray) -> Envelope:
        """Read a message and apply the import settings and working directory of the host."""
        envelope = Envelope(*pickle.loads(payload))  # noqa: S301 -- from the host that started this process
        if envelope.import_settings is not None:
            path, argv, self._main = envelope.import_settings
            sys.path[:] = path
            sys.argv[:] = argv
        if envelope.directory is not None:
            with suppress(OSError):  # removed meanwhile
                os.chdir(envelope.directory)
        if os.environ:
            os.environ.clear()  # variables that an earlier handler set
        if self._main is not None and not self._has_main and MAIN_MARK in envelope.content:
            load_main(self._main)
            self._has_main = True
        return envelope

    def _find(self, handler: bytes) -> Callable[..., object]:
        found = self._handlers.get(handler)
        if found is None:
            found = cast("Callable[..., object]", pickle.loads(handler))  # noqa: S301 -- from the host that started this process
            self._handlers[handler] = found
        return found

    def _load(self, payload: bytes | bytearray) -> None:
        # errors are ignored here: the job that needs the handler reports them
        with suppress(Exception, SystemExit):
            for handler in cast("list[bytes]", pickle.loads(self._open_envelope(payload).content)):  # noqa: S301 -- from the host that started this process
                if self._channel.has_more():
                    return  # a job has priority
                self._find(handler)

    def _do_job(self, payload: bytes | bytearray) -> None:
        connection = HostConnection(self._channel, is_served=False)
        threads = threading.active_count()
        kind = NOT_RUN
        is_usable = True
        try:
            envelope, message, handler = self._read_job(payload)
            kind = RAISED
            connection = HostConnection(self._channel, is_served=message.is_served)
            threads = threading.active_count()
            if envelope.reports_start:
                self._channel.send(STARTED, b"")
            value = _call(handler, message, connection)
            outcome = _pack(value, f"a value of type {type(value).__module__}.{type(value).__qualname__}")
            kind = RESULT
        except BaseException as error:  # noqa: BLE001 -- the host handles it
            is_usable = not issubclass(type(error), MemoryError)  # its `__class__` may raise
            outcome = encode_error(error, with_trace=True)
        if os.getpid() != self._pid:
            os._exit(0)  # the handler forked and the child returned; only the parent may send the outcome
        if not is_usable or threading.active_count() > threads or self._left_children():
            kind |= UNUSABLE
        connection.finish(kind, outcome)

    def _read_job(self, payload: bytes | bytearray) -> tuple[Envelope, JobMessage, Callable[..., object]]:
        try:
            envelope = self._open_envelope(payload)
            message = JobMessage(*pickle.loads(envelope.content))  # noqa: S301 -- from the host that started this process
            return envelope, message, self._find(message.handler)
        except MemoryError:
            raise
        except Exception as error:
            raise ToolExecutionError(
                f"a worker process cannot load the handler or its arguments: {describe_error(error)}. "
                "The handler did not run"
            ) from error

    def _left_children(self) -> bool:
        """True if a process that the handler started is still running."""
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            # it has no children; orphans belong to the supervisor now
            return (
                self._children_fd >= 0 and os.pread(self._children_fd, _LISTED_BYTES, 0) != self._only_child
            )
        return True


is_worker = False
"""True in a worker process."""


def work(end: socket.socket, supervisor: int) -> None:
    """Run handlers until the host closes the connection."""
    global is_worker  # noqa: PLW0603 -- of this process
    is_worker = True
    channel = Channel(end)
    # a child that the handler forks must not use this connection, nor keep it open
    os.register_at_fork(after_in_child=channel.close)
    with suppress(ChannelClosedError):
        Worker(channel, supervisor).run()


def _call(handler: Callable[..., object], message: JobMessage, connection: HostConnection) -> object:
    kwargs = message.kwargs
    if message.context_name is not None:
        from toolhaft.backends.process_context import remote_context  # noqa: PLC0415 -- few handlers take a context, and it is slow to import

        copied = {name: cast("object", pickle.loads(value)) for name, value in message.context.items()}  # noqa: S301 -- from the host that started this process
        kwargs = {**kwargs, message.context_name: remote_context(connection, copied)}
    value = handler(*message.args, **kwargs)
    if isinstance(value, GeneratorType):
        return [_forward(chunk, connection) for chunk in cast("GeneratorType[object, None, object]", value)]
    if isinstance(value, AsyncGeneratorType | Awaitable):
        import asyncio  # noqa: PLC0415 -- slow to import, and most handlers in processes are sync

        return asyncio.run(_await_result(cast("object", value), connection))
    return value


def _forward(chunk: object, connection: HostConnection) -> object:
    connection.notify("chunk", chunk)
    return chunk


async def _await_result(value: object, connection: HostConnection) -> object:
    """The result of an async handler."""
    if isinstance(value, AsyncGeneratorType):
        chunks = cast("AsyncGenerator[object, None]", value)
        return [_forward(chunk, connection) async for chunk in chunks]
    return await cast("Awaitable[object]", value)


def _pack(value: object, what: str) -> bytes:
    try:
        return encode(value)
    except DataError as error:
        raise ToolExecutionError(f"{what} cannot be sent out of the process: {error}") from error
