"""One request and its answer, over one connection that is opened for it and closed after it.

Does not follow redirects.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from toolhaft.errors import HttpError
from toolhaft.resources.http.decode import Body, coding_of, too_large
from toolhaft.resources.http.hosts import MISSING_EXTRA
from toolhaft.resources.http.outgoing import Outgoing
from toolhaft.resources.http.places import Place
from toolhaft.resources.http.streams import SocketStream, TlsStream
from toolhaft.resources.http.terms import Terms

try:
    import httpcore2
except ImportError as missing:
    raise ImportError(MISSING_EXTRA) from missing

_REDIRECTS: Final = (301, 302, 303, 307, 308)
_VERSIONS: Final = (b"HTTP/1.0", b"HTTP/1.1")
_BODILESS: Final = (204, 304)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one place said."""

    status: int
    headers: Mapping[str, str]
    """By lower-case name; a repeated one is joined by commas."""
    locations: tuple[str, ...]
    """Where it sends on to, each as it was written."""
    body: bytes

    @property
    def is_redirect(self) -> bool:
        """True if it sends on to another place."""
        return self.status in _REDIRECTS


def usual_tls() -> ssl.SSLContext:
    """Verifies certificates and names by what the operating system trusts."""
    context = httpcore2.default_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def exchange(
    place: Place,
    outgoing: Outgoing,
    opened: socket.socket,
    *,
    tls: ssl.SSLContext | None,
    terms: Terms,
) -> Answer:
    """Send a request over a socket, which is closed, and read the answer.

    Raises:
        HttpError: where there is no whole answer, in time and within the limit.
    """
    stream = below = SocketStream(opened, place.host, terms.timer)
    try:
        if tls is not None:
            stream = TlsStream(below, place.host, tls)
        request = _request(place, outgoing)
        with httpcore2.HTTP11Connection(request.url.origin, stream) as connection:
            return _read(connection.handle_request(request), below, outgoing, terms)
    except (httpcore2.ProtocolError, httpcore2.NetworkError, ssl.SSLError) as error:
        raise _told(stream, place) from error
    finally:
        opened.close()


def _request(place: Place, outgoing: Outgoing) -> httpcore2.Request:
    url = httpcore2.URL(scheme=place.scheme, host=place.host.name, port=place.port, target=place.target)
    return httpcore2.Request(
        outgoing.method, url, headers=outgoing.lines(place.authority), content=outgoing.content
    )


def _read(response: httpcore2.Response, below: SocketStream, outgoing: Outgoing, terms: Terms) -> Answer:
    status = response.status
    if cast("dict[str, object]", response.extensions)["http_version"] not in _VERSIONS:
        raise httpcore2.RemoteProtocolError
    values: dict[str, list[str]] = {}
    for name, value in response.headers:
        values.setdefault(name.decode("ascii").lower(), []).append(_text(value))
    headers = {name: ", ".join(parts) for name, parts in values.items()}
    has_body = outgoing.method != "HEAD" and status not in _BODILESS
    if has_body and (not terms.follows_redirects or status not in _REDIRECTS):
        body = _read_body(response, headers, below, terms.max_bytes)
    else:
        body = b""
    return Answer(status=status, headers=headers, locations=tuple(values.get("location", ())), body=body)


def _read_body(
    response: httpcore2.Response, headers: Mapping[str, str], below: SocketStream, most: int
) -> bytes:
    body = Body(coding_of(headers.get("content-encoding", "")), most)
    said = headers.get("content-length", "")
    if said.isdecimal() and int(said) > most:
        raise too_large(most)
    below.expect_body(most)
    received = 0
    for data in response.iter_stream():
        body.add(data)
        received += len(data)
        below.count_body(received)
    return body.whole()


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _told(stream: SocketStream | TlsStream, place: Place) -> HttpError:
    """What went wrong, by what was seen of the stream: the parser's own words quote the answer."""
    if stream.is_ended and not stream.taken:
        return HttpError(f"{place.host.shown} closed the connection without an answer")
    if stream.is_ended:
        return HttpError(f"the answer of {place.host.shown} breaks off after {stream.taken:,} bytes")
    return HttpError(f"the answer of {place.host.shown} is not HTTP as it should be, or was broken off")
