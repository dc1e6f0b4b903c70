"""What a platform's answers mean: tools as listings, and refusals as the errors that they stand for.

Knows statuses and JSON that may come from anybody; asks nothing itself.
"""

from __future__ import annotations

from typing import Final, cast

from toolhaft.catalog.listing import SHARES, Listing, digest_of
from toolhaft.define.running.settings import KEY_VARIABLE
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
    from toolhaft.resources.http import HttpResponse
    from toolhaft.schema.json_value import JSONObject, JSONValue

_LONGEST: Final = 200
_LONGEST_DETAIL: Final = 2_000
_SHORTEST_KEY: Final = 4
"""A shorter one is no secret, and would tear words apart."""


def short(text: str, longest: int = _LONGEST) -> str:
    """A text from outside as a message may show it: on one line, only what prints, not too long."""
    shown = "".join(one if one.isprintable() else " " for one in text)
    return shown if len(shown) <= longest else f"{shown[:longest]}..."


def without_key(text: str, key: str | None) -> str:
    """A text from outside without the key that was sent there: some send back what they were sent."""
    is_secret = key is not None and len(key) >= _SHORTEST_KEY
    return text.replace(cast("str", key), f"${{env:{KEY_VARIABLE}}}") if is_secret else text


def object_in(answer: HttpResponse, url: str) -> JSONObject:
    """The JSON object of an answer.

    Raises:
        PlatformError: where it has none.
    """
    try:
        value = answer.json()
    except HttpError as error:
        raise PlatformError(
            f"the platform {url} answers oddly: {error}; is it one, and is the address right?"
        ) from None
    if not isinstance(value, dict):
        raise PlatformError(f"the platform {url} answers oddly: with JSON that is no object; is it one?")
    return value


def listing_from(fields: JSONObject, url: str) -> Listing:
    """A tool as a listing.

    Raises:
        PlatformError: where its fields are not those of a tool.
    """
    id = fields.get("id")
    if not isinstance(id, str) or not id:
        raise PlatformError(f"the platform {url} answers oddly: a tool in its list has no id")
    tags = fields.get("tags")
    share = fields.get("share")
    return Listing(
        id=id,
        title=_text(fields, "name") or id,
        description=_text(fields, "description"),
        tags=tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else (),
        owner=_text(fields, "owner"),
        share=share if share in SHARES else "private",
        store="platform",
        place=url,
        is_active=fields.get("is_active") is not False,
        effect=_text(fields, "effect") or "irreversible",
        updated_at=_text(fields, "updated_at") or None,
        words=_words(fields),
        digest=digest_of(fields),
    )


def error_of(answer: HttpResponse, url: str, *, key: str | None) -> ToolhaftError:
    """The error that a refusal stands for, in the platform's own words where it has some, without the key."""
    said = _problem_in(answer)
    detail = short(without_key(_text(said, "detail"), key), _LONGEST_DETAIL)
    match answer.status:
        case 401:
            return ForbiddenError(_key_refused(url, has_key=bool(key)))
        case 403:
            return ForbiddenError(
                detail or f"the platform {url} does not allow this with the key that it was sent"
            )
        case 404 if said:
            return UnknownToolError(detail or f"no such tool on the platform {url}")
        case 409 | 412:
            current = said.get("current")
            return ConflictError(
                detail or f"the tool was changed on the platform {url} meanwhile; get it, and change that",
                current=without_key(current, key) if isinstance(current, str) else _etag(answer, key),
            )
        case 422:
            return DefinitionError(
                _problems(said, key) or detail or f"the platform {url} does not take it as written"
            )
        case _:
            return PlatformError(without_key(_odd(answer, url, detail), key))


def _key_refused(url: str, *, has_key: bool) -> str:
    if has_key:
        refused = f"the platform {url} does not take the key in {KEY_VARIABLE}"
        return f"{refused}; it may have expired: get another one"
    return f"the platform {url} wants a key; set {KEY_VARIABLE} in the environment or in .env"


def _odd(answer: HttpResponse, url: str, detail: str) -> str:
    wait = answer.headers.get("retry-after", "")
    again = f"; try again in {short(wait, 20)} s" if wait.isdigit() else ""
    if detail:
        return f"the platform {url} answers with status {answer.status}: {detail}{again}"
    kind = short(answer.media_type or "nothing", 80)
    return f"the platform {url} answers with status {answer.status} and {kind}; is it one?"


def _problem_in(answer: HttpResponse) -> JSONObject:
    if answer.media_type not in ("application/problem+json", "application/json"):
        return {}
    try:
        value = answer.json()
    except HttpError:
        return {}
    return value if isinstance(value, dict) else {}


def _problems(said: JSONObject, key: str | None) -> str:
    problems = said.get("problems")
    texts = [one for one in problems if isinstance(one, str)] if isinstance(problems, list) else []
    return "\n".join(short(without_key(one, key), 500) for one in texts[:100])


def _etag(answer: HttpResponse, key: str | None) -> str | None:
    return without_key(answer.headers.get("etag", ""), key).strip('"') or None


def _text(fields: JSONObject, key: str) -> str:
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def _words(fields: JSONObject) -> str:
    words = [_text(fields, "when_to_use")]
    parameters: JSONValue = fields.get("parameters")
    for one in parameters if isinstance(parameters, list) else ():
        if isinstance(one, dict):
            words += [_text(one, "name"), _text(one, "description")]
    return " ".join(word for word in words if word)
