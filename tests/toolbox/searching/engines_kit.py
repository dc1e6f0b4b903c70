"""The documented request and response of each provider, with made-up contents."""

import warnings
from dataclasses import dataclass, field

from toolhaft.toolbox import SearchConfig, web_search

KEY = "k3y-of-the-tests+/="
FOUND = [
    {"title": "The metre", "snippet": "A length & its history.", "url": "https://measures.example/metre"},
    {"title": "The second", "snippet": "", "url": "http://measures.example/second?a=1&b=2"},
]


@dataclass(frozen=True, kw_only=True)
class Case:
    engine: str
    answer: dict
    nothing: dict
    error: dict
    """What it answers where it refuses, with {} where the reason stands."""
    query: dict = field(default_factory=dict)
    headers: dict = field(default_factory=dict)
    body: dict | None = None
    method: str = "GET"
    engine_id: str | None = None
    variables: tuple = ()
    longest: int = 2_000

    def config(self, address, **changes):
        given = {"api_key": KEY, "engine_id": self.engine_id, "endpoint": f"{address}/find", **changes}
        return SearchConfig(engine=self.engine, **given)

    def tool(self, address, **changes):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            return web_search(self.config(address, **changes))


SERPAPI = Case(
    engine="serpapi",
    answer={
        "search_metadata": {"id": "5f1", "status": "Success"},
        "search_parameters": {"engine": "google", "q": "length"},
        "organic_results": [
            {
                "position": 1,
                "title": "The metre",
                "link": "https://measures.example/metre",
                "snippet": "A length & its history.",
            },
            {"position": 2, "title": "The second", "link": "http://measures.example/second?a=1&b=2"},
        ],
    },
    nothing={
        "search_metadata": {"id": "5f2", "status": "Success"},
        "search_information": {"organic_results_state": "Fully empty"},
        "error": "Nothing came back for this query.",
    },
    error={"error": "{}"},
    query={"engine": "google", "q": "length & time", "api_key": KEY},
    variables=("SERPAPI_API_KEY", "SERPAPI_KEY"),
)
GOOGLE = Case(
    engine="google",
    answer={
        "kind": "customsearch#search",
        "searchInformation": {"totalResults": "2"},
        "items": [
            {
                "kind": "customsearch#result",
                "title": "The metre",
                "htmlTitle": "The <b>metre</b>",
                "link": "https://measures.example/metre",
                "snippet": "A length & its history.",
            },
            {"title": "The second", "link": "http://measures.example/second?a=1&b=2"},
        ],
    },
    nothing={"kind": "customsearch#search", "searchInformation": {"totalResults": "0"}},
    error={
        "error": {"code": 400, "message": "{}", "status": "INVALID_ARGUMENT", "errors": [{"message": "x"}]}
    },
    query={"q": "length & time", "num": "3", "cx": "my-own-engine", "key": KEY},
    engine_id="my-own-engine",
    variables=("GOOGLE_API_KEY",),
)
BRAVE = Case(
    engine="brave",
    answer={
        "type": "search",
        "query": {"original": "length", "more_results_available": False},
        "web": {
            "type": "search",
            "results": [
                {
                    "title": "The <strong>metre</strong>",
                    "url": "https://measures.example/metre",
                    "description": "A <strong>length</strong> &amp; its history.",
                },
                {"title": "The second", "url": "http://measures.example/second?a=1&b=2", "description": None},
            ],
        },
    },
    nothing={"type": "search", "query": {"original": "length"}},
    error={
        "type": "ErrorResponse",
        "error": {"status": 422, "code": "VALIDATION", "detail": "{}"},
        "time": 1,
    },
    query={"q": "length & time", "count": "3", "result_filter": "web", "text_decorations": "false"},
    headers={"x-subscription-token": KEY},
    variables=("BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"),
    longest=400,
)
TAVILY = Case(
    engine="tavily",
    answer={
        "query": "length",
        "answer": None,
        "images": [],
        "results": [
            {
                "title": "The metre",
                "url": "https://measures.example/metre",
                "content": "A length & its history.",
                "score": 0.9,
                "raw_content": None,
            },
            {"title": "The second", "url": "http://measures.example/second?a=1&b=2", "score": 0.1},
        ],
        "response_time": 0.7,
    },
    nothing={"query": "length", "results": [], "response_time": 0.1},
    error={"detail": {"error": "{}"}},
    method="POST",
    headers={"authorization": f"Bearer {KEY}", "content-type": "application/json"},
    body={"query": "length & time", "max_results": 3, "search_depth": "basic"},
    variables=("TAVILY_API_KEY",),
    longest=400,
)
CASES = (SERPAPI, GOOGLE, BRAVE, TAVILY)


def error_of(case, reason):
    """The provider's own error answer, with a reason in it."""

    def fill(value):
        if isinstance(value, dict):
            return {name: fill(part) for name, part in value.items()}
        return reason if value == "{}" else value

    return fill(case.error)
