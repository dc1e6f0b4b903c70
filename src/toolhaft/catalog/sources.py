"""The tools of all sources of a catalog at one moment; of several with one id the first source wins."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from threading import RLock
from typing import Any, Generic, TypeVar, cast

from toolhaft.catalog.folder import FolderContents, load_file, read_folder
from toolhaft.catalog.installed import InstalledTools, ToolEntryPoint, load_entry_point, read_entry_point
from toolhaft.catalog.listing import Listing, SourceName, listing_of
from toolhaft.catalog.platform import Platform
from toolhaft.catalog.project import Project
from toolhaft.define.running.platform_settings import RUN_PATH
from toolhaft.errors import (
    DefinitionError,
    ForbiddenError,
    PlatformError,
    StorageError,
    ToolhaftError,
    UnknownToolError,
)

TYPE_CHECKING = False  # finding tools must not load the executor
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from toolhaft.catalog.search import SearchIndex
    from toolhaft.core.conversion import AnyTool

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One tool of one source."""

    id: str
    store: SourceName
    place: str
    identity: object
    """Two candidates with equal identities are the same tool found twice: neither hides the other."""
    load: Callable[[], AnyTool]
    listing: Listing | None = None
    """None if the tool must be loaded to list it."""
    entry_point: ToolEntryPoint | None = None


class _Once(Generic[ValueT]):
    """A property that is computed when it is first read, by one thread at a time."""

    def __init__(self, compute: Callable[[Any], ValueT]) -> None:
        self._compute = compute
        self._name = compute.__name__

    def __get__(self, sources: CatalogSources, _: type[CatalogSources]) -> ValueT:
        with sources.lock:
            known = vars(sources)
            if self._name not in known:
                known[self._name] = self._compute(sources)
            return known[self._name]


class CatalogSources:
    """Everything that a catalog finds; each source is read when it is first needed.

    Args:
        found: tools and entry points to use instead of the installed ones; None for the installed ones.
        project: its files come first.
        platform: returns the last source; called only for ids that no other source has, and for lists.
    """

    def __init__(
        self,
        found: tuple[AnyTool | ToolEntryPoint, ...] | None,
        project: Project | None,
        platform: Callable[[], Platform | None],
    ) -> None:
        self._found = found
        self._project = project
        self._find_platform = platform
        self.lock = RLock()
        self._loaded: dict[str, AnyTool] = {}
        self._load_errors: list[DefinitionError] = []
        self._platform_errors: list[ToolhaftError] = []

    def load(self, id: object) -> AnyTool:
        """The tool with that id; always the same object.

        Raises:
            UnknownToolError: names the nearest id.
            DefinitionError: if it cannot be loaded.
            PlatformError, ForbiddenError, StorageError: if only the platform may have it and it fails.
        """
        if not isinstance(id, str):
            raise self.unknown(id)
        tool = self._loaded.get(id)
        return self._loaded.setdefault(id, self._load(id)) if tool is None else tool

    def _load(self, id: str) -> AnyTool:
        if id in self.folder.broken:
            raise self.folder.broken[id]
        candidates = self.local.get(id)
        if candidates:
            return candidates[0].load()
        platform = self.platform
        if platform is not None:
            try:
                return platform.runnable(id)
            except UnknownToolError:
                pass
        raise self.unknown(id)

    def unknown(self, id: object) -> UnknownToolError:
        """The error for an id that no source has."""
        from toolhaft.schema.nearest import nearest  # noqa: PLC0415 -- only for errors

        close = nearest(str(id), self.all)
        hint = f"; did you mean {close!r}?" if close else ""
        return UnknownToolError(f"no tool {id!r:.140} is installed{hint}")

    @property
    def problems(self) -> tuple[ToolhaftError, ...]:
        """The errors of files, tools and the platform that did not stop the other sources."""
        _ = self.listings
        return (*self.folder.problems, *self._load_errors, *self._platform_errors)

    @property
    def shadowed(self) -> tuple[str, ...]:
        """The tools that another tool with the same id hides, as 'id (place)'."""
        found = self.all
        return tuple(f"{one.id} ({one.place})" for id in found for one in _hidden(found[id]))

    @_Once
    def folder(self) -> FolderContents:
        """The project's own files."""
        return FolderContents() if self._project is None else read_folder(self._project)

    @_Once
    def platform(self) -> Platform | None:
        """The platform, if there is one."""
        return self._find_platform()

    @_Once
    def _installed(self) -> InstalledTools:
        return InstalledTools()

    @_Once
    def local(self) -> dict[str, list[Candidate]]:
        """The candidates of all sources but the platform, by id, the winner first."""
        if self._found is None:
            entries: Iterable[ToolEntryPoint] = self._installed.entry_points
        else:
            given = (one for one in self._found if isinstance(one, ToolEntryPoint))
            entries = sorted(given, key=lambda entry: entry.rank)
        found: dict[str, list[Candidate]] = {}
        for one in (
            *(self._from_file(listing) for listing in self.folder.listings),
            *(_from_tool(tool) for tool in self._found or () if not isinstance(tool, ToolEntryPoint)),
            *(_from_entry_point(entry) for entry in entries),
        ):
            found.setdefault(one.id, []).append(one)
        return dict(sorted(found.items()))

    @_Once
    def all(self) -> dict[str, list[Candidate]]:
        """The candidates of all sources, by id, the winner first; a platform that fails is left out."""
        found = {id: [*candidates] for id, candidates in self.local.items()}
        for listing in self._published():
            candidates = found.setdefault(listing.id, [])
            candidates.append(_with_installed_identity(self._from_platform(listing), candidates))
        return dict(sorted(found.items()))

    def _published(self) -> list[Listing]:
        try:
            platform = self.platform
            return [] if platform is None else platform.listings()
        except (PlatformError, ForbiddenError, StorageError) as error:  # the other sources still work
            self._platform_errors.append(error)
            return []

    @_Once
    def listings(self) -> dict[str, Listing]:
        """The listing of each id's winner, sorted by id."""
        found = self.all
        winners = [candidates[0] for candidates in found.values()]
        installed = self._installed_listings(
            [one.entry_point for one in winners if one.entry_point is not None]
        )
        listings: dict[str, Listing] = {}
        for one in winners:
            listing = self._activation(one.listing or installed[one.id])
            hidden = tuple(f"{other.store} ({other.place})" for other in _hidden(found[one.id]))
            listings[one.id] = listing.shadowing(hidden)
        return listings

    def _activation(self, listing: Listing) -> Listing:
        """The listing of a file, not active if nothing runs it at its endpoint on the embedded platform."""
        platform = self.platform if listing.forwards_to and listing.is_active else None
        if platform is None or not platform.is_embedded:
            return listing
        others = [one for one in self.all.get(listing.forwards_to, ()) if one.store != "project"]
        published = next((one.listing for one in others if one.store == "platform"), None)
        is_run = bool(others) if published is None else published.is_active
        return listing if is_run else replace(listing, is_active=False)

    def _installed_listings(self, entries: list[ToolEntryPoint]) -> dict[str, Listing]:
        if not entries:
            return {}
        listings, self._load_errors = self._installed.listings(entries)
        return {listing.id: listing for listing in listings}

    @_Once
    def index(self) -> SearchIndex:
        """The search index of all listings."""
        from toolhaft.catalog.search import SearchIndex  # noqa: PLC0415 -- a list does not search

        return SearchIndex(self.listings.values())

    def _from_file(self, listing: Listing) -> Candidate:
        return Candidate(
            id=listing.id,
            store="project",
            place=listing.place,
            identity=("published", listing.updated_at, listing.digest) if listing.updated_at else object(),
            load=partial(self._load_file, listing),
            listing=listing,
        )

    def _from_platform(self, listing: Listing) -> Candidate:
        return Candidate(
            id=listing.id,
            store="platform",
            place=listing.place,
            identity=("published", listing.updated_at, listing.digest),
            load=partial(cast("Platform", self.platform).runnable, listing.id),
            listing=listing,
        )

    def _load_file(self, listing: Listing) -> AnyTool:
        project = cast("Project", self._project)
        tool = load_file(project, listing.place)
        if tool.name != listing.id:
            raise DefinitionError(
                f"the file now defines {tool.name!r}",
                tool=listing.id,
                place=listing.place,
                fix="list the files again with catalog.refresh()",
            )
        if tool.run is not None or RUN_PATH not in (tool.endpoint or ""):
            return tool
        from toolhaft.catalog.runnable import run_in_process  # noqa: PLC0415 -- it loads the executor

        return run_in_process(tool, self.platform)


def read_found(found: object) -> tuple[AnyTool | ToolEntryPoint, ...]:
    """The tools and entry points in nested lists.

    Raises:
        DefinitionError: if a member is neither.
    """
    from toolhaft.core.conversion import flatten, to_tool  # noqa: PLC0415 -- few catalogs need it

    metadata = sys.modules.get("importlib.metadata")  # already loaded if `found` has any entry point
    kind: type = type(None) if metadata is None else metadata.EntryPoint
    # an entry point is a named tuple, which `flatten` would take apart
    listed = isinstance(found, list | tuple | set | frozenset | Iterator)
    members: list[AnyTool | ToolEntryPoint] = []
    things = cast("Iterable[object]", found if listed and not isinstance(found, kind) else (found,))
    for thing in things:
        if isinstance(thing, kind):
            members.append(read_entry_point(cast("EntryPoint", thing)))
        elif isinstance(thing, list | tuple | set | frozenset):
            members += read_found(cast("object", thing))
        else:
            members += [to_tool(one) for one in flatten(thing)]
    return tuple(members)


def _from_tool(tool: AnyTool) -> Candidate:
    return Candidate(
        id=tool.name,
        store="given",
        place=tool.source,
        identity=tool,
        load=lambda: tool,
        listing=listing_of(tool, store="given", place=tool.source),
    )


def _from_entry_point(entry: ToolEntryPoint) -> Candidate:
    return Candidate(
        id=entry.id,
        store=entry.store,
        place=entry.owner,
        identity=entry.value,
        load=partial(load_entry_point, entry),
        entry_point=entry,
    )


def _with_installed_identity(published: Candidate, candidates: list[Candidate]) -> Candidate:
    """A platform's own installed tool, which nobody published, counts as the one installed here."""
    listing = published.listing
    installed = next((one for one in candidates if one.entry_point is not None), None)
    if installed is None or listing is None or listing.updated_at or listing.owner:
        return published
    return replace(published, identity=installed.identity)


def _hidden(candidates: list[Candidate]) -> list[Candidate]:
    kept = candidates[:1]
    for one in candidates[1:]:
        if all(one.identity != other.identity for other in kept):
            kept.append(one)
    return kept[1:]
