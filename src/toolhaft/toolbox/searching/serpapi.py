"""SerpApi, which reads Google's result pages.

Does not know how requests are sent; a page of Google holds about ten results, and how many is not asked for.
"""

from __future__ import annotations

from toolhaft.schema.json_value import JSONValue
from toolhaft.toolbox.answers import AnswerError, rows, text_at
from toolhaft.toolbox.asking import Question
from toolhaft.toolbox.searching.engine import ApiEngine, Hit, Search


def build(search: Search) -> Question:
    """The request for a search; the key has no other place than the query."""
    query = {"engine": "google", "q": search.query, "api_key": search.key}
    return Question(url=search.address, query=query)


def read(answer: JSONValue) -> list[Hit]:
    """The hits of an answer.

    Raises:
        AnswerError: where it is not SerpApi's, or tells of a search that failed.
    """
    if isinstance(answer, dict):
        state = answer.get("search_metadata")
        if isinstance(state, dict) and state.get("status") == "Error":
            raise AnswerError(f"the search failed, {text_at(answer, 'error') or 'for no reason given'}")
    found = rows(answer, "organic_results", always=("search_metadata", "search_information"))
    return [Hit(text_at(row, "title"), text_at(row, "snippet"), text_at(row, "link")) for row in found]


ENGINE = ApiEngine(
    name="serpapi",
    title="SerpApi",
    address="https://serpapi.com/search.json",
    key_variables=("SERPAPI_API_KEY", "SERPAPI_KEY"),
    build=build,
    read=read,
    most_results=10,
)
