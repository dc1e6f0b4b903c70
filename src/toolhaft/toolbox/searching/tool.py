"""The tool `web_search`: one query to one engine, and results of the same form from every engine."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.effect import Effect
from toolhaft.core.example import ToolExample
from toolhaft.core.masking import mask_secrets
from toolhaft.core.result import ToolResult
from toolhaft.core.tool import Tool
from toolhaft.define.config import ToolConfig, create_tool
from toolhaft.errors import DefinitionError, ToolExecutionError, ToolValidationError
from toolhaft.schema.json_value import JSONObject
from toolhaft.toolbox.json_service import JsonService, checked_query, request_json
from toolhaft.toolbox.searching.config import (
    DEFAULT_RESULTS,
    LIVE,
    TOOL_NAME,
    SearchConfig,
    choose,
    engine_id_of,
    find_engine,
    key_of,
)
from toolhaft.toolbox.searching.engine import (
    ApiEngine,
    PackageEngine,
    RetiredEngine,
    SearchEngine,
    SearchHit,
    SearchRequest,
)
from toolhaft.toolbox.untrusted_json import is_web_address
from toolhaft.toolbox.untrusted_text import counted, show_untrusted, untrusted_result

LONGEST_TITLE: Final = 300
LONGEST_SNIPPET: Final = 1_000
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
    """A tool that searches the web; without a config, the environment decides which engine it uses.

    Raises:
        DefinitionError: if the engine lacks its id or its package.

    Warns:
        FutureWarning: for an engine that is about to close.
    """
    if config is not None:
        if not isinstance(config, SearchConfig):  # pyright: ignore[reportUnnecessaryIsInstance] -- a caller may not check types
            raise DefinitionError(
                f"web_search takes a SearchConfig, not {config!r:.80}",
                tool=TOOL_NAME,
                fix="write web_search(SearchConfig(engine='brave'))",
            )
        engine = find_engine(config.engine)
        _check(engine, config)
        if isinstance(engine, ApiEngine) and engine.notice:
            warnings.warn(engine.notice, FutureWarning, stacklevel=2)
    return _make(config)


def _check(engine: SearchEngine, config: SearchConfig) -> None:
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
    most = DEFAULT_RESULTS if config is None else config.max_results

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
            max_attempts=10,  # three dead links are no reason to stop
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
            f"{engine.title} was retired on {engine.retired_on} and no longer responds; "
            f"use one of {', '.join(LIVE)}: SearchConfig(engine=...)"
        )
    query = _read_query(input, engine)
    count, capped = _read_count(input, config)
    shown = _find(engine, config, query, count, context)
    total = len(shown.results)
    summary = counted(total, "result") if total else "no results: try other words"
    notes = (summary, *capped, *shown.notes, *filter(None, (engine.notice,)))
    return untrusted_result({"results": shown.results}, f"pages that {engine.title} found", *notes)


def _read_query(input: dict[str, object], engine: ApiEngine | PackageEngine) -> str:
    query = checked_query(cast("str", input["query"]), of=engine.title, longest=engine.longest_query)
    words = len(query.split())
    if engine.most_words is not None and words > engine.most_words:
        raise ToolValidationError(
            f"query has {words:,} words, {engine.title} takes {engine.most_words}: shorten it"
        )
    return query


def _read_count(input: dict[str, object], config: SearchConfig) -> tuple[int, Sequence[str]]:
    most = config.max_results
    requested = cast("int", input.get("num_results", most))
    if requested < 1:
        raise ToolValidationError("num_results is below 1: ask for at least 1, or leave it out")
    # the number itself may have more digits than Python writes
    return (
        (requested, ()) if requested <= most else (most, (f"more were requested, but {most} is the maximum",))
    )


def _find(
    engine: ApiEngine | PackageEngine, config: SearchConfig, query: str, count: int, context: ToolContext
) -> ShownHits:
    if isinstance(engine, PackageEngine):
        left = TIMEOUT_S if context.time_limit is None else context.time_limit.remaining()
        return show_hits(engine.find(query, count, left), most=count)
    key = key_of(engine, config)
    service = JsonService(
        name=engine.title,
        secrets=(key,),
        if_denied=f"check SearchConfig(api_key=...) or {' or '.join(engine.key_variables)}",
        notice=engine.notice,
        wait_s=engine.wait_s,
        is_denied=engine.is_denied,
    )
    address = config.endpoint or engine.address
    search = SearchRequest(
        query=query, count=count, address=address, key=key, engine_id=engine_id_of(engine, config)
    )
    answer = request_json(engine.build(search), service, context)
    return show_hits(service.parse(engine.read, answer), most=count, secrets=service.secrets)


class ShownHits(NamedTuple):
    """The results that the tool returns, and what was left out or changed."""

    results: list[dict[str, str]]
    notes: tuple[str, ...]


def show_hits(hits: Iterable[SearchHit], *, most: int, secrets: Sequence[str] = ()) -> ShownHits:
    """The first hits that have an address, shortened and made visible."""
    shown: list[dict[str, str]] = []
    dropped = cut = hidden = 0
    for hit in hits:
        if len(shown) == most:
            break
        if not is_web_address(hit.url):
            dropped += 1
            continue
        title = show_untrusted(mask_secrets(" ".join(hit.title.split()), secrets), longest=LONGEST_TITLE)
        snippet = show_untrusted(mask_secrets(hit.snippet.strip(), secrets), longest=LONGEST_SNIPPET)
        cut += bool(title.cut) + bool(snippet.cut)
        hidden += title.hidden + snippet.hidden
        shown.append({"title": title.text, "snippet": snippet.text, "url": mask_secrets(hit.url, secrets)})
    notes: list[str] = []
    if dropped:
        notes.append(f"left out {counted(dropped, 'result')} without an address that can be opened")
    if cut:
        notes.append(f"cut {counted(cut, 'long text')}")
    if hidden:
        notes.append(f"{counted(hidden, 'invisible character')} written as <U+XXXX>")
    return ShownHits(shown, tuple(notes))


search_from_environment: Final = _make(None)
"""The tool in the catalog: each call chooses the engine by the keys in the environment."""
