"""`/v3/tools/{id}/versions` and `/v3/tools/{id}/rollback`: lists the versions of a tool, and restores one."""

from __future__ import annotations

from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from toolhaft.catalog.published_store import PublishedStore
from toolhaft.errors import ConflictError, UnknownToolError
from toolhaft.serve.callers import READ, WRITE, Admission
from toolhaft.serve.catalog_routes import CatalogRoutes, condition
from toolhaft.serve.changes import ChangeQueue
from toolhaft.serve.documents import wants_yaml
from toolhaft.serve.query import DRY_RUN, read_flag, read_number
from toolhaft.serve.responses import error_problem
from toolhaft.serve.storage_threads import read_in_thread
from toolhaft.serve.tool_responses import admit, document_response, dry_run_response, json_response

_MAX_NUMBER: Final = 1_000_000_000


class VersionRoutes:
    """The handlers of the routes."""

    def __init__(self, store: PublishedStore, catalog: CatalogRoutes, changes: ChangeQueue) -> None:
        self._store = store
        self._catalog = catalog
        self._changes = changes

    async def list_versions(self, request: Request) -> Response:
        """The last versions of a tool, the newest first."""
        admission, _ = admit(request, READ)
        id = request.path_params["id"]
        try:
            versions = await read_in_thread(self._store.versions, id, admission.caller.viewer)
        except UnknownToolError:
            await self._refuse_installed(id, admission)
            raise
        return json_response({"versions": [version.to_json() for version in versions]})

    async def roll_back(self, request: Request) -> Response:
        """Publish an older version again, as a new version."""
        admission, query = admit(request, WRITE, (DRY_RUN, "to"))
        dry_run = read_flag(query)
        to = read_number(query, "to", least=1, most=_MAX_NUMBER)
        base = condition(admission, "POST")
        id = request.path_params["id"]
        self._catalog.check_publisher(id, admission.caller.viewer)
        restore = partial(
            self._store.rollback, id, admission.caller.viewer, to=to, base=base, dry_run=dry_run
        )
        try:
            async with self._changes.turn(admission.caller.key_id):
                published = await self._changes.finish(self._changes.run(restore))
                if dry_run:
                    message = f"would change {id}: {published.change}"
                    return await self._changes.run(dry_run_response, "restore", published, message)
                as_yaml = wants_yaml(admission.headers)
                return await self._changes.run(document_response, published, as_yaml=as_yaml)
        except ConflictError as error:
            fix = "GET its versions, and decide again which one to restore"
            raise error_problem(error, has_condition=True, fix=fix) from error
        except UnknownToolError:
            await self._refuse_installed(id, admission)
            raise

    async def _refuse_installed(self, id: str, admission: Admission) -> None:
        fix = "it changes with the package that installs it; only published tools have versions"
        await self._catalog.refuse_installed(id, admission, "so it has no versions", fix=fix)
