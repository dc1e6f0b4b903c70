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
from toolhaft.define.running.answer import clean, read_json, refuse_problem, refuse_status, value_of
from toolhaft.define.running.environment import environment_of
from toolhaft.define.running.masking import hide, mask_of
from toolhaft.define.running.requesting import client_of, fetch, seconds_of, with_defaults
from toolhaft.define.running.settings import KEY_VARIABLE
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
from toolhaft.resources.http.client import HttpClient
from toolhaft.resources.http.response import HttpResponse
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
        try:
            _refuse_ring()
            access = access_of(context, environment_of(context, self.folder), self.folder)
            is_platform = access.covers(self.url)
            client = _platform_client(host) if is_platform else client_of(context)
        except ToolError as error:
            error.nothing_happened = True
            raise
        key = access.key if is_platform else None
        mask = mask_of({KEY_VARIABLE: key}) if key else None
        response = fetch(
            self.url,
            lambda vet: client.fetch(
                self.url,
                method="POST",
                headers=with_defaults({"Authorization": f"Bearer {key}"} if key else {}, accept=ACCEPT),
                json=cast("JSONObject", dict(input)),
                timeout_s=seconds_of(context),
                max_redirects=0 if is_platform else None,
                vet=vet,
            ),
            host=host,
            mask=mask,
        )
        response = hide(response, mask)
        if response.media_type == RESULT_TYPE:
            return _result(response, self.shape, host, is_trusted=is_platform)
        refuse_problem(response, host, is_platform=is_platform)
        return ToolResult(value=_json_of(response, self.shape, host), untrusted=True)


def _json_of(response: HttpResponse, shape: Shape | None, host: str) -> JSONValue:
    """What an endpoint answers is JSON: a page, such as that of a proxy or of a login, is no result."""
    if shape is not None:
        return value_of(response, shape, host)
    return read_json(response, host) if response.body else None


def _refuse_ring() -> None:
    if len(TRAIL.get()) > LONGEST:
        raise ToolExecutionError(
            f"the call has come through {len(TRAIL.get())} endpoints already: they lead to each other"
        )


@lru_cache(maxsize=16)
def _platform_client(host: str) -> HttpClient:
    """A client for the configured platform and nothing else, wherever it is."""
    return HttpClient(allow=[host], only=[host])


def _result(
    response: HttpResponse, shape: Shape | None, host: str, *, is_trusted: bool
) -> ToolResult[object]:
    """The result that a platform tells, or the error that it stands for.

    Raises:
        ToolError: of the kind that the failure has.
    """
    said = read_json(response, host)
    if not isinstance(said, dict) or not isinstance(said.get("success"), bool):
        refuse_status(response, host)
        raise ToolExecutionError(f"{host} answered with a result of another shape than was expected")
    message = said.get("message")
    text = clean(message) if isinstance(message, str) else ""
    if not is_trusted:
        text = " ".join(text.split())  # a stranger's lines may look like somebody else's words
    untrusted = not is_trusted or said.get("untrusted") is not False
    if said["success"]:
        refuse_status(response, host)
        return ToolResult(value=_value(said.get("value"), shape), message=text, untrusted=untrusted)
    failure = said.get("failure")
    told: JSONObject = failure if isinstance(failure, dict) else {}
    advice = told.get("advice")
    if isinstance(advice, str) and advice:
        text = text.removesuffix(clean(advice)).rstrip()  # the caller's own executor says what comes next
    error = _KINDS.get(str(told.get("kind")), ToolExecutionError)(text or f"{host} says that the tool failed")
    error.untrusted = untrusted
    error.nothing_happened = is_trusted and told.get("outcome") == "nothing_happened"
    raise error


def _value(value: JSONValue, shape: Shape | None) -> JSONValue:
    """The declared fields; no value at all is one only where none of them is needed."""
    if shape is None or (value is None and not shape.is_needed):
        return value
    return shape.pick(value)
