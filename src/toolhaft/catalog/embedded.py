"""The platform in a file of the project: what is published there is had, and run, without a server.

Knows the shelf; does not know HTTP.
"""

from __future__ import annotations

from functools import cached_property
from threading import Lock
from types import EllipsisType
from typing import Final, cast

from toolhaft.catalog.embedded_listings import KeptListings
from toolhaft.catalog.listing import Listing
from toolhaft.catalog.project import Project
from toolhaft.define.running.settings import DEFAULT_URL
from toolhaft.errors import StorageError, UnknownToolError

TYPE_CHECKING = False  # a project without published tools must not load a database
if TYPE_CHECKING:
    from toolhaft.catalog.shelf import Published, Shelf
    from toolhaft.catalog.viewer import Viewer
    from toolhaft.core.conversion import AnyTool
    from toolhaft.storage import Database

_MOST_READY: Final = 200


class EmbeddedPlatform:
    """The platform of a project that has no other; its owner may do everything there.

    Its database is made with the first tool that is published.
    """

    def __init__(self, project: Project, *, url: str = DEFAULT_URL) -> None:
        self._project = project
        self._lock = Lock()
        self._database: Database | None = None
        self._place: tuple[int, int] | None = None
        self._kept_shelf: Shelf | None = None
        self._ready: dict[tuple[str, str], AnyTool] = {}
        self.is_embedded: bool = True
        self.url: str = url

    def list(
        self, *, tag: str | None = None, owner: str | None = None, share: str | None = None
    ) -> list[Published]:
        """Every published tool, by id.

        Raises:
            StorageError: where the database cannot be read.
        """
        shelf = self._shelf(is_needed=False)
        return [] if shelf is None else shelf.list(self._viewer, tag=tag, owner=owner, share=share)

    def listings(self) -> list[Listing]:
        """The same as listings; neither the database nor a text is read again without need.

        Raises:
            StorageError: where the database cannot be read.
        """
        is_own = self._project.has_own_database
        if is_own and not self._project.database_file.exists():
            return []
        kept = KeptListings(self._project, self.url)
        found = kept.if_untouched() if is_own else None
        if found is not None:
            return found
        revision = self._revision()
        if revision is not None:
            found = kept.if_same(revision)
        return kept.renew(self.list(), revision) if found is None else found

    def _revision(self) -> int | None:
        """What changes with the tools; None where no tool was ever published."""
        with self._lock:
            database = self._open(is_needed=False)
        try:
            return None if database is None else database.revision()
        except StorageError:
            return None

    def get(self, id: str) -> Published:
        """A published tool.

        Raises:
            UnknownToolError: where there is none of that id.
            StorageError: where the database cannot be read.
        """
        shelf = self._shelf(is_needed=False)
        if shelf is None:
            raise UnknownToolError(f"no tool {id!r:.140} is published")
        return shelf.get(id, self._viewer)

    def put(self, text: str, *, base: str | EllipsisType | None = ...) -> Published:
        """Publish a YAML document.

        Raises:
            DefinitionError: with every problem of the document.
            ConflictError: where another version is there than the one that `base` says.
            StorageError: where the database cannot be written.
        """
        shelf = cast("Shelf", self._shelf(is_needed=True))
        return shelf.put(text, self._viewer, base=base)

    def remove(self, id: str, *, base: str | EllipsisType = ...) -> None:
        """Take a tool away.

        Raises:
            UnknownToolError: where there is none of that id.
            ConflictError: where another version is there than the one that `base` says.
            StorageError: where the database cannot be written.
        """
        shelf = self._shelf(is_needed=False)
        if shelf is None:
            raise UnknownToolError(f"no tool {id!r:.140} is published")
        shelf.remove(id, self._viewer, base=base)

    def runnable(self, id: str) -> AnyTool:
        """A published tool, ready to be called in this process.

        Raises:
            UnknownToolError: where there is none of that id.
            DefinitionError: where what stands behind it cannot be loaded.
        """
        from toolhaft.catalog.runnable import ALL_KINDS, runnable  # noqa: PLC0415 -- whoever only lists does not pay for it

        published = self.get(id)
        key = (id, published.updated_at)
        ready = self._ready.get(key)
        if ready is None:
            ready = runnable(
                published,
                platform_url=self.url,
                behind=self._behind,
                # a stranger's program, or request with this project's keys, is read before it is run
                kinds=ALL_KINDS if published.is_operators else frozenset(),
                why_not=f"{published.owner or 'somebody else'} published it; read what it would run: "
                f"lk tool get {id}",
                folder=self._project.tools_folder,
            )
            if len(self._ready) >= _MOST_READY:
                self._ready.clear()
            self._ready[key] = ready
        return ready

    def close(self) -> None:
        """Let go of the database; the next use opens it again."""
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        database, self._database, self._kept_shelf = self._database, None, None
        self._ready.clear()
        if database is not None:
            database.close()

    def _behind(self, id: str) -> AnyTool | None:
        try:
            return self.runnable(id)
        except UnknownToolError:
            return None

    @cached_property
    def _viewer(self) -> Viewer:
        from toolhaft.catalog.viewer import Viewer  # noqa: PLC0415 -- with the shelf

        return Viewer(is_operator=True)

    def _shelf(self, *, is_needed: bool) -> Shelf | None:
        """The shelf; None where there is no database and none is needed."""
        with self._lock:
            database = self._open(is_needed=is_needed)
            if database is None:
                return None
            from toolhaft.catalog.shelf import Shelf  # noqa: PLC0415 -- it loads the YAML door

            if self._kept_shelf is None:
                self._kept_shelf = Shelf(database, url=self.url)
            return self._kept_shelf

    def _open(self, *, is_needed: bool) -> Database | None:
        """The database, which others may have removed or replaced since it was opened."""
        is_own = self._project.has_own_database
        place = self._place_now() if is_own else None
        if self._database is not None and place == self._place:
            return self._database
        self._let_go()
        if is_own and place is None:
            if not is_needed:
                return None
            self._make_folder()
        from toolhaft.storage import open_database  # noqa: PLC0415 -- only where something was published

        self._database = open_database(self._project.database_url)
        self._place = self._place_now() if is_own else None
        return self._database

    def _place_now(self) -> tuple[int, int] | None:
        """Which file the database is; None where there is none."""
        try:
            facts = self._project.database_file.stat()
        except OSError:
            return None
        return facts.st_dev, facts.st_ino

    def _make_folder(self) -> None:
        try:
            self._project.make_state_folder()
        except OSError as error:
            raise StorageError(
                f"the folder .toolhaft of the project cannot be made: {error.strerror}; check its rights"
            ) from error
