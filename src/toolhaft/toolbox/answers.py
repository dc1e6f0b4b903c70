"""Reads the JSON that a service sent, and trusts none of it.

Does not know the service or how it was asked.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from toolhaft.errors import ToolhaftError
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.toolbox.outside import is_plain

LONGEST_URL: Final = 2_000
_LOST: Final = "\ufffd"
"""Stands for half a character; with it, a name leads elsewhere."""
_LONGEST_HTML: Final = 100_000
_MOST_ROWS: Final = 100
"""Looked at; no service was asked for so many."""
# no `<` inside: every character is looked at once, however many tags never end
_TAG: Final = re.compile(r"</?[A-Za-z][^<>]*>")
# the last two are Wikipedia's, by language
_REASONS: Final = ("message", "detail", "error", "title", "errors", "messageTranslations", "en")


class AnswerError(ToolhaftError):
    """An answer that is not what the service is known to give; the message ends a sentence about it."""


def rows(answer: JSONValue, *path: str, always: Sequence[str] = ()) -> list[JSONObject]:
    """The first objects of the list at a path; none where an answer of the service's own has no such list.

    Args:
        answer: what the service sent.
        path: keys from the root to the list.
        always: keys of which an answer has at least one, whether or not the list is there.

    Raises:
        AnswerError: where something else stands there, or nothing shows whose answer it is.
    """
    place: JSONValue = answer
    name = ".".join(path)
    for key in path:
        if not isinstance(place, dict):
            raise AnswerError(f"there is no object around {name!r}")
        if place.get(key) is None:
            if isinstance(answer, dict) and any(sign in answer for sign in always):
                return []
            raise AnswerError(f"there is no {name!r}")
        place = place[key]
    if not isinstance(place, list):
        raise AnswerError(f"there is no list at {name!r}")
    return [row for row in place[:_MOST_ROWS] if isinstance(row, dict)]


def text_at(place: JSONValue, *path: str) -> str:
    """The text at a path; empty where it is absent or something else."""
    for key in path:
        place = place.get(key) if isinstance(place, dict) else None
    return place if isinstance(place, str) else ""


def html_at(place: JSONValue, *path: str) -> str:
    """What a fragment of HTML at a path shows; empty where it is absent or something else."""
    return html.unescape(_TAG.sub("", text_at(place, *path)[:_LONGEST_HTML]))


def reason_in(content: JSONValue, depth: int = 3) -> str:
    """The text that explains a failure, at the places where services put it; empty where there is none."""
    if isinstance(content, str):
        return content
    if depth and isinstance(content, list):
        return reason_in(content[0], depth - 1) if content else ""
    if depth and isinstance(content, dict):
        found = (reason_in(content.get(name), depth - 1) for name in _REASONS)
        return next(filter(None, found), "")
    return ""


def is_whole(text: str) -> bool:
    """True if every character of a name or an address shows, and none was lost on the way."""
    return is_plain(text) and _LOST not in text


def is_address(url: str) -> bool:
    """True for an address of the web that can be shown as it is."""
    if not 0 < len(url) <= LONGEST_URL or not is_whole(url) or len(url.split()) != 1:
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
