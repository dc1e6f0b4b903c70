"""The listings of published tools, kept beside the database so that a list need not open it.

Knows when what is kept is still true; does not know how tools are published.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, cast

from toolhaft.catalog.cached import keep, read_kept
from toolhaft.catalog.listing import Listing, Share, digest_of_file, listing_of
from toolhaft.catalog.project import Project
from toolhaft.errors import DefinitionError

TYPE_CHECKING = False  # a list from the cache must not load the YAML door
if TYPE_CHECKING:
    from toolhaft.catalog.shelf import Published

_TOO_FRESH_NS: Final = 100_000_000
"""A file that was just written may be written again within one tick of the clock."""

Rows = dict[str, object]


class KeptListings:
    """What was last read of a project's database."""

    __slots__ = ("_file", "_kept", "_project", "_stamp", "_url", "_where")

    def __init__(self, project: Project, url: str) -> None:
        self._project = project
        self._url = url
        self._where = "here" if project.has_own_database else _digest(project.database_url)
        self._file = project.state_folder / "platform.json"
        self._stamp = self._facts()
        self._kept = read_kept(self._file)

    def if_untouched(self) -> list[Listing] | None:
        """The listings, where the files of the database are as they were; None where it must be asked."""
        return self._all() if self._is_settled and self._kept.get("stamp") == self._stamp else None

    def if_same(self, revision: int) -> list[Listing] | None:
        """The listings, where the database says that nothing was changed; None where it was."""
        is_same = self._kept.get("mark") == [self._where, self._stamp[:1], revision]
        found = self._all() if is_same else None
        if found is not None and self._is_settled:
            keep(self._file, {**self._kept, "stamp": self._stamp})
        return found

    def renew(self, published: Sequence[Published], revision: int | None) -> list[Listing]:
        """The listings of what is published now; a text is read only where it was published again."""
        known = self._rows()
        rows: Rows = {}
        listings: list[Listing] = []
        for one in published:
            listing = _same_in(known.get(one.id), one) or _look_at(one, self._url)
            rows[one.id] = {"revision": one.revision, "listing": listing.to_row()}
            listings.append(listing)
        if revision is not None:
            mark = [self._where, self._stamp[:1], revision]
            keep(self._file, {"stamp": self._stamp, "mark": mark, "tools": rows})
        return listings

    @property
    def _is_settled(self) -> bool:
        return len(self._stamp) > 1

    def _all(self) -> list[Listing] | None:
        listings = [_listing_in(row) for row in self._rows().values()]
        return None if None in listings else cast("list[Listing]", listings)

    def _rows(self) -> Rows:
        rows = self._kept.get("tools")
        return cast("Rows", rows) if isinstance(rows, dict) else {}

    def _facts(self) -> list[int]:
        """Which file it is, and what changes with every write; the file alone where that was just now."""
        file = self._project.database_file
        facts: list[int] = []
        for path in (file, file.with_name(f"{file.name}-wal")):
            try:
                found = path.stat()
            except OSError:
                continue
            if found.st_size:
                facts += [found.st_ino, found.st_size, found.st_mtime_ns]
        is_fresh = any(mtime > time.time_ns() - _TOO_FRESH_NS for mtime in facts[2::3])
        return facts[:1] if is_fresh else facts


def _digest(url: str) -> str:
    """What stands for the address of a server, which may hold a password."""
    from hashlib import sha256  # noqa: PLC0415 -- slow to load, and most databases are the project's own

    return sha256(url.encode(errors="replace")).hexdigest()


def _look_at(published: Published, url: str) -> Listing:
    try:
        listing = listing_of(published.tool, store="platform", place=url, owner=published.owner)
        return replace(listing, digest=digest_of_file(published.tool))
    except DefinitionError:  # a row of another version: what can be told of it is told
        return Listing(
            id=published.id,
            title=published.id,
            owner=published.owner,
            share=cast("Share", published.share),
            store="platform",
            place=url,
            is_active=False,
            updated_at=published.updated_at,
        )


def _same_in(row: object, published: Published) -> Listing | None:
    if not isinstance(row, dict) or cast("Rows", row).get("revision") != published.revision:
        return None
    listing = _listing_in(cast("object", row))
    is_same = listing is not None and (listing.id, listing.updated_at) == (published.id, published.updated_at)
    return listing if is_same else None


def _listing_in(row: object) -> Listing | None:
    try:
        return Listing.from_row(cast("Rows", row)["listing"])
    except (KeyError, TypeError, ValueError):
        return None
