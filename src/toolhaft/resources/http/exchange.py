"""Sends one request over one connection and reads the response, decompressed and within the size limit."""

from __future__ import annotations

import socket
import ssl
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, cast

from toolhaft.errors import HttpError, HttpTooLargeError
from toolhaft.resources.http.request import ACCEPTED, FetchLimits, OutgoingRequest
from toolhaft.resources.http.streams import SocketStream, TlsStream
from toolhaft.resources.http.urls import MISSING_EXTRA, RequestUrl

try:
    import httpcore2
except ImportError as missing:
    raise ImportError(MISSING_EXTRA) from missing

ContentCoding = Literal["identity", "gzip", "deflate"]

_CODINGS: Final[dict[str, ContentCoding]] = {
    "": "identity",
    "identity": "identity",
    "gzip": "gzip",
    "x-gzip": "gzip",
    "deflate": "deflate",
}
_PIECE: Final = 64 * 1024
_MAGIC_BYTES: Final = 2
_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP: Final = 16 + zlib.MAX_WBITS
_ZLIB: Final = zlib.MAX_WBITS
_RAW: Final = -zlib.MAX_WBITS

_REDIRECTS: Final = (301, 302, 303, 307, 308)
_VERSIONS: Final = (b"HTTP/1.0", b"HTTP/1.1")
_BODILESS: Final = (204, 304)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawResponse:
    """The response to one request, before redirects are followed."""

    status: int
    headers: Mapping[str, str]
    """By lower-case name; repeated headers are joined with commas."""
    locations: tuple[str, ...]
    """The unchanged values of all Location headers."""
    body: bytes

    @property
    def is_redirect(self) -> bool:
        """True if the status is a redirect."""
        return self.status in _REDIRECTS


def exchange(
    url: RequestUrl,
    outgoing: OutgoingRequest,
    opened: socket.socket,
    *,
    tls: ssl.SSLContext | None,
    limits: FetchLimits,
) -> RawResponse:
    """Send a request over a socket, read the response, and close the socket.

    Raises:
        HttpError: if there is no complete response within the limits.
    """
    stream = below = SocketStream(opened, url.host, limits.timer)
    try:
        if tls is not None:
            stream = TlsStream(below, url.host, tls)
        request = _request(url, outgoing)
        with httpcore2.HTTP11Connection(request.url.origin, stream) as connection:
            return _read_response(connection.handle_request(request), below, outgoing, limits)
    except (httpcore2.ProtocolError, httpcore2.NetworkError, ssl.SSLError) as error:
        raise _describe(stream, url) from error
    finally:
        opened.close()


def default_tls() -> ssl.SSLContext:
    """A TLS context that trusts the certificates of the operating system."""
    context = httpcore2.default_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _request(url: RequestUrl, outgoing: OutgoingRequest) -> httpcore2.Request:
    target = httpcore2.URL(scheme=url.scheme, host=url.host.name, port=url.port, target=url.target)
    return httpcore2.Request(
        outgoing.method, target, headers=outgoing.lines(url.authority), content=outgoing.content
    )


def _read_response(
    response: httpcore2.Response, below: SocketStream, outgoing: OutgoingRequest, limits: FetchLimits
) -> RawResponse:
    status = response.status
    if cast("dict[str, object]", response.extensions)["http_version"] not in _VERSIONS:
        raise httpcore2.RemoteProtocolError
    values: dict[str, list[str]] = {}
    for name, value in response.headers:
        values.setdefault(name.decode("ascii").lower(), []).append(_header_text(value))
    headers = {name: ", ".join(parts) for name, parts in values.items()}
    has_body = outgoing.method != "HEAD" and status not in _BODILESS
    if has_body and (not limits.follows_redirects or status not in _REDIRECTS):
        body = _read_body(response, headers, below, limits.max_bytes)
    else:
        body = b""
    return RawResponse(status=status, headers=headers, locations=tuple(values.get("location", ())), body=body)


def _read_body(
    response: httpcore2.Response, headers: Mapping[str, str], below: SocketStream, most: int
) -> bytes:
    body = BodyReader(content_coding(headers.get("content-encoding", "")), most)
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > most:
        raise _too_large(most)
    below.expect_body(most)
    received = 0
    for data in response.iter_stream():
        body.add(data)
        received += len(data)
        below.count_body(received)
    return body.whole()


def _header_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _describe(stream: SocketStream | TlsStream, url: RequestUrl) -> HttpError:
    """The error, by the state of the stream: the message of the parser may quote the response."""
    if stream.is_ended and not stream.received:
        return HttpError(f"{url.host.display_name} closed the connection without a response")
    if stream.is_ended:
        return HttpError(
            f"the response of {url.host.display_name} ends early, after {stream.received:,} bytes"
        )
    return HttpError(f"the response of {url.host.display_name} is not valid HTTP, or is incomplete")


class BodyReader:
    """Collects and decompresses a body, up to a size limit.

    Several gzip members in a row are one body; other bytes after the end are ignored, as in browsers.

    Args:
        coding: how the body is compressed.
        most: the limit in decompressed bytes.
    """

    __slots__ = (
        "_coding",
        "_decompressor",
        "_has_ended",
        "_is_finished",
        "_most",
        "_parts",
        "_pending",
        "_size",
    )

    def __init__(self, coding: ContentCoding, most: int) -> None:
        self._coding: ContentCoding = coding
        self._most = most
        self._parts: list[bytes] = []
        self._size = 0
        self._pending = b""
        self._decompressor: zlib._Decompress | None = None  # pyright: ignore[reportPrivateUsage] -- zlib has no other name for it
        self._has_ended = False
        self._is_finished = False

    def add(self, data: bytes) -> None:
        """Add the next received bytes.

        Raises:
            HttpTooLargeError: if the body exceeds the limit.
            HttpError: if it cannot be decompressed.
        """
        if self._coding == "identity":
            self._keep(data)
            return
        try:
            self._decompress(data)
        except zlib.error as error:
            raise HttpError(
                f"the response is not valid {self._coding}, although its headers say so"
            ) from error

    def whole(self) -> bytes:
        """The complete body.

        Raises:
            HttpError: if the compressed data is incomplete.
        """
        if self._decompressor is not None or (self._pending and not self._has_ended):
            raise HttpError(f"the response ends in the middle of its {self._coding} data")
        return b"".join(self._parts)

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self._most:
            self._parts.clear()
            raise _too_large(self._most)
        if data:
            self._parts.append(data)

    def _decompress(self, data: bytes) -> None:
        while data and not self._is_finished:
            if self._decompressor is None:
                data = self._begin(self._pending + data)
            if self._decompressor is not None:
                data = self._drain(self._decompressor, data)

    def _begin(self, data: bytes) -> bytes:
        """Start to decompress once the first bytes show the format; returns the bytes to decompress."""
        if len(data) < _MAGIC_BYTES:
            self._pending = data
            return b""
        self._pending = b""
        if self._has_ended and (self._coding != "gzip" or not data.startswith(_GZIP_MAGIC)):
            self._is_finished = True
            return b""
        wbits = _GZIP if self._coding == "gzip" else _deflate_wbits(data)
        self._decompressor = zlib.decompressobj(wbits)
        return data

    def _drain(self, decompressor: zlib._Decompress, data: bytes) -> bytes:  # pyright: ignore[reportPrivateUsage] -- as above
        """Decompress in bounded pieces; returns the bytes after the end of the data."""
        while True:
            piece = decompressor.decompress(data, _PIECE)
            self._keep(piece)
            data = decompressor.unconsumed_tail
            # after a full piece the decompressor may hold more output, although all input is consumed
            if decompressor.eof or not (data or len(piece) == _PIECE):
                break
        if not decompressor.eof:
            return b""
        self._has_ended = True
        self._decompressor = None
        return decompressor.unused_data


def content_coding(header: str) -> ContentCoding:
    """Parse the Content-Encoding header.

    Raises:
        HttpError: for encodings that were not requested, and for several at once.
    """
    coding = _CODINGS.get(header.strip().lower())
    if coding is None:
        raise HttpError(
            f"the response is encoded as {header[:40]!a}, which was not requested; it must be {ACCEPTED}"
        )
    return coding


def _deflate_wbits(data: bytes) -> int:
    """The `wbits` of zlib data, as in the standard, or of raw deflate data, which some servers send."""
    is_zlib = data[0] & 0x0F == zlib.DEFLATED and int.from_bytes(data[:2], "big") % 31 == 0
    return _ZLIB if is_zlib else _RAW


def _too_large(most: int) -> HttpTooLargeError:
    """The error for a body larger than the limit."""
    return HttpTooLargeError(f"the response is too large: at most {most:,} bytes are read")
