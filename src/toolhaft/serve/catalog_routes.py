"""`/v3/tools` and `/openapi.json`: lists, reads, publishes and removes tools."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine
from functools import partial
from typing import Any, Final, TypeVar, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from toolhaft import schema
from toolhaft.catalog.listing import SHARES
from toolhaft.catalog.published import AnyYamlTool, PublishedTool
from toolhaft.catalog.published_store import PublishedStore
from toolhaft.errors import ConflictError, DefinitionError, ForbiddenError, UnknownToolError
from toolhaft.schema.nearest import nearest
from toolhaft.serve.callers import READ, WRITE, Admission
from toolhaft.serve.documents import (
    YAML,
    ToolPages,
    is_yaml,
    published_fields,
    read_tool_text,
    wants_yaml,
)
from toolhaft.serve.installed_tools import InstalledTool
from toolhaft.serve.limits import ParallelLimit, PerKeyQueue
from toolhaft.serve.openapi import OpenApiDocuments
from toolhaft.serve.request import base_version, body_type, is_not_modified, read_body, unsupported_type
from toolhaft.serve.responses import JSON, HttpProblem, error_problem
from toolhaft.serve.revision import RevisionReader
from toolhaft.serve.search import SearchIndexes
from toolhaft.serve.settings import Settings
from toolhaft.serve.storage_threads import WorkerThreads
from toolhaft.serve.tool_cache import ToolCache

T = TypeVar("T")
_PARAMETERS: Final = ("after", "limit", "owner", "q", "share", "tag")
_MAX_PAGE: Final = 1_000
_DEFAULT_PAGE: Final = 100
_MAX_DOCUMENT_BYTES: Final = 100_000
"""YAML is slow to parse, and no model could use a tool with a longer description."""
_MAX_PARAMETERS: Final = 200
_WRITE_THREADS: Final = 2
"""Documents that are parsed and stored at once: parsing YAML is slow, and slows down running calls."""
_MAX_CHANGES: Final = 64
_MAX_CHANGES_PER_KEY: Final = 8
_READ_THREADS: Final = 2
_READ_TIMEOUT_S: Final = 20.0
_NO_STORE: Final = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


def make_router(catalog: CatalogRoutes) -> Router:
    """Route each path; an unknown one raises Starlette's HTTPException."""
    return Router(
        [
            Route("/v3/tools", catalog.list_tools, methods=["GET"]),
            Route("/v3/tools/{id}", catalog.one_tool, methods=["GET", "PUT", "DELETE"]),
            Route("/v3/tool/{id}", catalog.get_tool, methods=["POST"]),  # for a 405: POST is handled earlier
            Route("/openapi.json", catalog.describe, methods=["GET"]),
        ],
        redirect_slashes=False,
    )


class CatalogRoutes:
    """The handlers of the routes."""

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
        self._settings = settings
        self._store = store
        self._tool_cache = tool_cache
        self._revisions = revisions
        self._pages = ToolPages(tool_cache, searches)
        self._documents = OpenApiDocuments(tool_cache, url)
        self._changes = PerKeyQueue(ParallelLimit(_MAX_CHANGES, _MAX_CHANGES_PER_KEY, "changes"))
        self._write_threads = WorkerThreads(_WRITE_THREADS, "writing")
        self._read_threads = WorkerThreads(_READ_THREADS, "reading", timeout_s=_READ_TIMEOUT_S)

    def close(self) -> None:
        """Start no more work."""
        self._write_threads.close()
        self._read_threads.close()

    async def list_tools(self, request: Request) -> Response:
        """A page of the tools that the caller may see; with `q`, the best matches."""
        admission = _admit(request, READ)
        query = _read_query(request)
        limit = _read_limit(query.pop("limit", None))
        share = query.get("share")
        if share is not None and share not in SHARES:
            raise HttpProblem(400, f"{share!r:.80} is not a value of share", fix=f"use {', '.join(SHARES)}")
        body = await self._read_threads.run(self._pages.read, admission.caller.viewer, query, limit)
        return _json_response(body)

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
        admission = _admit(request, READ)
        published = await self._tool_cache.find_visible(
            request.path_params["id"], admission.revision, admission.caller.viewer
        )
        if is_not_modified(admission.headers, published.etag):
            return Response(status_code=304, headers={**_NO_STORE, "etag": published.etag})
        return await asyncio.to_thread(_document, published, as_yaml=wants_yaml(admission.headers))

    async def put_tool(self, request: Request) -> Response:
        """Publish a tool, only over the version that it is based on, so that no change is lost."""
        admission = _admit(request, WRITE)
        media_type = body_type(admission.headers)
        if media_type != JSON and not is_yaml(media_type):
            raise unsupported_type(media_type, "application/yaml (or application/json)")
        body = await read_body(
            request.receive,
            admission.headers,
            max_bytes=min(self._settings.body_bytes, _MAX_DOCUMENT_BYTES),
            timeout_s=self._settings.request_timeout_s,
        )
        as_yaml = wants_yaml(admission.headers, sent=media_type)
        async with self._changes.turn(admission.caller.key_id):
            published, is_new = await self._change(
                self._write_threads.run(self._put, request.path_params["id"], body, media_type, admission)
            )
            response = await self._write_threads.run(_document, published, as_yaml=as_yaml)
        if is_new:
            response.status_code = 201
            response.headers["location"] = f"/v3/tools/{published.id}"
        return response

    async def delete_tool(self, request: Request) -> Response:
        """Remove a tool."""
        admission = _admit(request, WRITE)
        if b"if-none-match" in admission.headers:
            fix = "send If-Match with the tool's ETag, or neither header"
            raise HttpProblem(412, "If-None-Match does not apply to DELETE: nothing was removed", fix=fix)
        base, has_condition = base_version(admission.headers, None)
        id = request.path_params["id"]
        remove = partial(
            self._store.remove, id, admission.caller.viewer, base=base if has_condition and base else ...
        )
        try:
            await self._change(asyncio.to_thread(remove))
        except ConflictError as error:
            raise error_problem(error, has_condition=True) from error
        except UnknownToolError:
            await self._refuse_installed(id, admission)
            raise
        return Response(status_code=204, headers=_NO_STORE)

    async def _refuse_installed(self, id: str, admission: Admission) -> None:
        installed = await self._tool_cache.find(id, admission.revision)
        if isinstance(installed, InstalledTool) and installed.is_visible_to(admission.caller.viewer):
            raise HttpProblem(
                403,
                f"the tool {id!r} is installed, not published, so it cannot be removed",
                fix="the operator switches the built-in tools off with: toolhaft serve --built-in none",
            )

    async def describe(self, request: Request) -> Response:
        """The OpenAPI document for this caller."""
        admission = _admit(request, READ)
        body = await self._read_threads.run(self._documents.read, admission.caller, admission.revision)
        return _json_response(body)

    async def _change(self, change: Coroutine[Any, Any, T]) -> T:
        # shielded: a change must not stop half way because its client disconnects
        task = asyncio.ensure_future(change)
        try:
            return await asyncio.shield(task)
        finally:
            self._revisions.expire()

    def _put(
        self, id: str, body: bytes, media_type: bytes, admission: Admission
    ) -> tuple[PublishedTool, bool]:
        text, tool = read_tool_text(body, media_type)
        _check_size(tool)
        viewer = admission.caller.viewer
        if tool.name != id:
            raise HttpProblem(
                422,
                f"the document defines the tool {tool.name!r}, but the URL names {id!r:.80}",
                fix=f"PUT it to /v3/tools/{tool.name}",
            )
        if id in self._tool_cache.installed_ids and not viewer.is_operator:
            raise ForbiddenError(
                f"the id {id!r} belongs to an installed tool: only an operator may publish it"
            )
        base, has_condition = base_version(admission.headers, tool.updated_at)
        is_new = not self._store.taken([id])
        if is_new and base is ... and has_condition:
            raise HttpProblem(412, f"there is no tool {id!r} yet", fix="omit If-Match to create it")
        try:
            return self._store.put(
                text, viewer, base=base, tool=tool if is_yaml(media_type) else None
            ), is_new
        except ConflictError as error:
            raise error_problem(error, has_condition=has_condition) from error


def _admit(request: Request, scope: str) -> Admission:
    admission = cast("Admission", request.scope["toolhaft"])
    admission.caller.require_scope(scope)
    return admission


def _check_size(tool: AnyYamlTool) -> None:
    properties = tool.input_schema.get("properties")
    count = len(cast("dict[str, object]", properties)) if isinstance(properties, dict) else 0
    if count > _MAX_PARAMETERS:
        raise DefinitionError(
            f"it has {count} parameters",
            tool=tool.name,
            place="parameters",
            fix=f"use at most {_MAX_PARAMETERS}: no model fills in more",
        )


def _read_query(request: Request) -> dict[str, str]:
    query: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name not in _PARAMETERS:
            close = nearest(name, _PARAMETERS)
            hint = f"did you mean {close}? " if close else ""
            raise HttpProblem(
                400, f"there is no parameter {name!r:.80}", fix=f"{hint}use {', '.join(_PARAMETERS)}"
            )
        if name in query:
            raise HttpProblem(400, f"{name} was sent twice", fix="send it once")
        query[name] = value
    return query


def _read_limit(text: str | None) -> int:
    if text is None:
        return _DEFAULT_PAGE
    if not re.fullmatch("[0-9]{1,4}", text) or not 1 <= int(text) <= _MAX_PAGE:
        raise HttpProblem(400, f"{text!r:.80} is not a value of limit", fix=f"use 1 to {_MAX_PAGE}")
    return int(text)


def _document(published: PublishedTool, *, as_yaml: bool) -> Response:
    headers = {**_NO_STORE, "etag": published.etag, "vary": "accept"}
    if as_yaml:
        return Response(published.text.encode(), headers={**headers, "content-type": YAML.decode()})
    return _json_response(schema.to_json_text(published_fields(published)).encode(), headers)


def _json_response(body: bytes, headers: dict[str, str] = _NO_STORE) -> Response:
    return Response(body, headers={**headers, "content-type": JSON.decode()})
