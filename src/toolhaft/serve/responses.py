"""Sends HTTP responses over ASGI, and turns errors into problem documents (RFC 9457)."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from http import HTTPStatus
from math import ceil
from typing import Any, Final, Literal, NamedTuple, TypeAlias

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
    UnknownVersionError,
)
from toolhaft.schema.problems import Problem

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


Where: TypeAlias = Literal["arguments", "body", "document", "header", "query", "request", "tool"]
_LINE: Final = re.compile(r".*\.(?:yaml|json):(\d+)")


class ProblemEntry(NamedTuple):
    """One thing that is wrong: where, what, and what to do; every error response lists them in this form."""

    problem: str
    where: Where = "request"
    """The part of the request, or `tool` if the tool failed; it is called `in` in JSON."""
    path: str = ""
    """The argument, field, header or query parameter; empty if it is the whole."""
    line: int | None = None
    """The line of a document."""
    expected: str = ""
    fix: str = ""
    level: Literal["error", "warning"] = "error"

    def to_json(self) -> dict[str, object]:
        """The entry as JSON, always with the same names."""
        return {
            "in": self.where,
            "path": self.path,
            "line": self.line,
            "problem": self.problem[:_MAX_DETAIL_CHARS],
            "expected": self.expected[:_MAX_DETAIL_CHARS],
            "fix": self.fix[:_MAX_DETAIL_CHARS],
            "level": self.level,
        }


def call_problems(problems: Iterable[object]) -> list[ProblemEntry]:
    """The problems of a call's arguments."""
    return [
        ProblemEntry(problem=one.what, where="arguments", path=one.path, expected=one.expected)
        if isinstance(one, Problem)
        else ProblemEntry(problem=str(one), where="arguments")
        for one in problems
    ]


def document_problems(error: DefinitionError) -> list[ProblemEntry]:
    """The problems of a document, with the lines that the error names."""
    entries: list[ProblemEntry] = []
    for one in error.problems:
        found = _LINE.fullmatch(one.place)
        entries.append(
            ProblemEntry(
                problem=one.problem,
                where="document",
                path="" if found else one.place,
                line=int(found[1]) if found else None,
                fix=one.fix,
            )
        )
    return entries


class HttpProblem(Exception):  # noqa: N818 -- RFC 9457 calls it a problem
    """A response that reports why a request failed; `fix` says what the client can do next.

    Without `problems`, it lists itself as its only one, in the part of the request that `where` names.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        fix: str = "",
        where: Where = "request",
        path: str = "",
        problems: Iterable[ProblemEntry] = (),
        more: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status = status
        self.detail = detail[:_MAX_DETAIL_CHARS]
        self.fix = fix
        listed = list(problems) or [ProblemEntry(problem=detail, where=where, path=path, fix=fix)]
        self.problems = listed[:_MAX_PROBLEMS]
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
        document["problems"] = [entry.to_json() for entry in self.problems]
        return schema.to_json_text(document | self.more).encode()


def retry_later(status: int, detail: str, seconds: float, *, fix: str = "", **more: object) -> HttpProblem:
    """A problem that goes away with time, with a Retry-After header."""
    left = max(1, ceil(seconds))
    return HttpProblem(
        status, detail, fix=fix or f"try again in {left} s", headers={"retry-after": str(left)}, more=more
    )


def error_problem(error: ToolhaftError, *, has_condition: bool = False, fix: str = "") -> HttpProblem:
    """The problem of an error; `has_condition` if an If-Match or If-None-Match header was sent.

    `fix` says what to do after a conflict, if that is not to PUT the document again.
    """
    match error:
        case UnknownVersionError():
            return HttpProblem(404, str(error), fix="GET /v3/tools/{id}/versions lists those that are kept")
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
                fix=fix or "GET the tool, put your changes into that version, and PUT it again",
                more={"current": error.current},
            )
        case DefinitionError():
            return HttpProblem(
                422,
                "the tool cannot be stored as written",
                fix=error.fix or "fix what is listed in problems",
                problems=document_problems(error),
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
