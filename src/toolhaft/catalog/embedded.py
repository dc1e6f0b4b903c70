"""The platform in a project's own database: tools are published and run without a server."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from threading import Lock
from types import EllipsisType
from typing import Final, cast

from toolhaft.catalog.cache_file import FRESH_NS, read_cache, write_cache
from toolhaft.catalog.listing import Listing, Share, digest_fields, listing_of_fields
from toolhaft.catalog.project import Project
from toolhaft.define.running.platform_settings import DEFAULT_URL
from toolhaft.errors import DefinitionError, StorageError, UnknownToolError

TYPE_CHECKING = False  # a project without published tools must not load a database
if TYPE_CHECKING:
    from toolhaft.catalog.published import PlatformUser, PublishedTool
    from toolhaft.catalog.published_store import PublishedStore
    from toolhaft.catalog.tool_versions import ToolVersion
    from toolhaft.core.conversion import AnyTool
    from toolhaft.storage import Database

_MAX_RUNNABLE: Final = 200


class EmbeddedPlatform:
    """The platform of a project without a configured one; the caller is its operator.

    The database is created when the first tool is published. The methods raise the errors of `Platform`, and
    StorageError if the database cannot be read or written.
    """

    def __init__(self, project: Project, *, url: str = DEFAULT_URL) -> None:
        self._project = project
        self._lock = Lock()
        self._database: Database | None = None
        self._file_identity: tuple[int, int] | None = None
        self._store: PublishedStore | None = None
        self._runnable: dict[tuple[str, str], AnyTool] = {}
        self.is_embedded: bool = True
        self.url: str = url

    def list(
        self, *, tag: str | None = None, owner: str | None = None, share: str | None = None
    ) -> list[PublishedTool]:
        """Every published tool, sorted by id."""
        store = self._open_store(create=False)
        return [] if store is None else store.list(self._user, tag=tag, owner=owner, share=share)

    def listings(self) -> list[Listing]:
        """The listing of every published tool, from a cache if the database has not changed."""
        is_own = self._project.has_own_database
        if is_own and not self._project.database_file.exists():
            return []
        cache = ListingsCache(self._project, self.url)
        found = cache.if_files_unchanged() if is_own else None
        if found is not None:
            return found
        revision = self._revision()
        if revision is not None:
            found = cache.if_same_revision(revision)
        return cache.update(self.list(), revision) if found is None else found

    def _revision(self) -> int | None:
        """A number that changes with the tools; None if no tool was ever published."""
        with self._lock:
            database = self._open(create=False)
        try:
            return None if database is None else database.revision()
        except StorageError:
            return None

    def get(self, id: str) -> PublishedTool:
        """A published tool."""
        return self._existing_store(id).get(id, self._user)

    def put(self, text: str, *, base: str | EllipsisType | None = ...) -> PublishedTool:
        """Publish a YAML text."""
        store = cast("PublishedStore", self._open_store(create=True))
        return store.put(text, self._user, base=base)

    def remove(self, id: str, *, base: str | EllipsisType = ...) -> None:
        """Delete a tool."""
        self._existing_store(id).remove(id, self._user, base=base)

    def versions(self, id: str) -> list[ToolVersion]:
        """The last versions of a tool, the newest first."""
        return self._existing_store(id).versions(id, self._user)

    def rollback(self, id: str, *, to: int | None = None, base: str | EllipsisType = ...) -> PublishedTool:
        """Publish a version again, as a new one; by default the one before the current one."""
        return self._existing_store(id).rollback(id, self._user, to=to, base=base)

    def runnable(self, id: str) -> AnyTool:
        """A published tool, ready to be called in this process."""
        from toolhaft.catalog.runnable import ALL_KINDS, make_runnable  # noqa: PLC0415 -- it loads the executor

        published = self.get(id)
        key = (id, published.updated_at)
        tool = self._runnable.get(key)
        if tool is None:
            tool = make_runnable(
                published,
                platform_url=self.url,
                find_published=self._find_runnable,
                # another author's tool must be read before it runs programs or uses this project's keys
                kinds=ALL_KINDS if published.is_operators else frozenset(),
                why_not=f"{published.owner or 'somebody else'} published it; read what it would run: "
                f"lk tool get {id}",
                folder=self._project.tools_folder,
            )
            if len(self._runnable) >= _MAX_RUNNABLE:
                self._runnable.clear()
            self._runnable[key] = tool
        return tool

    def close(self) -> None:
        """Close the database; the next use opens it again."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        database, self._database, self._store = self._database, None, None
        self._runnable.clear()
        if database is not None:
            database.close()

    def _find_runnable(self, id: str) -> AnyTool | None:
        try:
            return self.runnable(id)
        except UnknownToolError:
            return None

    @cached_property
    def _user(self) -> PlatformUser:
        from toolhaft.catalog.published import PlatformUser  # noqa: PLC0415 -- it loads the YAML package

        return PlatformUser(owner=self._project.owner or "", is_operator=True)

    def _existing_store(self, id: str) -> PublishedStore:
        store = self._open_store(create=False)
        if store is None:
            raise UnknownToolError(f"no tool {id!r:.140} is published")
        return store

    def _open_store(self, *, create: bool) -> PublishedStore | None:
        """The store; None if there is no database and `create` is False."""
        with self._lock:
            database = self._open(create=create)
            if database is None:
                return None
            from toolhaft.catalog.published_store import PublishedStore  # noqa: PLC0415 -- it loads the YAML package

            if self._store is None:
                self._store = PublishedStore(
                    database, url=self.url, keeps_created_at=True, assigns_owners=False
                )
            return self._store

    def _open(self, *, create: bool) -> Database | None:
        """The database; opened again if its file was deleted or replaced."""
        is_own = self._project.has_own_database
        identity = self._current_file() if is_own else None
        is_there = identity is not None or not is_own  # it may have been deleted while it was opened
        if self._database is not None and is_there and identity == self._file_identity:
            return self._database
        self._close()
        if is_own and identity is None:
            if not create:
                return None
            self._make_folder()
        from toolhaft.storage import open_database  # noqa: PLC0415 -- only with published tools

        self._database = open_database(self._project.database_url)
        self._file_identity = self._current_file() if is_own else None
        return self._database

    def _current_file(self) -> tuple[int, int] | None:
        """Device and inode of the database file; None if there is none."""
        try:
            stat = self._project.database_file.stat()
        except OSError:
            return None
        return stat.st_dev, stat.st_ino

    def _make_folder(self) -> None:
        try:
            self._project.make_state_folder()
        except OSError as error:
            raise StorageError(
                f"the folder .toolhaft of the project cannot be made: {error.strerror}; check its permissions"
            ) from error


class ListingsCache:
    """The listings of published tools in a file next to the database, so that listing need not open it."""

    __slots__ = ("_content", "_database", "_file", "_project", "_stamp", "_url")

    def __init__(self, project: Project, url: str) -> None:
        self._project = project
        self._url = url
        self._database = "here" if project.has_own_database else _digest(project.database_url)
        self._file = project.state_folder / "platform.json"
        self._stamp = self._current_stamp()
        self._content = read_cache(self._file)

    def if_files_unchanged(self) -> list[Listing] | None:
        """The listings, if the database files have not changed; else None."""
        return (
            self._listings()
            if self._is_stamp_complete and self._content.get("stamp") == self._stamp
            else None
        )

    def if_same_revision(self, revision: int) -> list[Listing] | None:
        """The listings, if the database still has this revision; else None."""
        found = self._listings() if self._content.get("mark") == self._mark(revision) else None
        if found is not None and self._is_stamp_complete:
            write_cache(self._file, {**self._content, "stamp": self._stamp})
        return found

    def update(self, published: Sequence[PublishedTool], revision: int | None) -> list[Listing]:
        """The listings of these tools, which are kept for the next time."""
        listings = [_make_listing(one, self._url) for one in published]
        if revision is not None:
            rows = [listing.to_row() for listing in listings]
            write_cache(self._file, {"stamp": self._stamp, "mark": self._mark(revision), "tools": rows})
        return listings

    def _mark(self, revision: int) -> list[object]:
        return [self._database, self._stamp[:1], revision]

    @property
    def _is_stamp_complete(self) -> bool:
        return len(self._stamp) > 1

    def _listings(self) -> list[Listing] | None:
        try:
            return [Listing.from_row(row) for row in cast("list[object]", self._content.get("tools"))]
        except (TypeError, ValueError):
            return None

    def _current_stamp(self) -> list[int]:
        """Inode, size and time of the database files; only the inode if one was just written."""
        file = self._project.database_file
        stamp: list[int] = []
        for path in (file, file.with_name(f"{file.name}-wal")):
            try:
                stat = path.stat()
            except OSError:
                continue
            if stat.st_size:
                stamp += [stat.st_ino, stat.st_size, stat.st_mtime_ns]
        is_fresh = any(mtime > time.time_ns() - FRESH_NS for mtime in stamp[2::3])
        return stamp[:1] if is_fresh else stamp


def _digest(url: str) -> str:
    """A digest in place of a database URL, which may hold a password."""
    from hashlib import sha256  # noqa: PLC0415 -- slow to load, and most projects use their own file

    return sha256(url.encode(errors="replace")).hexdigest()


def _make_listing(published: PublishedTool, url: str) -> Listing:
    try:
        fields = published.fields
        listing = listing_of_fields(fields, place=url)
        return replace(listing, owner=listing.owner or published.owner, digest=digest_fields(fields))
    except DefinitionError:  # a row of another version: list what the columns hold
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
