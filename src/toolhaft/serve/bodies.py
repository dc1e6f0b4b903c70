"""Reads the body of a request: of the right type, not too large, in time.

Knows ASGI; does not know what a body says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from toolhaft.serve.answers import Receive
from toolhaft.serve.problems import Problem

_DRAINED_TIMES: Final = 10
"""A body so many times too large is still read, so that its sender hears why it was refused."""
_LONGEST_LENGTH: Final = 20
"""Digits that are looked at: a longer number is as much too large."""


class ClientLeftError(Exception):
    """The client went away before its request was whole: nobody is there to answer."""


def media_type_of(headers: Mapping[bytes, bytes]) -> bytes:
    """The type of the body, without parameters.

    Raises:
        Problem: 415 where the body is compressed, or in another charset than UTF-8.
    """
    given, _, rest = headers.get(b"content-type", b"").partition(b";")
    encoding = headers.get(b"content-encoding", b"identity")
    if encoding.lower() != b"identity":
        raise Problem(415, f"a body in {encoding.decode('latin-1')[:40]} is not read", fix="send it as it is")
    if rest:
        name, _, charset = rest.strip().lower().partition(b"=")
        if name == b"charset" and charset.strip(b'"') not in (b"utf-8", b"utf8", b"us-ascii"):
            raise Problem(415, "the body is not in UTF-8", fix="send it as UTF-8")
    return given.strip().lower()


def refuse_type(given: bytes, wanted: str) -> Problem:
    """The problem of a body of another type."""
    said = given.decode("latin-1")[:100]
    return Problem(
        415,
        f"a body of type {said!r} is not read here" if said else "the type of the body is not said",
        fix=f"send it with the header Content-Type: {wanted}",
    )


async def read_body(receive: Receive, headers: Mapping[bytes, bytes], *, most: int, within_s: float) -> bytes:
    """The whole body.

    Raises:
        Problem: 413 where it is too large, at once where its length says so; 408 where it is too slow.
        ClientLeftError: where it will never be whole.
    """
    length = headers.get(b"content-length")
    if length is not None:
        if not length.isdigit():
            raise Problem(400, "Content-Length is no number", fix="send how many bytes the body has")
        if int(length[:_LONGEST_LENGTH]) > most * (1 if b"expect" in headers else _DRAINED_TIMES):
            raise _too_large(most)
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        body: bytes = message.get("body", b"")
        if len(body) > most:
            raise _too_large(most)
        return body
    try:
        async with asyncio.timeout(within_s):
            return await _read_on(receive, message.get("body", b""), message["type"], most)
    except TimeoutError:
        raise Problem(408, f"the body was not whole within {within_s:g} s", fix="send it faster") from None


async def _read_on(receive: Receive, body: bytes, kind: str, most: int) -> bytes:
    parts, size, has_more = [body], len(body), True
    while has_more:
        if kind != "http.request":
            raise ClientLeftError
        message = await receive()
        kind, has_more = message["type"], message.get("more_body", False)
        part = message.get("body", b"")
        size += len(part)
        if size > most * _DRAINED_TIMES:
            raise _too_large(most)
        if size <= most:
            parts.append(part)
    if kind != "http.request":
        raise ClientLeftError
    if size > most:
        raise _too_large(most)
    return b"".join(parts)


def _too_large(most: int) -> Problem:
    return Problem(413, f"the body is larger than {most:,} bytes", fix="send less at once")
