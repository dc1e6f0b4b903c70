"""What is in the stores of a catalog at one moment, the first store first.

Knows which store comes before which, and what a tool hides; does not know how tools are ranked or shown.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from threading import RLock
from typing import cast

from toolhaft.catalog.folder import Folder, load_file, read_folder
from toolhaft.catalog.installed import Installed, Offer, load_offer, offer_of
from toolhaft.catalog.listing import Listing, Store, listing_of
from toolhaft.catalog.platform import Platform
from toolhaft.catalog.project import Project
from toolhaft.errors import (
    DefinitionError,
    ForbiddenError,
    PlatformError,
    StorageError,
    ToolhaftError,
    UnknownToolError,
)

TYPE_CHECKING = False  # finding tools must not load what runs them
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from toolhaft.catalog.search import Index
    from toolhaft.core.conversion import AnyTool


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One tool of one store."""

    id: str
    store: Store
    place: str
    sign: object
    """Two with one sign are the same tool found twice: neither hides the other."""
    load: Callable[[], AnyTool]
    listing: Listing | None = None
    """None where it takes loading the tool to know it."""
    offer: Offer | None = None


class Stock:
    """Everything that can be found, read when it is first asked for.

    Args:
        given: tools and offers that take the place of what is installed; None is what is installed.
        project: whose files come first.
        platform: what comes last; asked for only where nothing before it has the id.
    """

    def __init__(
        self,
        given: tuple[AnyTool | Offer, ...] | None,
        project: Project | None,
        platform: Callable[[], Platform | None],
    ) -> None:
        self._given = given
        self._project = project
        self._platform_of = platform
        self._lock = RLock()
        self._loaded: dict[str, AnyTool] = {}
        self._unloadable: list[DefinitionError] = []
        self._platform_problem: list[ToolhaftError] = []

    def load(self, id: object) -> AnyTool:
        """The tool of an id, the same one each time.

        Raises:
            UnknownToolError: naming the nearest id there is.
            DefinitionError: where it cannot be loaded.
            PlatformError, ForbiddenError, StorageError: where only the platform could have it.
        """
        if not isinstance(id, str):
            raise self.unknown(id)
        tool = self._loaded.get(id)
        return self._loaded.setdefault(id, self._load(id)) if tool is None else tool

    def _load(self, id: str) -> AnyTool:
        if id in self.folder.broken:
            raise self.folder.broken[id]
        found = self.local.get(id)
        if found:
            return found[0].load()
        platform = self.platform
        if platform is not None:
            try:
                return platform.runnable(id)
            except UnknownToolError:
                pass
        raise self.unknown(id)

    def unknown(self, id: object) -> UnknownToolError:
        """The error for an id that no store has."""
        from toolhaft.schema.nearest import nearest  # noqa: PLC0415 -- only for mistakes

        close = nearest(str(id), self.everything)
        hint = f"; did you mean {close!r}?" if close else ""
        return UnknownToolError(f"no tool {id!r:.140} is installed{hint}")

    @property
    def folder(self) -> Folder:
        """The project's own files."""
        with self._lock:
            return self._folder

    @property
    def platform(self) -> Platform | None:
        """The platform, where there is one."""
        with self._lock:
            return self._platform

    @property
    def local(self) -> dict[str, list[Candidate]]:
        """What is found without asking a platform, by id, the winner first."""
        with self._lock:
            return self._local

    @property
    def everything(self) -> dict[str, list[Candidate]]:
        """What all stores have, by id, the winner first; without the platform's where it cannot be asked."""
        with self._lock:
            return self._everything

    @property
    def listings(self) -> dict[str, Listing]:
        """Each id's winner as a listing, with what it hides, by id in order."""
        with self._lock:
            return self._listings

    @property
    def index(self) -> Index:
        """What finds listings by text."""
        with self._lock:
            return self._index

    @property
    def problems(self) -> tuple[ToolhaftError, ...]:
        """What could not be read of any store, while the rest could."""
        with self._lock:
            _ = self._listings
            return (*self._folder.problems, *self._unloadable, *self._platform_problem)

    @property
    def shadowed(self) -> tuple[str, ...]:
        """What lost its id to another, as 'id (place)'."""
        found = self.everything
        return tuple(f"{one.id} ({one.place})" for id in found for one in _hidden(found[id]))

    @cached_property
    def _folder(self) -> Folder:
        return Folder() if self._project is None else read_folder(self._project)

    @cached_property
    def _platform(self) -> Platform | None:
        return self._platform_of()

    @cached_property
    def _installed(self) -> Installed:
        return Installed()

    @cached_property
    def _local(self) -> dict[str, list[Candidate]]:
        offers: Iterable[Offer] = self._installed.offers if self._given is None else _offers(self._given)
        found: dict[str, list[Candidate]] = {}
        for one in (
            *(self._from_file(listing) for listing in self._folder.listings),
            *(_from_tool(tool) for tool in self._given or () if not isinstance(tool, Offer)),
            *(_from_offer(offer) for offer in offers),
        ):
            found.setdefault(one.id, []).append(one)
        return dict(sorted(found.items()))

    @cached_property
    def _everything(self) -> dict[str, list[Candidate]]:
        found = {id: [*candidates] for id, candidates in self._local.items()}
        for listing in self._published():
            candidates = found.setdefault(listing.id, [])
            candidates.append(_same_as_offered(self._from_platform(listing), candidates))
        return dict(sorted(found.items()))

    def _published(self) -> list[Listing]:
        try:
            platform = self._platform
            return [] if platform is None else platform.listings()
        except (
            PlatformError,
            ForbiddenError,
            StorageError,
        ) as error:  # the other stores are there all the same
            self._platform_problem.append(error)
            return []

    @cached_property
    def _listings(self) -> dict[str, Listing]:
        found = self._everything
        winners = [candidates[0] for candidates in found.values()]
        offers = [one.offer for one in winners if one.offer is not None]
        known = self._words_of(offers)
        listings: dict[str, Listing] = {}
        for one in winners:
            listing = one.listing or known[one.id]
            hidden = tuple(f"{other.store} ({other.place})" for other in _hidden(found[one.id]))
            listings[one.id] = listing.shadowing(hidden)
        return listings

    def _words_of(self, offers: list[Offer]) -> dict[str, Listing]:
        if not offers:
            return {}
        installed = self._installed if self._given is None else Installed()
        listings, problems = installed.listings(offers)
        self._unloadable = problems
        return {listing.id: listing for listing in listings}

    @cached_property
    def _index(self) -> Index:
        from toolhaft.catalog.search import Index  # noqa: PLC0415 -- a list does not search

        return Index(self._listings.values())

    def _from_file(self, listing: Listing) -> Candidate:
        return Candidate(
            id=listing.id,
            store="project",
            place=listing.place,
            sign=("published", listing.updated_at, listing.digest) if listing.updated_at else object(),
            load=partial(self._load_file, listing),
            listing=listing,
        )

    def _from_platform(self, listing: Listing) -> Candidate:
        return Candidate(
            id=listing.id,
            store="platform",
            place=listing.place,
            sign=("published", listing.updated_at, listing.digest),
            load=partial(cast("Platform", self._platform).runnable, listing.id),
            listing=listing,
        )

    def _load_file(self, listing: Listing) -> AnyTool:
        project = cast("Project", self._project)
        tool = load_file(project, listing.place)
        if tool.name != listing.id:
            raise DefinitionError(
                f"the file has become {tool.name!r} since it was listed",
                tool=listing.id,
                place=listing.place,
                fix="catalog.refresh() lists the files anew",
            )
        platform = self.platform if tool.run is None and tool.endpoint and tool.handler is not None else None
        if platform is None or not platform.is_embedded:
            return tool
        from toolhaft.catalog.runnable import in_process  # noqa: PLC0415 -- whoever only lists does not pay for it

        return in_process(tool, platform)


def given_members(found: object) -> tuple[AnyTool | Offer, ...]:
    """The tools and entry points of nested lists.

    Raises:
        DefinitionError: for what is neither.
    """
    from toolhaft.core.conversion import flatten, to_tool  # noqa: PLC0415 -- whoever only lists does not pay for it

    metadata = sys.modules.get("importlib.metadata")  # whoever has an entry point has loaded that
    kind: type = type(None) if metadata is None else metadata.EntryPoint
    # one by one: an entry point would be taken for a list of its words
    listed = isinstance(found, list | tuple | set | frozenset | Iterator)
    members: list[AnyTool | Offer] = []
    things = cast("Iterable[object]", found if listed and not isinstance(found, kind) else (found,))
    for thing in things:
        if isinstance(thing, kind):
            members.append(offer_of(cast("EntryPoint", thing)))
        elif isinstance(thing, list | tuple | set | frozenset):
            members += given_members(cast("object", thing))
        else:
            members += [to_tool(one) for one in flatten(thing)]
    return tuple(members)


def _offers(given: Iterable[AnyTool | Offer]) -> list[Offer]:
    return sorted((one for one in given if isinstance(one, Offer)), key=lambda offer: offer.rank)


def _from_tool(tool: AnyTool) -> Candidate:
    return Candidate(
        id=tool.name,
        store="given",
        place=tool.source,
        sign=tool,
        load=lambda: tool,
        listing=listing_of(tool, store="given", place=tool.source),
    )


def _from_offer(offer: Offer) -> Candidate:
    return Candidate(
        id=offer.id,
        store=offer.store,
        place=offer.owner,
        sign=offer.value,
        load=partial(load_offer, offer),
        offer=offer,
    )


def _same_as_offered(published: Candidate, candidates: list[Candidate]) -> Candidate:
    """A tool that a platform has installed, and nobody published, is the one that is installed here too."""
    listing = published.listing
    offered = next((one for one in candidates if one.offer is not None), None)
    if offered is None or listing is None or listing.updated_at or listing.owner:
        return published
    return replace(published, sign=offered.sign)


def _hidden(candidates: list[Candidate]) -> list[Candidate]:
    kept = candidates[:1]
    for one in candidates[1:]:
        if all(one.sign != other.sign for other in kept):
            kept.append(one)
    return kept[1:]
