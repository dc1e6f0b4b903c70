"""Routes the requests that do not run a tool to their handlers."""

from __future__ import annotations

from typing import Final

from starlette.routing import Route, Router

from toolhaft.catalog.published_store import PublishedStore
from toolhaft.serve.catalog_routes import CatalogRoutes
from toolhaft.serve.changes import ChangeQueue
from toolhaft.serve.info_routes import InfoRoutes
from toolhaft.serve.revision import RevisionReader
from toolhaft.serve.search import SearchIndexes
from toolhaft.serve.settings import Settings
from toolhaft.serve.storage_threads import WorkerThreads
from toolhaft.serve.tool_cache import ToolCache
from toolhaft.serve.version_routes import VersionRoutes

_READ_THREADS: Final = 2
_READ_TIMEOUT_S: Final = 20.0


class CatalogRouter:
    """The routes, with the threads that their handlers share."""

    def __init__(
        self,
        settings: Settings,
        store: PublishedStore,
        tool_cache: ToolCache,
        *,
        searches: SearchIndexes,
        revisions: RevisionReader,
        url: str,
    ) -> None:
        self._changes = ChangeQueue(revisions)
        self._read_threads = WorkerThreads(_READ_THREADS, "reading", timeout_s=_READ_TIMEOUT_S)
        tools = CatalogRoutes(
            settings,
            store,
            tool_cache,
            searches=searches,
            changes=self._changes,
            read_threads=self._read_threads,
        )
        versions = VersionRoutes(store, tools, self._changes)
        info = InfoRoutes(tool_cache, tools, self._changes, self._read_threads, url=url)
        self.route = Router(
            [
                Route("/v3/tools", tools.list_tools, methods=["GET"]),
                Route("/v3/tools/{id}", tools.one_tool, methods=["GET", "PUT", "DELETE"]),
                Route("/v3/tools/{id}/schema", info.export_tool, methods=["GET"]),
                Route("/v3/tools/{id}/versions", versions.list_versions, methods=["GET"]),
                Route("/v3/tools/{id}/rollback", versions.roll_back, methods=["POST"]),
                Route(
                    "/v3/tool/{id}", tools.get_tool, methods=["POST"]
                ),  # for a 405: POST is handled earlier
                Route("/v3/check", info.check_document, methods=["POST"]),
                Route("/v3/me", info.tell_caller, methods=["GET"]),
                Route("/openapi.json", info.describe, methods=["GET"]),
            ],
            redirect_slashes=False,
        )

    def close(self) -> None:
        """Start no more work."""
        self._changes.close()
        self._read_threads.close()
