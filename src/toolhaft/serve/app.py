"""The platform as an ASGI application: checks each request, then routes it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

from toolhaft.catalog.published_store import PublishedStore
from toolhaft.errors import ConfigError, ToolhaftError
from toolhaft.serve.callers import Admission, Callers, make_one_time_key
from toolhaft.serve.disconnects import CONNECTION_KEY
from toolhaft.serve.keys import Keys
from toolhaft.serve.limits import KeyRates, client_network
from toolhaft.serve.request import HEALTH_PATH, ClientDisconnectedError, HeaderCheck
from toolhaft.serve.responses import (
    AsgiScope,
    HttpProblem,
    Receive,
    Send,
    error_problem,
    retry_later,
    send_problem,
    send_response,
)
from toolhaft.serve.revision import RevisionReader
from toolhaft.serve.run_route import RunRoute
from toolhaft.serve.search import SearchIndexes
from toolhaft.serve.settings import Settings
from toolhaft.serve.tool_cache import ToolCache
from toolhaft.storage import open_database

try:
    from starlette.exceptions import HTTPException

    from toolhaft.serve.router import CatalogRouter
except ImportError as error:  # pragma: no cover -- installed in the tests
    raise ImportError("the platform needs starlette: pip install 'toolhaft[serve]'") from error

_LOG: Final = logging.getLogger("toolhaft")
_RUN_PATH: Final = "/v3/tool/"
_BODY_UNREAD: Final = (408, 413)
"""Statuses after which the rest of the request is not read."""
_HEALTH_TIMEOUT_S: Final = 1.0


def create_app(settings: Settings) -> PlatformApp:
    """Create the platform as an ASGI application, for any server; `run` serves it with uvicorn.

    Raises:
        ConfigError: if it would listen beyond loopback and no key is stored.
        StorageError: if the database cannot be opened.
    """
    return PlatformApp(settings)


class PlatformApp:
    """The ASGI application; `key` is an operator's key for this process.

    It is None beyond loopback, with a `public_url`, and once a key was ever stored; it is valid until the
    process ends or a key is stored.

    Args:
        settings: the operator's settings.
        port: the port that is bound, if the settings have port 0.
    """

    def __init__(self, settings: Settings, *, port: int | None = None) -> None:
        bound = settings.port if port is None else port
        self.url = settings.url_at(bound)
        self._settings = settings
        self._database = open_database(settings.database_url)
        try:
            self._open(bound)
        except BaseException:
            self._database.close()
            raise

    def _open(self, port: int) -> None:
        settings, database = self._settings, self._database
        store = PublishedStore(database, url=self.url)
        keys = Keys(database)
        self.key = make_one_time_key() if settings.has_one_time_key and not keys.was_used else None
        if not settings.is_loopback and not keys.list():
            raise ConfigError(
                f"{settings.host} can be reached from other machines, and no key is stored",
                fix="create a key first (toolhaft key new --owner NAME), or listen on 127.0.0.1",
            )
        self._header_check = HeaderCheck(settings.hosts_at(port), settings.origins_at(port), self.url)
        self._callers = Callers(keys, self.key)
        self._rates = KeyRates(settings.rate)
        self._revisions = RevisionReader(store.revision, is_local=database.dialect == "sqlite")
        tool_cache = ToolCache(
            store,
            url=self.url,
            kinds=settings.kinds,
            built_in=settings.built_in,
            module_folder=settings.module_folder,
        )
        searches = SearchIndexes(store, tool_cache)
        self._runs = RunRoute(settings, tool_cache, searches, url=self.url)
        self._router = CatalogRouter(
            settings, store, tool_cache, searches=searches, revisions=self._revisions, url=self.url
        )

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Handle one request, or the lifespan of the server."""
        match scope["type"]:
            case "http":
                await self._handle_http(scope, receive, send)
            case "lifespan":
                await self._run_lifespan(receive, send)
            case _:
                await send({"type": "websocket.close", "code": 1000})

    def cancel_calls(self) -> None:
        """Cancel every running call: it is rolled back as its effect says, and its client gets a response."""
        self._runs.cancel()

    def close(self) -> None:
        """Stop the workers and close the database."""
        self._runs.close()
        self._router.close()
        self._revisions.close()
        self._database.close()

    async def _handle_http(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        try:
            await self._route(scope, receive, send)
        except ClientDisconnectedError:
            pass  # there is no client to answer
        except (Exception, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError):
                if task is None or not self._runs.is_stopping:
                    raise
                task.uncancel()  # the response can still be sent
            problem = _problem_of(error, scope)
            await send_problem(send, problem, closes=problem.status in _BODY_UNREAD)

    async def _route(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if path == HEALTH_PATH:
            await self._send_health(scope, send)
            return
        headers = self._header_check.check(scope)
        revision = self._revisions.read_now()
        if revision is None:
            revision = await self._revisions.read()
        caller = self._callers.cached(headers, revision) or await self._callers.find(
            headers, revision, _address(scope)
        )
        if not caller.is_one_time:
            self._rates.check(caller.key_id)
        admission = Admission(headers, caller, revision, scope.get(CONNECTION_KEY))
        if path.startswith(_RUN_PATH) and scope["method"] == "POST":
            await self._runs.handle(path[len(_RUN_PATH) :], admission, receive, send, scope["query_string"])
            return
        scope["app"] = self  # makes Starlette raise for an unknown path instead of sending its own response
        scope["toolhaft"] = admission
        await self._router.route(scope, receive, send)

    async def _send_health(self, scope: AsgiScope, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise HttpProblem(
                405, f"{HEALTH_PATH} can only be read", fix="use GET", headers={"allow": "GET, HEAD"}
            )
        await self._revisions.read(_HEALTH_TIMEOUT_S)
        await send_response(send, b'{"status":"ok"}', headers=[(b"cache-control", b"no-store")])

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                await asyncio.to_thread(self.close)
                await send({"type": "lifespan.shutdown.complete"})
                return


def _address(scope: AsgiScope) -> str:
    client = scope.get("client")
    return client_network(str(client[0])) if client else ""


def _problem_of(error: BaseException, scope: AsgiScope) -> HttpProblem:
    """The problem that is sent for an exception."""
    match error:
        case HttpProblem():
            return error
        case ToolhaftError():
            return error_problem(error)
        case HTTPException():
            return _routing_problem(error, scope)
        case asyncio.CancelledError():
            fix = "check whether it was done before you send it again"
            return retry_later(503, "the platform stopped before the request was answered", 5, fix=fix)
        case _:  # a bug of ours must not end as uvicorn's plain text
            _LOG.error("a request to %s failed", scope["path"][:200], exc_info=error)
            return HttpProblem(500, "the platform failed; its operator can find the cause in the log")


def _routing_problem(error: HTTPException, scope: Mapping[str, Any]) -> HttpProblem:
    path = str(scope["path"])[:200]
    headers: Mapping[str, str] = error.headers or {}
    if error.status_code == 405:  # noqa: PLR2004 -- the status
        allowed = headers.get("Allow", "")
        return HttpProblem(
            405,
            f"{scope['method']} is not allowed for {path}",
            fix=f"use {allowed}",
            headers={"allow": allowed},
        )
    return HttpProblem(404, f"there is nothing at {path}", fix="GET /openapi.json lists the paths")
