"""What went wrong with a request, as RFC 9457 says it, with what to do next.

Knows the errors of Toolhaft and their status; does not know how an answer is sent.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from math import ceil
from typing import Final

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
MEDIA_TYPE: Final = b"application/problem+json"
_LONGEST_DETAIL: Final = 16_000
_MOST_PROBLEMS: Final = 100


class Problem(Exception):  # noqa: N818 -- RFC 9457's own word
    """An answer that is not what was asked for."""

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
        self.detail = detail[:_LONGEST_DETAIL]
        self.fix = fix
        self.problems = [str(problem)[:_LONGEST_DETAIL] for problem in problems][:_MOST_PROBLEMS]
        self.more = dict(more or {})
        self.headers = dict(headers or {})
        super().__init__(detail)

    @property
    def body(self) -> bytes:
        """The problem as JSON."""
        said: dict[str, object] = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        if self.fix:
            said["fix"] = self.fix
        if self.problems:
            said["problems"] = self.problems
        return schema.to_json_text(said | self.more).encode()


def wait_first(status: int, detail: str, seconds: float, *, fix: str = "", **more: object) -> Problem:
    """A problem that time solves."""
    left = max(1, ceil(seconds))
    return Problem(
        status, detail, fix=fix or f"try again in {left} s", headers={"retry-after": str(left)}, more=more
    )


def problem_of(error: ToolhaftError, *, has_condition: bool = False) -> Problem:
    """The answer to an error; `has_condition` where a header named the version that is changed."""
    match error:
        case UnknownToolError():
            return Problem(404, str(error), fix="GET /v3/tools lists the tools that this key may see")
        case ForbiddenError() | ToolAuthorizationError():
            return Problem(403, str(error), fix="use a key that may, or ask the operator of the platform")
        case ConflictError():
            return Problem(
                412 if has_condition else 409,
                str(error),
                fix="GET the tool, put your changes into that version, and PUT it again",
                more={"current": error.current},
            )
        case DefinitionError():
            return Problem(
                422,
                "the tool cannot be stored as written",
                fix=error.fix or "mend what is told in problems",
                problems=str(error).splitlines(),
            )
        case StorageError():
            return _storage_problem(error)
        case _:
            return Problem(424, str(error), fix="see what the message says")


def _storage_problem(error: StorageError) -> Problem:
    """What a client is told of it: the message itself names files and hosts, and goes to the log."""
    _LOG.error("storage: %s", error)
    if error.is_outcome_unknown:
        return wait_first(
            503,
            "the connection to the storage was lost: the change is there whole, or not at all",
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
    return wait_first(503, f"the storage of the platform {what}; nothing was changed", 2)
