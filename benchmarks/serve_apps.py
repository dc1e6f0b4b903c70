"""The two servers that are compared: the platform, and a bare Starlette echo.

As a program it serves one of them on a free loopback port, prints the port, and ends when its input ends.
"""

import json
import os
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from toolhaft.serve.app import PlatformApp
from toolhaft.serve.keys import Keys
from toolhaft.serve.server import configure, listen
from toolhaft.serve.settings import Settings
from toolhaft.storage import open_database

ECHO = """
id: {id}
name: Echo
description: Give back what was given.
share: private
effect: read
parameters:
  - {{name: text, type: string, required: true, description: Any text}}
  - {{name: count, type: number, required: true, minimum: 0, description: Any number}}
  - {{name: tags, type: array, items: {{type: string}}, required: false, description: Any words}}
returns:
  - {{name: text, type: string, description: The text}}
  - {{name: count, type: number, description: The number}}
  - {{name: tags, type: array, description: The words}}
run: {{python: "benchmarks.serve_apps:{function}"}}
"""
SUMS = """
id: sums
name: Sums
description: Evaluate an expression.
effect: read
endpoint: "http://127.0.0.1:{port}/v3/tool/calculator"
parameters:
  - {{name: expression, type: string, required: true, description: Such as 1 + 2}}
"""


async def echo(text: str, count: float, tags: list[str] | None = None) -> dict[str, object]:
    """Return the arguments, on the event loop."""
    return {"text": text, "count": count, "tags": tags or []}


def echo_on_thread(text: str, count: float, tags: list[str] | None = None) -> dict[str, object]:
    """Return the arguments, on a thread."""
    return {"text": text, "count": count, "tags": tags or []}


async def accept(value: object) -> dict[str, object]:
    """Take anything."""
    return {"text": "", "taken": value is not None}


async def _bare(request: Request) -> JSONResponse:
    return JSONResponse(await request.json())


async def _bare_on_thread(request: Request) -> JSONResponse:
    return JSONResponse(await run_in_threadpool(echo_on_thread, **await request.json()))


def _platform(settings: Settings, port: int) -> tuple[PlatformApp, str]:
    """Return the platform with the stored key of an ordinary user and that user's tools."""
    with open_database(settings.database_url) as database:
        _, key = Keys(database).create(owner="somebody", scopes=["tools:read", "tools:write", "tools:run"])
    return PlatformApp(settings, port=port), key


def main() -> None:
    """Serve the app that the first argument names."""
    with TemporaryDirectory() as folder:
        settings = Settings(
            port=0,
            database_url=f"sqlite:///{Path(folder, 'platform.db')}",
            allow_run=frozenset(("python",)),
            rate=None,
            max_parallel=1000,
            max_parallel_per_key=1000,
        )
        listener = listen(settings.host, 0)
        port = listener.getsockname()[1]
        app, key = _platform(settings, port)
        config = configure(app, settings)
        if sys.argv[1] == "echo":
            routes = {"/echo": _bare, "/echo_on_thread": _bare_on_thread}
            made = [Route(path, bare, methods=["POST"]) for path, bare in routes.items()]
            config.app = Starlette(routes=made)
            config.http = "httptools"
        server = uvicorn.Server(config)
        threading.Thread(target=_end_with_input, args=[server], daemon=True).start()
        sys.stdout.write(json.dumps({"port": port, "key": key, "operator": app.key}) + "\n")
        sys.stdout.flush()
        server.run(sockets=[listener])
        app.close()


def _end_with_input(server: uvicorn.Server) -> None:
    os.read(0, 1)
    server.should_exit = True


if __name__ == "__main__":
    main()
