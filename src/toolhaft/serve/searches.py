"""Searches among the tools of the platform, for lists and for tools that look for other tools.

Knows what is seen by whom; how listings are ranked is known elsewhere.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Collection
from threading import Lock
from typing import Final, NamedTuple

from toolhaft.catalog.listing import Listing, listing_of
from toolhaft.catalog.search import Index
from toolhaft.catalog.shelf import Published, Shelf
from toolhaft.catalog.viewer import Viewer
from toolhaft.core.conversion import AnyTool
from toolhaft.core.principal import Principal
from toolhaft.errors import DefinitionError, StorageError, ToolAuthorizationError, ToolExecutionError
from toolhaft.serve.callers import READ
from toolhaft.serve.stock import Stock

_LOG: Final = logging.getLogger("toolhaft")
_MOST_INDEXES: Final = 16
_MOST_LISTINGS: Final = 10_000
_LOOKED_AT: Final = 50
"""How many hits are looked at for one search: some may not run here, or not for this caller."""


class Seen(NamedTuple):
    """What a viewer could search at a revision."""

    revision: int
    rows: frozenset[tuple[str, int]]
    words: Index


class Searches:
    """An index of what each viewer sees, made again when something changed.

    What others keep to themselves is in none of them: how words are weighed, and which are found by their
    beginning, would tell of it. Viewers who see the same share one.
    """

    def __init__(self, shelf: Shelf, stock: Stock) -> None:
        self._shelf = shelf
        self._stock = stock
        self._seen: OrderedDict[tuple[str, str, bool], Seen] = OrderedDict()
        self._listings: OrderedDict[tuple[str, int], Listing | None] = OrderedDict()
        self._lock = Lock()

    def best(self, text: str, viewer: Viewer, ids: Collection[str], limit: int) -> list[str]:
        """The ids, of those given, whose tools fit a text best among what a viewer sees.

        Raises:
            StorageError: where the database cannot be read.
        """
        found = self._index(viewer).search(text, limit=limit, fits=lambda listing: listing.id in ids)
        return [listing.id for listing in found]

    def _index(self, viewer: Viewer) -> Index:
        key = (viewer.owner, viewer.org, viewer.is_operator)
        revision = self._shelf.revision()
        known = self._seen.get(key)
        if known is not None and known.revision == revision:
            return known.words
        with self._lock:  # one is made at a time: it is slow, and others may take the same
            published = self._stock.listed(viewer)
            rows = frozenset((one.id, one.revision) for one in published)
            same = next((seen.words for seen in self._seen.values() if seen.rows == rows), None)
            index = same or Index([found for one in published if (found := self._listing(one))])
            self._seen[key] = Seen(revision, rows, index)
            self._seen.move_to_end(key)
            if len(self._seen) > _MOST_INDEXES:
                self._seen.popitem(last=False)
        return index

    def _listing(self, published: Published) -> Listing | None:
        """What is searched of a tool; None where this version cannot read it."""
        key = (published.id, published.revision)
        if key not in self._listings:
            try:
                found = listing_of(published.tool, store="platform", owner=published.owner)
            except DefinitionError:
                found = None
            self._listings[key] = found
            if len(self._listings) > _MOST_LISTINGS:
                self._listings.popitem(last=False)
        return self._listings.get(key)

    def finder_for(self, viewer: Viewer) -> ViewersFinder:
        """What finds tools for one who calls."""
        return ViewersFinder(self, self._stock, viewer)


class ViewersFinder:
    """Finds the tools that one caller may see and run, for a tool that searches on their behalf."""

    __slots__ = ("_searches", "_stock", "_viewer")

    def __init__(self, searches: Searches, stock: Stock, viewer: Viewer) -> None:
        self._searches = searches
        self._stock = stock
        self._viewer = viewer

    def find_tools(self, text: str, *, limit: int, principal: Principal | None) -> tuple[AnyTool, ...]:  # noqa: ARG002 -- the shape of a finder; its viewer is that principal
        """The tools that fit a text best.

        Raises:
            ToolAuthorizationError: where the key may run tools but not read what there is.
            ToolExecutionError: where the database cannot be read.
        """
        if not self._viewer.is_operator and READ not in self._viewer.scopes:
            raise ToolAuthorizationError(f"this key does not have the scope {READ}, so it may not search")
        try:
            return self._find(text, limit)
        except StorageError as error:  # whose message names files and hosts
            _LOG.error("storage: %s", error)
            raise ToolExecutionError("the platform cannot search now; try again later") from None

    def _find(self, text: str, limit: int) -> tuple[AnyTool, ...]:
        seen = {row.id: row for row in self._stock.listed(self._viewer)}
        found: list[AnyTool] = []
        for id in self._searches.best(text, self._viewer, seen, max(limit, _LOOKED_AT)):
            tool = self._runnable(seen[id])
            if tool is not None:
                found.append(tool)
            if len(found) == limit:
                break
        return tuple(found)

    def _runnable(self, row: Published) -> AnyTool | None:
        """The tool, where a call of it would be let through."""
        try:
            tool = self._stock.tool_of(row)
            is_let = self._stock.lets_run(row)
        except DefinitionError:  # of another version
            return None
        has_scopes = self._viewer.is_operator or self._viewer.scopes.issuperset(tool.requires)
        return tool if is_let and has_scopes and tool.handler is not None else None
