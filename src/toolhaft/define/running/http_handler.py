"""Runs `run: {http: ...}`: sends the request through the guarded client and reads the response."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from toolhaft.core.context import ToolContext
from toolhaft.core.masking import VariableMask, variable_mask
from toolhaft.core.result import ToolResult
from toolhaft.define.running.environment import environment_of
from toolhaft.define.running.http_block import HttpPlan, fill_request
from toolhaft.define.running.parameters import ResultFields
from toolhaft.define.running.platform_access import HOPS_HEADER, write_hops
from toolhaft.errors import (
    HttpError,
    HttpRefusedError,
    HttpTimeoutError,
    ToolAuthorizationError,
    ToolError,
    ToolExecutionError,
    ToolTimeoutError,
    ToolValidationError,
)
from toolhaft.resources.http.access import not_public
from toolhaft.resources.http.client import HttpClient, http_of
from toolhaft.resources.http.response import HttpResponse
from toolhaft.resources.http.urls import parse_url
from toolhaft.schema.json_value import JSONValue

DEFAULT_S: Final = 10.0
_MAX_S: Final = 86_400.0
_RESERVED_S: Final = 0.03
_MAX_EXCERPT: Final = 300
_MAX_MESSAGE: Final = 2_000
_MESSAGE_KEYS: Final = ("detail", "message", "error_description", "error", "title")
_REDIRECTS: Final = range(300, 400)
_ACCEPT_JSON: Final = "application/json"
_TEXT_TYPES: Final = ("application/xml", "application/javascript", "application/x-www-form-urlencoded")
_MARKUP: Final = ("text/html", "application/xhtml+xml")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HttpHandler:
    """The handler of a tool whose file has `run: {http: ...}`."""

    plan: HttpPlan
    folder: str | None
    owner: str = ""
    """The owner of a published tool, whose variables it may use."""

    def __call__(self, input: Mapping[str, object], context: ToolContext | None = None) -> ToolResult[object]:
        """Send the request and return the value of its response."""
        environment = environment_of(context, self.folder)
        secrets: dict[str, str] = {}

        def variable(name: str) -> str:
            environment.check(name, plan.url.origin, self.owner)
            secrets[name] = environment.get(name)
            return secrets[name]

        plan = self.plan
        try:
            request = fill_request(plan, input, variable)
            client = client_of(context)
        except ToolError as error:
            error.nothing_happened = True
            raise
        mask = variable_mask(secrets) if secrets else None
        accept = _ACCEPT_JSON if plan.returns is not None else f"{_ACCEPT_JSON}, text/*;q=0.9, */*;q=0.5"
        response = fetch(
            request.url,
            lambda vet: client.fetch(
                request.url,
                method=request.method,
                headers=with_default_headers(request.headers, accept=accept),
                json=request.body,
                timeout_s=request_timeout_s(context),
                vet=vet,
            ),
            host=plan.url.host,
            mask=mask,
        )
        raise_for_status(response, plan.url.host)
        return ToolResult(value=value_of_response(response, plan.returns, plan.url.host), untrusted=True)


def with_default_headers(headers: Mapping[str, str], *, accept: str) -> dict[str, str]:
    """Add the `Accept` header, and the platforms that the call has passed through."""
    made = dict(headers)
    if not any(name.lower() == "accept" for name in made):
        made["Accept"] = accept
    hops = write_hops()
    return {**made, HOPS_HEADER: hops} if hops else made


def request_timeout_s(context: ToolContext | None) -> float:
    """Return a little less than the call has left, so that a timeout can still be reported."""
    if context is None:
        return DEFAULT_S
    if context.time_limit is None:  # a tool with `stall_s` alone; without a call, nobody runs it
        return DEFAULT_S if context.call is None else _MAX_S
    left = context.time_limit.remaining()
    return min(max(left - _RESERVED_S, left * 0.9, 0.001), _MAX_S)


def client_of(context: ToolContext | None) -> HttpClient:
    """Return the HTTP client of a call.

    Raises:
        ToolExecutionError: if the packages that it needs are not installed.
    """
    try:
        return http_of(context)
    except ImportError as error:
        raise ToolExecutionError(str(error)) from error


def fetch(
    url: str, send: Callable[[Callable[[str], None]], HttpResponse], *, host: str, mask: VariableMask | None
) -> HttpResponse:
    """Send a request and mask the secrets in its response: some services send back the keys they received.

    An error says whether anything was sent; its cause is the client's error.

    Raises:
        ToolTimeoutError: if the time is up.
        ToolExecutionError: if there is no complete response, or the host is not allowed.
    """
    hops: list[str] = []
    try:
        response = send(hops.append)
    except HttpError as error:
        caught = error
    else:
        return response if mask is None else _mask_response(response, mask)
    message = str(caught)
    masked = message if mask is None else mask.words(message)
    # a new error if the message had a secret; outside of except, so that the old one is not chained
    cause = caught if masked == message else type(caught)(masked)
    is_unsent = _is_unsent(url, caught, len(hops))
    raised = _tool_error(host, cause, is_unsent=is_unsent)
    raised.nothing_happened = is_unsent
    raise raised from cause


@dataclass(frozen=True, slots=True, kw_only=True)
class _MaskedResponse(HttpResponse):
    mask: VariableMask
    original: HttpResponse

    def json(self) -> JSONValue:
        # parsed before it is masked: a secret of digits, masked in the raw text, would break a number
        try:
            return self.mask.value(self.original.json())
        except RecursionError as error:
            raise HttpError("the response is nested too deeply to be searched for secrets") from error


def _mask_response(response: HttpResponse, mask: VariableMask) -> HttpResponse:
    return _MaskedResponse(
        status=response.status,
        url=response.url,
        headers={name: mask.words(text) for name, text in response.headers.items()},
        body=mask.raw(response.body),
        mask=mask,
        original=response,
    )


def _is_unsent(url: str, error: HttpError, hops: int) -> bool:
    """True if the error occurred before anything was sent; each URL is checked before it is connected to."""
    if hops != 1:
        return hops == 0
    if isinstance(error, HttpRefusedError):  # a refusal with another message is of a redirect
        return error.problem == not_public(parse_url(url).host).problem
    return isinstance(error.__cause__, ConnectionRefusedError | socket.gaierror)


def _tool_error(host: str, error: HttpError, *, is_unsent: bool) -> ToolError:
    if isinstance(error, HttpTimeoutError):
        return ToolTimeoutError(f"{host} did not answer in time: {error}")
    if isinstance(error, HttpRefusedError):
        what = "the request was not sent" if is_unsent else "the request was sent, and its redirect refused"
        more = (
            " in Python, or with http_allow in toolhaft.toml for lk and toolhaft serve"
            if error.advice
            else ""
        )
        return ToolExecutionError(f"{what}: {error}{more}")
    return ToolExecutionError(f"no answer from {host}: {error}")


def raise_for_status(response: HttpResponse, host: str) -> None:
    """Raise an error for a status outside 200 to 299.

    Raises:
        ToolError: with the status and the beginning of the service's message, marked as untrusted.
    """
    if response.is_ok:
        return
    if response.status in _REDIRECTS:
        raise ToolExecutionError(f"{_status_line(response, host)}, a redirect that is not followed")
    excerpt = _excerpt(response)
    error = ToolExecutionError(f"{_status_line(response, host)}{excerpt and f': {excerpt}'}")
    error.untrusted = bool(excerpt)
    wait = response.headers.get("retry-after", "")
    if wait.isascii() and wait.isdigit():
        error.retry_after = float(wait[:6])  # pyright: ignore[reportAttributeAccessIssue] -- read by the retry policy
    raise error


def raise_for_problem(response: HttpResponse, host: str, *, is_platform: bool) -> None:
    """Raise an error for an endpoint's response, with only the service's message if it is the platform.

    Raises:
        ToolError: of the kind that the status means.
    """
    kinds: dict[int, type[ToolError]] = {
        HTTPStatus.UNAUTHORIZED: ToolAuthorizationError,
        HTTPStatus.FORBIDDEN: ToolAuthorizationError,
        HTTPStatus.UNPROCESSABLE_ENTITY: ToolValidationError,
    }
    kind = kinds.get(response.status)
    if kind is None:
        raise_for_status(response, host)
        return
    excerpt, status = _excerpt(response), _status_line(response, host)
    error = kind(excerpt if excerpt and is_platform else f"{status}{excerpt and f': {excerpt}'}")
    error.untrusted = True
    raise error


def value_of_response(response: HttpResponse, returns: ResultFields | None, host: str) -> JSONValue:
    """Return the value of a response, or the declared fields of it.

    Raises:
        ToolExecutionError: if it is neither JSON nor text, or not JSON although fields are declared.
    """
    if returns is not None:
        return returns.pick(read_json_response(response, host))
    if not response.body:
        return None
    media = response.media_type
    if is_json_type(media):
        return read_json_response(response, host)
    text = _decode(response)
    if text is None or not _is_text_type(media):
        raise ToolExecutionError(
            f"{host} answered with {media or 'data without a type'} ({len(response.body):,} bytes), "
            "which is neither JSON nor text"
        )
    if not media:
        with suppress(HttpError):
            return response.json()
    return text


def read_json_response(response: HttpResponse, host: str) -> JSONValue:
    """Parse a response that must be JSON.

    Raises:
        ToolExecutionError: if it is not.
    """
    if not response.body:
        raise ToolExecutionError(f"{_status_line(response, host)} with an empty body, and JSON was expected")
    try:
        return response.json()
    except HttpError:
        media = response.media_type or "no media type"
        broken = "broken JSON" if is_json_type(media) else "no JSON"
        # not chained: an HttpError as the cause would mean a network error
        raise ToolExecutionError(
            f"{host} answered with {broken} ({media}, {len(response.body):,} bytes), and JSON was expected"
        ) from None


def is_json_type(media: str) -> bool:
    """True for the media types of JSON."""
    return media == "application/json" or media.endswith("+json") or media == "text/json"


def _is_text_type(media: str) -> bool:
    """True for the media types of text, and for no type at all."""
    return not media or media in _TEXT_TYPES or media.startswith("text/") or media.endswith(("+xml", "yaml"))


def _decode(response: HttpResponse) -> str | None:
    charset = "utf-8"
    for option in response.headers.get("content-type", "").split(";")[1:]:
        name, _, value = option.partition("=")
        if name.strip().lower() == "charset":
            charset = value.strip().strip("\"'") or charset
    try:
        return response.body.decode(charset)
    except UnicodeDecodeError:
        if response.media_type.startswith("text/"):
            return response.body.decode("utf-8", "replace")
        return None
    except (LookupError, ValueError):
        return response.body.decode("utf-8", "replace")


def _status_line(response: HttpResponse, host: str) -> str:
    try:
        phrase = f" {HTTPStatus(response.status).phrase}"
    except ValueError:
        phrase = ""
    return f"{host} answered {response.status}{phrase}"


def _excerpt(response: HttpResponse) -> str:
    """Return the beginning of the service's error message, on one line."""
    if not response.body or response.media_type in _MARKUP:
        return f"a page of {len(response.body):,} bytes" if response.body else ""
    message = _error_message(response) if is_json_type(response.media_type) else ""
    return one_line(message or response.body[: _MAX_EXCERPT * 4].decode("utf-8", "replace"))


def one_line(text: str) -> str:
    """Put an untrusted text on one short line, without control characters."""
    line = "".join(character if character.isprintable() else "?" for character in " ".join(text.split()))
    return f"{line[:_MAX_EXCERPT]}..." if len(line) > _MAX_EXCERPT else line


def clean_message(text: str) -> str:
    """Shorten an untrusted message and replace its control characters; its line breaks stay."""
    shown = text[:_MAX_MESSAGE]
    if not shown.isprintable():
        shown = "".join(
            character if character.isprintable() or character == "\n" else "?" for character in shown
        )
    return f"{shown}..." if len(text) > _MAX_MESSAGE else shown


def _error_message(response: HttpResponse) -> str:
    try:
        body: JSONValue = response.json()
    except HttpError:
        return ""
    if not isinstance(body, dict):
        return ""
    for key in _MESSAGE_KEYS:
        message = body.get(key)
        if isinstance(message, dict):
            message = message.get("message")
        if isinstance(message, str) and message.strip():
            return message
    return ""
