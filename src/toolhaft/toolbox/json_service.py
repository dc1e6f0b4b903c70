"""Requests JSON from a service through the guarded HTTP client, and reports its refusals clearly."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import ceil
from typing import Final, TypeVar
from urllib.parse import quote

from toolhaft.core.context import ToolContext
from toolhaft.core.limits import Deadline
from toolhaft.core.masking import mask_secrets
from toolhaft.errors import (
    DefinitionError,
    HttpError,
    HttpRefusedError,
    ToolExecutionError,
    ToolValidationError,
)
from toolhaft.resources.http import HttpResponse, http_of
from toolhaft.resources.http.urls import parse_url
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.toolbox.untrusted_json import AnswerError, error_text
from toolhaft.toolbox.untrusted_text import hidden_characters, show_untrusted

MAX_REQUESTS: Final = 3
"""How often a request is sent if the service keeps asking to wait."""
_TOO_MANY: Final = 429
_BUSY: Final = (_TOO_MANY, 503)
_DENIED: Final = (401, 403)
_MOVED: Final = (301, 302, 303, 307, 308)
_LARGEST_ANSWER: Final = 2_000_000
_LONGEST_S: Final = 60.0
_DEFAULT_S: Final = 10.0
"""For a request without a deadline."""
_REQUEST_S: Final = 0.5
"""A wait must leave this much of the deadline for the request itself."""
_POLL_S: Final = 0.25
_LONGEST_REASON: Final = 300
_LONGEST_ENCODED: Final = 6_000
"""Of a query in a URL, where a character may take twelve bytes; leaves room for the rest of the URL."""
_SECONDS: Final = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)
AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRequest:
    """One request to a service, a POST if it has a body; its repr leaves out what may hold a key."""

    url: str
    query: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    body: JSONObject | None = None


class ServiceError(ToolExecutionError):
    """A service that gave no usable response; `status` is None if it gave none at all."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        untrusted: bool = False,
    ) -> None:
        super().__init__(message)
        self.untrusted = untrusted
        self.status = status
        self.retry_after = retry_after
        """Seconds that an automatic retry waits."""


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The seconds that the header `Retry-After` asks for, as a number or a date; None without one."""
    value = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(value):
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):  # no date, or one outside the calendar
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def never(_: JSONValue) -> bool:
    """The default of `JsonService.is_denied`."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonService:
    """A service, and how it refuses requests."""

    name: str
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Masked wherever the service repeats them."""
    if_denied: str = ""
    """What to do if the key is not accepted."""
    if_busy: str = ""
    """What else to do if there are too many requests."""
    notice: str = ""
    """A note about the service for every error message."""
    wait_s: Callable[[Mapping[str, str]], float | None] = retry_after_s
    is_denied: Callable[[JSONValue], bool] = never
    """True for a response that rejects the key, if the service does not use status 401 or 403 for that."""
    max_redirects: int = 0
    """0 for a service with a key, which must not be sent to the target of a redirect."""

    def failed(
        self, problem: str, quoted: str = "", *, status: int | None = None, retry_after: float | None = None
    ) -> ServiceError:
        """The error for a failed request; `quoted` is the service's own text in it, if any."""
        message = mask_secrets(f"{self.name} {problem}", self.secrets)
        if self.notice:
            message = f"{message}. {self.notice}"
        return ServiceError(message, status=status, retry_after=retry_after, untrusted=quoted != "")

    def parse(self, read: Callable[[JSONValue], AnswerT], answer: JSONValue) -> AnswerT:
        """The result of a function that reads a response.

        Raises:
            ServiceError: if the response has an unexpected form.
        """
        try:
            return read(answer)
        except AnswerError as error:
            problem = self.shown(str(error))
            text = self.shown(error_text(answer))  # some services put an error into a successful response
            quoted = f", it said {text!r}" if text and text not in problem else ""
            raise self.failed(f"gave no usable response: {problem}{quoted}", text) from self.cause(error)

    def shown(self, text: str) -> str:
        """Text of the service in one short line, with secrets masked."""
        return show_untrusted(
            " ".join(mask_secrets(text, self.secrets).split()), longest=_LONGEST_REASON
        ).text

    def cause(self, error: Exception) -> Exception | None:
        """The cause to chain to a ServiceError; None if a key may appear in it."""
        return None if self.secrets else error


def check_endpoint(endpoint: str) -> None:
    """Check that an endpoint is a plain http or https address.

    Raises:
        DefinitionError: if it is not.
    """
    problem = "the endpoint is not a plain http or https address"
    fix = "write it like 'https://gateway.example/search', without user, query and fragment"
    try:
        parse_url(endpoint)
    except HttpRefusedError as error:
        raise DefinitionError(f"{problem}: {error}", place="endpoint", fix=fix) from error
    if "?" in endpoint or "#" in endpoint:
        raise DefinitionError(problem, place="endpoint", fix=fix)


def checked_query(query: str, *, of: str, longest: int) -> str:
    """A model's query without surrounding space.

    Raises:
        ToolValidationError: if it is empty, too long, or has hidden characters.
    """
    wanted = query.strip()
    if not wanted:
        raise ToolValidationError("query is empty: say what to look for")
    hidden = hidden_characters(wanted)
    if hidden:
        listed = ", ".join(hidden)
        raise ToolValidationError(f"query has hidden characters ({listed}): leave them out")
    if len(wanted) > longest:
        raise ToolValidationError(f"query has {len(wanted):,} characters, {of} takes {longest:,}: shorten it")
    if len(quote(wanted)) > _LONGEST_ENCODED:
        raise ToolValidationError("query is too long once it is encoded for a URL: shorten it")
    return wanted


def request_json(request: ServiceRequest, service: JsonService, context: ToolContext | None) -> JSONValue:
    """The JSON that the service responds with.

    A busy service that says how long to wait gets the request again after that time, if the deadline allows.

    Raises:
        ServiceError: if the service does not respond, or refuses.
    """
    deadline = None if context is None else context.time_limit
    if deadline is None:
        deadline = Deadline.after(_DEFAULT_S)
    sent = 0
    while True:
        answer = _send(request, service, context, deadline)
        sent += 1
        wait_s = service.wait_s(answer.headers) if answer.status in _BUSY else None
        if wait_s is None:
            return _read(answer, service)
        if sent == MAX_REQUESTS or wait_s + _REQUEST_S > deadline.remaining():
            raise service.failed(
                f"is busy (HTTP {answer.status}) and asks to wait {_seconds(wait_s)}; try again after that"
                + _busy_fix(answer.status, service),
                status=answer.status,
                retry_after=wait_s,
            )
        _pause(wait_s, context)


def _send(
    request: ServiceRequest, service: JsonService, context: ToolContext | None, deadline: Deadline
) -> HttpResponse:
    try:
        return http_of(context).fetch(
            request.url,
            method="GET" if request.body is None else "POST",
            headers={"Accept": "application/json", **request.headers},
            query=request.query,
            json=... if request.body is None else request.body,
            timeout_s=_LONGEST_S,
            deadline=deadline,
            max_bytes=_LARGEST_ANSWER,
            max_redirects=service.max_redirects,
            vet=_same_origin_only(request.url),
        )
    except ImportError as error:
        raise ToolExecutionError(str(error)) from error
    except HttpError as error:
        raise service.failed(f"could not be reached: {error}") from service.cause(error)


def _same_origin_only(address: str) -> Callable[[str], None]:
    """A check that allows redirects only to the same scheme, host and port."""
    home = parse_url(address).origin

    def vet(url: str) -> None:
        if parse_url(url).origin != home:
            raise HttpRefusedError("it redirects to another origin")

    return vet


def _pause(seconds: float, context: ToolContext | None) -> None:
    """Wait, and stop soon after the call has ended."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _POLL_S))
        if context is not None:
            context.beat()


def _read(answer: HttpResponse, service: JsonService) -> JSONValue:
    try:
        content = answer.json()
    except HttpError as error:
        if answer.is_ok:
            problem = f"gave no usable response: {error}"
            raise service.failed(problem, status=answer.status) from service.cause(error)
        content = None
    if answer.is_ok:
        return content
    text = service.shown(error_text(content))
    raise service.failed(_refusal(answer.status, content, text, service), text, status=answer.status)


def _refusal(status: int, content: JSONValue, text: str, service: JsonService) -> str:
    """How the service refused, with its own text if it sent one."""
    quoted = f", it said {text!r}" if text else ""
    if status in _BUSY:
        fix = _busy_fix(status, service)
        return f"is busy (HTTP {status}{quoted}) and does not say for how long; try again later{fix}"
    if status in _DENIED or service.is_denied(content):
        what = "did not accept the key" if service.secrets else "refused the request"
        fix = f"; {service.if_denied}" if service.if_denied else ""
        return f"{what} (HTTP {status}{quoted}){fix}"
    moved = ", a redirect that is not followed: check the address" if status in _MOVED else ""
    return f"answered with HTTP {status}{quoted}{moved}"


def _busy_fix(status: int, service: JsonService) -> str:
    return f", or {service.if_busy}" if service.if_busy and status == _TOO_MANY else ""


def _seconds(wait_s: float) -> str:
    return f"{ceil(wait_s):,} s" if wait_s >= 1 else "under a second"
