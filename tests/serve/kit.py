"""Helpers for tests of the platform: an application in this process, and a real server in another one."""

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from toolhaft.serve.app import PlatformApp
from toolhaft.serve.keys import Keys
from toolhaft.serve.server import PlatformServer, listen
from toolhaft.serve.settings import Settings
from toolhaft.storage import open_database

ROOT = Path(__file__).parents[2]
DATABASES = ("sqlite", pytest.param("postgresql", marks=pytest.mark.external))
"""The kinds of `tests.postgres.new_url`."""
ALL = ("tools:read", "tools:write", "tools:run")
SHOUT = """\
# kept
id: shout
name: Shout
description: Say it loudly.
share: public
tags: [text, loud]
parameters:
  - {name: text, type: string, required: true, description: What to say}
  - {name: times, type: number, required: false, default: 1, minimum: 1, description: How often}
returns:
  - {name: said, type: string, description: What was said}
run: {python: "tests.serve.served_tools:shout"}
"""


def plain_tool(id, *, share="private", run="", more=""):
    """A tool of one parameter."""
    return (
        f"id: {id}\nname: A tool\ndescription: Does what {id} does.\nshare: {share}\n{more}"
        "parameters:\n  - {name: text, type: string, required: false, description: A text}\n" + run
    )


def wait_for(path, seconds=60.0):
    """True once a file is there."""
    ends = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < ends:
        time.sleep(0.02)
    return path.exists()


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def is_problem(self):
        """True for a problem as every problem must be: typed, with a fix."""
        problem = self.json
        return (
            self.headers["content-type"] == "application/problem+json"
            and problem["status"] == self.status
            and bool(problem["detail"])
            and bool(problem["fix"])
        )


class InProcess:
    """An application asked without a socket; `aask` for several requests at once."""

    def __init__(self, app, host="127.0.0.1:8420"):
        self.app = app
        self.host = host

    def ask(self, *args, **kwargs):
        return asyncio.run(self.aask(*args, **kwargs))

    def run(self, id, arguments, key=..., **headers):
        body = arguments if isinstance(arguments, bytes) else json.dumps(arguments).encode()
        return self.ask("POST", f"/v3/tool/{id}", body, key=key, content_type="application/json", **headers)

    def put(self, id, text, key=..., content_type="application/yaml", **headers):
        return self.ask("PUT", f"/v3/tools/{id}", text, key=key, content_type=content_type, **headers)

    async def aask(
        self, method, path, body=b"", *, key=..., query=b"", chunks=None, leaves_after=None, **headers
    ):
        """One request; a header's `_` is a `-`, `key=None` sends none, `leaves_after` are seconds."""
        body = body.encode() if isinstance(body, str) else body
        given = {"host": self.host, "content_length": str(len(body)), **headers}
        given = {name: value for name, value in given.items() if value is not None}
        if key is not None:
            given["authorization"] = f"Bearer {self.app.key if key is ... else key}"
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": query,
            "scheme": "http",
            "http_version": "1.1",
            "server": ("127.0.0.1", 8420),
            "client": ("127.0.0.1", 50_000),
            "headers": [
                (
                    name.replace("_", "-").encode(),
                    value if isinstance(value, bytes) else value.encode("latin-1"),
                )
                for name, value in given.items()
            ],
        }
        parts = [body] if chunks is None else list(chunks)
        is_left = not parts
        sent = []

        async def receive():
            if not parts:
                if not is_left:
                    await (asyncio.Event().wait() if leaves_after is None else asyncio.sleep(leaves_after))
                return {"type": "http.disconnect"}
            part = parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(parts)}

        async def send(message):
            sent.append(message)

        await self.app(scope, receive, send)
        if not sent:
            return None
        told = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], told, b"".join(message.get("body", b"") for message in sent[1:]))


@contextmanager
def platform(url="sqlite://", **options):
    """An application in this process."""
    app = PlatformApp(Settings(database_url=url, **{"rate": None, **options}))
    if url != "sqlite://":  # tests store keys there, and then the printed one ends
        app.key = operator_key(url)
    try:
        yield InProcess(app)
    finally:
        app.close()


def make_key(url, owner, *, org="", scopes=ALL, **more):
    """A stored key."""
    with open_database(url) as database:
        return Keys(database).create(owner=owner, org=org, scopes=scopes, **more)


def operator_key(url):
    """A stored key that may do everything and, like the printed one, has no owner."""
    info, text = make_key(url, "operator", scopes=["operator"])
    with open_database(url) as database, database.transaction() as transaction:
        transaction.execute("UPDATE toolhaft_keys SET owner = '' WHERE id = ?", [info.id])
        transaction.advance()
    return text


class Served:
    """A server in a process of its own."""

    def __init__(self, process, told, server=None):
        self.process = process
        self.server = server
        self.url = told["url"]
        self.key = told["key"]
        self.port = int(self.url.rpartition(":")[2])

    def connect(self, timeout=60):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, method, path, body=None, *, key=..., timeout=60, **headers):
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if key is not None:
            given["Authorization"] = f"Bearer {self.key if key is ... else key}"
        connection = self.connect(timeout)
        try:
            connection.request(method, path, body, given)
            answer = connection.getresponse()
            told = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, told, answer.read())
        finally:
            connection.close()

    def run(self, id, arguments, **more):
        return self.ask(
            "POST", f"/v3/tool/{id}", json.dumps(arguments), Content_Type="application/json", **more
        )

    def put(self, id, text, **more):
        return self.ask("PUT", f"/v3/tools/{id}", text, Content_Type="application/yaml", **more)

    def stop(self, timeout=60):
        """Ask it to stop; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout)

    def kill(self):
        self.process.kill()
        self.process.wait()


def start(**settings):
    """A server that accepts requests."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.serve.served", json.dumps({"port": 0, "rate": None, **settings})],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    )
    line = process.stdout.readline()
    process.stdout.close()
    if not line:
        raise RuntimeError(f"it did not start, and ended with {process.wait(10)}")
    told = json.loads(line)
    if "database_url" in settings:
        told["key"] = operator_key(settings["database_url"])
    return Served(process, told)


def serving_here(**settings):
    """A real server on a thread of this process, where coverage sees it."""
    return serving_settings(Settings(**{"port": 0, "rate": None, **settings}))


@contextmanager
def serving_settings(chosen, listener=None):
    """The same with whole settings, and with a socket that listens already, if one is given."""
    listener = listener or listen(chosen.host, chosen.port)
    app = PlatformApp(chosen, port=listener.getsockname()[1])
    server = PlatformServer(app, chosen)
    thread = threading.Thread(target=server.run, args=[[listener]])
    thread.start()
    try:
        key = app.key if chosen.database_url == "sqlite://" else operator_key(chosen.database_url)
        yield Served(None, {"url": app.url, "key": key}, server)
    finally:
        server.should_exit = True
        thread.join(30)


@contextmanager
def serving(**settings):
    """A server that is gone at the end, whatever happened to it."""
    served = start(**settings)
    try:
        yield served
    finally:
        if served.process.poll() is None:
            served.kill()
