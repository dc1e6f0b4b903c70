"""Google's Custom Search JSON API, which ends on 2027-01-01.

Does not know how requests are sent.
"""

from __future__ import annotations

from toolhaft.schema.json_value import JSONValue
from toolhaft.toolbox.answers import rows, text_at
from toolhaft.toolbox.asking import Question
from toolhaft.toolbox.searching.engine import ApiEngine, Hit, Search


def build(search: Search) -> Question:
    """The request for a search in the user's own engine."""
    query = {"q": search.query, "num": str(search.count), "cx": search.engine_id, "key": search.key}
    return Question(url=search.address, query=query)


def read(answer: JSONValue) -> list[Hit]:
    """The hits of an answer; one without any has no `items` at all.

    Raises:
        AnswerError: where it is not Google's.
    """
    found = rows(answer, "items", always=("kind", "queries", "searchInformation"))
    return [Hit(text_at(row, "title"), text_at(row, "snippet"), text_at(row, "link")) for row in found]


ENGINE = ApiEngine(
    name="google",
    title="Google Custom Search",
    address="https://customsearch.googleapis.com/customsearch/v1",
    key_variables=("GOOGLE_API_KEY",),
    id_variables=("GOOGLE_CSE_ID",),
    build=build,
    read=read,
    most_results=10,
    notice=(
        "Google's Custom Search JSON API is closed to new customers and ends for all on 2027-01-01: "
        "move to 'brave', 'tavily' or 'serpapi'"
    ),
)
