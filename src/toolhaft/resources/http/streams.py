"""The bytes of one exchange, counted and timed at the socket, with TLS on top where it is wanted.

Does not know HTTP.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from toolhaft.errors import HttpError, HttpTooLargeError
from toolhaft.resources.http.hosts import MISSING_EXTRA, Host
from toolhaft.resources.http.timer import Timer

try:
    from httpcore2 import NetworkStream, ReadError, WriteError
except ImportError as missing:
    raise ImportError(MISSING_EXTRA) from missing

DoneT = TypeVar("DoneT")

HEAD_BYTES: Final = 96 * 1024
"""Of headers, whatever came before them included; the parser itself gives up a little later."""
_PIECE: Final = 64 * 1024
_FRAMING_BYTES: Final = 64 * 1024
"""On top of a body's own bytes, for what chunks and TLS put around it, and what is read ahead."""
_FRAMING_SHARE: Final = 3
"""Times a body's bytes: whoever sends crumbs makes work, not a body."""


class SocketStream(NetworkStream):
    """A socket that is read and written only as long as there is time, and as far as the limit goes."""

    def __init__(self, opened: socket.socket, host: Host, timer: Timer) -> None:
        self._socket = opened
        self._host = host
        self._timer = timer
        self._most = self._start = self._end = HEAD_BYTES
        self._is_in_head = True
        self.taken = 0
        """Bytes that came in."""
        self.is_ended = False
        """True once the other side has closed."""

    def expect_body(self, most: int) -> None:
        """The headers are there: let so many bytes of a body follow."""
        self._is_in_head = False
        self._start = self.taken + _FRAMING_BYTES
        self._end = self._start + most + most // 16
        self.count_body(0)

    def count_body(self, received: int) -> None:
        """So much of what came in was body: that much more may come around the rest."""
        self._most = min(self._end, self._start + received * _FRAMING_SHARE)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 -- the timer's is the limit
        """What has come, at least one byte; none at the end.

        Raises:
            HttpError: where the time is up, or too much has come.
        """
        if self.taken >= self._most:
            what = "headers" if self._is_in_head else "answer"
            raise HttpTooLargeError(
                f"the {what} of {self._host.shown} did not end within {self.taken:,} bytes, "
                "and no more are read"
            )
        doing = f"waiting for {self._host.shown}"
        try:
            self._socket.settimeout(self._timer.left(doing))
            data = self._socket.recv(min(max_bytes, self._most - self.taken))
        except TimeoutError:
            raise self._timer.over(doing) from None
        except OSError as error:
            raise ReadError from error
        self.taken += len(data)
        self.is_ended = not data
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002 -- the timer's is the limit
        """Send all of it.

        Raises:
            HttpTimeoutError: where the time is up.
        """
        doing = f"sending to {self._host.shown}"
        rest = memoryview(buffer)
        try:
            while rest:
                self._socket.settimeout(self._timer.left(doing))
                rest = rest[self._socket.send(rest) :]
        except TimeoutError:
            raise self._timer.over(doing) from None
        except OSError as error:
            raise WriteError from error

    def close(self) -> None:
        """Let the other side go."""
        self._socket.close()


class TlsStream(NetworkStream):
    """TLS over a stream, by way of memory: so every byte of it is counted and timed below.

    Raises:
        HttpError: where the other side is not who it should be, or does not speak TLS.
    """

    def __init__(self, below: SocketStream, host: Host, context: ssl.SSLContext) -> None:
        self._below = below
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self.taken = 0
        """Bytes that came in, without what TLS puts around them."""
        self.is_ended = False
        """True once the other side has closed."""
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host.name)
        try:
            self._run(self._tls.do_handshake)
        except ssl.SSLError as error:
            raise _told(error, host) from error

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 -- the timer's is the limit
        """What has come, at least one byte; none at the end."""
        try:
            data = self._run(lambda: self._tls.read(max_bytes))
        except ssl.SSLEOFError:
            data = b""  # closed without a farewell, as many do; HTTP itself says whether something is missing
        self.taken += len(data)
        self.is_ended = not data
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002 -- the timer's is the limit
        """Send all of it."""
        rest = memoryview(buffer)
        while rest:
            piece = rest[:_PIECE]  # it is all there twice until it is sent
            rest = rest[self._run(lambda piece=piece: self._tls.write(piece)) :]

    def close(self) -> None:
        """Let the other side go."""
        self._below.close()

    def _run(self, step: Callable[[], DoneT]) -> DoneT:
        """Do a step of TLS, fetching and sending what it needs."""
        while True:
            try:
                done = step()
            except ssl.SSLWantReadError:
                self._flush()
                data = self._below.read(_PIECE)
                if data:
                    self._incoming.write(data)
                else:
                    self._incoming.write_eof()
            except ssl.SSLError:
                with suppress(HttpError, WriteError):
                    self._flush()  # tells the other side why, if it still listens
                raise
            else:
                self._flush()
                return done

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._below.write(self._outgoing.read())


_REASONS: Final = {
    9: "its certificate is not valid yet",
    10: "its certificate has expired",
    18: "its certificate is signed by itself only",
    19: "its certificate is signed by an authority that is not trusted",
    20: "its certificate is signed by an authority that is not trusted",
    62: "its certificate is for another host",
    64: "its certificate is for another address",
}
"""By the number that OpenSSL gives to what it found."""


def _told(error: ssl.SSLError, host: Host) -> HttpError:
    if isinstance(error, ssl.SSLCertVerificationError):
        code: object = getattr(error, "verify_code", 0)  # not set where something else than OpenSSL verifies
        reason = _REASONS.get(code if isinstance(code, int) else 0, "its certificate is not valid")
        return HttpError(f"{host.shown} is not trusted: {reason}")
    return HttpError(f"no secure connection to {host.shown}: it does not speak TLS as it should")
