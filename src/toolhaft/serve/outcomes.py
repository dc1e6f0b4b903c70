"""What a call's result is as an answer: its value, the whole of it, or a problem.

Knows results and kinds of failure; does not know how a call is run.
"""

from __future__ import annotations

import re
from typing import Final

from toolhaft import schema
from toolhaft.core.call import ToolCall
from toolhaft.core.failure import Failure, FailureKind
from toolhaft.core.result import ToolResult
from toolhaft.schema.weight import is_light
from toolhaft.serve.problems import Problem, wait_first

WHOLE: Final = b"application/vnd.toolhaft.result+json"
"""The media type of an answer that tells everything about a result, also that of a failure."""

_STATUS: Final[dict[FailureKind, int]] = {
    "attempts": 429,
    "budget": 429,
    "cancelled": 424,
    "circuit_open": 429,
    "deadline": 424,
    "failed": 424,
    "invalid_arguments": 422,
    "invalid_output": 424,
    "needs_approval": 403,
    "not_allowed": 403,
    "rate": 429,
    "timeout": 424,
    "unknown_tool": 404,
}
_FIXES: Final[dict[FailureKind, str]] = {
    "invalid_arguments": "send the arguments that /openapi.json tells of this tool",
    "not_allowed": "use a key that may run it",
}
_SECONDS: Final = re.compile(r"in (\d+(?:\.\d+)?) s")
_ATTEMPT: Final = re.compile(r" ?This was attempt \d+ of \d+.*$", re.DOTALL)
_QUICK: Final = frozenset((bool, float, int, str, type(None)))


def whole_body(result: ToolResult[object]) -> bytes:
    """Everything about a result, as JSON."""
    failure = result.failure
    told: object = None
    if failure is not None:
        told = {
            "kind": failure.kind,
            "problems": [str(problem) for problem in failure.problems],
            "advice": _ATTEMPT.sub("", failure.advice),
        }
    return _write(
        {
            "success": result.success,
            "message": _ATTEMPT.sub("", result.message) if failure is not None else result.message,
            "value": result.value,
            "failure": told,
            "untrusted": result.untrusted,
        }
    )


def value_body(result: ToolResult[object]) -> bytes:
    """The value of a success, as JSON."""
    return _write(result.value)


def problem_of_result(result: ToolResult[object], call: ToolCall) -> Problem:
    """A failure, as a problem."""
    failure = result.failure or Failure(kind="failed")
    # attempts are counted by whoever decides on the next call, and that is the client
    advice = _ATTEMPT.sub("", failure.advice)
    detail = _ATTEMPT.sub("", result.message)
    more: dict[str, object] = {"kind": failure.kind, "outcome": failure.outcome}
    if result.untrusted:
        more["untrusted"] = True
    status = _STATUS[failure.kind]
    if failure.kind == "invalid_arguments" and call.malformed is not None:
        return Problem(
            400,
            f"the body is {call.malformed}",
            fix="send the arguments as one JSON object",
            more={"kind": failure.kind},
        )
    if status == 429:  # noqa: PLR2004 -- the status
        found = _SECONDS.search(advice)
        return wait_first(429, detail, float(found[1]) if found else 1.0, fix=advice, **more)
    fix = advice or _FIXES.get(failure.kind, "")
    return Problem(status, detail, fix=fix, problems=failure.problems, more=more)


def _write(value: object) -> bytes:
    if type(value) not in _QUICK and not (is_light(value) or schema.is_writable(value)):
        raise Problem(
            424, "the value is too large to write", fix="ask for less", more={"kind": "invalid_output"}
        )
    return schema.to_json_text(value).encode()
