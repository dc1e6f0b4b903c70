"""`/v3/tools` and `/v3/tools/{id}`: lists, reads, publishes and removes tools."""

from __future__ import annotations

import asyncio
from functools import partial
from types import EllipsisType
from typing import Final, cast

from starlette.requests import Request
from starlette.responses import Response

from toolhaft.catalog.listing import SHARES
from toolhaft.catalog.published import AnyYamlTool, PlatformUser, PublishedTool
from toolhaft.catalog.published_store import PublishedStore
from toolhaft.errors import ConflictError, DefinitionError, ForbiddenError, UnknownToolError
from toolhaft.serve.callers import READ, WRITE, Admission
from toolhaft.serve.changes import ChangeQueue
from toolhaft.serve.documents import ToolPages, ToolQuery, is_yaml, read_tool_text, wants_yaml
from toolhaft.serve.installed_tools import InstalledTool
from toolhaft.serve.query import DRY_RUN, read_flag, read_number, wrong_value
from toolhaft.serve.request import base_version, body_type, is_not_modified, read_body, unsupported_type
from toolhaft.serve.responses import JSON, HttpProblem, error_problem
from toolhaft.serve.search import SearchIndexes
from toolhaft.serve.settings import Settings
from toolhaft.serve.storage_threads import WorkerThreads
from toolhaft.serve.tool_cache import ToolCache
from toolhaft.serve.tool_responses import (
    NO_STORE,
    admit,
    document_response,
    dry_run_response,
    json_body_response,
    json_response,
)

_FILTERS: Final = ("owner", "share", "tag")
_PARAMETERS: Final = ("after", "limit", "owner", "q", "share", "tag")
_MAX_PAGE: Final = 1_000
_DEFAULT_PAGE: Final = 100
_MAX_OFFSET: Final = 1_000_000_000
_MAX_DOCUMENT_BYTES: Final = 100_000
"""YAML is slow to parse, and no model could use a tool with a longer description."""
_MAX_PARAMETERS: Final = 200


class CatalogRoutes:
    """The handlers of the routes."""

    def __init__(
        self,
        settings: Settings,
        store: PublishedStore,
        tool_cache: ToolCache,
        *,
        searches: SearchIndexes,
        changes: ChangeQueue,
        read_threads: WorkerThreads,
    ) -> None:
        self._settings = settings
        self._store = store
        self._tool_cache = tool_cache
        self._pages = ToolPages(tool_cache, searches)
        self._changes = changes
        self._read_threads = read_threads

    async def list_tools(self, request: Request) -> Response:
        """A page of the tools that the caller may see; with `q`, of the matches, the best first."""
        admission, query = admit(request, READ, _PARAMETERS)
        share, text = query.get("share"), query.get("q")
        if share is not None and share not in SHARES:
            raise wrong_value("share", share, ", ".join(SHARES))
        limit = read_number(query, "limit", least=1, most=_MAX_PAGE)
        # the next page of a search begins after so many matches, that of a list after an id
        offset = None
        if text is not None:
            number = "the number that is the next of the previous page"
            offset = read_number(query, "after", least=0, most=_MAX_OFFSET, expected=number)
        wanted = ToolQuery(
            filters={name: query.get(name) for name in _FILTERS},
            limit=_DEFAULT_PAGE if limit is None else limit,
            text=text,
            after=query.get("after"),
            offset=offset or 0,
        )
        body = await self._read_threads.run(
            self._pages.read, admission.caller.viewer, wanted, admission.revision
        )
        return json_body_response(body)

    async def one_tool(self, request: Request) -> Response:
        """Read, publish or remove one tool."""
        match request.method:
            case "PUT":
                return await self.put_tool(request)
            case "DELETE":
                return await self.delete_tool(request)
            case _:
                return await self.get_tool(request)

    async def get_tool(self, request: Request) -> Response:
        """The fields of a tool as JSON, or its YAML document."""
        admission, _ = admit(request, READ)
        published = await self._tool_cache.find_visible(
            request.path_params["id"], admission.revision, admission.caller.viewer
        )
        if is_not_modified(admission.headers, published.etag):
            return Response(status_code=304, headers={**NO_STORE, "etag": published.etag})
        return await asyncio.to_thread(document_response, published, as_yaml=wants_yaml(admission.headers))

    async def put_tool(self, request: Request) -> Response:
        """Publish a tool, only over the version that it is based on, so that no change is lost."""
        admission, query = admit(request, WRITE, (DRY_RUN,))
        dry_run = read_flag(query)
        body, media_type = await self.read_document(request, admission)
        as_yaml = wants_yaml(admission.headers, sent=media_type)
        put = partial(self._put, request.path_params["id"], body, media_type, admission, dry_run=dry_run)
        async with self._changes.turn(admission.caller.key_id):
            if dry_run:
                published, is_new = await self._changes.run(put)
                would = "create" if is_new else "replace"
                message = f"would {would} {published.id}{'' if is_new else f': {published.change}'}"
                return await self._changes.run(dry_run_response, would, published, message)
            published, is_new = await self._changes.finish(self._changes.run(put))
            response = await self._changes.run(document_response, published, as_yaml=as_yaml)
        if is_new:
            response.status_code = 201
            response.headers["location"] = f"/v3/tools/{published.id}"
        return response

    async def read_document(self, request: Request, admission: Admission) -> tuple[bytes, bytes]:
        """The body of a request that holds a document, and its media type.

        Raises:
            HttpProblem: 415 if it is neither YAML nor JSON, 413 if it is too large.
        """
        media_type = body_type(admission.headers)
        if media_type != JSON and not is_yaml(media_type):
            raise unsupported_type(media_type, "application/yaml (or application/json)")
        body = await read_body(
            request.receive,
            admission.headers,
            max_bytes=min(self._settings.body_bytes, _MAX_DOCUMENT_BYTES),
            timeout_s=self._settings.request_timeout_s,
        )
        return body, media_type

    async def delete_tool(self, request: Request) -> Response:
        """Remove a tool."""
        admission, query = admit(request, WRITE, (DRY_RUN,))
        dry_run = read_flag(query)
        base = condition(admission, "DELETE")
        id = request.path_params["id"]
        remove = partial(self._store.remove, id, admission.caller.viewer, base=base, dry_run=dry_run)
        try:
            await self._changes.finish(asyncio.to_thread(remove))
        except ConflictError as error:
            raise error_problem(error, has_condition=True) from error
        except UnknownToolError:
            fix = "the operator switches the built-in tools off with: toolhaft serve --built-in none"
            await self.refuse_installed(id, admission, "so it cannot be removed", fix=fix)
            raise
        if dry_run:
            message = f"would remove {id} with its versions; the id would stay reserved for its owner"
            return json_response({"dry_run": True, "would": "remove", "message": message})
        return Response(status_code=204, headers=NO_STORE)

    async def refuse_installed(self, id: str, admission: Admission, consequence: str, *, fix: str) -> None:
        """Raise if the caller sees an installed tool of that id.

        Raises:
            HttpProblem: 403 with the consequence of its being installed.
        """
        installed = await self._tool_cache.find(id, admission.revision)
        if isinstance(installed, InstalledTool) and installed.is_visible_to(admission.caller.viewer):
            raise HttpProblem(403, f"the tool {id!r} is installed, not published, {consequence}", fix=fix)

    def check_publisher(self, id: str, viewer: PlatformUser) -> None:
        """Check that a user may publish under an id, if it belongs to an installed tool.

        Raises:
            ForbiddenError: if it does, and the user is not an operator.
        """
        if id in self._tool_cache.installed_ids and not viewer.is_operator:
            raise ForbiddenError(
                f"the id {id!r} belongs to an installed tool: only an operator may publish it"
            )

    def _put(
        self, id: str, body: bytes, media_type: bytes, admission: Admission, *, dry_run: bool
    ) -> tuple[PublishedTool, bool]:
        text, tool = read_tool_text(body, media_type)
        check_size(tool)
        viewer = admission.caller.viewer
        if tool.name != id:
            raise HttpProblem(
                422,
                f"the document defines the tool {tool.name!r}, but the URL names {id!r:.80}",
                fix=f"PUT it to /v3/tools/{tool.name}",
                where="document",
                path="id",
            )
        self.check_publisher(id, viewer)
        base, has_condition = base_version(admission.headers, tool.updated_at)
        is_new = not self._store.taken([id])
        if is_new and base is ... and has_condition:
            what, fix = f"there is no tool {id!r} yet", "omit If-Match to create it"
            raise HttpProblem(412, what, fix=fix, where="header", path="if-match")
        parsed = tool if is_yaml(media_type) else None
        try:
            return self._store.put(text, viewer, base=base, tool=parsed, dry_run=dry_run), is_new
        except ConflictError as error:
            raise error_problem(error, has_condition=has_condition) from error


def condition(admission: Admission, method: str) -> str | EllipsisType:
    """The version that `If-Match` names; `...` for any.

    Raises:
        HttpProblem: 412 for If-None-Match, which does not apply; 400 if it does not name one version.
    """
    if b"if-none-match" in admission.headers:
        fix = "send If-Match with the tool's ETag, or neither header"
        what = f"If-None-Match does not apply to {method}: nothing was changed"
        raise HttpProblem(412, what, fix=fix, where="header", path="if-none-match")
    base, _ = base_version(admission.headers, None)
    return base or ...


def check_size(tool: AnyYamlTool) -> None:
    """Check that a tool has not too many parameters.

    Raises:
        DefinitionError: if it has.
    """
    properties = tool.input_schema.get("properties")
    count = len(cast("dict[str, object]", properties)) if isinstance(properties, dict) else 0
    if count > _MAX_PARAMETERS:
        raise DefinitionError(
            f"it has {count} parameters",
            tool=tool.name,
            place="parameters",
            fix=f"use at most {_MAX_PARAMETERS}: no model fills in more",
        )
