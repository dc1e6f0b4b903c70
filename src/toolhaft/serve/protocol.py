"""uvicorn's HTTP protocol with limits that it lacks: slow clients, endless headers, too many connections."""

from __future__ import annotations

import asyncio
from typing import Any, Final, NoReturn, cast

from toolhaft.serve.disconnects import CONNECTION_KEY, ClientConnection
from toolhaft.serve.limits import ConnectionLimit, client_network
from toolhaft.serve.request import HEALTH_PATH
from toolhaft.serve.responses import PROBLEM_MEDIA_TYPE, HttpProblem

try:
    from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
except ImportError as error:  # pragma: no cover -- installed in the tests
    raise ImportError("the platform needs uvicorn and httptools: pip install 'toolhaft[serve]'") from error

_MAX_HELD_BYTES: Final = 4_096
_FIELD_OVERHEAD_BYTES: Final = 4  # a colon, a space and the end of the line
_NOT_HTTP: Final = HttpProblem(400, "this is not a valid HTTP request", fix="send HTTP/1.1, each header once")
_MAX_HEAD_BYTES: Final = 65_536
_HEAD_TOO_LARGE: Final = HttpProblem(431, "the headers are too large", fix="send less than 64 KB of them")
_TOO_SLOW: Final = HttpProblem(408, "the request was not complete in time", fix="send it faster")
_TOO_MANY: Final = HttpProblem(
    429,
    "too many connections are open, from your address or in all",
    fix="reuse connections, or try again in 1 s",
    headers={"retry-after": "1"},
)
_EXTRA_TIMEOUT_S: Final = 1.0
_EXTRA_READ_S: Final = 0.02
"""How long after an extra connection older ones may be closed: what arrived with it is read first."""


class SingleWriteTransport(asyncio.Transport):
    """A transport that holds a short write back until the next one, or the loop's next iteration.

    uvicorn writes the head and the body of a response separately, and each write is a system call.
    """

    __slots__ = ("_held", "_loop", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send the data together with what is held back; hold it back if it is short."""
        held = self._held
        if held:
            self._held = b""
            self._transport.write(held + data)
        elif len(data) <= _MAX_HELD_BYTES:
            self._held = bytes(data)
            self._loop.call_soon(self._flush)
        else:
            self._transport.write(data)

    def close(self) -> None:
        """Send what is held back, then close."""
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Close without sending what is held back."""
        self._held = b""
        self._transport.abort()

    def is_closing(self) -> bool:
        """True once it was closed."""
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 -- asyncio's signature
        """What the wrapped transport knows of the connection."""
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        """Stop reading for now."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read again."""
        self._transport.resume_reading()

    def _flush(self) -> None:
        held, self._held = self._held, b""
        if held and not self._transport.is_closing():
            self._transport.write(held)


class _RefusedError(Exception):
    """Stops the parser after a request was refused."""


class BoundedProtocol(HttpToolsProtocol):
    """A connection that is closed when its client takes too long to send a request or to read a response."""

    limit: ConnectionLimit
    client_timeout_s: float = 15.0
    _network: str
    _is_extra: bool = False
    """True if there are too many connections: only a request for the health is answered."""
    _reading_since: float | None = None
    _writing_since: float | None = None
    _connection: ClientConnection
    _is_in_head: bool = False
    _has_progressed: bool = False
    """True if the last bytes contained a part of a body, or the end of a request."""
    _field_bytes: int = 0
    _head_bytes: int = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Count the connection; one too many gets little time, and only for a request for the health."""
        self._connection = ClientConnection()
        super().connection_made(SingleWriteTransport(transport, self.loop))
        self._reading_since = self.loop.time()
        self._network = client_network(self.client[0] if self.client else "")
        self._is_extra = not self.limit.open(self, self._network)
        if self._is_extra:
            self.client_timeout_s = min(self.client_timeout_s, _EXTRA_TIMEOUT_S)
            self.loop.call_later(_EXTRA_READ_S, self.limit.refuse_crowded)

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the disconnect to the call that runs for this client."""
        if self._is_extra:
            self.limit.close_extra(self, self._network)
        else:
            self.limit.close(self._network)
        super().connection_lost(exc)
        self._connection.mark_disconnected()

    def data_received(self, data: bytes) -> None:
        """Refuse an endless head or trailer, which would fill the memory until it is complete."""
        self._has_progressed = False
        super().data_received(data)
        if self._has_progressed or self._reading_since is None:
            self._head_bytes = 0
            return
        self._head_bytes += len(data)
        if self._head_bytes > _MAX_HEAD_BYTES:
            self._refuse(_HEAD_TOO_LARGE)

    def on_message_begin(self) -> None:
        """The first byte of a request arrived."""
        super().on_message_begin()
        self._reading_since = self.loop.time()
        self._is_in_head = True
        self._field_bytes = self._head_bytes = 0
        cast("dict[str, object]", self.scope)[CONNECTION_KEY] = self._connection

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; one after a chunked body is dropped, since the request was checked without it."""
        self._field_bytes += len(name) + len(value) + _FIELD_OVERHEAD_BYTES
        if self._is_in_head:
            super().on_header(name, value)
        elif self._field_bytes > _MAX_HEAD_BYTES:
            self._refuse_in_parser(_HEAD_TOO_LARGE)

    def on_headers_complete(self) -> None:
        """The head of a request is complete."""
        if self._field_bytes + len(self.url) > _MAX_HEAD_BYTES:
            self._refuse_in_parser(_HEAD_TOO_LARGE)
        if self._is_extra and self.url.partition(b"?")[0] != HEALTH_PATH.encode():
            self._refuse_in_parser(_TOO_MANY)
        self._is_in_head = False
        super().on_headers_complete()
        if self._is_extra:
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """A part of a body arrived."""
        self._has_progressed = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The last byte of a request arrived."""
        super().on_message_complete()
        self._reading_since = None
        self._has_progressed = True

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 -- uvicorn's text is not problem+json
        """Refuse bytes that are not HTTP."""
        self._refuse(_NOT_HTTP)

    def close_if_slow(self, now: float) -> None:
        """Close the connection if its client takes too long to send a request or to read a response."""
        if self.flow.read_paused or (self._reading_since is None and self._is_idle_without_timer()):
            self._reading_since = now  # the server paused reading, or no timer of uvicorn's runs
        if self._reading_since is not None and now - self._reading_since > self.client_timeout_s:
            cycle = self._last_cycle()
            if cycle is not None and cycle.response_started and not cycle.response_complete:
                self.transport.abort()
            else:
                self._refuse(_TOO_MANY if self._is_extra else _TOO_SLOW)
        if not self.flow.write_paused:
            self._writing_since = None
        elif self._writing_since is None:
            self._writing_since = now
        elif now - self._writing_since > self.client_timeout_s:
            self.transport.abort()

    def refuse_crowded(self) -> None:
        """Tell the client that there are too many connections, and close this one."""
        self._refuse(_TOO_MANY)

    def abort_if_unfinished(self) -> None:
        """Close the connection if its client is still sending, or does not read its response."""
        if self._reading_since is not None or self.flow.write_paused:
            self.transport.abort()

    def _is_idle_without_timer(self) -> bool:
        """True between two requests if a stray byte stopped uvicorn's keep-alive timer."""
        cycle = self._last_cycle()
        return (cycle is None or cycle.response_complete) and self.timeout_keep_alive_task is None

    def _last_cycle(self) -> RequestResponseCycle | None:
        return self.cycle  # None before the first request, although uvicorn's annotation says otherwise

    def _refuse_in_parser(self, problem: HttpProblem) -> NoReturn:
        """Refuse a request from within the parser."""
        self._refuse(problem)
        raise _RefusedError

    def _refuse(self, problem: HttpProblem) -> None:
        if self.transport.is_closing():
            return
        cycle = self._last_cycle()
        if not self._is_in_head and cycle is not None and cycle.response_started:
            self.transport.close()  # its response was started already
            return
        self._is_in_head = False
        body = problem.body
        lines = [
            b"content-type: %s\r\n" % PROBLEM_MEDIA_TYPE,
            b"content-length: %d\r\n" % len(body),
            *(f"{name}: {value}\r\n".encode() for name, value in problem.headers.items()),
            b"connection: close\r\n\r\n",
        ]
        self.transport.write(STATUS_LINE[problem.status] + b"".join(lines) + body)
        self.transport.close()


def limited_protocol(limit: ConnectionLimit, *, client_timeout_s: float) -> type[BoundedProtocol]:
    """A protocol class with these limits: uvicorn takes a class, not an object."""
    return type("BoundedProtocol", (BoundedProtocol,), {"limit": limit, "client_timeout_s": client_timeout_s})
