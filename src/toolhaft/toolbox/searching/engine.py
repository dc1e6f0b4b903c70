"""What a search engine is: how it is asked, how its answer is read, and what it asks of its user.

Knows no engine by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from toolhaft.schema.json_value import JSONValue
from toolhaft.toolbox.asking import Question, never, retry_after

MOST_RESULTS: Final = 20
"""Of one search, whatever the engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One search, in no engine's own words."""

    query: str
    count: int
    address: str
    key: str = field(repr=False)
    engine_id: str = ""


class Hit(NamedTuple):
    """One result as an engine gave it; what it left out is empty."""

    title: str
    snippet: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiEngine:
    """An engine that answers over HTTP, through the guarded client."""

    name: str
    title: str
    address: str
    key_variables: tuple[str, ...]
    build: Callable[[Search], Question]
    read: Callable[[JSONValue], Sequence[Hit]]
    id_variables: tuple[str, ...] = ()
    """Where the id of the user's own engine is looked for; empty where there is no such thing."""
    most_results: int = MOST_RESULTS
    longest_query: int = 2_000
    most_words: int | None = None
    notice: str = ""
    wait_s: Callable[[Mapping[str, str]], float | None] = retry_after
    is_denied: Callable[[JSONValue], bool] = never


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageEngine:
    """An engine that is reached by a package with a client of its own."""

    name: str
    title: str
    find: Callable[[str, int, float], Sequence[Hit]]
    """The hits for a query, at most so many, in so many seconds."""
    load: Callable[[], object]
    """Raises ImportError where the package is missing."""
    install: str
    """The command that brings it."""
    notice: str
    most_results: int = MOST_RESULTS
    longest_query: int = 500
    most_words: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetiredEngine:
    """An engine that answers nobody any more."""

    name: str
    title: str
    retired_on: str
    most_results: int = MOST_RESULTS


Engine: TypeAlias = ApiEngine | PackageEngine | RetiredEngine
