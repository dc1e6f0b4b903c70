"""Searches the platform's tools: for `GET /v3/tools?q=`, and for tools that search for other tools."""

from __future__ import annotations

import logging
from collections.abc import Collection
from threading import Lock
from typing import Final, NamedTuple

from toolhaft.catalog.listing import Listing, listing_of
from toolhaft.catalog.published import PlatformUser, PublishedTool
from toolhaft.catalog.published_store import PublishedStore
from toolhaft.catalog.search import SearchIndex
from toolhaft.core.conversion import AnyTool
from toolhaft.core.principal import Principal
from toolhaft.errors import DefinitionError, StorageError, ToolAuthorizationError, ToolExecutionError
from toolhaft.serve.callers import READ
from toolhaft.serve.limits import BoundedCache
from toolhaft.serve.tool_cache import ToolCache

_LOG: Final = logging.getLogger("toolhaft")
_MAX_INDEXES: Final = 16
_MAX_LISTINGS: Final = 10_000
_MIN_CANDIDATES: Final = 50
"""At least this many hits are checked: some may not run here, or not for this caller."""


class ViewerIndex(NamedTuple):
    """The index of what a viewer sees at a revision."""

    revision: int
    rows: frozenset[tuple[str, int]]
    words: SearchIndex


class SearchIndexes:
    """One search index per viewer, rebuilt when something changed.

    An index holds only what its viewer may see: ranking and prefix matches would otherwise leak what others
    keep private. Viewers who see the same tools share one index.
    """

    def __init__(self, store: PublishedStore, tool_cache: ToolCache) -> None:
        self._store = store
        self.tool_cache = tool_cache
        self._by_viewer: BoundedCache[tuple[str, str, bool], ViewerIndex] = BoundedCache(_MAX_INDEXES)
        self._listings: BoundedCache[tuple[str, int], Listing | None] = BoundedCache(_MAX_LISTINGS)
        self._lock = Lock()

    def best(self, text: str, viewer: PlatformUser, ids: Collection[str], limit: int) -> list[str]:
        """The ids among `ids` whose tools match a text best, of those that a viewer sees.

        Raises:
            StorageError: if the database cannot be read.
        """
        found = self._index(viewer).search(text, limit=limit, fits=lambda listing: listing.id in ids)
        return [listing.id for listing in found]

    def _index(self, viewer: PlatformUser) -> SearchIndex:
        key = (viewer.owner, viewer.org, viewer.is_operator)
        revision = self._store.revision()
        cached = self._by_viewer.get(key)
        if cached is not None and cached.revision == revision:
            return cached.words
        with self._lock:  # one at a time: building is slow, and other viewers may share the index
            published = self.tool_cache.visible_tools(viewer)
            rows = frozenset((one.id, one.revision) for one in published)
            shared = next((one.words for one in self._by_viewer.values() if one.rows == rows), None)
            index = shared or SearchIndex([found for one in published if (found := self._listing(one))])
            self._by_viewer[key] = ViewerIndex(revision, rows, index)
            self._by_viewer.move_to_end(key)
        return index

    def _listing(self, published: PublishedTool) -> Listing | None:
        """The searchable fields of a tool; None if this version cannot read it."""
        key = (published.id, published.revision)
        if key not in self._listings:
            try:
                found = listing_of(published.tool, store="platform", owner=published.owner)
            except DefinitionError:
                found = None
            self._listings[key] = found
        return self._listings.get(key)


class ViewerToolFinder:
    """Finds the tools that one caller may see and run, for `search_tools`."""

    __slots__ = ("_searches", "_tool_cache", "_viewer")

    def __init__(self, searches: SearchIndexes, viewer: PlatformUser) -> None:
        self._searches = searches
        self._tool_cache = searches.tool_cache
        self._viewer = viewer

    def find_tools(self, text: str, *, limit: int, principal: Principal | None) -> tuple[AnyTool, ...]:  # noqa: ARG002 -- the signature of a finder; the viewer is that principal
        """The tools that match a text best.

        Raises:
            ToolAuthorizationError: if the key may run tools but not read them.
            ToolExecutionError: if the database cannot be read.
        """
        if not self._viewer.is_operator and READ not in self._viewer.scopes:
            raise ToolAuthorizationError(f"this key does not have the scope {READ}, so it may not search")
        try:
            return self._find(text, limit)
        except StorageError as error:  # its message names files and hosts
            _LOG.error("storage: %s", error)
            raise ToolExecutionError("the platform cannot search now; try again later") from None

    def _find(self, text: str, limit: int) -> tuple[AnyTool, ...]:
        by_id = {row.id: row for row in self._tool_cache.visible_tools(self._viewer)}
        found: list[AnyTool] = []
        for id in self._searches.best(text, self._viewer, by_id, max(limit, _MIN_CANDIDATES)):
            tool = self._runnable(by_id[id])
            if tool is not None:
                found.append(tool)
            if len(found) == limit:
                break
        return tuple(found)

    def _runnable(self, row: PublishedTool) -> AnyTool | None:
        """The tool, if the caller may call it."""
        try:
            tool = self._tool_cache.runnable_tool(row, is_called=False)
            is_allowed = self._tool_cache.may_run(row)
        except DefinitionError:  # stored by another version
            return None
        has_scopes = self._viewer.is_operator or self._viewer.scopes.issuperset(tool.requires)
        return tool if is_allowed and has_scopes and tool.handler is not None else None
