"""`/v3/tools` and `/openapi.json`: tools found, published and removed.

Knows requests and the shelf; does not run tools.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import partial
from typing import Any, Final, TypeVar, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from toolhaft import schema
from toolhaft.catalog.listing import SHARES
from toolhaft.catalog.shelf import Published, Shelf
from toolhaft.define.yaml import YamlTool
from toolhaft.errors import ConflictError, DefinitionError, ForbiddenError, UnknownToolError
from toolhaft.schema.nearest import nearest
from toolhaft.serve.bodies import media_type_of, read_body, refuse_type
from toolhaft.serve.callers import READ, WRITE, Visit
from toolhaft.serve.conditions import base_of, has_it_already
from toolhaft.serve.documents import JSON, YAML, fields_of, is_yaml, read_tool_text, wants_yaml
from toolhaft.serve.newest import Newest
from toolhaft.serve.offered import Offered
from toolhaft.serve.openapi import Descriptions
from toolhaft.serve.pages import Pages
from toolhaft.serve.problems import Problem, problem_of
from toolhaft.serve.rates import Seats, Turns
from toolhaft.serve.searches import Searches
from toolhaft.serve.settings import Settings
from toolhaft.serve.stock import OPERATOR, Stock
from toolhaft.serve.waits import Bench, read_soon

T = TypeVar("T")
_PARAMETERS: Final = ("after", "limit", "owner", "q", "share", "tag")
_LONGEST_PAGE: Final = 1_000
_PAGE: Final = 100
_LARGEST_DOCUMENT: Final = 100_000
"""Bytes; YAML is slow to read, and a tool that takes more is no tool that a model could be told of."""
_MOST_PARAMETERS: Final = 200
_WRITERS: Final = 2
"""Documents that are read and stored at once: YAML takes long, and slows down what runs beside it."""
_MOST_CHANGES: Final = 64
_MOST_CHANGES_PER_KEY: Final = 8
_READERS: Final = 2
_LONGEST_READ_S: Final = 20.0
_PRIVATE: Final = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


def make_router(catalog: CatalogRoutes) -> Router:
    """Where each path leads; what is found nowhere raises Starlette's HTTPException."""
    return Router(
        [
            Route("/v3/tools", catalog.list_tools, methods=["GET"]),
            Route("/v3/tools/{id}", catalog.one_tool, methods=["GET", "PUT", "DELETE"]),
            Route("/v3/tool/{id}", catalog.get_tool, methods=["POST"]),  # answered before it comes here
            Route("/openapi.json", catalog.describe, methods=["GET"]),
        ],
        redirect_slashes=False,
    )


class CatalogRoutes:
    """The catalog over HTTP."""

    def __init__(
        self, settings: Settings, shelf: Shelf, stock: Stock, *, searches: Searches, newest: Newest, url: str
    ) -> None:
        self._settings = settings
        self._shelf = shelf
        self._stock = stock
        self._newest = newest
        self._pages = Pages(stock, searches)
        self._descriptions = Descriptions(stock, url)
        self._turns = Turns(Seats(_MOST_CHANGES, _MOST_CHANGES_PER_KEY, "changes"))
        self._writing = Bench(_WRITERS, "writing")
        self._reading = Bench(_READERS, "reading", within_s=_LONGEST_READ_S)

    def close(self) -> None:
        """Begin nothing more."""
        self._writing.close()
        self._reading.close()

    async def list_tools(self, request: Request) -> Response:
        """The tools that the caller may see, a page at a time; with `q` the ones that fit best."""
        visit = _visit(request, READ)
        asked = _asked(request)
        limit = _limit(asked.pop("limit", None))
        share = asked.get("share")
        if share is not None and share not in SHARES:
            raise Problem(400, f"share is no level: {share!r:.80}", fix=f"use {', '.join(SHARES)}")
        body = await self._reading.do(self._pages.read, visit.caller.viewer, asked, limit)
        return _answer(body)

    async def one_tool(self, request: Request) -> Response:
        """One tool: read, published or removed."""
        match request.method:
            case "PUT":
                return await self.put_tool(request)
            case "DELETE":
                return await self.delete_tool(request)
            case _:
                return await self.get_tool(request)

    async def get_tool(self, request: Request) -> Response:
        """One tool: its fields as JSON, or its YAML document."""
        visit = _visit(request, READ)
        published = await self._seen(request, visit)
        if has_it_already(visit.headers, published.etag):
            return Response(status_code=304, headers={**_PRIVATE, "etag": published.etag})
        return await asyncio.to_thread(_document, published, as_yaml=wants_yaml(visit.headers))

    async def put_tool(self, request: Request) -> Response:
        """Publish a tool: only over the version that it was made from, so that nobody's change is lost."""
        visit = _visit(request, WRITE)
        media_type = media_type_of(visit.headers)
        if media_type != JSON and not is_yaml(media_type):
            raise refuse_type(media_type, "application/yaml (or application/json)")
        body = await read_body(
            request.receive,
            visit.headers,
            most=min(self._settings.body_bytes, _LARGEST_DOCUMENT),
            within_s=self._settings.request_timeout_s,
        )
        as_yaml = wants_yaml(visit.headers, sent=media_type)
        async with self._turns.take(visit.caller.key_id):
            published, is_new = await self._change(
                self._writing.do(self._put, request.path_params["id"], body, media_type, visit)
            )
            answer = await self._writing.do(_document, published, as_yaml=as_yaml)
        if is_new:
            answer.status_code = 201
            answer.headers["location"] = f"/v3/tools/{published.id}"
        return answer

    async def delete_tool(self, request: Request) -> Response:
        """Take a tool away."""
        visit = _visit(request, WRITE)
        if b"if-none-match" in visit.headers:
            fix = "send If-Match with its ETag, or neither header"
            raise Problem(412, "If-None-Match names what must not be there: nothing was removed", fix=fix)
        base, has_condition = base_of(visit.headers, None)
        id = request.path_params["id"]
        remove = partial(
            self._shelf.remove, id, visit.caller.viewer, base=base if has_condition and base else ...
        )
        try:
            await self._change(asyncio.to_thread(remove))
        except ConflictError as error:
            raise problem_of(error, has_condition=True) from error
        except UnknownToolError:
            await self._refuse_offered(id, visit)
            raise
        return Response(status_code=204, headers=_PRIVATE)

    async def _refuse_offered(self, id: str, visit: Visit) -> None:
        offered = await self._stock.find(id, visit.revision)
        if isinstance(offered, Offered) and visit.caller.viewer.may_see(
            offered.owner, offered.org, offered.share
        ):
            raise Problem(
                403,
                f"the tool {id!r} comes with the platform: nobody published it, so nobody takes it away",
                fix="the operator closes the built-in tools with: toolhaft serve --built-in none",
            )

    async def describe(self, request: Request) -> Response:
        """What can be asked here, as OpenAPI says it."""
        visit = _visit(request, READ)
        body = await self._reading.do(self._descriptions.read, visit.caller, visit.revision)
        return _answer(body)

    async def _seen(self, request: Request, visit: Visit) -> Published:
        id, viewer = request.path_params["id"], visit.caller.viewer
        published = await self._stock.find(id, visit.revision)
        if published is None or not viewer.may_see(published.owner, published.org, published.share):
            raise await read_soon(self._stock.unknown, id, viewer)
        return published

    async def _change(self, change: Coroutine[Any, Any, T]) -> T:
        # shielded: a client that goes away meanwhile must not leave it unknown whether something changed
        task = asyncio.ensure_future(change)
        try:
            return await asyncio.shield(task)
        finally:
            self._newest.expire()

    def _put(self, id: str, body: bytes, media_type: bytes, visit: Visit) -> tuple[Published, bool]:
        text, tool = read_tool_text(body, media_type)
        _check_size(tool)
        viewer = visit.caller.viewer
        if tool.name != id:
            raise Problem(
                422,
                f"the document is of the tool {tool.name!r}, and the address of {id!r:.80}",
                fix=f"PUT it to /v3/tools/{tool.name}",
            )
        if id in self._stock.installed_ids and not viewer.is_operator:
            raise ForbiddenError(f"the id {id!r} is of an installed tool: only an operator may publish it")
        base, has_condition = base_of(visit.headers, tool.updated_at)
        is_new = not self._is_there(id)
        if is_new and base is ... and has_condition:
            raise Problem(412, f"there is no tool {id!r} yet", fix="leave If-Match out to make it")
        try:
            return self._shelf.put(
                text, viewer, base=base, tool=tool if is_yaml(media_type) else None
            ), is_new
        except ConflictError as error:
            raise problem_of(error, has_condition=has_condition) from error

    def _is_there(self, id: str) -> bool:
        try:
            self._shelf.get(id, OPERATOR)
        except UnknownToolError:
            return False
        return True


def _visit(request: Request, scope: str) -> Visit:
    visit = cast("Visit", request.scope["toolhaft"])
    visit.caller.need(scope)
    return visit


def _check_size(tool: YamlTool[dict[str, object], object]) -> None:
    properties = tool.input_schema.get("properties")
    count = len(cast("dict[str, object]", properties)) if isinstance(properties, dict) else 0
    if count > _MOST_PARAMETERS:
        raise DefinitionError(
            f"there are {count} parameters",
            tool=tool.name,
            place="parameters",
            fix=f"keep to {_MOST_PARAMETERS}: no model fills in more",
        )


def _asked(request: Request) -> dict[str, str]:
    asked: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name not in _PARAMETERS:
            close = nearest(name, _PARAMETERS)
            hint = f"did you mean {close}? " if close else ""
            raise Problem(
                400, f"there is no parameter {name!r:.80}", fix=f"{hint}use {', '.join(_PARAMETERS)}"
            )
        if name in asked:
            raise Problem(400, f"{name} is there twice", fix="say it once")
        asked[name] = value
    return asked


def _limit(given: str | None) -> int:
    if given is None:
        return _PAGE
    if not (given.isascii() and given.isdigit() and 1 <= int(given[:9]) <= _LONGEST_PAGE and len(given) < 9):  # noqa: PLR2004 -- digits
        raise Problem(400, f"limit is no number of tools: {given!r:.80}", fix=f"use 1 to {_LONGEST_PAGE}")
    return int(given)


def _document(published: Published, *, as_yaml: bool) -> Response:
    headers = {**_PRIVATE, "etag": published.etag, "vary": "accept"}
    if as_yaml:
        return Response(published.text.encode(), headers={**headers, "content-type": YAML.decode()})
    return _answer(schema.to_json_text(fields_of(published)).encode(), headers)


def _answer(body: bytes, headers: dict[str, str] = _PRIVATE) -> Response:
    return Response(body, headers={**headers, "content-type": JSON.decode()})
