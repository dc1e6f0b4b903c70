"""Lists of published tools, and searches among them, as JSON.

Knows the shelf and its words; does not know requests.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Final

from toolhaft import schema
from toolhaft.catalog.listing import Listing, listing_of
from toolhaft.catalog.search import Index
from toolhaft.catalog.shelf import Published, Shelf
from toolhaft.catalog.viewer import Viewer
from toolhaft.errors import DefinitionError
from toolhaft.schema.json_value import JSONObject
from toolhaft.serve.documents import fields_of
from toolhaft.serve.problems import Problem
from toolhaft.serve.stock import OPERATOR

_LOG: Final = logging.getLogger("toolhaft")
_MOST_KNOWN: Final = 10_000


class Pages:
    """What lists say; the text of a tool is read again only where it was published again."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._known: OrderedDict[tuple[str, int], JSONObject | None] = OrderedDict()
        self._lock = Lock()
        self._index: tuple[int, Index] | None = None

    def read(self, viewer: Viewer, asked: Mapping[str, str], limit: int) -> bytes:
        """A page of tools that the viewer may see, or those that fit `q` best, as JSON.

        Raises:
            StorageError: where the database cannot be read.
        """
        tag, owner, share = asked.get("tag"), asked.get("owner"), asked.get("share")
        text = asked.get("q")
        if text is not None:
            seen = {one.id: one for one in self._shelf.list(viewer, tag=tag, owner=owner, share=share)}
            best = self._searched(text, frozenset(seen), limit)
            return _written([fields for one in best if (fields := self.fields(seen[one.id]))], None)
        after = asked.get("after")
        page = self._shelf.list(viewer, tag=tag, owner=owner, share=share, after=after, limit=limit + 1)
        following = page[limit - 1].id if len(page) > limit else None
        return _written([fields for one in page[:limit] if (fields := self.fields(one))], following)

    def fields(self, published: Published) -> JSONObject | None:
        """What a tool says; None where this version cannot read it: the others are listed all the same."""
        key = (published.id, published.revision)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        try:
            fields = fields_of(published)
        except Problem as problem:
            _LOG.warning("%s: %s", problem.detail, problem.problems)
            fields = None
        with self._lock:
            self._known[key] = fields
            if len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
        return fields

    def _searched(self, text: str, ids: frozenset[str], limit: int) -> list[Listing]:
        revision = self._shelf.revision()
        known = self._index
        if known is None or known[0] != revision:
            known = self._index = (revision, Index(_listings(self._shelf.list(OPERATOR))))
        return known[1].search(text, limit=limit, fits=lambda listing: listing.id in ids)


def _listings(published: Iterable[Published]) -> Iterable[Listing]:
    for one in published:
        try:
            yield listing_of(one.tool, store="platform", owner=one.owner)
        except DefinitionError:
            continue


def _written(tools: list[JSONObject], following: str | None) -> bytes:
    return schema.to_json_text({"tools": tools, "next": following}).encode()
