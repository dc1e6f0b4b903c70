"""The request that is sent: headers, body, time and size limits, and how a redirect changes it."""

from __future__ import annotations

import json as json_module
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import EllipsisType
from typing import Final
from urllib.parse import urljoin

from toolhaft.core.limits import Deadline
from toolhaft.errors import HttpError, HttpRefusedError, HttpTimeoutError
from toolhaft.resources.http.urls import MAX_URL_LEN, RequestUrl, check_characters, parse_url
from toolhaft.schema.json_value import JSONValue

CheckUrl = Callable[[str], None]
"""Called with each URL before it is requested; may raise to stop the fetch."""
METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
ACCEPTED: Final = "gzip, deflate"
"""The content encodings that can be decompressed."""
SAFE_METHODS: Final = ("GET", "HEAD", "OPTIONS")
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?")
_RESERVED: Final = frozenset(
    (
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
_CROSS_ORIGIN: Final = ("accept", "accept-language", "user-agent")
_CONTENT_PREFIX: Final = "content-"
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SEE_OTHER: Final = 303
_MOVED_FORMS: Final = (301, 302)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingRequest:
    """A request without its URL."""

    method: str
    headers: Mapping[str, str] = field(repr=False)
    """The headers of the caller, by lower-case name."""
    content: bytes | None = field(repr=False)

    def for_other_origin(self) -> OutgoingRequest:
        """The request without headers that another origin must not see."""
        kept = {name: self.headers[name] for name in _CROSS_ORIGIN if name in self.headers}
        return replace(self, headers=kept)

    def as_get(self) -> OutgoingRequest:
        """A GET request in its place, without body and content headers."""
        kept = {name: value for name, value in self.headers.items() if not name.startswith(_CONTENT_PREFIX)}
        return replace(self, method="GET", headers=kept, content=None)

    def lines(self, authority: str) -> list[tuple[bytes, bytes]]:
        """All headers in the form in which they are sent."""
        headers = {
            "host": authority,
            "accept": "*/*",
            "accept-encoding": ACCEPTED,
            **self.headers,
            "connection": "close",
        }
        if self.content is not None:
            headers["content-length"] = str(len(self.content))
        return [(name.title().encode("ascii"), value.encode("ascii")) for name, value in headers.items()]


def build_request(
    *,
    method: str,
    headers: Mapping[str, str],
    json: JSONValue | EllipsisType,
    content: bytes | None,
) -> OutgoingRequest:
    """Check the arguments of a request.

    Raises:
        HttpRefusedError: for a header that is not valid, or that only the client sets.
        ValueError: for an unknown method, two bodies, or a body that cannot be JSON.
    """
    if method not in METHODS:
        raise ValueError(f"no method {method!r:.40}; use one of {', '.join(METHODS)}")
    read = check_headers(headers)
    if json is not ...:
        if content is not None:
            raise ValueError("a request has one body: give json or content, not both")
        content = _json_bytes(json)
        read.setdefault("content-type", "application/json")
    elif content is not None and not isinstance(content, bytes | bytearray):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        raise TypeError(f"content is bytes, not {type(content).__name__}; encode text first")
    elif content is None and method in ("POST", "PUT", "PATCH"):
        content = b""
    return OutgoingRequest(method=method, headers=read, content=None if content is None else bytes(content))


def check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Check headers, and convert their names to lower case.

    Raises:
        HttpRefusedError: the message names the header, not its value.
    """
    read: dict[str, str] = {}
    for name, value in headers.items():
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise HttpRefusedError(f"{name!a:.40} is not a valid header name")
        lower = name.lower()
        if lower in _RESERVED or lower.startswith("proxy-"):
            raise HttpRefusedError(f"the header {name[:40]!a} is set by the client itself; leave it out")
        if not isinstance(value, str) or _VALUE.fullmatch(value) is None:  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise HttpRefusedError(
                f"the value of the header {name[:40]!a} must be one line of ASCII, without spaces around it"
            )
        read[lower] = value
    return read


def _json_bytes(value: JSONValue) -> bytes:
    try:
        text = json_module.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"json cannot be written as JSON: {str(error)[:80]}") from error


def redirect_target(url: RequestUrl, locations: Sequence[str]) -> RequestUrl:
    """The URL that a response redirects to.

    Raises:
        HttpRefusedError: if it is not an http or https URL, or goes from https to http.
        HttpError: if the response names no URL, or several.
    """
    source = url.host.display_name
    if len(set(locations)) != 1:
        what = "several URLs" if locations else "no URL"
        raise HttpError(f"{source} responds with a redirect to {what}")
    if len(locations[0]) > MAX_URL_LEN:
        raise HttpError(f"{source} redirects to a URL of more than {MAX_URL_LEN:,} characters")
    location = locations[0].strip(" \t").replace(" ", "%20")  # as in browsers
    try:
        check_characters(location)
        following = parse_url(_absolute_url(url, location))
    except HttpRefusedError as error:
        raise refused_redirect(url, error) from error
    if url.scheme == "https" and following.scheme == "http":
        raise HttpRefusedError(f"{source} redirects from https to http, which is not encrypted")
    return following


def redirected_request(
    outgoing: OutgoingRequest, status: int, url: RequestUrl, following: RequestUrl
) -> OutgoingRequest:
    """The request after a redirect: methods change as in browsers, and another origin gets no secrets.

    Raises:
        HttpRefusedError: if another origin would get a body, or a method that changes something.
    """
    becomes_get = (status == _SEE_OTHER and outgoing.method not in ("GET", "HEAD")) or (
        status in _MOVED_FORMS and outgoing.method == "POST"
    )
    request = outgoing.as_get() if becomes_get else outgoing
    if url.origin == following.origin:
        return request
    if request.content is not None or request.method not in SAFE_METHODS:
        raise HttpRefusedError(
            f"{url.host.display_name} redirects a {request.method} to {following.host.display_name}; "
            "a request body is not sent to another origin"
        )
    return request.for_other_origin()


def refused_redirect(url: RequestUrl, error: HttpRefusedError) -> HttpRefusedError:
    """The error for a redirect to a URL that may not be fetched."""
    return HttpRefusedError(
        f"{url.host.display_name} redirects to a URL that may not be fetched: {error.problem}"
    )


def _absolute_url(url: RequestUrl, location: str) -> str:
    """The absolute URL; `urljoin` is too lenient with hosts, so it only gets locations without one."""
    if _SCHEME.match(location):
        return location
    if location.startswith("//"):
        return f"{url.scheme}:{location}"
    return urljoin(url.url, location)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """The limits of one fetch."""

    timer: FetchTimer
    max_bytes: int
    max_redirects: int
    check_url: CheckUrl | None

    @property
    def follows_redirects(self) -> bool:
        """False if a redirect is returned as the response."""
        return self.max_redirects > 0


class FetchTimer:
    """One time limit for everything that a fetch does."""

    __slots__ = ("_deadline", "_total_s")

    def __init__(self, timeout_s: float, deadline: Deadline | None) -> None:
        self._deadline = Deadline.after(timeout_s) if deadline is None else deadline.within(timeout_s)
        self._total_s = min(timeout_s, self._deadline.remaining())

    def left(self, doing: str) -> float:
        """The remaining seconds, more than 0.

        Raises:
            HttpTimeoutError: if no time is left; the message says what the fetch was doing.
        """
        left_s = self._deadline.remaining()
        if left_s <= 0:
            raise self.over(doing)
        return left_s

    def over(self, doing: str) -> HttpTimeoutError:
        """The error for a fetch that has used all its time."""
        return HttpTimeoutError(f"timed out {doing}: there were {self._total_s:.3g} s for everything")
