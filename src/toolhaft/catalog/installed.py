"""Tools that installed distributions offer through entry points: found without loading them.

Knows entry points and what a tool said of itself when it was last loaded; does not know other stores.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Final, cast
from zlib import crc32

from toolhaft.catalog.cached import keep, read_kept, thin_out, user_folder
from toolhaft.catalog.listing import Listing, Store, listing_of
from toolhaft.errors import DefinitionError

TYPE_CHECKING = False  # finding tools must not load what runs them
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from toolhaft.core.conversion import AnyTool

GROUP: Final = "toolhaft.tools"
"""The group of entry points under which a distribution offers its tools, each by its id."""
_OWN: Final = "toolhaft"
_VALUE: Final = re.compile(r"\s*(?P<module>[\w.]+)\s*(?::\s*(?P<attribute>[\w.]+)\s*)?(?:\[.*\])?\s*")
_FACTS: Final = (".dist-info", ".egg-info")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """An entry point, by the words in it."""

    id: str
    value: str
    owner: str
    """The distribution, 'unknown' where it is not known."""

    @property
    def store(self) -> Store:
        """Toolhaft's own tools come before those of others."""
        return "built-in" if self.owner == _OWN else "installed"

    @property
    def rank(self) -> tuple[bool, str, str]:
        """The least of these wins an id."""
        return self.owner != _OWN, self.owner, self.id


def offer_of(entry: EntryPoint) -> Offer:
    """An entry point as an offer."""
    return Offer(
        id=entry.name, value=entry.value, owner=entry.dist.name if entry.dist is not None else "unknown"
    )


def load_offer(offer: Offer) -> AnyTool:
    """The tool that an entry point leads to.

    Raises:
        DefinitionError: where it cannot be loaded, or is not that tool.
    """
    from toolhaft.core.conversion import to_tool  # noqa: PLC0415 -- whoever only lists tools does not pay for it

    place = f"entry point {offer.value} of {offer.owner}"
    try:
        tool = to_tool(_follow(offer.value))
    except DefinitionError as error:
        raise error.of(offer.id) from error.__cause__
    except (Exception, SystemExit) as error:  # a stranger's module may fail in any way, and must end nothing
        raise DefinitionError(
            f"it cannot be loaded: {type(error).__name__}: {error!s:.200}",
            tool=offer.id,
            place=place,
            fix=f"install what {offer.owner} needs, or repair its entry point",
        ) from error
    if tool.name != offer.id:
        raise DefinitionError(
            f"its tool is called {tool.name!r}",
            tool=offer.id,
            place=place,
            fix="offer a tool under its own name",
        )
    return tool


class Installed:
    """What the distributions on `sys.path` offer now, remembered from process to process.

    The words of a tool are in its code, so the first list loads it; from then on they are kept, until a
    distribution comes or goes or the tool's own file changes.
    """

    __slots__ = ("_file", "_folders", "_kept", "offers")

    offers: tuple[Offer, ...]
    """Every entry point, those that win an id before those that lose it."""

    def __init__(self) -> None:
        folder = user_folder()
        self._file = None if folder is None else folder / f"installed-{_environment()}.json"
        self._kept = {} if self._file is None else read_kept(self._file)
        self._folders = _Folders(self._kept.get("folders"))
        found = _read_offers(self._kept.get("offers")) if self._folders.are_same else None
        if found is None:
            found = _ask_offers()
            self._kept = {}
            self._keep(found, {})
        self.offers = tuple(sorted(found, key=lambda offer: offer.rank))

    def listings(
        self, offers: Iterable[Offer], load: Callable[[Offer], AnyTool] = load_offer
    ) -> tuple[list[Listing], list[DefinitionError]]:
        """A listing of each offer, and what cannot be loaded; `load` is asked only for what is not known."""
        kept = self._kept.get("listings")
        known = cast("dict[str, object]", kept) if isinstance(kept, dict) else {}
        rows: dict[str, object] = {}
        listings: list[Listing] = []
        problems: list[DefinitionError] = []
        is_new = False
        for offer in offers:
            key = f"{offer.id}={offer.value}"
            listing = _listing_in(known.get(key), offer)
            if listing is None:
                listing, files, problem = _look_at(offer, load)
                problems += [] if problem is None else [problem]
                if problem is None:
                    is_new = True
                    rows[key] = {"files": files, "listing": listing.to_row()}
            else:
                rows[key] = known[key]
            listings.append(listing)
        if is_new:
            self._keep(self.offers, {**known, **rows})
        return listings, problems

    def _keep(self, offers: Iterable[Offer], rows: dict[str, object]) -> None:
        if self._file is not None:
            told = [[offer.id, offer.value, offer.owner] for offer in offers]
            kept: dict[str, object] = {"folders": self._folders.facts(), "offers": told, "listings": rows}
            self._kept = kept
            keep(self._file, self._kept)
            thin_out(self._file.parent, "installed-*.json")


class _Folders:
    """The folders that distributions are found in, and whether any came or went since a list was kept."""

    __slots__ = ("_kept", "_now")

    def __init__(self, kept: object) -> None:
        self._now = {folder: _changed_at(folder) for folder in _search_path()}
        self._kept = cast("dict[str, object]", kept) if isinstance(kept, dict) else {}

    @property
    def are_same(self) -> bool:
        return self._kept.keys() == self._now.keys() and all(map(self._is_same, self._now))

    def _is_same(self, folder: str) -> bool:
        kept = self._kept[folder]
        if not isinstance(kept, list) or len(facts := cast("list[object]", kept)) != 2:  # noqa: PLR2004 -- a pair
            return False
        # a folder that is worked in changes all the time; what counts is what is installed in it
        return facts[0] == self._now[folder] or facts[1] == _distributions(folder)

    def facts(self) -> dict[str, object]:
        return {folder: [changed, _distributions(folder)] for folder, changed in self._now.items()}


def _look_at(
    offer: Offer, load: Callable[[Offer], AnyTool]
) -> tuple[Listing, list[object], DefinitionError | None]:
    try:
        tool = load(offer)
    except DefinitionError as error:
        blank = Listing(
            id=offer.id,
            title=offer.id,
            owner=offer.owner,
            share="public",
            store=offer.store,
            place=offer.owner,
            is_active=False,
        )
        return blank, [], error
    listing = listing_of(tool, store=offer.store, place=offer.owner, owner=offer.owner)
    return listing, [[file, *_stamp(file)] for file in _files(offer, tool)], None


def _listing_in(row: object, offer: Offer) -> Listing | None:
    if not isinstance(row, dict):
        return None
    fields = cast("dict[str, object]", row)
    try:
        files = cast("list[list[object]]", fields["files"])
        if any([*_stamp(cast("str", file[0]))] != file[1:] for file in files):
            return None
        listing = Listing.from_row(fields["listing"])
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    return listing if (listing.id, listing.store) == (offer.id, offer.store) else None


def _files(offer: Offer, tool: AnyTool) -> Iterator[str]:
    """The files whose change may change the words of a tool."""
    code = getattr(tool.handler, "__code__", None)
    module = sys.modules.get(_module_of(offer.value))
    places = {getattr(module, "__file__", None), getattr(code, "co_filename", None)}
    return (place for place in places if isinstance(place, str) and os.path.isabs(place))  # noqa: PTH117 -- a text


def _read_offers(kept: object) -> list[Offer] | None:
    try:
        rows = [cast("list[object]", row) for row in cast("list[object]", kept)]
        if all(isinstance(word, str) for row in rows for word in row):
            words = cast("list[list[str]]", rows)
            return [Offer(id=id, value=value, owner=owner) for id, value, owner in words]
    except (TypeError, ValueError):
        pass
    return None


def _ask_offers() -> list[Offer]:
    from importlib.metadata import entry_points  # noqa: PLC0415 -- slow, and only where nothing is remembered

    return [offer_of(entry) for entry in entry_points(group=GROUP)]


def _follow(value: str) -> object:
    found = _VALUE.fullmatch(value)
    if found is None:
        raise ValueError(f"{value!r:.100} is not written as module:name")
    module = import_module(found["module"])
    return reduce(getattr, (found["attribute"] or "").split(".") if found["attribute"] else (), module)


def _module_of(value: str) -> str:
    found = _VALUE.fullmatch(value)
    return "" if found is None else found["module"]


def _environment() -> str:
    told = [sys.prefix, sys.version, __file__, *_search_path()]
    # two that clash only keep each other's cache cold: what is in it says whose it is
    return f"{crc32(chr(10).join(told).encode('utf-8', 'surrogatepass')):08x}"


def _search_path() -> list[str]:
    return list(dict.fromkeys(os.path.abspath(entry or ".") for entry in sys.path))  # noqa: PTH100 -- texts, for speed


def _changed_at(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 -- a text, for speed
    except (OSError, ValueError):
        return None


def _stamp(path: str) -> Sequence[int]:
    try:
        facts = os.stat(path)  # noqa: PTH116 -- a text, for speed
    except (OSError, ValueError):
        return ()
    return facts.st_size, facts.st_mtime_ns


def _distributions(folder: str) -> list[list[object]]:
    """The distributions of a folder, each with when it was put there."""
    try:
        with os.scandir(folder) as found:
            names = sorted(entry.name for entry in found if entry.name.endswith(_FACTS))
    except OSError:
        return []
    return [[name, _changed_at(str(Path(folder, name)))] for name in names]
