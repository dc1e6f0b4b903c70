"""Lists of tools, and what searches among them find, as JSON.

Knows what the platform has and its words; does not know requests.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from typing import Final

from toolhaft import schema
from toolhaft.catalog.shelf import Published
from toolhaft.catalog.viewer import Viewer
from toolhaft.schema.json_value import JSONObject
from toolhaft.serve.documents import fields_of
from toolhaft.serve.problems import Problem
from toolhaft.serve.searches import Searches
from toolhaft.serve.stock import Stock

_LOG: Final = logging.getLogger("toolhaft")
_MOST_KNOWN: Final = 10_000


class Pages:
    """What lists say; the text of a tool is read again only where it was published again."""

    def __init__(self, stock: Stock, searches: Searches) -> None:
        self._stock = stock
        self._searches = searches
        self._known: OrderedDict[tuple[str, int], JSONObject | None] = OrderedDict()
        self._lock = Lock()

    def read(self, viewer: Viewer, asked: Mapping[str, str], limit: int) -> bytes:
        """A page of tools that the viewer may see, or those that fit `q` best, as JSON.

        Raises:
            StorageError: where the database cannot be read.
        """
        tag, owner, share = asked.get("tag"), asked.get("owner"), asked.get("share")
        text = asked.get("q")
        if text is not None:
            seen = {one.id: one for one in self._stock.listed(viewer, tag=tag, owner=owner, share=share)}
            best = self._searches.best(text, viewer, seen, limit)
            return _written([fields for id in best if (fields := self.fields(seen[id]))], None)
        after = asked.get("after")
        page = self._stock.listed(viewer, tag=tag, owner=owner, share=share, after=after, limit=limit + 1)
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


def _written(tools: list[JSONObject], following: str | None) -> bytes:
    return schema.to_json_text({"tools": tools, "next": following}).encode()
