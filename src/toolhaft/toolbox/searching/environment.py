"""What the environment says about searching: keys, and which engine they speak for.

Does not know how a search is run; it is asked anew at every call.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

from toolhaft.errors import DefinitionError, ToolExecutionError
from toolhaft.toolbox.searching import brave, google, serpapi, tavily
from toolhaft.toolbox.searching.config import SearchConfig, is_key
from toolhaft.toolbox.searching.engine import ApiEngine
from toolhaft.toolbox.searching.engines import find_engine

ENGINE_VARIABLE: Final = "TOOLHAFT_SEARCH_ENGINE"
_CHOSEN: Final = (tavily.ENGINE, brave.ENGINE, serpapi.ENGINE, google.ENGINE)
"""By their keys, the first that has all it needs; an engine without a key must be named."""


def find_variable(names: Iterable[str]) -> str:
    """The value of the first of these variables that is set; empty where none is."""
    values = (os.environ.get(name, "").strip() for name in names)
    return next(filter(None, values), "")


def key_of(engine: ApiEngine, config: SearchConfig) -> str:
    """The key for an engine.

    Raises:
        ToolExecutionError: where there is none, saying where to put it.
    """
    key = (config.api_key or "").strip() or find_variable(engine.key_variables)
    if not key:
        raise ToolExecutionError(
            f"{engine.title} needs a key: set {' or '.join(engine.key_variables)} in the environment, "
            "or give SearchConfig(api_key=...)"
        )
    if not is_key(key):
        raise ToolExecutionError(
            f"the key for {engine.title} is no line of plain ASCII: set {engine.key_variables[0]} again"
        )
    return key


def engine_id_of(engine: ApiEngine, config: SearchConfig) -> str:
    """The id of the user's own engine; empty for an engine that has no such thing.

    Raises:
        ToolExecutionError: where one is needed and none is given, saying where to put it.
    """
    engine_id = (config.engine_id or "").strip() or find_variable(engine.id_variables)
    if engine.id_variables and not engine_id:
        raise ToolExecutionError(
            f"{engine.title} needs the id of your own engine: give SearchConfig(engine_id=...), "
            f"or set {' or '.join(engine.id_variables)} in the environment"
        )
    return engine_id


def choose() -> SearchConfig:
    """The engine that the environment names, or the first that it has a key for.

    Raises:
        ToolExecutionError: where it names none that there is, or holds no key at all.
    """
    named = find_variable((ENGINE_VARIABLE,))
    if named:
        try:
            find_engine(named)
        except DefinitionError as error:
            raise ToolExecutionError(f"{ENGINE_VARIABLE}: {error.problem}. Fix: {error.fix}") from error
        return SearchConfig(engine=named)
    for engine in _CHOSEN:
        if find_variable(engine.key_variables) and (
            not engine.id_variables or find_variable(engine.id_variables)
        ):
            return SearchConfig(engine=engine.name)
    wanted = ", ".join(
        " with ".join((engine.key_variables[0], *engine.id_variables[:1])) for engine in _CHOSEN
    )
    raise ToolExecutionError(
        f"no search engine is set up: set one of {wanted} in the environment, or {ENGINE_VARIABLE}=ddgs "
        "(which needs no key but its package, and is not guarded), or use web_search(SearchConfig(...))"
    )
