"""Runs a tool that has no `run`: its endpoint is sent the arguments, and answers with the result.

Knows the platform's own media type for whole results; does not know the platform itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.result import ToolResult
from toolhaft.define.running.access import access_of
from toolhaft.define.running.answer import read_json, refuse_problem, value_of
from toolhaft.define.running.environment import environment_of
from toolhaft.define.running.requesting import fetch, hide, seconds_of, with_defaults
from toolhaft.define.running.shape import Shape
from toolhaft.define.running.trail import LONGEST, TRAIL
from toolhaft.define.running.url_plan import authority_of
from toolhaft.errors import (
    ToolAuthorizationError,
    ToolError,
    ToolExecutionError,
    ToolTimeoutError,
    ToolValidationError,
)
from toolhaft.resources.http.client import HttpClient, http_of
from toolhaft.schema.json_value import JSONObject, JSONValue

RESULT_TYPE: Final = "application/vnd.toolhaft.result+json"
"""A whole result: success, message, value, failure and untrusted."""
ACCEPT: Final = f"{RESULT_TYPE}, application/json;q=0.9"

_KINDS: Final[Mapping[str, type[ToolError]]] = {
    "invalid_arguments": ToolValidationError,
    "not_allowed": ToolAuthorizationError,
    "timeout": ToolTimeoutError,
    "deadline": ToolTimeoutError,
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EndpointHandler:
    """The handler of a tool that is run elsewhere."""

    url: str
    folder: str | None
    shape: Shape | None

    def __call__(self, input: Mapping[str, object], context: ToolContext | None = None) -> ToolResult[object]:
        """Send the arguments, and give back what the endpoint answers."""
        host = authority_of(self.url)
        if len(TRAIL.get()) > LONGEST:
            raise ToolExecutionError(
                f"the call has come through {len(TRAIL.get())} endpoints already: they lead to each other"
            )
        access = access_of(context, environment_of(context, self.folder))
        is_platform = access.covers(self.url)
        headers = {"Authorization": f"Bearer {access.key}"} if is_platform and access.key else {}
        client = _platform_client(host) if is_platform else http_of(context)
        response = fetch(
            host,
            lambda: client.fetch(
                self.url,
                method="POST",
                headers=with_defaults(headers, accept=ACCEPT),
                json=cast("JSONObject", dict(input)),
                timeout_s=seconds_of(context),
                max_redirects=0 if is_platform else None,
            ),
        )
        response = hide(response, {"TOOLHAFT_API_KEY": access.key} if access.key and is_platform else {})
        if response.media_type == RESULT_TYPE:
            return _result(read_json(response, host), host, is_trusted=is_platform)
        refuse_problem(response, host)
        return ToolResult(value=value_of(response, self.shape, host), untrusted=True)


@lru_cache(maxsize=16)
def _platform_client(host: str) -> HttpClient:
    """A client for the configured platform and nothing else, wherever it is."""
    return HttpClient(allow=[host], only=[host])


def _result(said: JSONValue, host: str, *, is_trusted: bool) -> ToolResult[object]:
    """The result that a platform tells, or the error that it stands for.

    Raises:
        ToolError: of the kind that the failure has.
    """
    if not isinstance(said, dict) or not isinstance(said.get("success"), bool):
        raise ToolExecutionError(f"{host} answered with a result of another shape than was expected")
    message = said.get("message")
    text = message if isinstance(message, str) else ""
    untrusted = not is_trusted or said.get("untrusted") is not False
    if said["success"]:
        return ToolResult(value=said.get("value"), message=text, untrusted=untrusted)
    failure = said.get("failure")
    told: JSONObject = failure if isinstance(failure, dict) else {}
    advice = told.get("advice")
    if isinstance(advice, str) and advice:
        text = text.removesuffix(advice).rstrip()  # the caller's own executor says what comes next
    error = _KINDS.get(str(told.get("kind")), ToolExecutionError)(text or f"{host} says that the tool failed")
    error.untrusted = untrusted
    raise error
