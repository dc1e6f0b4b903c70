"""The platform as an ASGI application: every request through the gate, to what it asks for.

Knows the order of the checks; each check knows its own business.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

from toolhaft.catalog.shelf import Shelf
from toolhaft.errors import ConfigError, ToolhaftError
from toolhaft.serve.answers import Receive, Scope, Send, send_answer, send_problem
from toolhaft.serve.bodies import ClientLeftError
from toolhaft.serve.callers import Callers, Visit, make_one_time_key
from toolhaft.serve.gate import Gate
from toolhaft.serve.keys import Keys
from toolhaft.serve.lines import LINE
from toolhaft.serve.newest import Newest
from toolhaft.serve.problems import Problem, problem_of, wait_first
from toolhaft.serve.rates import Rates
from toolhaft.serve.runs import Runs
from toolhaft.serve.searches import Searches
from toolhaft.serve.settings import Settings
from toolhaft.serve.stock import Stock
from toolhaft.storage import Database, open_database

try:
    from starlette.exceptions import HTTPException

    from toolhaft.serve.routes import CatalogRoutes, make_router
except ImportError as error:  # pragma: no cover -- the tests have it
    raise ImportError("the platform needs starlette: pip install 'toolhaft[serve]'") from error

_LOG: Final = logging.getLogger("toolhaft")
_RUN: Final = "/v3/tool/"
_UNREAD: Final = (408, 413)
"""The answers to requests whose rest is not read."""
_HEALTH: Final = "/healthz"
_HEALTH_S: Final = 1.0


def create_app(settings: Settings) -> PlatformApp:
    """The platform as an ASGI application, for any server; `run` serves it with uvicorn.

    Raises:
        ConfigError: where it would listen off loopback and no key is stored.
        StorageError: where the database cannot be opened.
    """
    return PlatformApp(settings)


class PlatformApp:
    """An ASGI application; `key` opens everything until the process ends, None off loopback.

    Args:
        settings: what the operator decided.
        port: the port that is bound, where the settings leave it open.
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
        shelf = Shelf(database, url=self.url)
        keys = Keys(database)
        self.key = make_one_time_key() if settings.is_loopback else None
        if self.key is None and not keys.list():
            raise ConfigError(
                f"{settings.host} can be reached from elsewhere, and no key is stored",
                fix="make a key first (toolhaft key new --owner NAME), or listen on 127.0.0.1",
            )
        self._gate = Gate(settings.hosts_at(port), settings.origins_at(port), self.url)
        self._callers = Callers(keys, self.key)
        self._rates = Rates(settings.rate)
        self._newest = newest_of(shelf, database)
        stock = Stock(shelf, url=self.url, kinds=settings.kinds, built_in=settings.built_in)
        searches = Searches(shelf, stock)
        self._runs = Runs(settings, stock, searches, url=self.url)
        self._catalog = CatalogRoutes(
            settings, shelf, stock, searches=searches, newest=self._newest, url=self.url
        )
        self._router = make_router(self._catalog)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the life of the server."""
        match scope["type"]:
            case "http":
                await self._answer(scope, receive, send)
            case "lifespan":
                await self._live(receive, send)
            case _:
                await send({"type": "websocket.close", "code": 1000})

    def cancel_calls(self) -> None:
        """Cancel every call that runs: it is undone as its effect says, and its client is told."""
        self._runs.cancel()

    def close(self) -> None:
        """End what works for calls, and let go of the database."""
        self._runs.close()
        self._catalog.close()
        self._newest.close()
        self._database.close()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._route(scope, receive, send)
        except ClientLeftError:
            pass  # nobody is there to answer
        except (Exception, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError):
                if task is None or not self._runs.is_leaving:
                    raise
                task.uncancel()  # there is still time to tell
            trouble = _trouble_of(error, scope)
            await send_problem(send, trouble, closes=trouble.status in _UNREAD)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if path == _HEALTH:
            await self._tell_health(scope, send)
            return
        headers = self._gate.admit(scope)
        revision = self._newest.peek()
        if revision is None:
            revision = await self._newest.get()
        caller = self._callers.known(headers, revision) or await self._callers.find(
            headers, revision, _address(scope)
        )
        if not caller.is_one_time:
            self._rates.take(caller.key_id)
        visit = Visit(headers, caller, revision, scope.get(LINE))
        if path.startswith(_RUN) and scope["method"] == "POST":
            await self._runs.answer(path[len(_RUN) :], visit, receive, send)
            return
        scope["app"] = self  # has Starlette raise what is not found, in place of answering by itself
        scope["toolhaft"] = visit
        await self._router(scope, receive, send)

    async def _tell_health(self, scope: Scope, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise Problem(405, f"{_HEALTH} is only read", fix="use GET", headers={"allow": "GET, HEAD"})
        await self._newest.get(_HEALTH_S)
        await send_answer(send, b'{"status":"ok"}', headers=[(b"cache-control", b"no-store")])

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                await asyncio.to_thread(self.close)
                await send({"type": "lifespan.shutdown.complete"})
                return


def newest_of(shelf: Shelf, database: Database) -> Newest:
    """Who tells whether something changed."""
    return Newest(shelf.revision, is_near=database.dialect == "sqlite")


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def _trouble_of(error: BaseException, scope: Scope) -> Problem:
    """What is answered in place of what was asked for."""
    match error:
        case Problem():
            return error
        case ToolhaftError():
            return problem_of(error)
        case HTTPException():
            return _of_starlette(error, scope)
        case asyncio.CancelledError():
            fix = "look whether it was done before you send it again"
            return wait_first(503, "the platform stopped before the request was answered", 5, fix=fix)
        case _:  # a fault of ours must not end as uvicorn's own text
            _LOG.error("a request to %s failed", scope["path"][:200], exc_info=error)
            return Problem(500, "the platform failed; its operator finds the cause in its log")


def _of_starlette(error: HTTPException, scope: Mapping[str, Any]) -> Problem:
    path = str(scope["path"])[:200]
    headers: Mapping[str, str] = error.headers or {}
    if error.status_code == 405:  # noqa: PLR2004 -- the status
        allowed = headers.get("Allow", "")
        return Problem(
            405, f"{scope['method']} is not for {path}", fix=f"use {allowed}", headers={"allow": allowed}
        )
    return Problem(404, f"there is nothing at {path}", fix="GET /openapi.json tells what there is")
