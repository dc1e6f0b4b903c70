"""The tool `web_search`: one question to one engine, one shape of results.

Does not know how an engine is asked or its answer read; each has a file for that.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Final, NamedTuple, assert_never, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.effect import Effect
from toolhaft.core.example import ToolExample
from toolhaft.core.result import ToolResult
from toolhaft.core.tool import Tool
from toolhaft.define.config import ToolConfig, create_tool
from toolhaft.errors import DefinitionError, ToolExecutionError, ToolValidationError
from toolhaft.schema.json_value import JSONObject
from toolhaft.toolbox.asking import Service, ask, read_query
from toolhaft.toolbox.outside import from_outside
from toolhaft.toolbox.searching.config import TOOL_NAME, USUAL_RESULTS, SearchConfig
from toolhaft.toolbox.searching.engine import (
    ApiEngine,
    Engine,
    Hit,
    PackageEngine,
    RetiredEngine,
    Search,
)
from toolhaft.toolbox.searching.engines import LIVE, find_engine
from toolhaft.toolbox.searching.environment import choose, engine_id_of, key_of
from toolhaft.toolbox.searching.results import show_hits

TIMEOUT_S: Final = 15.0
_OUTPUT: Final[JSONObject] = {
    "type": "object",
    "properties": {
        "results": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "title": {"type": "string"},
                    "snippet": {"type": "string"},
                    "url": {"type": "string"},
                },
            },
        }
    },
}


def web_search(config: SearchConfig | None = None) -> Tool[dict[str, object], object]:
    """A tool that searches the web; without a config, by the engine that the environment has a key for.

    Raises:
        DefinitionError: where the engine lacks its id or its package.

    Warns:
        FutureWarning: for an engine that is about to close.
    """
    if config is not None:
        if not isinstance(config, SearchConfig):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise DefinitionError(
                f"a search is set up by a SearchConfig, not by {config!r:.80}",
                tool=TOOL_NAME,
                fix="write web_search(SearchConfig(engine='brave'))",
            )
        engine = find_engine(config.engine)
        _check(engine, config)
        if isinstance(engine, ApiEngine) and engine.notice:
            warnings.warn(engine.notice, FutureWarning, stacklevel=2)
    return _make(config)


def _check(engine: Engine, config: SearchConfig) -> None:
    if isinstance(engine, ApiEngine):
        try:
            engine_id_of(engine, config)
        except ToolExecutionError as error:
            raise DefinitionError(str(error), tool=config.name, place="engine_id") from error
    if isinstance(engine, PackageEngine):
        try:
            engine.load()
        except ImportError as error:
            raise DefinitionError(
                f"the engine {engine.name!r} needs a package that is missing",
                tool=config.name,
                place="engine",
                fix=engine.install,
            ) from error


def _make(config: SearchConfig | None) -> Tool[dict[str, object], object]:
    most = USUAL_RESULTS if config is None else config.max_results

    def search(input: dict[str, object], context: ToolContext) -> ToolResult[dict[str, object]]:
        return _search(choose() if config is None else config, input, context)

    return create_tool(
        ToolConfig(
            name=TOOL_NAME if config is None else config.name,
            title="Web search",
            description="Search the web: the title, a snippet and the address of each page found.",
            when_to_use="For facts that may have changed lately, and to find pages worth reading whole.",
            input_schema={
                "type": "object",
                "properties": {
                    "query": {"type": "string"},
                    "num_results": {"type": "integer", "default": most},
                },
                "required": ["query"],
            },
            output_schema=_OUTPUT,
            execute=search,
            effect=Effect.READ,
            timeout_s=TIMEOUT_S,
            tags=("web",),
            examples=(
                ToolExample(
                    description="Find pages about a subject",
                    input={"query": "history of the metric system", "num_results": 1},
                    output={
                        "results": [
                            {
                                "title": "The metre and its makers",
                                "snippet": "How seven years of surveying gave the metre its length.",
                                "url": "https://measures.example/metre",
                            }
                        ]
                    },
                ),
            ),
        )
    )


def _search(
    config: SearchConfig, input: dict[str, object], context: ToolContext
) -> ToolResult[dict[str, object]]:
    engine = find_engine(config.engine)
    if isinstance(engine, RetiredEngine):
        raise ToolExecutionError(
            f"{engine.title} was retired on {engine.retired_on} and answers nobody; "
            f"use one of {', '.join(LIVE)}: SearchConfig(engine=...)"
        )
    query = _read_query(input, engine)
    count, capped = _read_count(input, config)
    found = _find(engine, config, query, count, context)
    shown = show_hits(found.hits, most=count, secrets=found.secrets)
    total = len(shown.results)
    told = f"{total} result{'' if total == 1 else 's'}" if total else "no results: try other words"
    notes = (told, *capped, *shown.notes, *filter(None, (engine.notice,)))
    return from_outside({"results": shown.results}, f"pages that {engine.title} found", *notes)


def _read_query(input: dict[str, object], engine: ApiEngine | PackageEngine) -> str:
    query = read_query(cast("str", input["query"]), of=engine.title, longest=engine.longest_query)
    words = len(query.split())
    if engine.most_words is not None and words > engine.most_words:
        raise ToolValidationError(
            f"query has {words:,} words, {engine.title} takes {engine.most_words}: shorten it"
        )
    return query


def _read_count(input: dict[str, object], config: SearchConfig) -> tuple[int, Sequence[str]]:
    most = config.max_results
    asked = cast("int", input.get("num_results", most))
    if asked < 1:
        raise ToolValidationError("num_results is below 1: ask for at least 1, or leave it out")
    # the number itself may have more digits than Python writes
    return (asked, ()) if asked <= most else (most, (f"more were asked for, {most} is the most here",))


class _Found(NamedTuple):
    hits: Sequence[Hit]
    secrets: tuple[str, ...] = ()


def _find(
    engine: ApiEngine | PackageEngine, config: SearchConfig, query: str, count: int, context: ToolContext
) -> _Found:
    match engine:
        case ApiEngine():
            return _ask(engine, config, query, count, context)
        case PackageEngine():
            left = TIMEOUT_S if context.deadline is None else context.deadline.remaining()
            return _Found(engine.find(query, count, left))
        case _:
            assert_never(engine)


def _ask(engine: ApiEngine, config: SearchConfig, query: str, count: int, context: ToolContext) -> _Found:
    key = key_of(engine, config)
    service = Service(
        name=engine.title,
        secrets=(key,),
        if_denied=f"check SearchConfig(api_key=...) or {' or '.join(engine.key_variables)}",
        notice=engine.notice,
        wait_s=engine.wait_s,
        is_denied=engine.is_denied,
    )
    address = config.endpoint or engine.address
    search = Search(
        query=query, count=count, address=address, key=key, engine_id=engine_id_of(engine, config)
    )
    answer = ask(engine.build(search), service, context)
    return _Found(service.understand(engine.read, answer), service.secrets)


search_from_environment: Final = _make(None)
"""What the catalog lists: its engine is chosen at each call, by the keys in the environment."""
