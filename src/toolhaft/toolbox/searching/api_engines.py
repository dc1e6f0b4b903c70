"""The search engines with an HTTP API: how each is requested, and how its response is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from toolhaft.schema.json_value import JSONValue
from toolhaft.toolbox.json_service import ServiceRequest, retry_after_s
from toolhaft.toolbox.searching.engine import ApiEngine, RetiredEngine, SearchHit, SearchRequest
from toolhaft.toolbox.untrusted_json import AnswerError, html_at, objects_at, text_at

_BRAVE_ERROR: Final = "ErrorResponse"
_BRAVE_BAD_KEY: Final = ("SUBSCRIPTION_TOKEN_INVALID", "SUBSCRIPTION_TOKEN_MISSING")


def _brave_request(search: SearchRequest) -> ServiceRequest:
    query = {
        "q": search.query,
        "count": str(search.count),
        "result_filter": "web",
        "text_decorations": "false",  # no marks around the words that match
    }
    return ServiceRequest(url=search.address, query=query, headers={"X-Subscription-Token": search.key})


def _brave_hits(answer: JSONValue) -> list[SearchHit]:
    if text_at(answer, "type") == _BRAVE_ERROR:
        raise AnswerError("there is no result, but an error")
    found = objects_at(answer, "web", "results", always=("query", "type"))  # no `web` if there are no hits
    return [
        SearchHit(html_at(row, "title"), html_at(row, "description"), text_at(row, "url")) for row in found
    ]


def _brave_wait_s(headers: Mapping[str, str]) -> float | None:
    """How long until the used-up rate windows of the plan reset.

    Brave's headers hold one number per window; a limit of 0 means that the window has none.
    """
    retry_after = retry_after_s(headers)
    if retry_after is not None:
        return retry_after
    resets = _numbers(headers, "x-ratelimit-reset")
    left = _numbers(headers, "x-ratelimit-remaining")
    limits = _numbers(headers, "x-ratelimit-limit") or [1] * len(resets)
    if not resets or len(resets) != len(left) or len(resets) != len(limits):
        return None
    windows = zip(limits, left, resets, strict=True)
    used_up = [reset for limit, rest, reset in windows if limit and not rest]
    return float(max(used_up, default=resets[0]))


def _brave_is_denied(content: JSONValue) -> bool:
    """True if the key was not accepted, which Brave reports with HTTP 422."""
    if not isinstance(content, dict):
        return False
    many = content.get("errors")
    errors = [content.get("error"), *(many if isinstance(many, list) else ())]
    return any(text_at(error, "code") in _BRAVE_BAD_KEY for error in errors)


def _numbers(headers: Mapping[str, str], name: str) -> list[int]:
    parts = [part.strip() for part in headers.get(name, "").split(",")]
    return [int(part) for part in parts] if all(re.fullmatch(r"[0-9]{1,9}", part) for part in parts) else []


BRAVE: Final = ApiEngine(
    name="brave",
    title="Brave Search",
    address="https://api.search.brave.com/res/v1/web/search",
    key_variables=("BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"),
    build=_brave_request,
    read=_brave_hits,
    longest_query=400,
    most_words=50,
    wait_s=_brave_wait_s,
    is_denied=_brave_is_denied,
)


def _tavily_request(search: SearchRequest) -> ServiceRequest:
    return ServiceRequest(
        url=search.address,
        headers={"Authorization": f"Bearer {search.key}"},
        body={"query": search.query, "max_results": search.count, "search_depth": "basic"},
    )


def _tavily_hits(answer: JSONValue) -> list[SearchHit]:
    found = objects_at(answer, "results")
    return [SearchHit(text_at(row, "title"), text_at(row, "content"), text_at(row, "url")) for row in found]


TAVILY: Final = ApiEngine(
    name="tavily",
    title="Tavily",
    address="https://api.tavily.com/search",
    key_variables=("TAVILY_API_KEY",),
    build=_tavily_request,
    read=_tavily_hits,
    longest_query=400,
)


def _serpapi_request(search: SearchRequest) -> ServiceRequest:
    # SerpApi takes the key only in the query, and always returns one page of about ten results
    query = {"engine": "google", "q": search.query, "api_key": search.key}
    return ServiceRequest(url=search.address, query=query)


def _serpapi_hits(answer: JSONValue) -> list[SearchHit]:
    if text_at(answer, "search_metadata", "status") == "Error":
        raise AnswerError(f"the search failed, {text_at(answer, 'error') or 'for no reason given'}")
    found = objects_at(answer, "organic_results", always=("search_metadata", "search_information"))
    return [SearchHit(text_at(row, "title"), text_at(row, "snippet"), text_at(row, "link")) for row in found]


SERPAPI: Final = ApiEngine(
    name="serpapi",
    title="SerpApi",
    address="https://serpapi.com/search.json",
    key_variables=("SERPAPI_API_KEY", "SERPAPI_KEY"),
    build=_serpapi_request,
    read=_serpapi_hits,
    most_results=10,
)


def _google_request(search: SearchRequest) -> ServiceRequest:
    query = {"q": search.query, "num": str(search.count), "cx": search.engine_id, "key": search.key}
    return ServiceRequest(url=search.address, query=query)


def _google_hits(answer: JSONValue) -> list[SearchHit]:
    # no `items` if there are no hits
    found = objects_at(answer, "items", always=("kind", "queries", "searchInformation"))
    return [SearchHit(text_at(row, "title"), text_at(row, "snippet"), text_at(row, "link")) for row in found]


GOOGLE: Final = ApiEngine(
    name="google",
    title="Google Custom Search",
    address="https://customsearch.googleapis.com/customsearch/v1",
    key_variables=("GOOGLE_API_KEY",),
    id_variables=("GOOGLE_CSE_ID",),
    build=_google_request,
    read=_google_hits,
    most_results=10,
    notice=(
        "Google's Custom Search JSON API is closed to new customers and ends for all on 2027-01-01: "
        "move to 'brave', 'tavily' or 'serpapi'"
    ),
)

# Microsoft has shut it down; the name stays, so that old programs get an explanation.
BING: Final = RetiredEngine(name="bing", title="the Bing Search API", retired_on="2025-08-11")
