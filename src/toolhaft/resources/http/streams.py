"""Network streams that count bytes and enforce the time limit, with and without TLS."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from toolhaft.errors import HttpError, HttpTooLargeError
from toolhaft.resources.http.request import FetchTimer
from toolhaft.resources.http.urls import MISSING_EXTRA, Host

try:
    from httpcore2 import NetworkStream, ReadError, WriteError
except ImportError as missing:
    raise ImportError(MISSING_EXTRA) from missing

DoneT = TypeVar("DoneT")

HEAD_BYTES: Final = 96 * 1024
"""The largest size of the headers, informational responses included."""
_CHUNK_BYTES: Final = 64 * 1024
_FRAMING_BYTES: Final = 64 * 1024
"""Allowed in addition to the body, for chunk headers, TLS records and data read ahead."""
_FRAMING_SHARE: Final = 3
"""Received bytes per byte of body, which bounds the overhead of tiny chunks."""

_REASONS: Final = {
    9: "its certificate is not valid yet",
    10: "its certificate has expired",
    18: "its certificate is self-signed",
    19: "its certificate is signed by an untrusted authority",
    20: "its certificate is signed by an untrusted authority",
    62: "its certificate is for another host",
    64: "its certificate is for another address",
}
"""By the verification error code of OpenSSL."""


class SocketStream(NetworkStream):
    """A socket with a time limit and a limit of received bytes."""

    def __init__(self, opened: socket.socket, host: Host, timer: FetchTimer) -> None:
        self._socket = opened
        self._host = host
        self._timer = timer
        self._most = self._start = self._end = HEAD_BYTES
        self._is_in_head = True
        self.received = 0
        """Received bytes."""
        self.is_ended = False
        """True once the server has closed the connection."""

    def expect_body(self, most: int) -> None:
        """Set the limit for the body, after the headers were read."""
        self._is_in_head = False
        self._start = self.received + _FRAMING_BYTES
        self._end = self._start + most + most // 16
        self.count_body(0)

    def count_body(self, received: int) -> None:
        """Raise the limit in proportion to the body bytes received so far."""
        self._most = min(self._end, self._start + received * _FRAMING_SHARE)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 -- the timer has the limit
        """Receive at least one byte; empty at the end.

        Raises:
            HttpError: if the time is up, or too many bytes were received.
        """
        if self.received >= self._most:
            what = "headers" if self._is_in_head else "response"
            raise HttpTooLargeError(
                f"the {what} of {self._host.display_name} did not end within {self.received:,} bytes, "
                "which is the limit"
            )
        doing = f"waiting for {self._host.display_name}"
        try:
            self._socket.settimeout(self._timer.left(doing))
            data = self._socket.recv(min(max_bytes, self._most - self.received))
        except TimeoutError:
            raise self._timer.over(doing) from None
        except OSError as error:
            raise ReadError from error
        self.received += len(data)
        self.is_ended = not data
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002 -- the timer has the limit
        """Send all bytes.

        Raises:
            HttpTimeoutError: if the time is up.
        """
        doing = f"sending to {self._host.display_name}"
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
        """Close the connection."""
        self._socket.close()


class TlsStream(NetworkStream):
    """TLS in memory over a SocketStream, which counts and times every byte.

    Raises:
        HttpError: if the certificate is not trusted, or the server does not speak TLS.
    """

    def __init__(self, below: SocketStream, host: Host, context: ssl.SSLContext) -> None:
        self._below = below
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self.received = 0
        """Received bytes after decryption."""
        self.is_ended = False
        """True once the server has closed the connection."""
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host.name)
        try:
            self._run(self._tls.do_handshake)
        except ssl.SSLError as error:
            raise _describe(error, host) from error

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 -- the timer has the limit
        """Receive at least one byte; empty at the end."""
        try:
            data = self._run(lambda: self._tls.read(max_bytes))
        except ssl.SSLEOFError:
            data = b""  # many servers skip the TLS shutdown; HTTP shows whether something is missing
        self.received += len(data)
        self.is_ended = not data
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002 -- the timer has the limit
        """Send all bytes."""
        rest = memoryview(buffer)
        while rest:
            piece = rest[:_CHUNK_BYTES]  # bounds the encrypted copy in memory
            rest = rest[self._run(lambda piece=piece: self._tls.write(piece)) :]

    def close(self) -> None:
        """Close the connection."""
        self._below.close()

    def _run(self, operation: Callable[[], DoneT]) -> DoneT:
        """Run a TLS operation, and receive and send the bytes that it needs."""
        while True:
            try:
                done = operation()
            except ssl.SSLWantReadError:
                self._flush()
                data = self._below.read(_CHUNK_BYTES)
                if data:
                    self._incoming.write(data)
                else:
                    self._incoming.write_eof()
            except ssl.SSLError:
                with suppress(HttpError, WriteError):
                    self._flush()  # sends the TLS alert
                raise
            else:
                self._flush()
                return done

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._below.write(self._outgoing.read())


def _describe(error: ssl.SSLError, host: Host) -> HttpError:
    if isinstance(error, ssl.SSLCertVerificationError):
        code: object = getattr(error, "verify_code", 0)  # only OpenSSL sets it
        reason = _REASONS.get(code if isinstance(code, int) else 0, "its certificate is not valid")
        return HttpError(f"{host.display_name} is not trusted: {reason}")
    return HttpError(f"no secure connection to {host.display_name}: it does not speak valid TLS")
