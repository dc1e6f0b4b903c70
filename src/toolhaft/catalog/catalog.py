"""Tools by id from every store: the project's files, the built-ins, what is installed, the platform.

Knows how to ask for tools; which store comes first, and how each is read, is known elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from types import EllipsisType

from toolhaft.catalog.installed import GROUP
from toolhaft.catalog.listing import Listing
from toolhaft.catalog.platform import Platform, platform_of
from toolhaft.catalog.project import Project
from toolhaft.catalog.stock import Stock, given_members
from toolhaft.errors import ToolhaftError

TYPE_CHECKING = False  # finding tools must not load what runs them
if TYPE_CHECKING:
    from toolhaft.core.conversion import AnyTool

__all__ = ["GROUP", "Catalog"]


class Catalog:
    """Every tool that can be had, for `ToolExecutor(["calculator"], catalog=Catalog())`; its members are ids.

    The stores in their order: the project's `local-kit/tools`, the built-ins, what installed distributions
    offer (by their names), the platform. Where two have one id the first wins; `shadowed` and each listing's
    `shadows` tell the others. Stores are read when they are first needed, the platform last, and kept until
    `refresh()`. It is made once and used by any number of threads.

    Args:
        found: tools of any door and entry points, nested as they come, that take the place of everything
            that would be found by itself.
        project: whose files come first, or a folder of it; by default the one around the current folder,
            None for none.
        platform: what is asked last; by default the project's, None for none.

    Raises:
        DefinitionError: where a member of `found` is no tool.
        ConfigError: where the project's settings make no sense.
    """

    __slots__ = ("_given", "_platform", "_stock", "project")

    project: Project | None
    """Whose files come first."""

    def __init__(
        self,
        found: object = None,
        *,
        project: Project | str | os.PathLike[str] | EllipsisType | None = ...,
        platform: Platform | EllipsisType | None = ...,
    ) -> None:
        self._given = None if found is None else given_members(found)
        if isinstance(project, EllipsisType):
            project = Project.find() if self._given is None else None
        elif isinstance(project, str | os.PathLike):
            project = Project.find(project)
        self.project = project
        self._platform = platform
        self.refresh()

    @property
    def platform(self) -> Platform | None:
        """The platform that is asked last.

        Raises:
            ConfigError: where its settings make no sense.
        """
        return self._stock.platform

    @property
    def shadowed(self) -> tuple[str, ...]:
        """What lost its id to another, as 'id (place)'."""
        return self._stock.shadowed

    @property
    def problems(self) -> tuple[ToolhaftError, ...]:
        """Why some tools are not listed, or cannot be loaded: bad files, broken plugins, a dead platform."""
        return self._stock.problems

    def get_tool(self, id: str) -> AnyTool:
        """The tool of that id, ready to be called; loaded now if it was not before.

        Raises:
            UnknownToolError: (a KeyError) naming the nearest id there is.
            DefinitionError: where its file or its distribution's module does not make that tool.
            PlatformError, ForbiddenError, StorageError: where only the platform could have it, and it cannot
                be asked.
        """
        return self._stock.load(id)

    def listing(self, id: str) -> Listing:
        """What is said of a tool, without loading it.

        Raises:
            UnknownToolError: (a KeyError) naming the nearest id there is.
        """
        listing = self._stock.listings.get(id) if isinstance(id, str) else None  # pyright: ignore[reportUnnecessaryIsInstance] -- ids come from anywhere
        if listing is None:
            raise self._stock.unknown(id)
        return listing

    def entries(
        self,
        *,
        tag: str | None = None,
        owner: str | None = None,
        share: str | None = None,
        text: str | None = None,
    ) -> list[Listing]:
        """Every tool that has all that is asked for, by id; with a text, the best match first."""
        if text is not None:
            return self.search(text, limit=len(self), tag=tag, owner=owner, share=share)
        found = self._stock.listings.values()
        return [one for one in found if one.has(tag=tag, owner=owner, share=share)]

    def search(
        self,
        text: str,
        *,
        limit: int = 10,
        tag: str | None = None,
        owner: str | None = None,
        share: str | None = None,
    ) -> list[Listing]:
        """The tools that fit a text best, the best first; one whose id is the text comes before all."""
        is_open = tag is None and owner is None and share is None
        fits = None if is_open else partial(Listing.has, tag=tag, owner=owner, share=share)
        return self._stock.index.search(text, limit=limit, fits=fits)

    def refresh(self) -> None:
        """Forget what was read, so that files, distributions and tools published since are found."""
        self._stock = Stock(self._given, self.project, self._find_platform)

    def _find_platform(self) -> Platform | None:
        if isinstance(self._platform, EllipsisType):
            self._platform = None if self.project is None else platform_of(self.project)
        return self._platform

    def __contains__(self, id: object) -> bool:
        stock = self._stock
        return isinstance(id, str) and (id in stock.local or id in stock.everything)

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._stock.everything))

    def __len__(self) -> int:
        return len(self._stock.everything)

    def __repr__(self) -> str:
        return f"<Catalog of {len(self)} tools>"
