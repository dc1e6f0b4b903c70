"""Tavily.

Does not know how requests are sent.
"""

from __future__ import annotations

from toolhaft.schema.json_value import JSONValue
from toolhaft.toolbox.answers import rows, text_at
from toolhaft.toolbox.asking import Question
from toolhaft.toolbox.searching.engine import ApiEngine, Hit, Search


def build(search: Search) -> Question:
    """The request for a search of the cheaper kind."""
    return Question(
        url=search.address,
        headers={"Authorization": f"Bearer {search.key}"},
        body={"query": search.query, "max_results": search.count, "search_depth": "basic"},
    )


def read(answer: JSONValue) -> list[Hit]:
    """The hits of an answer.

    Raises:
        AnswerError: where it is not Tavily's.
    """
    found = rows(answer, "results", always=())
    return [Hit(text_at(row, "title"), text_at(row, "content"), text_at(row, "url")) for row in found]


ENGINE = ApiEngine(
    name="tavily",
    title="Tavily",
    address="https://api.tavily.com/search",
    key_variables=("TAVILY_API_KEY",),
    build=build,
    read=read,
    longest_query=400,
)
