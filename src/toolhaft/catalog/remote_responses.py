"""Turns the responses of a remote platform into listings and errors; none of their content is trusted."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, cast

from toolhaft.catalog.listing import Listing, digest_fields, listing_of_fields
from toolhaft.define.running.platform_settings import KEY_VARIABLE
from toolhaft.errors import (
    ConflictError,
    DefinitionError,
    ForbiddenError,
    HttpError,
    PlatformError,
    ToolhaftError,
    UnknownToolError,
)

TYPE_CHECKING = False  # for types alone
if TYPE_CHECKING:
    from toolhaft.catalog.tool_versions import ToolVersion
    from toolhaft.resources.http import HttpResponse
    from toolhaft.schema.json_value import JSONObject, JSONValue

_MAX_CHARS: Final = 200
_MAX_DETAIL: Final = 2_000
_HIDDEN_TEXT: Final = "(refused: its texts have invisible characters)"
_MIN_KEY: Final = 4
"""A shorter key is not masked: its letters would also be replaced inside other words."""


def one_line(text: str, max_chars: int = _MAX_CHARS) -> str:
    """A server's text for a message: one line, only printable characters, cut to a length."""
    printable = "".join(one if one.isprintable() else " " for one in text)
    return printable if len(printable) <= max_chars else f"{printable[:max_chars]}..."


def mask_key(text: str, key: str | None) -> str:
    """A server's text without the API key, which some servers send back."""
    is_secret = key is not None and len(key) >= _MIN_KEY
    return text.replace(cast("str", key), f"${{env:{KEY_VARIABLE}}}") if is_secret else text


def json_object(response: HttpResponse, url: str) -> JSONObject:
    """The JSON object of a response.

    Raises:
        PlatformError: if it has none.
    """
    try:
        value: JSONValue = response.json()
    except HttpError as error:
        raise PlatformError(
            f"the platform {url} sent an unexpected response: {error}; is it a Toolhaft platform, and is the "
            "address right?"
        ) from None
    if not isinstance(value, dict):
        raise PlatformError(
            f"the platform {url} sent an unexpected response: JSON that is not an object; "
            "is it a Toolhaft platform?"
        )
    return value


def listing_from_fields(fields: JSONObject, url: str) -> Listing:
    """The listing of a tool in a list.

    Raises:
        PlatformError: if the fields are not those of a tool.
    """
    from toolhaft.schema.invisible import invisible_in  # noqa: PLC0415 -- the command line loads it only here

    id = fields.get("id")
    if not isinstance(id, str) or not id:
        raise PlatformError(f"the platform {url} sent an unexpected response: a tool in its list has no id")
    if next(invisible_in(fields), None) is not None:
        id = ascii(id)[1:-1]
        fields = {"share": fields.get("share"), "description": _HIDDEN_TEXT, "is_active": False}
    return replace(listing_of_fields({**fields, "id": id}, place=url), digest=digest_fields(fields))


def versions_from_body(body: JSONObject, url: str) -> list[ToolVersion]:
    """The versions of a tool in a response.

    Raises:
        PlatformError: if one of them has no number.
    """
    from toolhaft.catalog.tool_versions import ToolVersion as Made  # noqa: PLC0415 -- listing does not need it

    listed = body.get("versions")
    found: list[ToolVersion] = []
    for fields in listed if isinstance(listed, list) else [None]:
        number = fields.get("number") if isinstance(fields, dict) else None
        if not isinstance(fields, dict) or type(number) is not int:
            raise PlatformError(
                f"the platform {url} sent an unexpected response: its versions are not a list of numbered "
                "versions; is it a Toolhaft platform of this version?"
            )
        found.append(
            Made(
                number=number,
                updated_at=one_line(_text(fields, "updated_at")),
                published_by=one_line(_text(fields, "published_by")) or None,
                version=one_line(_text(fields, "version")) or None,
                change=one_line(_text(fields, "change")),
                is_current=fields.get("is_current") is True,
            )
        )
    return found


def error_from_response(response: HttpResponse, url: str, *, key: str | None) -> ToolhaftError:
    """The error for a failed response, with the platform's own message if it has one, without the key."""
    body = _problem_body(response)
    detail = one_line(mask_key(_text(body, "detail"), key), _MAX_DETAIL)
    match response.status:
        case 401:
            return ForbiddenError(_key_refused(url, has_key=bool(key)))
        case 403:
            return ForbiddenError(
                detail or f"the platform {url} does not allow this with the key that it was sent"
            )
        case 404 if body:
            return UnknownToolError(detail or f"no such tool on the platform {url}")
        case 409 | 412:
            current = body.get("current")
            return ConflictError(
                detail or f"the tool was changed on the platform {url} meanwhile; get it, and change that",
                current=mask_key(current, key) if isinstance(current, str) else _etag(response, key),
            )
        case 422:
            return DefinitionError(
                _problems(body, key) or detail or f"the platform {url} refuses the tool as written"
            )
        case _:
            return PlatformError(mask_key(_unexpected(response, url, detail), key))


def _key_refused(url: str, *, has_key: bool) -> str:
    if has_key:
        refused = f"the platform {url} does not accept the key"
        return f"{refused}; it may have expired. To store another one, type: lk login {url}"
    return f"the platform {url} needs a key; to store one, type: lk login {url}"


def _unexpected(response: HttpResponse, url: str, detail: str) -> str:
    wait = response.headers.get("retry-after", "")
    again = f"; try again in {one_line(wait, 20)} s" if wait.isdigit() else ""
    if detail:
        return f"the platform {url} responded with status {response.status}: {detail}{again}"
    kind = one_line(response.media_type or "nothing", 80)
    return (
        f"the platform {url} responded with status {response.status} and {kind}; is it a Toolhaft platform?"
    )


def _problem_body(response: HttpResponse) -> JSONObject:
    if response.media_type not in ("application/problem+json", "application/json"):
        return {}
    try:
        value: JSONValue = response.json()
    except HttpError:
        return {}
    return value if isinstance(value, dict) else {}


def _problems(body: JSONObject, key: str | None) -> str:
    problems = body.get("problems")
    texts = [_problem_text(one) for one in problems[:100]] if isinstance(problems, list) else []
    return "\n".join(one_line(mask_key(text, key), 500) for text in texts if text)


def _problem_text(problem: JSONValue) -> str:
    """A problem of a document in one line; earlier versions of the platform sent it as a text."""
    if not isinstance(problem, dict):
        return problem if isinstance(problem, str) else ""
    line, text, fix = problem.get("line"), _text(problem, "problem"), _text(problem, "fix")
    place = f"line {line}" if type(line) is int else _text(problem, "path")
    whole = f"{place}: {text}" if place else text
    return text and (f"{whole}. Fix: {fix}" if fix else whole)


def _etag(response: HttpResponse, key: str | None) -> str | None:
    return mask_key(response.headers.get("etag", ""), key).strip('"') or None


def _text(fields: JSONObject, key: str) -> str:
    value = fields.get(key)
    return value if isinstance(value, str) else ""
