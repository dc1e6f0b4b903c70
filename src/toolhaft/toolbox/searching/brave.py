"""Brave Search.

Does not know how requests are sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from toolhaft.schema.json_value import JSONValue
from toolhaft.toolbox.answers import AnswerError, html_at, rows, text_at
from toolhaft.toolbox.asking import Question, retry_after
from toolhaft.toolbox.searching.engine import ApiEngine, Hit, Search

_ERROR: Final = "ErrorResponse"
_BAD_KEY: Final = ("SUBSCRIPTION_TOKEN_INVALID", "SUBSCRIPTION_TOKEN_MISSING")


def build(search: Search) -> Question:
    """The request for a search of web pages, without the marks around words that matched."""
    query = {
        "q": search.query,
        "count": str(search.count),
        "result_filter": "web",
        "text_decorations": "false",
    }
    return Question(url=search.address, query=query, headers={"X-Subscription-Token": search.key})


def read(answer: JSONValue) -> list[Hit]:
    """The hits of an answer; one without any has no `web` at all.

    Raises:
        AnswerError: where it is not Brave's, or an error.
    """
    if text_at(answer, "type") == _ERROR:
        raise AnswerError("there is no result, but an error")
    found = rows(answer, "web", "results", always=("query", "type"))
    return [Hit(html_at(row, "title"), html_at(row, "description"), text_at(row, "url")) for row in found]


def wait_s(headers: Mapping[str, str]) -> float | None:
    """How long the used-up windows of the plan last; Brave says so in headers of its own.

    They hold one number a window, and a limit of 0 means that the window has none.
    """
    said = retry_after(headers)
    if said is not None:
        return said
    resets = _numbers(headers, "x-ratelimit-reset")
    left = _numbers(headers, "x-ratelimit-remaining")
    limits = _numbers(headers, "x-ratelimit-limit") or [1] * len(resets)
    if not resets or len(resets) != len(left) or len(resets) != len(limits):
        return None
    windows = zip(limits, left, resets, strict=True)
    used_up = [reset for limit, rest, reset in windows if limit and not rest]
    return float(max(used_up, default=resets[0]))


def is_denied(content: JSONValue) -> bool:
    """True where the key was not accepted, which Brave tells with HTTP 422."""
    if not isinstance(content, dict):
        return False
    many = content.get("errors")
    errors = [content.get("error"), *(many if isinstance(many, list) else ())]
    return any(text_at(error, "code") in _BAD_KEY for error in errors)


def _numbers(headers: Mapping[str, str], name: str) -> list[int]:
    parts = [part.strip() for part in headers.get(name, "").split(",")]
    return [int(part) for part in parts] if all(re.fullmatch(r"[0-9]{1,9}", part) for part in parts) else []


ENGINE = ApiEngine(
    name="brave",
    title="Brave Search",
    address="https://api.search.brave.com/res/v1/web/search",
    key_variables=("BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"),
    build=build,
    read=read,
    longest_query=400,
    most_words=50,
    wait_s=wait_s,
    is_denied=is_denied,
)
