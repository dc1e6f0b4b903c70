"""Reads a request: checks its headers, reads its body within limits, and parses its conditional headers."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Mapping
from types import EllipsisType
from typing import Final

from toolhaft.serve.responses import AsgiScope, HttpProblem, Receive

HEALTH_PATH: Final = "/healthz"
"""The path that is answered without a key, and however many connections are open."""
_SINGLE_HEADERS: Final = frozenset(
    (
        b"accept-encoding",
        b"authorization",
        b"content-encoding",
        b"content-length",
        b"content-type",
        b"host",
        b"idempotency-key",
        b"if-match",
        b"if-none-match",
        b"origin",
        b"toolhaft-trail",
        b"transfer-encoding",
    )
)


class HeaderCheck:
    """Refuses requests for another host (DNS rebinding), from other sites' pages, or with doubled headers."""

    __slots__ = ("_hosts", "_origins", "_url")

    def __init__(self, hosts: frozenset[bytes], origins: frozenset[bytes], url: str) -> None:
        self._hosts = hosts
        self._origins = origins
        self._url = url

    def check(self, scope: AsgiScope) -> dict[bytes, bytes]:
        """Check the headers, and return them by lower-case name.

        Raises:
            HttpProblem: 400 for a repeated header or transfer encoding, 421 for another host, 403 for
                another origin.
        """
        pairs = scope["headers"]
        headers: dict[bytes, bytes] = dict(pairs)
        if len(headers) != len(pairs):
            _reject_duplicates(pairs)
        host = headers.get(b"host", b"")
        if host not in self._hosts and host.lower() not in self._hosts:
            name = host.decode("ascii", "replace")[:200]
            raise HttpProblem(421, f"this is not the host {name!r}", fix=f"send requests to {self._url}")
        origin = headers.get(b"origin")
        if origin is not None and origin not in self._origins:
            raise HttpProblem(
                403,
                "pages of other sites may not use this platform",
                fix="call it from a program, not from a page in a browser",
            )
        encoding = headers.get(b"transfer-encoding")
        if encoding is not None and encoding.lower() != b"chunked":
            name = encoding.decode("latin-1")[:40]
            raise HttpProblem(
                400,
                f"the transfer encoding {name!r} is not supported",
                fix="send the body plain or chunked",
                where="header",
                path="transfer-encoding",
            )
        return headers


def _reject_duplicates(pairs: list[tuple[bytes, bytes]]) -> None:
    for name, count in Counter(name for name, _ in pairs).items():
        if count > 1 and name in _SINGLE_HEADERS:
            what = f"the header {name.decode()} was sent {count} times"
            raise HttpProblem(400, what, fix="send it once", where="header", path=name.decode())


_DRAIN_FACTOR: Final = 10
"""A body up to this many times too large is still read, so that its sender receives the response."""
_MAX_LENGTH_DIGITS: Final = 20
"""Digits of Content-Length that are read: a longer number is too large anyway."""


class ClientDisconnectedError(Exception):
    """The client disconnected before its request was complete, so no response is sent."""


def body_type(headers: Mapping[bytes, bytes]) -> bytes:
    """The media type of the body, without parameters.

    Raises:
        HttpProblem: 415 if the body is compressed, or in another charset than UTF-8.
    """
    media_type, _, rest = headers.get(b"content-type", b"").partition(b";")
    encoding = headers.get(b"content-encoding", b"identity")
    if encoding.lower() != b"identity":
        raise HttpProblem(
            415,
            f"the content encoding {encoding.decode('latin-1')[:40]} is not supported",
            fix="send the body uncompressed",
            where="header",
            path="content-encoding",
        )
    if rest:
        name, _, charset = rest.strip().lower().partition(b"=")
        if name == b"charset" and charset.strip(b'"') not in (b"utf-8", b"utf8", b"us-ascii"):
            raise HttpProblem(
                415, "the body is not in UTF-8", fix="send it as UTF-8", where="header", path="content-type"
            )
    return media_type.strip().lower()


def unsupported_type(media_type: bytes, expected: str) -> HttpProblem:
    """The problem of a body whose media type is not accepted."""
    name = media_type.decode("latin-1")[:100]
    return HttpProblem(
        415,
        f"a body of type {name!r} is not accepted here" if name else "the Content-Type header is missing",
        fix=f"send it with the header Content-Type: {expected}",
        where="header",
        path="content-type",
    )


async def read_body(
    receive: Receive, headers: Mapping[bytes, bytes], *, max_bytes: int, timeout_s: float
) -> bytes:
    """Read the whole body.

    Raises:
        HttpProblem: 413 if it is too large, by its Content-Length or when read; 408 if it is too slow.
        ClientDisconnectedError: if the client disconnects first.
    """
    length = headers.get(b"content-length")
    if length is not None:
        if not length.isdigit():
            raise HttpProblem(
                400,
                "Content-Length is not a number",
                fix="send the number of bytes of the body",
                where="header",
                path="content-length",
            )
        if int(length[:_MAX_LENGTH_DIGITS]) > max_bytes * (1 if b"expect" in headers else _DRAIN_FACTOR):
            raise _too_large(max_bytes)
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        body: bytes = message.get("body", b"")
        if len(body) > max_bytes:
            raise _too_large(max_bytes)
        return body
    try:
        async with asyncio.timeout(timeout_s):
            return await _read_rest(receive, message.get("body", b""), message["type"], max_bytes)
    except TimeoutError:
        raise HttpProblem(
            408, f"the body was not complete within {timeout_s:g} s", fix="send it faster", where="body"
        ) from None


async def _read_rest(receive: Receive, body: bytes, kind: str, max_bytes: int) -> bytes:
    parts, size, has_more = [body], len(body), True
    while has_more:
        if kind != "http.request":
            raise ClientDisconnectedError
        message = await receive()
        kind, has_more = message["type"], message.get("more_body", False)
        part = message.get("body", b"")
        size += len(part)
        if size > max_bytes * _DRAIN_FACTOR:
            raise _too_large(max_bytes)
        if size <= max_bytes:
            parts.append(part)
    if kind != "http.request":
        raise ClientDisconnectedError
    if size > max_bytes:
        raise _too_large(max_bytes)
    return b"".join(parts)


def _too_large(max_bytes: int) -> HttpProblem:
    what = f"the body is larger than {max_bytes:,} bytes"
    return HttpProblem(413, what, fix="send a smaller body", where="body")


ANY: Final = "*"
_TAG: Final = re.compile(r'(?P<weak>W/)?"(?P<tag>[\x21\x23-\x7e]*)"')


def base_version(
    headers: Mapping[bytes, bytes], written: str | None
) -> tuple[str | EllipsisType | None, bool]:
    """The version that a change is based on, and whether a header named it; `written` is the document's own.

    Raises:
        HttpProblem: 400 for a header that does not name exactly one version.
    """
    matching, new = headers.get(b"if-match"), headers.get(b"if-none-match")
    if matching is not None and new is not None:
        what = "If-Match and If-None-Match were both sent"
        raise HttpProblem(400, what, fix="send one of them", where="header", path="if-match")
    if new is not None:
        if new.strip() != b"*":
            raise HttpProblem(
                400,
                "If-None-Match names a version",
                fix="send If-None-Match: * to create a tool only if it does not exist",
                where="header",
                path="if-none-match",
            )
        return None, True
    if matching is not None:
        return _one_version(matching), True
    return written, False


def is_not_modified(headers: Mapping[bytes, bytes], etag: str) -> bool:
    """True if If-None-Match says that the client has this version."""
    header = headers.get(b"if-none-match")
    if header is None:
        return False
    text = header.decode("latin-1")
    return text.strip() == ANY or any(f'"{found["tag"]}"' == etag for found in _TAG.finditer(text))


def _one_version(if_match: bytes) -> str | EllipsisType:
    text = if_match.decode("latin-1").strip()
    if text == ANY:
        return ...
    found = _TAG.fullmatch(text)
    if found is None or found["weak"]:
        raise HttpProblem(
            400,
            f"If-Match is not one ETag: {text!r:.100}",
            fix="send the ETag of the tool as you received it, or If-Match: *",
            where="header",
            path="if-match",
        )
    return found["tag"]
