"""The settings of a web search: the engine, its key and the number of results, also from the environment."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Final

from toolhaft.errors import ConfigError, DefinitionError, ToolExecutionError
from toolhaft.schema.nearest import nearest
from toolhaft.schema.type_metadata import Secret
from toolhaft.toolbox.json_service import check_endpoint
from toolhaft.toolbox.searching import ddgs
from toolhaft.toolbox.searching.api_engines import BING, BRAVE, GOOGLE, SERPAPI, TAVILY
from toolhaft.toolbox.searching.engine import ApiEngine, RetiredEngine, SearchEngine

TOOL_NAME: Final = "web_search"
DEFAULT_RESULTS: Final = 5
ENGINE_VARIABLE: Final = "TOOLHAFT_SEARCH_ENGINE"
ENGINES: Final[Mapping[str, SearchEngine]] = MappingProxyType(
    {engine.name: engine for engine in (BRAVE, TAVILY, SERPAPI, GOOGLE, ddgs.ENGINE, BING)}
)
LIVE: Final = tuple(name for name, engine in ENGINES.items() if not isinstance(engine, RetiredEngine))
_PREFERRED: Final = (TAVILY, BRAVE, SERPAPI, GOOGLE)
"""`choose` takes the first of these whose variables are set; an engine without a key must be named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchConfig:
    """Which engine a `web_search` uses, and how.

    Args:
        api_key: never shown; None reads the provider's environment variable when the tool is called.
        engine: 'brave', 'tavily', 'serpapi', 'google' or 'ddgs'; 'bing' is retired, and its tool says so.
        max_results: the default number of results of a call, and the most that a call can request.
        engine_id: the id of your own engine, which 'google' needs; None reads the environment.
        endpoint: replaces the provider's address, for example by your own gateway.
        name: the tool's name, if there is more than one such tool.

    Raises:
        DefinitionError: for an unknown engine, or an invalid number or text.
    """

    api_key: Annotated[str | None, Secret] = field(default=None, repr=False)
    engine: str = "serpapi"
    max_results: int = DEFAULT_RESULTS
    engine_id: str | None = None
    endpoint: str | None = None
    name: str = TOOL_NAME

    def __post_init__(self) -> None:
        engine = find_engine(self.engine)
        number: object = self.max_results
        if type(number) is not int or not 1 <= number <= engine.most_results:
            raise DefinitionError(
                f"{number!r:.80} is not a number of results from 1 to {engine.most_results}",
                place="max_results",
                fix=f"{engine.title} returns at most {engine.most_results} per search",
            )
        if self.api_key is not None and not is_key(self.api_key):
            raise DefinitionError(
                "the key must be ASCII without spaces", place="api_key", fix="copy it again"
            )
        if not isinstance(self.engine_id, str | None):  # pyright: ignore[reportUnnecessaryIsInstance] -- a caller may not check types
            raise DefinitionError("the id is not text", place="engine_id", fix="copy it again")
        if self.endpoint is not None:
            check_endpoint(self.endpoint)


def find_engine(name: str) -> SearchEngine:
    """The engine of a name.

    Raises:
        DefinitionError: if there is none; names the nearest one and all available ones.
    """
    engine = ENGINES.get(name) if isinstance(name, str) else None  # pyright: ignore[reportUnnecessaryIsInstance] -- a caller may not check types
    if engine is None:
        close = nearest(str(name), ENGINES)
        hint = f"did you mean {close!r}? There are" if close else "use one of"
        raise DefinitionError(
            f"no search engine {name!r:.80}", place="engine", fix=f"{hint} {', '.join(LIVE)}"
        )
    return engine


def is_key(key: str) -> bool:
    """True for a valid key, which is sent unchanged in a header or a query."""
    if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- a caller may not check types
        return False
    bare = key.strip()
    return bare.isascii() and bare.isprintable() and " " not in bare


def find_variable(names: Iterable[str]) -> str:
    """The value of the first environment variable that is set; empty if none is."""
    values = (os.environ.get(name, "").strip() for name in names)
    return next(filter(None, values), "")


def key_of(engine: ApiEngine, config: SearchConfig) -> str:
    """The key for an engine.

    Raises:
        ToolExecutionError: if there is none; says how to set it.
    """
    key = (config.api_key or "").strip() or find_variable(engine.key_variables)
    if not key:
        raise _not_configured(
            f"{engine.title} needs a key: set {' or '.join(engine.key_variables)} in the environment, "
            "or give SearchConfig(api_key=...)"
        )
    if not is_key(key):
        raise _not_configured(
            f"the key for {engine.title} must be ASCII without spaces: set {engine.key_variables[0]} again"
        )
    return key


def engine_id_of(engine: ApiEngine, config: SearchConfig) -> str:
    """The id of the user's own engine; empty for an engine without such an id.

    Raises:
        ToolExecutionError: if the engine needs one and there is none; says how to set it.
    """
    engine_id = (config.engine_id or "").strip() or find_variable(engine.id_variables)
    if engine.id_variables and not engine_id:
        raise _not_configured(
            f"{engine.title} needs the id of your own engine: give SearchConfig(engine_id=...), "
            f"or set {' or '.join(engine.id_variables)} in the environment"
        )
    return engine_id


def choose() -> SearchConfig:
    """The engine that the environment names, or the first one whose key it holds.

    Raises:
        ToolExecutionError: if it names an unknown engine, or holds no key at all.
    """
    named = find_variable((ENGINE_VARIABLE,))
    if named:
        try:
            find_engine(named)
        except DefinitionError as error:
            raise ToolExecutionError(f"{ENGINE_VARIABLE}: {error.problem}. Fix: {error.fix}") from error
        return SearchConfig(engine=named)
    for engine in _PREFERRED:
        if find_variable(engine.key_variables) and (
            not engine.id_variables or find_variable(engine.id_variables)
        ):
            return SearchConfig(engine=engine.name)
    wanted = ", ".join(
        " with ".join((engine.key_variables[0], *engine.id_variables[:1])) for engine in _PREFERRED
    )
    raise _not_configured(
        f"no search engine is set up: set one of {wanted} in the environment, or {ENGINE_VARIABLE}=ddgs "
        "(which needs its package but no key, and is not guarded), or use web_search(SearchConfig(...))"
    )


def _not_configured(message: str) -> ToolExecutionError:
    """The error for a missing or invalid setting; its cause is a ConfigError, which programs can test for."""
    error = ToolExecutionError(message)
    error.__cause__ = ConfigError(message)
    return error
