"""Runs a tool that has an `endpoint` and no `run`: sends it the arguments and reads the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, cast

from toolhaft.core.content import Part, read_part
from toolhaft.core.context import ToolContext
from toolhaft.core.masking import variable_mask
from toolhaft.core.result import ToolResult
from toolhaft.define.running.environment import environment_of
from toolhaft.define.running.http_handler import (
    clean_message,
    client_of,
    fetch,
    raise_for_problem,
    raise_for_status,
    read_json_response,
    request_timeout_s,
    value_of_response,
    with_default_headers,
)
from toolhaft.define.running.parameters import ResultFields
from toolhaft.define.running.platform_access import HOPS, MAX_HOPS, access_of
from toolhaft.define.running.platform_settings import KEY_VARIABLE
from toolhaft.define.running.url_template import authority_of
from toolhaft.errors import (
    ToolAuthorizationError,
    ToolError,
    ToolExecutionError,
    ToolTimeoutError,
    ToolValidationError,
    WireError,
)
from toolhaft.resources.http.client import HttpClient
from toolhaft.resources.http.response import HttpResponse
from toolhaft.schema.json_value import JSONObject, JSONValue

RESULT_TYPE: Final = "application/vnd.toolhaft.result+json"
"""The platform's media type for a complete result: success, message, value, failure and untrusted."""
ACCEPT: Final = f"{RESULT_TYPE}, application/json;q=0.9"

_KINDS: Final[Mapping[str, type[ToolError]]] = {
    "invalid_arguments": ToolValidationError,
    "not_allowed": ToolAuthorizationError,
    "timeout": ToolTimeoutError,
    "deadline": ToolTimeoutError,
}


class InProcessEndpoint:
    """The base of handlers that run the tool at an endpoint in this process; the catalog makes them."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EndpointHandler:
    """The handler of a tool that runs at an endpoint."""

    url: str
    folder: str | None
    returns: ResultFields | None

    def __call__(self, input: Mapping[str, object], context: ToolContext | None = None) -> ToolResult[object]:
        """Send the arguments and return the endpoint's result."""
        host = authority_of(self.url)
        try:
            _refuse_loop()
            access = access_of(context, environment_of(context, self.folder), self.folder)
            is_platform = access.covers(self.url)
            if is_platform and access.refusal:
                raise ToolAuthorizationError(access.refusal)
            client = _platform_client(host) if is_platform else client_of(context)
        except ToolError as error:
            error.nothing_happened = True
            raise
        key = access.key if is_platform else None
        mask = variable_mask({KEY_VARIABLE: key}) if key else None
        response = fetch(
            self.url,
            lambda vet: client.fetch(
                self.url,
                method="POST",
                headers=with_default_headers(
                    {"Authorization": f"Bearer {key}"} if key else {}, accept=ACCEPT
                ),
                json=cast("JSONObject", dict(input)),
                timeout_s=request_timeout_s(context),
                max_redirects=0 if is_platform else None,
                vet=vet,
            ),
            host=host,
            mask=mask,
        )
        if response.media_type == RESULT_TYPE:
            return _result(response, self.returns, host, is_trusted=is_platform)
        raise_for_problem(response, host, is_platform=is_platform)
        return ToolResult(value=_json_value(response, self.returns, host), untrusted=True)


def _json_value(response: HttpResponse, returns: ResultFields | None, host: str) -> JSONValue:
    """Parse the response, which must be JSON: the page of a proxy or of a login is not a result."""
    if returns is not None:
        return value_of_response(response, returns, host)
    return read_json_response(response, host) if response.body else None


def _refuse_loop() -> None:
    if len(HOPS.get()) > MAX_HOPS:
        raise ToolExecutionError(
            f"the call has passed through {len(HOPS.get())} endpoints already: they call each other in a loop"
        )


@lru_cache(maxsize=16)
def _platform_client(host: str) -> HttpClient:
    """Make a client that reaches only the configured platform, on any address."""
    return HttpClient(allow=[host], only=[host])


def _result(
    response: HttpResponse, returns: ResultFields | None, host: str, *, is_trusted: bool
) -> ToolResult[object]:
    """Return the result in a response, or raise the error that it describes.

    Raises:
        ToolError: of the kind of the failure.
    """
    answer = read_json_response(response, host)
    if not isinstance(answer, dict) or not isinstance(answer.get("success"), bool):
        raise_for_status(response, host)
        raise ToolExecutionError(f"{host} answered with a malformed result")
    message = answer.get("message")
    text = clean_message(message) if isinstance(message, str) else ""
    if not is_trusted:
        text = " ".join(text.split())  # one line: an untrusted text must not look like several messages
    untrusted = not is_trusted or answer.get("untrusted") is not False
    if answer["success"]:
        raise_for_status(response, host)
        parts, value = _content(answer, host), answer.get("value")
        is_content = bool(parts) and value is None
        return ToolResult(
            value=(parts[0] if len(parts) == 1 else parts) if is_content else _pick(value, returns),
            message=text,
            content=tuple(parts),
            exclude_value_from_context=is_content,
            untrusted=untrusted,
        )
    reported = answer.get("failure")
    failure: JSONObject = reported if isinstance(reported, dict) else {}
    advice = failure.get("advice")
    if isinstance(advice, str) and advice:
        text = text.removesuffix(clean_message(advice)).rstrip()  # the caller's executor adds its own advice
    error = _KINDS.get(str(failure.get("kind")), ToolExecutionError)(
        text or f"{host} reports that the tool failed"
    )
    error.untrusted = untrusted
    error.nothing_happened = is_trusted and failure.get("outcome") == "nothing_happened"
    raise error


def _content(answer: JSONObject, host: str) -> list[Part]:
    """Return the images and other parts of a result."""
    content = answer.get("content")
    try:
        return [read_part(block) for block in content] if isinstance(content, list) else []
    except (ValueError, WireError) as error:
        raise ToolExecutionError(f"{host} answered with malformed content: {error!s:.200}") from error


def _pick(value: JSONValue, returns: ResultFields | None) -> JSONValue:
    """Return the declared fields; no value at all is valid if none of them is required."""
    if returns is None or (value is None and not returns.has_required):
        return value
    return returns.pick(value)
