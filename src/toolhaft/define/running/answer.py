"""Reads the answer of a web service: what it says of failure, and the value that it gives.

Knows statuses and media types; does not know what was asked.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from toolhaft.define.running.shape import Shape
from toolhaft.errors import (
    HttpError,
    ToolAuthorizationError,
    ToolError,
    ToolExecutionError,
    ToolValidationError,
)
from toolhaft.resources.http.response import HttpResponse
from toolhaft.schema.json_value import JSONValue

_LONGEST: Final = 300
_LONGEST_MESSAGE: Final = 2_000
_TELLING: Final = ("detail", "message", "error_description", "error", "title")
_REDIRECTS: Final = range(300, 400)
_TEXT_TYPES: Final = ("application/xml", "application/javascript", "application/x-www-form-urlencoded")
_MARKUP: Final = ("text/html", "application/xhtml+xml")


def refuse_status(response: HttpResponse, host: str) -> None:
    """Nothing, for a status from 200 to 299.

    Raises:
        ToolError: with the status and the beginning of what the service says, marked as from outside.
    """
    if response.is_ok:
        return
    if response.status in _REDIRECTS:
        raise ToolExecutionError(f"{_answered(response, host)}, a redirect that is not followed")
    said = _excerpt(response)
    error = ToolExecutionError(f"{_answered(response, host)}{said and f': {said}'}")
    error.untrusted = bool(said)
    wait = response.headers.get("retry-after", "")
    if wait.isascii() and wait.isdigit():
        error.retry_after = float(wait[:6])  # pyright: ignore[reportAttributeAccessIssue] -- read by the retry policy
    raise error


def refuse_problem(response: HttpResponse, host: str, *, is_platform: bool) -> None:
    """The same for an endpoint: of a kind by its status, and in the platform's own words where it is that.

    Raises:
        ToolError: of the kind that the status stands for.
    """
    kinds: dict[int, type[ToolError]] = {
        HTTPStatus.UNAUTHORIZED: ToolAuthorizationError,
        HTTPStatus.FORBIDDEN: ToolAuthorizationError,
        HTTPStatus.UNPROCESSABLE_ENTITY: ToolValidationError,
    }
    kind = kinds.get(response.status)
    if kind is None:
        refuse_status(response, host)
        return
    said, answered = _excerpt(response), _answered(response, host)
    error = kind(said if said and is_platform else f"{answered}{said and f': {said}'}")
    error.untrusted = True
    raise error


def value_of(response: HttpResponse, shape: Shape | None, host: str) -> JSONValue:
    """The value of an answer, in the shape that the tool returns.

    Raises:
        ToolExecutionError: where JSON is wanted and there is none, or the answer is no text at all.
    """
    if shape is not None:
        return shape.pick(read_json(response, host))
    if not response.body:
        return None
    media = response.media_type
    if is_json(media):
        return read_json(response, host)
    text = _text(response)
    if text is None or not (not media or media.startswith("text/") or _is_texty(media)):
        raise ToolExecutionError(
            f"{host} answered with {media or 'data of no type'} ({len(response.body):,} bytes), "
            "which is neither JSON nor text"
        )
    if not media:
        try:
            return response.json()
        except HttpError:
            return text
    return text


def read_json(response: HttpResponse, host: str) -> JSONValue:
    """An answer that must be JSON.

    Raises:
        ToolExecutionError: naming what it is in place of that.
    """
    if not response.body:
        raise ToolExecutionError(f"{_answered(response, host)} with nothing in it, and JSON was expected")
    try:
        return response.json()
    except HttpError:
        media = response.media_type or "no media type"
        broken = "broken JSON" if is_json(media) else "no JSON"
        # not chained: whoever asks for the cause takes an HttpError for trouble on the network
        raise ToolExecutionError(
            f"{host} answered with {broken} ({media}, {len(response.body):,} bytes), and JSON was expected"
        ) from None


def is_json(media: str) -> bool:
    """True for the media types of JSON."""
    return media == "application/json" or media.endswith("+json") or media == "text/json"


def _is_texty(media: str) -> bool:
    return media in _TEXT_TYPES or media.endswith(("+xml", "yaml"))


def _text(response: HttpResponse) -> str | None:
    charset = "utf-8"
    for option in response.headers.get("content-type", "").split(";")[1:]:
        name, _, said = option.partition("=")
        if name.strip().lower() == "charset":
            charset = said.strip().strip("\"'") or charset
    try:
        return response.body.decode(charset)
    except UnicodeDecodeError:
        if response.media_type.startswith("text/"):
            return response.body.decode("utf-8", "replace")
        return None
    except (LookupError, ValueError):
        return response.body.decode("utf-8", "replace")


def _answered(response: HttpResponse, host: str) -> str:
    try:
        phrase = f" {HTTPStatus(response.status).phrase}"
    except ValueError:
        phrase = ""
    return f"{host} answered {response.status}{phrase}"


def _excerpt(response: HttpResponse) -> str:
    """The beginning of what a service says of its failure, on one line, with nothing that does not show."""
    if not response.body or response.media_type in _MARKUP:
        return f"a page of {len(response.body):,} bytes" if response.body else ""
    said = ""
    if is_json(response.media_type):
        said = _telling(response)
    if not said:
        said = response.body[: _LONGEST * 4].decode("utf-8", "replace")
    return one_line(said)


def one_line(text: str) -> str:
    """A text from outside, short, on one line, with nothing in it that does not show."""
    line = "".join(character if character.isprintable() else "?" for character in " ".join(text.split()))
    return f"{line[:_LONGEST]}..." if len(line) > _LONGEST else line


def clean(text: str) -> str:
    """A message from elsewhere, on its own lines: bounded, with nothing in it that does not show."""
    shown = text[:_LONGEST_MESSAGE]
    if not shown.isprintable():
        shown = "".join(
            character if character.isprintable() or character == "\n" else "?" for character in shown
        )
    return f"{shown}..." if len(text) > _LONGEST_MESSAGE else shown


def _telling(response: HttpResponse) -> str:
    try:
        body = response.json()
    except HttpError:
        return ""
    if not isinstance(body, dict):
        return ""
    for key in _TELLING:
        said = body.get(key)
        if isinstance(said, dict):
            said = said.get("message")
        if isinstance(said, str) and said.strip():
            return said
    return ""
