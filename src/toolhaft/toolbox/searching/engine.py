"""The three kinds of search engines: with an HTTP API, through a Python package, and retired."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from toolhaft.schema.json_value import JSONValue
from toolhaft.toolbox.json_service import ServiceRequest, never, retry_after_s

MAX_RESULTS: Final = 20
"""Per search, for every engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """One search, independent of the engine."""

    query: str
    count: int
    address: str
    key: str = field(repr=False)
    engine_id: str = ""


class SearchHit(NamedTuple):
    """One result of an engine; missing fields are empty."""

    title: str
    snippet: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiEngine:
    """An engine with an HTTP API, which is requested through the guarded client."""

    name: str
    title: str
    address: str
    key_variables: tuple[str, ...]
    build: Callable[[SearchRequest], ServiceRequest]
    read: Callable[[JSONValue], Sequence[SearchHit]]
    id_variables: tuple[str, ...] = ()
    """Environment variables for the id of the user's own engine; empty if the service has no such id."""
    most_results: int = MAX_RESULTS
    longest_query: int = 2_000
    most_words: int | None = None
    notice: str = ""
    wait_s: Callable[[Mapping[str, str]], float | None] = retry_after_s
    is_denied: Callable[[JSONValue], bool] = never


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageEngine:
    """An engine that is used through a package, which brings its own HTTP client."""

    name: str
    title: str
    find: Callable[[str, int, float], Sequence[SearchHit]]
    """Takes the query, the number of results and a timeout in seconds."""
    load: Callable[[], object]
    """Imports the package; raises ImportError if it is missing."""
    install: str
    """The command that installs it."""
    notice: str
    most_results: int = MAX_RESULTS
    longest_query: int = 500
    most_words: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetiredEngine:
    """An engine that was shut down."""

    name: str
    title: str
    retired_on: str
    most_results: int = MAX_RESULTS


SearchEngine: TypeAlias = ApiEngine | PackageEngine | RetiredEngine
