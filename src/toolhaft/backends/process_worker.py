"""The process that runs handlers, one after the other, and says what became of each.

Knows handlers by the bytes that find them; does not know calls, tools, or why one is killed.
"""

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
    ANSWER,
    ASK,
    JOB,
    PROTOCOL,
    RAISED,
    RESULT,
    SPENT,
    STARTED,
    TELL,
    UNRUN,
    Channel,
    ChannelClosedError,
    pack_error,
    reason,
    unpack_error,
)
from toolhaft.backends.process_handler import MAIN_MARK, Main, Surroundings, load_main
from toolhaft.backends.process_tree import children_file
from toolhaft.errors import CallEndedError, ToolExecutionError

_LISTED_BYTES: Final = 256


class Order(NamedTuple):
    """What a JOB message says; it travels as a plain tuple, which is quicker."""

    handler: bytes
    args: tuple[object, ...]
    kwargs: dict[str, object]
    context_name: str | None
    context: dict[str, bytes]
    """The pickle of each attribute."""
    is_served: bool
    """True if somebody in the host answers what the context asks."""


class Errand(NamedTuple):
    """What a JOB or LOAD message carries: the outer wrapping, readable without importing anything."""

    surroundings: Surroundings | None
    """None where they are as they were."""
    directory: str | None
    tells_start: bool
    content: bytes
    """The pickle of an Order's fields, or of a list of handlers."""


class Line:
    """A running handler's line to the host; it is cut when the handler is done."""

    __slots__ = ("_channel", "_is_served", "_lock", "has_ended")

    def __init__(self, channel: Channel, *, is_served: bool) -> None:
        self._channel = channel
        self._is_served = is_served
        self._lock = threading.Lock()
        self.has_ended = False

    def ask(self, path: str, *args: object, **kwargs: object) -> object:
        """Have the host do an operation, and wait for what it gives."""
        request = self._pack(path, args, kwargs)
        with self._lock:
            self._check(path)
            self._channel.send(ASK, request)
            kind, payload = self._channel.receive()
        if kind == ANSWER:
            return cast("object", pickle.loads(payload))  # noqa: S301 -- of the host that started this process
        raise unpack_error(payload)

    def tell(self, path: str, *args: object, **kwargs: object) -> None:
        """Have the host do an operation without waiting for it."""
        if self._is_served:
            request = self._pack(path, args, kwargs)
            with self._lock:
                self._check(path)
                self._channel.send(TELL, request)

    def finish(self, kind: int, payload: bytes) -> None:
        """Send the outcome; nothing goes out after it, whichever thread tries."""
        with self._lock:
            self.has_ended = True
            self._channel.send(kind, payload)

    def _check(self, path: str) -> None:
        if self.has_ended:
            raise CallEndedError(f"{path}: the call is over; nothing was changed")

    @staticmethod
    def _pack(path: str, args: tuple[object, ...], kwargs: dict[str, object]) -> bytes:
        try:
            return pickle.dumps((path, args, kwargs), PROTOCOL)
        except Exception as error:
            raise ToolExecutionError(
                f"what was given to {path} cannot travel out of its process: {reason(error)}. "
                "Fix: give it data, or use isolation='thread'"
            ) from error


class Worker:
    """Takes messages until the channel closes."""

    def __init__(self, channel: Channel, keeper: int) -> None:
        self._channel = channel
        self._pid = os.getpid()
        self._main: Main | None = None
        self._has_main = False
        self._handlers: dict[bytes, Callable[..., object]] = {}
        self._only_me = f"{self._pid} ".encode()
        self._children_fd = -1
        with suppress(OSError):  # not on this system
            self._children_fd = os.open(children_file(keeper), os.O_RDONLY)

    def run(self) -> None:
        """Do what the messages say."""
        while True:
            kind, payload = self._channel.receive()
            if kind == JOB:
                self._do_job(payload)
            else:
                self._load(payload)
            del payload  # an idle worker keeps nothing

    def _settle(self, payload: bytes | bytearray) -> Errand:
        """Read a message and make this process's surroundings those of the host."""
        errand = Errand(*pickle.loads(payload))  # noqa: S301 -- of the host that started this process
        if errand.surroundings is not None:
            path, argv, self._main = errand.surroundings
            sys.path[:] = path
            sys.argv[:] = argv
        if errand.directory is not None:
            with suppress(OSError):  # gone meanwhile
                os.chdir(errand.directory)
        if os.environ:
            os.environ.clear()  # what an earlier handler set
        if self._main is not None and not self._has_main and MAIN_MARK in errand.content:
            load_main(self._main)
            self._has_main = True
        return errand

    def _find(self, handler: bytes) -> Callable[..., object]:
        found = self._handlers.get(handler)
        if found is None:
            found = cast("Callable[..., object]", pickle.loads(handler))  # noqa: S301 -- of the host that started this process
            self._handlers[handler] = found
        return found

    def _load(self, payload: bytes | bytearray) -> None:
        # only a preparation: the job that needs a handler tells what is wrong with it
        with suppress(Exception, SystemExit):
            for handler in cast("list[bytes]", pickle.loads(self._settle(payload).content)):  # noqa: S301 -- of the host that started this process
                if self._channel.has_more():
                    return  # a job: what it needs comes first
                self._find(handler)

    def _do_job(self, payload: bytes | bytearray) -> None:
        line = Line(self._channel, is_served=False)
        threads = threading.active_count()
        kind = UNRUN
        is_sound = True
        try:
            errand, order, handler = self._read_order(payload)
            kind = RAISED
            line = Line(self._channel, is_served=order.is_served)
            threads = threading.active_count()
            if errand.tells_start:
                self._channel.send(STARTED, b"")
            value = _call(handler, order, line)
            outcome = _pack_result(value)
            kind = RESULT
        except SystemExit as error:
            outcome = pack_error(ToolExecutionError(f"the handler called exit({error.code!r})"))
        except BaseException as error:  # noqa: BLE001 -- carried to the host, which decides what it means
            is_sound = not isinstance(error, MemoryError)
            outcome = pack_error(error, with_trace=True)
        if os.getpid() != self._pid:
            os._exit(0)  # a fork of the handler's came back: the original speaks for both
        if not is_sound or threading.active_count() > threads or self._left_children():
            kind |= SPENT
        line.finish(kind, outcome)

    def _read_order(self, payload: bytes | bytearray) -> tuple[Errand, Order, Callable[..., object]]:
        try:
            errand = self._settle(payload)
            order = Order(*pickle.loads(errand.content))  # noqa: S301 -- of the host that started this process
            return errand, order, self._find(order.handler)
        except MemoryError:
            raise
        except Exception as error:
            raise ToolExecutionError(
                f"a worker process cannot load the handler or its arguments: {reason(error)}. "
                "The handler did not run"
            ) from error

    def _left_children(self) -> bool:
        """True if a process that the handler started is still there."""
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            # none of its own; those that lost their parent are the keeper's now
            return self._children_fd >= 0 and os.pread(self._children_fd, _LISTED_BYTES, 0) != self._only_me
        return True


def work(end: socket.socket, keeper: int) -> None:
    """Run handlers until the host hangs up."""
    channel = Channel(end)
    # a fork that a handler makes must not speak on this line, nor hold it open
    os.register_at_fork(after_in_child=channel.close)
    with suppress(ChannelClosedError):
        Worker(channel, keeper).run()


def _call(handler: Callable[..., object], order: Order, line: Line) -> object:
    kwargs = order.kwargs
    if order.context_name is not None:
        from toolhaft.backends.process_context import remote_context  # noqa: PLC0415 -- few handlers take a context, and its parts are slow to import

        copied = {name: cast("object", pickle.loads(value)) for name, value in order.context.items()}  # noqa: S301 -- of the host that started this process
        kwargs = {**kwargs, order.context_name: remote_context(line, copied)}
    value = handler(*order.args, **kwargs)
    if isinstance(value, GeneratorType):
        return [_passed_on(chunk, line) for chunk in cast("GeneratorType[object, None, object]", value)]
    if isinstance(value, AsyncGeneratorType | Awaitable):
        import asyncio  # noqa: PLC0415 -- not quick to import, and most handlers that are worth a process are sync

        return asyncio.run(_settled(cast("object", value), line))
    return value


def _passed_on(chunk: object, line: Line) -> object:
    line.tell("chunk", chunk)
    return chunk


async def _settled(value: object, line: Line) -> object:
    """What an async handler comes to."""
    if isinstance(value, AsyncGeneratorType):
        chunks = cast("AsyncGenerator[object, None]", value)
        return [_passed_on(chunk, line) async for chunk in chunks]
    return await cast("Awaitable[object]", value)


def _pack_result(value: object) -> bytes:
    try:
        return pickle.dumps(value, PROTOCOL)
    except MemoryError:
        raise
    except Exception as error:
        kind = type(value)
        raise ToolExecutionError(
            f"a value of type {kind.__module__}.{kind.__qualname__} cannot travel out of its process: "
            f"{reason(error)}. Fix: return data, or use isolation='thread'"
        ) from error
