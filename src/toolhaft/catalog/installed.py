"""Tools that installed distributions offer through entry points, listed from a cache without loading them."""

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

from toolhaft.catalog.cache_file import read_cache, remove_oldest, user_cache_folder, write_cache
from toolhaft.catalog.listing import Listing, SourceName, listing_of
from toolhaft.errors import DefinitionError

TYPE_CHECKING = False  # finding tools must not load the executor
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from toolhaft.core.conversion import AnyTool

GROUP: Final = "toolhaft.tools"
"""The entry-point group in which a distribution offers tools, each under its id."""
_OWN: Final = "toolhaft"
_VALUE: Final = re.compile(r"\s*(?P<module>[\w.]+)\s*(?::\s*(?P<attribute>[\w.]+)\s*)?(?:\[.*\])?\s*")
_METADATA_ENDINGS: Final = (".dist-info", ".egg-info")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEntryPoint:
    """The entry point of one tool."""

    id: str
    value: str
    owner: str
    """The distribution; 'unknown' if it is not known."""

    @property
    def store(self) -> SourceName:
        """`built-in` for Toolhaft's own tools, else `installed`."""
        return "built-in" if self.owner == _OWN else "installed"

    @property
    def rank(self) -> tuple[bool, str, str]:
        """A sort key: of several entry points with one id, the first wins."""
        return self.owner != _OWN, self.owner, self.id


def read_entry_point(entry: EntryPoint) -> ToolEntryPoint:
    """A ToolEntryPoint from one of `importlib.metadata`."""
    return ToolEntryPoint(
        id=entry.name, value=entry.value, owner=entry.dist.name if entry.dist is not None else "unknown"
    )


def load_entry_point(entry: ToolEntryPoint) -> AnyTool:
    """The tool of an entry point; imports its module.

    Raises:
        DefinitionError: if it cannot be loaded, or is not a tool of that id.
    """
    from toolhaft.core.conversion import to_tool  # noqa: PLC0415 -- listing does not need it

    place = f"entry point {entry.value} of {entry.owner}"
    try:
        tool = to_tool(_resolve(entry.value))
    except DefinitionError as error:
        raise error.of(entry.id) from error.__cause__
    except (Exception, SystemExit) as error:  # a foreign module may fail in any way
        raise DefinitionError(
            f"it cannot be loaded: {type(error).__name__}: {error!s:.200}",
            tool=entry.id,
            place=place,
            fix=f"install what {entry.owner} needs, or repair its entry point",
        ) from error
    if tool.name != entry.id:
        raise DefinitionError(
            f"its tool is called {tool.name!r}",
            tool=entry.id,
            place=place,
            fix="offer a tool under its own name",
        )
    return tool


def installed_tool(id: str) -> AnyTool | None:
    """The tool that an installed distribution offers under an id; None if none does.

    Raises:
        DefinitionError: if it cannot be loaded.
    """
    entry = _entry_point(id)
    return None if entry is None else load_entry_point(entry)


def is_installed(id: str) -> bool:
    """True if an installed distribution offers a tool under an id; it is not loaded."""
    return _entry_point(id) is not None


def _entry_point(id: str) -> ToolEntryPoint | None:
    return next((entry for entry in InstalledTools().entry_points if entry.id == id), None)


class InstalledTools:
    """The tools of all distributions on `sys.path`, cached in a file between processes.

    The first listing imports each tool's module. The cache is valid until a distribution is installed or
    removed, or the tool's own file changes.
    """

    __slots__ = ("_cache", "_file", "_folders", "entry_points")

    entry_points: tuple[ToolEntryPoint, ...]
    """Every entry point; of several with one id the winner comes first."""

    def __init__(self) -> None:
        folder = user_cache_folder()
        self._file = None if folder is None else folder / f"installed-{_environment_key()}.json"
        self._cache = {} if self._file is None else read_cache(self._file)
        self._folders = _Folders(self._cache.get("folders"))
        found = _cached_entry_points(self._cache.get("entry_points")) if self._folders.are_unchanged else None
        if found is None:
            found = _find_entry_points()
            self._cache = {}
            self._write(found, {})
        self.entry_points = tuple(sorted(found, key=lambda entry: entry.rank))

    def listings(
        self, entries: Iterable[ToolEntryPoint], load: Callable[[ToolEntryPoint], AnyTool] = load_entry_point
    ) -> tuple[list[Listing], list[DefinitionError]]:
        """A listing of each entry point, and the load errors; `load` is called only for tools not cached."""
        cached = self._cache.get("listings")
        known = cast("dict[str, object]", cached) if isinstance(cached, dict) else {}
        new: dict[str, object] = {}
        listings: list[Listing] = []
        problems: list[DefinitionError] = []
        for entry in entries:
            key = f"{entry.id}={entry.value}"
            listing = _cached_listing(known.get(key), entry)
            if listing is None:
                try:
                    tool = load(entry)
                except DefinitionError as error:
                    problems.append(error)
                    listing = _blank_listing(entry)
                else:
                    listing = listing_of(tool, store=entry.store, place=entry.owner, owner=entry.owner)
                    files = [[file, *_stamp(file)] for file in _source_files(entry, tool)]
                    new[key] = {"files": files, "listing": listing.to_row()}
            listings.append(listing)
        if new:
            self._write(self.entry_points, {**known, **new})
        return listings, problems

    def _write(self, entries: Iterable[ToolEntryPoint], rows: dict[str, object]) -> None:
        if self._file is not None:
            found = [[entry.id, entry.value, entry.owner] for entry in entries]
            self._cache = {"folders": self._folders.to_row(), "entry_points": found, "listings": rows}
            write_cache(self._file, self._cache)
            remove_oldest(self._file.parent, "installed-*.json")


class _Folders:
    """The folders that distributions are found in, and whether any distribution came or went."""

    __slots__ = ("_cached", "_now")

    def __init__(self, cached: object) -> None:
        self._now = {folder: _modified_at(folder) for folder in _search_path()}
        self._cached = cast("dict[str, object]", cached) if isinstance(cached, dict) else {}

    @property
    def are_unchanged(self) -> bool:
        return self._cached.keys() == self._now.keys() and all(map(self._is_unchanged, self._now))

    def _is_unchanged(self, folder: str) -> bool:
        # a working folder changes all the time; only the distributions in it count
        cached = self._cached[folder]
        facts = cast("list[object]", cached) if isinstance(cached, list) else []
        return facts[:1] == [self._now[folder]] or facts[1:] == [_distributions(folder)]

    def to_row(self) -> dict[str, object]:
        return {folder: [modified, _distributions(folder)] for folder, modified in self._now.items()}


def _blank_listing(entry: ToolEntryPoint) -> Listing:
    return Listing(
        id=entry.id,
        title=entry.id,
        owner=entry.owner,
        share="public",
        store=entry.store,
        place=entry.owner,
        is_active=False,
    )


def _cached_listing(row: object, entry: ToolEntryPoint) -> Listing | None:
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
    return listing if (listing.id, listing.store) == (entry.id, entry.store) else None


def _source_files(entry: ToolEntryPoint, tool: AnyTool) -> Iterator[str]:
    """The files whose change may change the tool's texts."""
    found = _VALUE.fullmatch(entry.value)
    module = None if found is None else sys.modules.get(found["module"])
    code = getattr(tool.handler, "__code__", None)
    places = {getattr(module, "__file__", None), getattr(code, "co_filename", None)}
    return (place for place in places if isinstance(place, str) and os.path.isabs(place))  # noqa: PTH117 -- faster than a Path


def _cached_entry_points(rows: object) -> list[ToolEntryPoint] | None:
    try:
        texts = [cast("list[object]", row) for row in cast("list[object]", rows)]
        if all(isinstance(text, str) for row in texts for text in row):
            known = cast("list[list[str]]", texts)
            return [ToolEntryPoint(id=id, value=value, owner=owner) for id, value, owner in known]
    except (TypeError, ValueError):
        pass
    return None


def _find_entry_points() -> list[ToolEntryPoint]:
    from importlib.metadata import entry_points  # noqa: PLC0415 -- slow, and needed only without a cache

    return [read_entry_point(entry) for entry in entry_points(group=GROUP)]


def _resolve(value: str) -> object:
    found = _VALUE.fullmatch(value)
    if found is None:
        raise ValueError(f"{value!r:.100} is not written as module:name")
    module = import_module(found["module"])
    return reduce(getattr, found["attribute"].split(".") if found["attribute"] else (), module)


def _environment_key() -> str:
    texts = [sys.prefix, sys.version, __file__, *_search_path()]
    # two environments with the same key only overwrite each other's cache: its content is checked
    return f"{crc32(chr(10).join(texts).encode('utf-8', 'surrogatepass')):08x}"


def _search_path() -> list[str]:
    return list(dict.fromkeys(os.path.abspath(entry or ".") for entry in sys.path))  # noqa: PTH100 -- faster than a Path


def _modified_at(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 -- faster than a Path
    except (OSError, ValueError):
        return None


def _stamp(path: str) -> Sequence[int]:
    try:
        stat = os.stat(path)  # noqa: PTH116 -- faster than a Path
    except (OSError, ValueError):
        return ()
    return stat.st_size, stat.st_mtime_ns


def _distributions(folder: str) -> list[list[object]]:
    """The distributions in a folder, each with the time of its installation."""
    try:
        with os.scandir(folder) as found:
            names = sorted(entry.name for entry in found if entry.name.endswith(_METADATA_ENDINGS))
    except OSError:
        return []
    return [[name, _modified_at(str(Path(folder, name)))] for name in names]
