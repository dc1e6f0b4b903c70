"""Asks a JSON service through the guarded client: waits where it says so, and tells its refusals plainly.

Does not know what is asked or what the answer means.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import ceil
from typing import Final, TypeVar
from urllib.parse import quote

from toolhaft.core.context import ToolContext
from toolhaft.core.limits import Deadline
from toolhaft.errors import (
    DefinitionError,
    HttpError,
    HttpRefusedError,
    ToolExecutionError,
    ToolValidationError,
)
from toolhaft.resources.http import HttpResponse, http_of
from toolhaft.resources.http.places import read_url
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.toolbox.answers import AnswerError, reason_in
from toolhaft.toolbox.outside import hidden_characters, show_outside

MOST_REQUESTS: Final = 3
"""Sent for one question where the service asks to wait."""
_BUSY: Final = (429, 503)
_DENIED: Final = (401, 403)
_MOVED: Final = (301, 302, 303, 307, 308)
_LARGEST_ANSWER: Final = 2_000_000
_LONGEST_S: Final = 60.0
_USUAL_S: Final = 10.0
"""For a question that nobody gave a deadline."""
_REST_S: Final = 0.5
"""Of the deadline, which a wait must leave for the question itself."""
_SLICE_S: Final = 0.25
_LONGEST_REASON: Final = 300
_LONGEST_ENCODED: Final = 6_000
"""Of a query in a URL, where a letter may take twelve characters; the rest is for everything around it."""
_SHORTEST_SECRET: Final = 4
_SECONDS: Final = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)
AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One request to a service, sent as POST where it has a body; where a key may stand is not shown."""

    url: str
    query: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    body: JSONObject | None = None


class ServiceError(ToolExecutionError):
    """A service that gave no answer to work with; `status` is None where it gave none at all."""

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
        """Seconds; an automatic repeat waits as long."""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that `Retry-After` asks for, as a number or a date; None where it says neither."""
    said = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(said):
        return float(said)
    try:
        moment = parsedate_to_datetime(said)
    except (ValueError, OverflowError):  # a year or a zone that no calendar has
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def never(_: JSONValue) -> bool:
    """No answer at all is meant."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """Whom a question goes to, and how it says no."""

    name: str
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Never shown, even where the service repeats them."""
    if_denied: str = ""
    """What to do where a key is not accepted."""
    notice: str = ""
    """What is worth knowing of the service where it failed."""
    wait_s: Callable[[Mapping[str, str]], float | None] = retry_after
    is_denied: Callable[[JSONValue], bool] = never
    """True for the answer to a key that is not accepted, where the status alone does not say so."""
    max_redirects: int = 0
    """A key must not travel on to where a redirect points."""

    def failed(
        self, problem: str, said: str = "", *, status: int | None = None, retry_after: float | None = None
    ) -> ServiceError:
        """The error of a question to this service, which may have said something about it."""
        text = hide(f"{self.name} {problem}", self.secrets)
        told = f"{text}. {self.notice}" if self.notice else text
        return ServiceError(told, status=status, retry_after=retry_after, untrusted=said != "")

    def understand(self, read: Callable[[JSONValue], AnswerT], answer: JSONValue) -> AnswerT:
        """What a reader makes of an answer.

        Raises:
            ServiceError: where it is not what the service is known to give.
        """
        try:
            return read(answer)
        except AnswerError as error:
            problem = self.shown(str(error))
            said = self.shown(reason_in(answer))  # some say what is wrong where an answer should be
            quoted = f", it said {said!r}" if said and said not in problem else ""
            raise self.failed(f"gave no answer to work with: {problem}{quoted}", said) from self.cause(error)

    def shown(self, text: str) -> str:
        """Words of the service, in one line of no great length."""
        return show_outside(" ".join(hide(text, self.secrets).split()), longest=_LONGEST_REASON).text

    def cause(self, error: Exception) -> Exception | None:
        """What led to a failure, for whoever debugs it; nothing where a key may stand in it."""
        return None if self.secrets else error


def check_endpoint(endpoint: str) -> None:
    """Nothing, for an address that questions can go to.

    Raises:
        DefinitionError: for anything else.
    """
    problem = "the endpoint is no plain http or https address"
    fix = "write it like 'https://gateway.example/search', without user, query and fragment"
    try:
        read_url(endpoint)
    except HttpRefusedError as error:
        raise DefinitionError(f"{problem}: {error}", place="endpoint", fix=fix) from error
    if "?" in endpoint or "#" in endpoint:
        raise DefinitionError(problem, place="endpoint", fix=fix)


def read_query(query: str, *, of: str, longest: int) -> str:
    """What a model wants to know, without space around it.

    Raises:
        ToolValidationError: where it is empty, too long, or has characters that do not show.
    """
    wanted = query.strip()
    if not wanted:
        raise ToolValidationError("query is empty: say what to look for")
    strange = hidden_characters(wanted)
    if strange:
        listed = ", ".join(strange)
        raise ToolValidationError(f"query has characters that do not show ({listed}): leave them out")
    if len(wanted) > longest:
        raise ToolValidationError(f"query has {len(wanted):,} characters, {of} takes {longest:,}: shorten it")
    if len(quote(wanted)) > _LONGEST_ENCODED:
        raise ToolValidationError("query is too long once it is encoded for a URL: shorten it")
    return wanted


def ask(question: Question, service: Service, context: ToolContext | None) -> JSONValue:
    """The service's answer, read as JSON.

    A service that is busy and says for how long is asked again after that time, if the deadline leaves it.

    Raises:
        ServiceError: where it gives no answer, or says no.
    """
    given = None if context is None else context.deadline
    deadline = Deadline.after(_USUAL_S) if given is None else given
    sent = 0
    while True:
        answer = _send(question, service, context, deadline)
        sent += 1
        wait_s = service.wait_s(answer.headers) if answer.status in _BUSY else None
        if wait_s is None:
            return _read(answer, service)
        if sent == MOST_REQUESTS or wait_s + _REST_S > deadline.remaining():
            raise service.failed(
                f"is busy (HTTP {answer.status}) and asks to wait {_seconds(wait_s)}; try again after that",
                status=answer.status,
                retry_after=wait_s,
            )
        _pause(wait_s, context)


def hide(text: str, secrets: Iterable[str]) -> str:
    """A text without the secrets, however a URL spells them; one as short as a word stays, and is no key."""
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            spellings = sorted({secret, quote(secret), quote(secret, safe="")}, key=len, reverse=True)
            text = re.sub("|".join(map(re.escape, spellings)), "[hidden]", text, flags=re.IGNORECASE)
    return text


def _send(
    question: Question, service: Service, context: ToolContext | None, deadline: Deadline
) -> HttpResponse:
    try:
        return http_of(context).fetch(
            question.url,
            method="GET" if question.body is None else "POST",
            headers={"Accept": "application/json", **question.headers},
            query=question.query,
            json=... if question.body is None else question.body,
            timeout_s=_LONGEST_S,
            deadline=deadline,
            max_bytes=_LARGEST_ANSWER,
            max_redirects=service.max_redirects,
            vet=_at_home(question.url),
        )
    except ImportError as error:
        raise ToolExecutionError(str(error)) from error
    except HttpError as error:
        raise service.failed(f"could not be asked: {error}") from service.cause(error)


def _at_home(address: str) -> Callable[[str], None]:
    """Lets redirects lead to the same scheme, host and port only: an answer from elsewhere is no answer."""
    home = read_url(address).origin

    def vet(url: str) -> None:
        if read_url(url).origin != home:
            raise HttpRefusedError("it redirects to another origin")

    return vet


def _pause(seconds: float, context: ToolContext | None) -> None:
    """Wait, but learn soon where the call is over."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _SLICE_S))
        if context is not None:
            context.beat()


def _read(answer: HttpResponse, service: Service) -> JSONValue:
    try:
        content = answer.json()
    except HttpError as error:
        if answer.is_ok:
            problem = f"gave no answer to work with: {error}"
            raise service.failed(problem, status=answer.status) from service.cause(error)
        content = None
    if answer.is_ok:
        return content
    said = service.shown(reason_in(content))
    raise service.failed(_refusal(answer.status, content, said, service), said, status=answer.status)


def _refusal(status: int, content: JSONValue, said: str, service: Service) -> str:
    """What became of the question, with the service's own words where it has some."""
    quoted = f", it said {said!r}" if said else ""
    if status in _BUSY:
        return f"is busy (HTTP {status}{quoted}) and does not say for how long; try again later"
    if status in _DENIED or service.is_denied(content):
        what = "did not accept the key" if service.secrets else "refused the request"
        fix = f"; {service.if_denied}" if service.if_denied else ""
        return f"{what} (HTTP {status}{quoted}){fix}"
    moved = ", a redirect that is not followed: see that the address is right" if status in _MOVED else ""
    return f"answered with HTTP {status}{quoted}{moved}"


def _seconds(wait_s: float) -> str:
    return f"{ceil(wait_s):,} s" if wait_s >= 1 else "under a second"
