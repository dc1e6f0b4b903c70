"""Runs `run: {http: ...}`: sends the request through the guarded client, and reads the answer.

Knows one request at a time; what the client lets through is not decided here.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from toolhaft.core.context import ToolContext
from toolhaft.core.result import ToolResult
from toolhaft.define.running.answer import refuse_status, value_of
from toolhaft.define.running.environment import environment_of
from toolhaft.define.running.http_plan import HttpPlan
from toolhaft.define.running.masking import Mask, hide, mask_of
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
from toolhaft.resources.http.client import HttpClient, http_of
from toolhaft.resources.http.gate import refuse_private
from toolhaft.resources.http.places import read_url
from toolhaft.resources.http.response import HttpResponse

DEFAULT_S: Final = 10.0
_LONGEST_S: Final = 86_400.0
_SPARE_S: Final = 0.03
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
        try:
            request = fill_request(plan, input, variable)
            client = client_of(context)
        except ToolError as error:
            error.nothing_happened = True
            raise
        mask = mask_of(secrets) if secrets else None
        response = fetch(
            request.url,
            lambda vet: client.fetch(
                request.url,
                method=request.method,
                headers=with_defaults(request.headers, accept=_accepts(plan)),
                json=request.body,
                timeout_s=seconds_of(context),
                vet=vet,
            ),
            host=plan.url.host,
            mask=mask,
        )
        response = hide(response, mask)
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


def client_of(context: ToolContext | None) -> HttpClient:
    """The client of a call.

    Raises:
        ToolExecutionError: where the packages that it needs are missing.
    """
    try:
        return http_of(context)
    except ImportError as error:
        raise ToolExecutionError(str(error)) from error


def fetch(
    url: str, send: Callable[[Callable[[str], None]], HttpResponse], *, host: str, mask: Mask | None
) -> HttpResponse:
    """An answer, or the error that a tool tells its caller, which says so where nothing was sent.

    Raises:
        ToolTimeoutError: where the time is up; its cause is the client's error, as of all these.
        ToolExecutionError: where there is no whole answer, or the host may not be reached.
    """
    hops: list[str] = []
    try:
        return send(hops.append)
    except HttpError as error:
        caught = error
    said = str(caught)
    words = said if mask is None else mask.words(said)
    # made anew where it told a secret; here, so that what caught it is not in the chain of causes
    cause = caught if words == said else type(caught)(words)
    is_unsent = _is_unsent(url, caught, len(hops))
    told = _told(host, cause, is_unsent=is_unsent)
    told.nothing_happened = is_unsent
    raise told from cause


def _is_unsent(url: str, error: HttpError, hops: int) -> bool:
    """True if an error was met before anything was sent; a place is vetted before it is connected to."""
    if hops != 1:
        return hops == 0
    if isinstance(error, HttpRefusedError):  # by the address that the name has; else it is of a redirect
        return str(error) == str(refuse_private(read_url(url).host))
    return isinstance(error.__cause__, ConnectionRefusedError | socket.gaierror)


def _told(host: str, error: HttpError, *, is_unsent: bool) -> ToolError:
    if isinstance(error, HttpTimeoutError):
        return ToolTimeoutError(f"{host} did not answer in time: {error}")
    if isinstance(error, HttpRefusedError):
        opening = f"{_OPEN} in Python, or with http_allow in toolhaft.toml for lk and toolhaft serve"
        what = "the request was not sent" if is_unsent else "the request was sent, and not sent on"
        return ToolExecutionError(f"{what}: {str(error).replace(_OPEN, opening)}")
    return ToolExecutionError(f"no answer from {host}: {error}")
