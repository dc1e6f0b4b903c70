"""What a call's result is as an answer: its value, the whole of it, or a problem.

Knows results and kinds of failure; does not know how a call is run.
"""

from __future__ import annotations

import re
from typing import Final

from pydantic_core import to_json

from toolhaft import schema
from toolhaft.core.call import ToolCall
from toolhaft.core.failure import Failure, FailureKind
from toolhaft.core.result import ToolResult
from toolhaft.schema.json_text import NotJSONError, is_over_limit, object_to_text
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
_NO_FILES: Final = re.compile(
    r"no resource Filesystem was given .*?Fix: ToolExecutor\([^{]*\{[^}]*\}\)", re.DOTALL
)
_FILES: Final = "there are no files here; the operator opens a folder with: toolhaft serve --files DIR"
_BARRED: Final = (
    (re.compile(r"the variable (\w+) may not be used here;"), "--allow-env"),
    (re.compile(r"the request was not sent: '([\w.:\[\]-]+)' is not a public host,"), "--http-allow"),
)
_LONGEST: Final = 10_000_000
"""Bytes of an answer: no model reads so much, and all that are sent are held in memory."""
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
            "outcome": failure.outcome,
        }
    whole = {
        "success": result.success,
        "message": _told(result.message) if failure is not None else result.message,
        "value": result.value,
        "failure": told,
        "untrusted": result.untrusted,
    }
    try:
        return _write(whole)
    except Problem as problem:
        told = {"kind": "invalid_output", "problems": [], "advice": problem.fix}
        kept = {"success": False, "message": problem.detail, "value": None, "failure": told}
        return _write(whole | kept)


def value_body(result: ToolResult[object]) -> bytes:
    """The value of a success, as JSON.

    Raises:
        Problem: 424 where it is none, or too long.
    """
    return _write(result.value)


def problem_of_result(result: ToolResult[object], call: ToolCall) -> Problem:
    """A failure, as a problem."""
    failure = result.failure or Failure(kind="failed")
    # attempts are counted by whoever decides on the next call, and that is the client
    advice = _ATTEMPT.sub("", failure.advice)
    detail = _told(result.message)
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
    fix = _opening(result, failure) or advice or _FIXES.get(failure.kind, "")
    return Problem(status, detail, fix=fix, problems=failure.problems, more=more)


def _opening(result: ToolResult[object], failure: Failure) -> str:
    """What the operator would have to allow; empty where it is not that, or a stranger says so."""
    # by its words: the error itself is not kept where the tool takes secrets
    if result.untrusted or (failure.kind, failure.outcome) != ("failed", "nothing_happened"):
        return ""
    for words, flag in _BARRED:
        found = words.match(result.message)
        if found is not None:
            return f"ask the operator for {flag} {found[1]}"
    return ""


def _told(message: str) -> str:
    """What a failure says, for one who has the platform before them and no executor."""
    return _NO_FILES.sub(_FILES, _ATTEMPT.sub("", message))


def _write(value: object) -> bytes:
    if type(value) in _QUICK:
        is_long = isinstance(value, str) and len(value) > _LONGEST
    else:
        is_long = not is_light(value) and (is_over_limit(value, _LONGEST) or not schema.is_writable(value))
    if is_long:
        raise _too_long()
    try:
        text = object_to_text(value)
    except NotJSONError as error:
        raise _no_json(str(error)) from error
    if ("NaN" in text or "Infinity" in text) and _holds_no_number(value):
        raise _no_json("a number that is infinite, or none")
    body = text.encode()
    if len(body) > _LONGEST:
        raise _too_long()
    return body


def _holds_no_number(value: object) -> bool:
    return to_json(value, inf_nan_mode="constants") != to_json(value, inf_nan_mode="null")


def _too_long() -> Problem:
    return Problem(
        424,
        f"the tool gave back a value of more than {_LONGEST:,} bytes, which is not sent",
        fix="ask for less",
        more={"kind": "invalid_output"},
    )


def _no_json(what: str) -> Problem:
    return Problem(
        424,
        f"the tool gave back what cannot be written as JSON: {what:.200}",
        fix="let the tool give back texts, numbers, lists and objects",
        more={"kind": "invalid_output"},
    )
