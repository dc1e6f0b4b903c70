"""Tools that are installed beside the platform, as rows that nobody had to publish.

Knows entry points and what an operator opens of them; does not know what is published, nor who asks.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from toolhaft.catalog.installed import Installed, Offer, load_offer
from toolhaft.catalog.said_in_yaml import offered_text
from toolhaft.catalog.shelf import Published
from toolhaft.core.conversion import AnyTool
from toolhaft.errors import DefinitionError
from toolhaft.serve.settings import BuiltIn

_LOG: Final = logging.getLogger("toolhaft")


@dataclass(frozen=True, kw_only=True)
class Offered(Published):
    """An installed tool as if it was published, by nobody and at no time."""

    @property
    def etag(self) -> str:
        """What HTTP compares: another version of the distribution may say something else."""
        return f'"{sha256(self.text.encode()).hexdigest()[:32]}"'


class Offers:
    """What distributions offer, each tool loaded when it is first asked for.

    Toolhaft's own are as open as the operator says; those of others are for operators, who installed them.
    """

    def __init__(self, *, url: str, built_in: BuiltIn) -> None:
        self._url = url
        self._built_in: BuiltIn = built_in
        self._offers = {offer.id: offer for offer in reversed(Installed().offers)}
        self._tools: dict[str, AnyTool | None] = {}
        self._rows: dict[str, Offered | None] = {}

    @property
    def ids(self) -> frozenset[str]:
        """Of everything that is installed, open or not."""
        return frozenset(self._offers)

    def tool(self, id: str) -> AnyTool | None:
        """The installed tool of an id, open or not; None where there is none, or it cannot be loaded."""
        if id not in self._tools and id in self._offers:
            try:
                self._tools[id] = load_offer(self._offers[id])
            except DefinitionError as error:
                _LOG.warning("an installed tool is left out: %s", error)
                self._tools[id] = None
        return self._tools.get(id)

    def row(self, id: str) -> Offered | None:
        """The row of an id, the same one each time; None where the platform has none."""
        if id not in self._rows and id in self._offers:
            self._rows.setdefault(id, self._make(self._offers[id]))
        return self._rows.get(id)

    def rows(self) -> list[Offered]:
        """All of them, by id."""
        return [row for id in sorted(self._offers) if (row := self.row(id)) is not None]

    def _make(self, offer: Offer) -> Offered | None:
        is_own = offer.store == "built-in"
        if is_own and self._built_in == "none":
            return None
        tool = self.tool(offer.id)
        if tool is None:
            return None
        share = "public" if is_own and self._built_in == "public" else "private"
        try:
            text = offered_text(tool, endpoint=f"{self._url}/v3/tool/{offer.id}", share=share)
        except DefinitionError as error:
            _LOG.warning("an installed tool is left out: %s", error)
            return None
        return Offered(
            id=offer.id,
            owner="",
            org="",
            share=share,
            text=text,
            upstream=None,
            created_at="",
            updated_at="",
            revision=0,
        )
