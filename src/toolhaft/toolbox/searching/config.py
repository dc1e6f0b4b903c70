"""What a user says about searching: which engine, with which key, for how many results.

Does not know how a search is run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Final

from toolhaft.errors import DefinitionError
from toolhaft.schema.secret import Secret
from toolhaft.toolbox.asking import check_endpoint
from toolhaft.toolbox.searching.engines import find_engine

TOOL_NAME: Final = "web_search"
USUAL_RESULTS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchConfig:
    """Which engine a `web_search` asks, and how.

    Args:
        api_key: shown nowhere; None looks in the environment, when the tool is called, under the provider's
            own name for it.
        engine: 'brave', 'tavily', 'serpapi', 'google' or 'ddgs'; 'bing' makes a tool that says it is retired.
        max_results: what a call gets that asks for no number, and the most that one can ask for.
        engine_id: of your own engine, which 'google' needs; None looks in the environment.
        endpoint: asked instead of the provider's address, such as a gateway of your own.
        name: of the tool, where there is to be more than one.

    Raises:
        DefinitionError: for an engine that there is not, or a number or text that makes no sense.
    """

    api_key: Annotated[str | None, Secret] = field(default=None, repr=False)
    engine: str = "serpapi"
    max_results: int = USUAL_RESULTS
    engine_id: str | None = None
    endpoint: str | None = None
    name: str = TOOL_NAME

    def __post_init__(self) -> None:
        engine = find_engine(self.engine)
        number: object = self.max_results
        if type(number) is not int or not 1 <= number <= engine.most_results:
            raise DefinitionError(
                f"{number!r:.80} is no number of results from 1 to {engine.most_results}",
                place="max_results",
                fix=f"{engine.title} gives at most {engine.most_results} a search",
            )
        if self.api_key is not None and not is_key(self.api_key):
            raise DefinitionError("the key is no line of plain ASCII", place="api_key", fix="copy it again")
        if not isinstance(self.engine_id, str | None):  # pyright: ignore[reportUnnecessaryIsInstance] -- configs come from anywhere
            raise DefinitionError("the id is no text", place="engine_id", fix="copy it again")
        if self.endpoint is not None:
            check_endpoint(self.endpoint)


def is_key(key: str) -> bool:
    """True for what can be a key: it goes into a header or a query as it is."""
    if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- configs come from anywhere
        return False
    bare = key.strip()
    return bare.isascii() and bare.isprintable() and " " not in bare
