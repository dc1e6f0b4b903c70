"""Sends HTTP responses over ASGI, and turns errors into problem documents (RFC 9457)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from http import HTTPStatus
from math import ceil
from typing import Any, Final, TypeAlias

from toolhaft import schema
from toolhaft.errors import (
    ConflictError,
    DefinitionError,
    ForbiddenError,
    StorageBusyError,
    StorageError,
    StorageFullError,
    ToolAuthorizationError,
    ToolhaftError,
    UnknownToolError,
)

_LOG: Final = logging.getLogger("toolhaft")
Message: TypeAlias = MutableMapping[str, Any]
AsgiScope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Header: TypeAlias = tuple[bytes, bytes]

JSON: Final = b"application/json"
PROBLEM_MEDIA_TYPE: Final = b"application/problem+json"
_NO_SNIFFING: Final[Header] = (b"x-content-type-options", b"nosniff")
_MAX_DETAIL_CHARS: Final = 16_000
_MAX_PROBLEMS: Final = 100


class HttpProblem(Exception):  # noqa: N818 -- RFC 9457 calls it a problem
    """A response that reports why a request failed; `fix` says what the client can do next."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        fix: str = "",
        problems: Iterable[object] = (),
        more: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status = status
        self.detail = detail[:_MAX_DETAIL_CHARS]
        self.fix = fix
        self.problems = [str(problem)[:_MAX_DETAIL_CHARS] for problem in problems][:_MAX_PROBLEMS]
        self.more = dict(more or {})
        self.headers = dict(headers or {})
        super().__init__(detail)

    @property
    def body(self) -> bytes:
        """The problem as JSON."""
        document: dict[str, object] = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        if self.fix:
            document["fix"] = self.fix
        if self.problems:
            document["problems"] = self.problems
        return schema.to_json_text(document | self.more).encode()


def retry_later(status: int, detail: str, seconds: float, *, fix: str = "", **more: object) -> HttpProblem:
    """A problem that goes away with time, with a Retry-After header."""
    left = max(1, ceil(seconds))
    return HttpProblem(
        status, detail, fix=fix or f"try again in {left} s", headers={"retry-after": str(left)}, more=more
    )


def error_problem(error: ToolhaftError, *, has_condition: bool = False) -> HttpProblem:
    """The problem of an error; `has_condition` if an If-Match or If-None-Match header was sent."""
    match error:
        case UnknownToolError():
            return HttpProblem(404, str(error), fix="GET /v3/tools lists the tools that this key may see")
        case ForbiddenError() | ToolAuthorizationError():
            return HttpProblem(
                403, str(error), fix="use a key that may do this, or ask the operator of the platform"
            )
        case ConflictError():
            return HttpProblem(
                412 if has_condition else 409,
                str(error),
                fix="GET the tool, put your changes into that version, and PUT it again",
                more={"current": error.current},
            )
        case DefinitionError():
            return HttpProblem(
                422,
                "the tool cannot be stored as written",
                fix=error.fix or "fix what is listed in problems",
                problems=str(error).splitlines(),
            )
        case StorageError():
            return _storage_problem(error)
        case _:
            return HttpProblem(424, str(error), fix="see the message")


def _storage_problem(error: StorageError) -> HttpProblem:
    """A storage error for a client: the full message names files and hosts, and goes to the log only."""
    _LOG.error("storage: %s", error)
    if error.is_outcome_unknown:
        return retry_later(
            503,
            "the connection to the storage was lost: the change was made completely, or not at all",
            2,
            fix="GET the tool and look before you send it again",
        )
    match error:
        case StorageBusyError():
            what = "is busy"
        case StorageFullError():
            what = "is full"
        case _:
            what = "cannot be reached"
    return retry_later(503, f"the storage of the platform {what}; nothing was changed", 2)


async def send_response(
    send: Send,
    body: bytes,
    *,
    status: int = 200,
    media_type: bytes = JSON,
    headers: Iterable[Header] = (),
) -> None:
    """Send a complete response."""
    head = [
        (b"content-type", media_type),
        (b"content-length", b"%d" % len(body)),
        _NO_SNIFFING,
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


async def send_problem(send: Send, problem: HttpProblem, *, closes: bool = False) -> None:
    """Send a problem; `closes` the connection when the rest of the request is not read."""
    headers = [(name.encode(), value.encode("latin-1", "replace")) for name, value in problem.headers.items()]
    if closes:
        headers.append((b"connection", b"close"))
    await send_response(
        send, problem.body, status=problem.status, media_type=PROBLEM_MEDIA_TYPE, headers=headers
    )
