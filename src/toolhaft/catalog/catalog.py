"""Finds tools by id or text in all sources: project files, built-in and installed tools, the platform."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from types import EllipsisType

from toolhaft.catalog.installed import GROUP
from toolhaft.catalog.listing import Listing
from toolhaft.catalog.platform import Platform, platform_of
from toolhaft.catalog.project import Project
from toolhaft.catalog.sources import CatalogSources, read_found
from toolhaft.errors import ToolhaftError

TYPE_CHECKING = False  # finding tools must not load the executor
if TYPE_CHECKING:
    from toolhaft.core.conversion import AnyTool

__all__ = ["GROUP", "Catalog"]


class Catalog:
    """All available tools by id, for `ToolExecutor(["calculator"], catalog=Catalog())`.

    The sources, in this order: the project's `local-kit/tools`, the built-in tools, tools of installed
    distributions (sorted by distribution name), the platform. If two sources have one id, the first wins;
    `shadowed` and each listing's `shadows` name the others. A source is read when it is first needed, the
    platform last, and kept until `refresh()`. A catalog is safe to share between threads.

    Args:
        found: tools and entry points, in nested lists, to use instead of everything found automatically.
        project: a project, or a folder in it; by default the project of the current folder; None for none.
        platform: the last source; by default the project's platform; None for none.

    Raises:
        DefinitionError: if a member of `found` is not a tool.
        ConfigError: if the project's settings are invalid.
    """

    __slots__ = ("_found", "_platform", "_sources", "project")

    project: Project | None
    """The project whose files come first."""

    def __init__(
        self,
        found: object = None,
        *,
        project: Project | str | os.PathLike[str] | EllipsisType | None = ...,
        platform: Platform | EllipsisType | None = ...,
    ) -> None:
        self._found = None if found is None else read_found(found)
        if isinstance(project, EllipsisType):
            project = Project.find() if self._found is None else None
        elif isinstance(project, str | os.PathLike):
            project = Project.find(project)
        self.project = project
        self._platform = platform
        self.refresh()

    @property
    def platform(self) -> Platform | None:
        """The platform, which is the last source.

        Raises:
            ConfigError: if its settings are invalid.
        """
        return self._sources.platform

    @property
    def shadowed(self) -> tuple[str, ...]:
        """The tools that lost their id to an earlier source, as 'id (place)'."""
        return self._sources.shadowed

    @property
    def problems(self) -> tuple[ToolhaftError, ...]:
        """Why some tools are missing: invalid files, entry points that fail to load, a failing platform."""
        return self._sources.problems

    def get_tool(self, id: str) -> AnyTool:
        """The tool with that id, ready to be called; loaded on first use.

        Raises:
            UnknownToolError: (a KeyError) names the nearest id.
            DefinitionError: if its file or its distribution's module does not define that tool.
            PlatformError, ForbiddenError, StorageError: if only the platform may have it and it fails.
        """
        return self._sources.load(id)

    def offered_tools(self) -> list[AnyTool]:
        """Every tool, loaded, for `export_tools(catalog, ...)`; raises as `get_tool` does."""
        return [self.get_tool(id) for id in self]

    def listing(self, id: str) -> Listing:
        """The listing of a tool, without loading it.

        Raises:
            UnknownToolError: (a KeyError) names the nearest id.
        """
        listing = self._sources.listings.get(id) if isinstance(id, str) else None  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        if listing is None:
            raise self._sources.unknown(id)
        return listing

    def entries(
        self,
        *,
        tag: str | None = None,
        owner: str | None = None,
        share: str | None = None,
        text: str | None = None,
    ) -> list[Listing]:
        """Every tool that matches all filters, sorted by id; with a text, the best match first."""
        if text is not None:
            return self.search(text, limit=len(self), tag=tag, owner=owner, share=share)
        found = self._sources.listings.values()
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
        """The tools that match a text, the best first; a tool whose id is the text comes before all."""
        is_open = tag is None and owner is None and share is None
        fits = None if is_open else partial(Listing.has, tag=tag, owner=owner, share=share)
        return self._sources.index.search(text, limit=limit, fits=fits)

    def refresh(self) -> None:
        """Drop everything that was read, so that new files, distributions and published tools are found."""
        self._sources = CatalogSources(self._found, self.project, self._find_platform)

    def _find_platform(self) -> Platform | None:
        if isinstance(self._platform, EllipsisType):
            self._platform = None if self.project is None else platform_of(self.project)
        return self._platform

    def __contains__(self, id: object) -> bool:
        sources = self._sources
        return isinstance(id, str) and (id in sources.local or id in sources.all)

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._sources.all))

    def __len__(self) -> int:
        return len(self._sources.all)

    def __repr__(self) -> str:
        return f"<Catalog of {len(self)} tools>"
