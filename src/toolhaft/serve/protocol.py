"""HTTP on a connection, with what uvicorn leaves open: slow senders, slow takers, too many connections.

Knows connections and time; does not know what is asked.
"""

from __future__ import annotations

import asyncio
from typing import Final, NoReturn, cast

from toolhaft.serve.joining import JoinedWrites
from toolhaft.serve.lines import LINE, Line
from toolhaft.serve.problems import MEDIA_TYPE, Problem

try:
    from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
except ImportError as error:  # pragma: no cover -- the tests have it
    raise ImportError("the platform needs uvicorn and httptools: pip install 'toolhaft[serve]'") from error

_FIELD_BYTES: Final = 4  # a colon, a space and the end of the line
_NOT_HTTP: Final = Problem(400, "this is no valid HTTP request", fix="send HTTP/1.1, each header once")
_LARGEST_HEAD: Final = 65_536
_HEAD_TOO_LARGE: Final = Problem(431, "the headers are too large", fix="send less than 64 KB of them")
_TOO_SLOW: Final = Problem(408, "the request was not whole in time", fix="send it faster")
_TOO_MANY: Final = Problem(429, "too many connections", fix="try again in 1 s", headers={"retry-after": "1"})


class _RefusedError(Exception):
    """Ends the reading of a request that was refused: the parser takes nothing more after an error."""


class BoundedProtocol(HttpToolsProtocol):
    """A connection that is closed when its client takes too long, whatever it sends meanwhile."""

    most: int = 1_000
    patience_s: float = 15.0
    _reading_since: float | None = None
    _writing_since: float | None = None
    _line: Line
    _is_in_head: bool = False
    _has_moved: bool = False
    """True where the bytes that came last held a part of a body, or the end of a request."""
    _field_bytes: int = 0
    _unseen_bytes: int = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Refuse the connection where there are too many."""
        self._line = Line()
        super().connection_made(JoinedWrites(transport, self.loop))
        self._reading_since = self.loop.time()
        if len(self.connections) > self.most:
            self._refuse(_TOO_MANY)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the call that runs for this client."""
        super().connection_lost(exc)
        self._line.hang_up()

    def data_received(self, data: bytes) -> None:
        """Refuse a head or a trailer without end, which would be kept in memory until it is whole."""
        self._has_moved = False
        super().data_received(data)
        if self._has_moved or self._reading_since is None:
            self._unseen_bytes = 0
            return
        self._unseen_bytes += len(data)
        if self._unseen_bytes > _LARGEST_HEAD:
            self._refuse(_HEAD_TOO_LARGE)

    def on_message_begin(self) -> None:
        """The first byte of a request is here."""
        super().on_message_begin()
        self._reading_since = self.loop.time()
        self._is_in_head = True
        self._field_bytes = self._unseen_bytes = 0
        cast("dict[str, object]", self.scope)[LINE] = self._line

    def on_header(self, name: bytes, value: bytes) -> None:
        """A field of the head; what follows a chunked body was not there when the request was let in."""
        self._field_bytes += len(name) + len(value) + _FIELD_BYTES
        if self._is_in_head:
            super().on_header(name, value)
        elif self._field_bytes > _LARGEST_HEAD:
            self._end(_HEAD_TOO_LARGE)

    def on_headers_complete(self) -> None:
        """The head of a request is here."""
        if self._field_bytes + len(self.url) > _LARGEST_HEAD:
            self._end(_HEAD_TOO_LARGE)
        self._is_in_head = False
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of a body is here."""
        self._has_moved = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The last byte of a request is here."""
        super().on_message_complete()
        self._reading_since = None
        self._has_moved = True

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 -- uvicorn's own words are not problem+json
        """What cannot be read as HTTP."""
        self._refuse(_NOT_HTTP)

    def sweep(self, now: float) -> None:
        """Close the connection if its client has taken too long to send a request or to take an answer."""
        if self.flow.read_paused or (self._reading_since is None and self._rests_untimed()):
            self._reading_since = now  # it is we who do not read, or nothing else will end this rest
        if self._reading_since is not None and now - self._reading_since > self.patience_s:
            cycle = self._last_cycle()
            if cycle is not None and cycle.response_started and not cycle.response_complete:
                self.transport.abort()
            else:
                self._refuse(_TOO_SLOW)
        if not self.flow.write_paused:
            self._writing_since = None
        elif self._writing_since is None:
            self._writing_since = now
        elif now - self._writing_since > self.patience_s:
            self.transport.abort()

    def cut_off(self) -> None:
        """Close the connection if its client is still sending, or does not take its answer."""
        if self._reading_since is not None or self.flow.write_paused:
            self.transport.abort()

    def _rests_untimed(self) -> bool:
        """True between two requests where a stray byte has stopped uvicorn's own timer."""
        cycle = self._last_cycle()
        return (cycle is None or cycle.response_complete) and self.timeout_keep_alive_task is None

    def _last_cycle(self) -> RequestResponseCycle | None:
        return self.cycle  # None before the first request, whatever uvicorn's annotation says

    def _end(self, problem: Problem) -> NoReturn:
        """Refuse a request from within the parser."""
        self._refuse(problem)
        raise _RefusedError

    def _refuse(self, problem: Problem) -> None:
        if self.transport.is_closing():
            return
        cycle = self._last_cycle()
        if not self._is_in_head and cycle is not None and cycle.response_started:
            self.transport.close()  # its one answer is on its way
            return
        self._is_in_head = False
        body = problem.body
        lines = [
            b"content-type: %s\r\n" % MEDIA_TYPE,
            b"content-length: %d\r\n" % len(body),
            *(f"{name}: {value}\r\n".encode() for name, value in problem.headers.items()),
            b"connection: close\r\n\r\n",
        ]
        self.transport.write(STATUS_LINE[problem.status] + b"".join(lines) + body)
        self.transport.close()


def bounded(*, most: int, patience_s: float) -> type[BoundedProtocol]:
    """The protocol with these limits: uvicorn takes a class."""
    return type("BoundedProtocol", (BoundedProtocol,), {"most": most, "patience_s": patience_s})
