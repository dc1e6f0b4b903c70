"""Reads fields from the JSON response of a service, without trusting its structure or its texts."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from toolhaft.errors import ToolhaftError
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.toolbox.untrusted_text import is_visible

LONGEST_URL: Final = 2_000
_REPLACEMENT: Final = "\ufffd"
"""The replacement character; a name that contains it would lead to another page."""
_LONGEST_HTML: Final = 100_000
_MAX_OBJECTS: Final = 100
"""More than any tool requests."""
# no `<` inside a tag, so that the search stays linear on unclosed tags
_TAG: Final = re.compile(r"</?[A-Za-z][^<>]*>")
# the last two are Wikipedia's: its messages are keyed by language
_ERROR_KEYS: Final = ("message", "detail", "error", "title", "errors", "messageTranslations", "en")


class AnswerError(ToolhaftError):
    """A response of an unexpected form; the message completes a sentence about it."""


def objects_at(answer: JSONValue, *path: str, always: Sequence[str] = ()) -> list[JSONObject]:
    """The objects in the list at a path, at most 100 of them; none if the response has no such list.

    Args:
        answer: the response.
        path: keys from the root to the list.
        always: keys of which a genuine response has at least one, even if it has no list.

    Raises:
        AnswerError: if there is something else at the path, or the response is not the service's.
    """
    place: JSONValue = answer
    name = ".".join(path)
    for key in path:
        if not isinstance(place, dict):
            raise AnswerError(f"there is no object around {name!r}")
        if place.get(key) is None:
            if isinstance(answer, dict) and any(key in answer for key in always):
                return []
            raise AnswerError(f"there is no {name!r}")
        place = place[key]
    if not isinstance(place, list):
        raise AnswerError(f"there is no list at {name!r}")
    return [row for row in place[:_MAX_OBJECTS] if isinstance(row, dict)]


def text_at(place: JSONValue, *path: str) -> str:
    """The text at a path; empty if there is none."""
    for key in path:
        place = place.get(key) if isinstance(place, dict) else None
    return place if isinstance(place, str) else ""


def html_at(place: JSONValue, *path: str) -> str:
    """The text of the HTML at a path, without tags; empty if there is none."""
    return html.unescape(_TAG.sub("", text_at(place, *path)[:_LONGEST_HTML]))


def error_text(content: JSONValue, depth: int = 3) -> str:
    """The text that explains a failure, looked for under the usual keys; empty if there is none."""
    if isinstance(content, str):
        return content
    if depth and isinstance(content, list):
        return error_text(content[0], depth - 1) if content else ""
    if depth and isinstance(content, dict):
        found = (error_text(content.get(name), depth - 1) for name in _ERROR_KEYS)
        return next(filter(None, found), "")
    return ""


def is_intact(text: str) -> bool:
    """True if a name or an address has no hidden and no replaced characters."""
    return is_visible(text) and _REPLACEMENT not in text


def is_web_address(url: str) -> bool:
    """True for an http or https address that can be shown unchanged."""
    if not 0 < len(url) <= LONGEST_URL or not is_intact(url) or len(url.split()) != 1:
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
