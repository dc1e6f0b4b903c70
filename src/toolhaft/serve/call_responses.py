"""Turns the result of a call into a response body: its value, the whole result, or a problem."""

from __future__ import annotations

import re
from typing import Final

from pydantic_core import to_json

from toolhaft import schema
from toolhaft.core.call import ToolCall
from toolhaft.core.result import Failure, FailureKind, ToolResult
from toolhaft.errors import WireError
from toolhaft.formats.message_parts import content_blocks, is_content
from toolhaft.schema.json_text import NotJSONError, object_to_text
from toolhaft.schema.json_value import JSONObject
from toolhaft.schema.value_size import is_light, is_over_limit
from toolhaft.serve.responses import HttpProblem, call_problems, retry_later

RESULT_MEDIA_TYPE: Final = b"application/vnd.toolhaft.result+json"
"""The media type of a response that holds the whole result, also that of a failed call."""

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
    "invalid_arguments": "send the arguments that /openapi.json lists for this tool",
    "not_allowed": "use a key that may run this tool",
}
_WAIT: Final = re.compile(r"in (\d+(?:\.\d+)?) s")
_ATTEMPT_COUNT: Final = re.compile(r" ?This was attempt \d+ of \d+.*$", re.DOTALL)
_NO_FILESYSTEM: Final = re.compile(
    r"no resource Filesystem was given .*?Fix: ToolExecutor\([^{]*\{[^}]*\}\)"
    r"|\w+ has no files to work on: .*# ToolExecutor takes the same resources",
    re.DOTALL,
)
_NO_FILESYSTEM_HERE: Final = (
    "this platform has no folder for files; the operator sets one with: toolhaft serve --files DIR"
)
_OPERATOR_FLAGS: Final = (
    (
        re.compile(r"the variable \w+ is not bound to .+, so it is not sent: (.+) is not allowed here"),
        "--allow-env",
    ),
    (
        re.compile(
            r"the request was not sent: '([\w.:\[\]-]+)' is not a public host, .+; the operator can allow"
        ),
        "--http-allow",
    ),
)
_NOT_PUBLIC: Final = re.compile(r"the request was not sent: '[^']*' is not a public host,")
_MAX_BODY_BYTES: Final = 10_000_000
"""No model reads more, and a body is held in memory until it is sent."""
_SCALARS: Final = frozenset((bool, float, int, str, type(None)))


def result_body(result: ToolResult[object]) -> bytes:
    """The whole result, as JSON."""
    failure = result.failure
    failure_fields: object = None
    if failure is not None:
        failure_fields = {
            "kind": failure.kind,
            "problems": [entry.to_json() for entry in call_problems(failure.problems)],
            "advice": _ATTEMPT_COUNT.sub("", failure.advice),
            "outcome": failure.outcome,
        }
    whole: dict[str, object] = {
        "success": result.success,
        "message": _platform_message(result.message) if failure is not None else result.message,
        "value": None if is_content(result) else result.value,
        "failure": failure_fields,
        "untrusted": result.untrusted,
    }
    try:
        if result.content:
            whole["content"] = _blocks(result)
        return _to_json(whole)
    except HttpProblem as problem:
        failure_fields = {"kind": "invalid_output", "problems": [], "advice": problem.fix}
        failed = {"success": False, "message": problem.detail, "value": None, "failure": failure_fields}
        whole.pop("content", None)
        return _to_json(whole | failed)


def value_body(result: ToolResult[object]) -> bytes:
    """The value of a successful call, as JSON; images and other parts as a list of MCP's content blocks.

    Raises:
        HttpProblem: 424 if it cannot be written as JSON, or is too long.
    """
    if not is_content(result):
        return _to_json(result.value)
    text = [{"type": "text", "text": result.message}] if result.message else []
    return _to_json([*text, *_blocks(result)])


def _blocks(result: ToolResult[object]) -> list[JSONObject]:
    try:
        return content_blocks(result)
    except WireError as error:
        raise _not_json(str(error)) from error


def failure_problem(result: ToolResult[object], call: ToolCall) -> HttpProblem:
    """The problem of a failed call."""
    failure = result.failure or Failure(kind="failed")
    # the client counts attempts, since it decides on the next call
    advice = _ATTEMPT_COUNT.sub("", failure.advice)
    detail = _platform_message(result.message)
    more: dict[str, object] = {"kind": failure.kind, "outcome": failure.outcome}
    if result.untrusted:
        more["untrusted"] = True
    status = _STATUS[failure.kind]
    if failure.kind == "invalid_arguments" and call.malformed is not None:
        return HttpProblem(
            400,
            f"the body is {call.malformed}",
            fix="send the arguments as one JSON object",
            where="body",
            more={"kind": failure.kind},
        )
    if status == 429:  # noqa: PLR2004 -- the status
        found = _WAIT.search(advice)
        return retry_later(429, detail, float(found[1]) if found else 1.0, fix=advice, **more)
    fix = _operator_advice(result, failure) or advice or _FIXES.get(failure.kind, "")
    problems = call_problems(failure.problems)
    return HttpProblem(status, detail, fix=fix, where="tool", problems=problems, more=more)


def _operator_advice(result: ToolResult[object], failure: Failure) -> str:
    """What the operator would have to allow; empty if nothing, or if the message is untrusted."""
    # by its message: the exception is dropped if the tool takes secrets
    if result.untrusted or (failure.kind, failure.outcome) != ("failed", "nothing_happened"):
        return ""
    for pattern, flag in _OPERATOR_FLAGS:
        found = pattern.match(result.message)
        if found is not None:
            return f"ask the operator for {flag} {found[1]}"
    return "use a public host in the tool's url" if _NOT_PUBLIC.match(result.message) else ""


def _platform_message(message: str) -> str:
    """A failure's message without advice that only the owner of an executor can follow."""
    return _NO_FILESYSTEM.sub(_NO_FILESYSTEM_HERE, _ATTEMPT_COUNT.sub("", message))


def _to_json(value: object) -> bytes:
    if type(value) in _SCALARS:
        is_long = isinstance(value, str) and len(value) > _MAX_BODY_BYTES
    else:
        is_long = not is_light(value) and (
            is_over_limit(value, _MAX_BODY_BYTES) or not schema.is_writable(value)
        )
    if is_long:
        raise _too_long()
    try:
        text = object_to_text(value)
    except NotJSONError as error:
        raise _not_json(str(error)) from error
    if ("NaN" in text or "Infinity" in text) and _has_non_finite_number(value):
        raise _not_json("an infinite number, or NaN")
    body = text.encode()
    if len(body) > _MAX_BODY_BYTES:
        raise _too_long()
    return body


def _has_non_finite_number(value: object) -> bool:
    return to_json(value, inf_nan_mode="constants") != to_json(value, inf_nan_mode="null")


def _too_long() -> HttpProblem:
    return HttpProblem(
        424,
        f"the tool returned a value of more than {_MAX_BODY_BYTES:,} bytes, which is not sent",
        fix="request less",
        where="tool",
        more={"kind": "invalid_output"},
    )


def _not_json(what: str) -> HttpProblem:
    return HttpProblem(
        424,
        f"the tool returned a value that cannot be written as JSON: {what:.200}",
        fix="make the tool return strings, numbers, lists and objects",
        where="tool",
        more={"kind": "invalid_output"},
    )
