"""Searches the platform's tools: for `GET /v3/tools?q=`, and for tools that search for other tools."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from itertools import chain
from threading import Lock
from typing import Final, cast

from toolhaft.catalog.listing import Listing, Share, listing_of_fields
from toolhaft.catalog.published import PlatformUser, PublishedTool
from toolhaft.catalog.published_store import PublishedStore
from toolhaft.catalog.search import Group, IndexedWords, SearchView
from toolhaft.core.conversion import AnyTool
from toolhaft.core.principal import Principal
from toolhaft.errors import DefinitionError, StorageError, ToolAuthorizationError, ToolExecutionError
from toolhaft.serve.callers import READ
from toolhaft.serve.limits import BoundedCache
from toolhaft.serve.tool_cache import OPERATOR, ToolCache

_LOG: Final = logging.getLogger("toolhaft")
_MAX_VIEWS: Final = 256
_ROWS_PER_PAUSE: Final = 20
_MIN_CANDIDATES: Final = 50
"""At least this many hits are checked: some may not run here, or not for this caller."""
_PUBLIC: Final[Group] = ("", "", "public")


class SearchIndexes:
    """Searches the platform's tools; one index has the words of all, and is updated when some change.

    A search counts only what its viewer may see: ranking and prefix matches would otherwise leak what others
    keep private.
    """

    def __init__(self, store: PublishedStore, tool_cache: ToolCache) -> None:
        self._store = store
        self.tool_cache = tool_cache
        self._words = IndexedWords()
        self._revision = -1
        self._views: BoundedCache[frozenset[Group], SearchView] = BoundedCache(_MAX_VIEWS)
        self._lock = Lock()

    def best_page(
        self,
        text: str,
        viewer: PlatformUser,
        limit: int,
        *,
        offset: int = 0,
        tag: str | None = None,
        owner: str | None = None,
        share: str | None = None,
    ) -> tuple[list[str], int]:
        """The ids of the tools that match a text best, and how many match in all.

        Only those count that the viewer sees and that fit the filters.

        Raises:
            StorageError: if the database cannot be read.
        """

        def fits(listing: Listing) -> bool:
            return (
                (tag is None or tag in listing.tags)
                and owner in (None, listing.owner)
                and share in (None, listing.share)
            )

        is_open = tag is None and owner is None and share is None
        with self._lock:
            found, total = self._view(viewer).search_page(
                text, limit=limit, offset=offset, fits=None if is_open else fits
            )
        return [listing.id for listing in found], total

    def _view(self, viewer: PlatformUser) -> SearchView:
        """What a viewer sees; viewers who see the same tools share it."""
        self._update()
        groups = frozenset(group for group in self._words.totals if viewer.may_see(*group))
        view = self._views.get(groups)
        if view is None:
            view = self._views[groups] = SearchView(self._words, groups)
        self._views.move_to_end(groups)
        return view

    def _update(self) -> None:
        """Index what was published, and drop what was removed, since the last search."""
        revision = self._store.revision()
        if revision == self._revision:
            return
        self._views.clear()
        # a smaller one: the database was restored from a backup
        changed = self._store.changed_since(self._revision if self._revision < revision else -1)
        published = frozenset(self._store.ids(OPERATOR))
        installed = {row.id: row for row in self.tool_cache.installed_rows() if row.id not in published}
        for id in [id for id in self._words.entries if id not in published and id not in installed]:
            self._words.remove(id)
        for number, row in enumerate(chain(changed, installed.values())):
            if row.id in published or row.id in installed:
                self._index(row)
            if number % _ROWS_PER_PAUSE == 0:
                time.sleep(0)  # lets the thread of the event loop run: requests must not wait for this
        self._revision = revision

    def _index(self, row: PublishedTool) -> None:
        listing = listing_of_fields(row.unchecked_fields())
        # the columns decide who sees it, and under which id it is found
        listing = replace(listing, id=row.id, owner=row.owner, share=cast("Share", row.share))
        self._words.add(
            row.id, listing, _PUBLIC if row.share == "public" else (row.owner, row.org, row.share)
        )


class ViewerToolFinder:
    """Finds the tools that one caller may see and run, for `search_tools`."""

    __slots__ = ("_searches", "_tool_cache", "_viewer")

    adds_tools = False
    """The caller gets only the result of `search_tools`: no request of its model has the tools in it."""

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
        best, _ = self._searches.best_page(text, self._viewer, max(limit, _MIN_CANDIDATES))
        found: list[AnyTool] = []
        for row in self._tool_cache.find_rows(best, self._viewer):
            tool = self._runnable(row)
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
