"""Sends answers: bytes with their type and length, nothing else.

Knows ASGI; does not know what is answered.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final, TypeAlias

from toolhaft.serve.problems import MEDIA_TYPE, Problem

Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Header: TypeAlias = tuple[bytes, bytes]

JSON: Final = b"application/json"
_NO_SNIFFING: Final[Header] = (b"x-content-type-options", b"nosniff")


async def send_answer(
    send: Send,
    body: bytes,
    *,
    status: int = 200,
    media_type: bytes = JSON,
    headers: Iterable[Header] = (),
) -> None:
    """One whole answer."""
    head = [
        (b"content-type", media_type),
        (b"content-length", b"%d" % len(body)),
        _NO_SNIFFING,
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


async def send_problem(send: Send, problem: Problem, *, closes: bool = False) -> None:
    """A problem; `closes` where the rest of the request will not be read."""
    headers = [(name.encode(), value.encode("latin-1", "replace")) for name, value in problem.headers.items()]
    if closes:
        headers.append((b"connection", b"close"))
    await send_answer(send, problem.body, status=problem.status, media_type=MEDIA_TYPE, headers=headers)
