"""Runs `run: {http: ...}`: sends the request through the guarded client, and reads the answer.

Knows one request at a time; what the client lets through is not decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from toolhaft.core.context import ToolContext
from toolhaft.core.result import ToolResult
from toolhaft.define.running.answer import refuse_status, value_of
from toolhaft.define.running.environment import environment_of
from toolhaft.define.running.http_plan import HttpPlan
from toolhaft.define.running.request import fill_request
from toolhaft.define.running.trail import HEADER, write_trail
from toolhaft.errors import (
    HttpError,
    HttpRefusedError,
    HttpTimeoutError,
    ToolError,
    ToolExecutionError,
    ToolTimeoutError,
)
from toolhaft.resources.http.client import http_of
from toolhaft.resources.http.response import HttpResponse

DEFAULT_S: Final = 10.0
_LONGEST_S: Final = 86_400.0
_SPARE_S: Final = 0.03
_SHORTEST_SECRET: Final = 4
_OPEN: Final = "HttpClient(allow=[...])"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HttpHandler:
    """The handler of a tool whose file has `run: {http: ...}`."""

    plan: HttpPlan
    folder: str | None

    def __call__(self, input: Mapping[str, object], context: ToolContext | None = None) -> ToolResult[object]:
        """Send the request, and give back what its answer says."""
        environment = environment_of(context, self.folder)
        secrets: dict[str, str] = {}

        def variable(name: str) -> str:
            secrets[name] = environment.get(name)
            return secrets[name]

        plan = self.plan
        request = fill_request(plan, input, variable)
        response = fetch(
            plan.url.host,
            lambda: http_of(context).fetch(
                request.url,
                method=request.method,
                headers=with_defaults(request.headers, accept=_accepts(plan)),
                json=request.body,
                timeout_s=seconds_of(context),
            ),
        )
        response = hide(response, secrets)
        refuse_status(response, plan.url.host)
        return ToolResult(value=value_of(response, plan.shape, plan.url.host), untrusted=True)


def _accepts(plan: HttpPlan) -> str:
    return "application/json" if plan.shape is not None else "application/json, text/*;q=0.9, */*;q=0.5"


def with_defaults(headers: Mapping[str, str], *, accept: str) -> dict[str, str]:
    """The headers of a request, with what it accepts and where it has been."""
    made = dict(headers)
    if not any(name.lower() == "accept" for name in made):
        made["Accept"] = accept
    trail = write_trail()
    return {**made, HEADER: trail} if trail else made


def seconds_of(context: ToolContext | None) -> float:
    """The time for a request: a little less than the call has, so that its end can be told well."""
    if context is None or context.deadline is None:
        return DEFAULT_S
    left = context.deadline.remaining()
    return min(max(left - _SPARE_S, left * 0.9, 0.001), _LONGEST_S)


def fetch(host: str, send: Callable[[], HttpResponse]) -> HttpResponse:
    """An answer, or the error that a tool tells its caller.

    Raises:
        ToolTimeoutError: where the time is up; its cause is the client's error, as of all these.
        ToolExecutionError: where there is no whole answer, or the host may not be reached.
    """
    try:
        return send()
    except HttpError as error:
        raise _told(host, error) from error


def _told(host: str, error: HttpError) -> ToolError:
    if isinstance(error, HttpTimeoutError):
        return ToolTimeoutError(f"{host} did not answer in time: {error}")
    if isinstance(error, HttpRefusedError):
        opening = f"{_OPEN}, or with http_allow in toolhaft.toml"
        return ToolExecutionError(f"the request was not sent: {str(error).replace(_OPEN, opening)}")
    return ToolExecutionError(f"no answer from {host}: {error}")


def hide(response: HttpResponse, secrets: Mapping[str, str]) -> HttpResponse:
    """The answer without the secrets that were sent: some services send them back."""
    body = response.body
    for name, value in secrets.items():
        if len(value) >= _SHORTEST_SECRET:
            body = body.replace(value.encode(), f"${{env:{name}}}".encode())
    return response if body is response.body else replace(response, body=body)
