"""Projects on disk, fake distributions, and a platform on loopback that can misbehave."""

import json
import os
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from toolhaft.catalog.project import Project
from toolhaft.catalog.published import PlatformUser
from toolhaft.catalog.published_store import PublishedStore
from toolhaft.define.yaml import tool_fields
from toolhaft.errors import ConflictError, DefinitionError, UnknownToolError
from toolhaft.storage import open_database

LONG = bool(os.environ.get("TOOLHAFT_LONG"))
"""`make soak` sets it: more rounds and random examples."""
KEY = "th_0badc0de_secret"
OPERATOR = PlatformUser(is_operator=True)

BUILT_IN = [
    "calculator",
    "file_info",
    "file_reader",
    "list_directory",
    "read_file",
    "search_tools",
    "web_scraper",
    "web_search",
    "wikipedia",
    "write_file",
]


def yaml_text(id="my-tool", *, run="", name="My Tool", description="Does something useful", more=""):
    """A small tool that takes a text."""
    ran = f"run: {run}\n" if run else ""
    return (
        f'id: "{id}"\nname: "{name}"\ndescription: "{description}"  # kept\n{more}'
        f'parameters:\n  - name: "input"\n    type: "string"\n    description: "Input value"\n{ran}'
    )


def make_project(root, files=None, *, config=None, env=None):
    """A project in a folder."""
    tools = root / "local-kit" / "tools"
    tools.mkdir(parents=True, exist_ok=True)
    for name, text in (files or {}).items():
        (tools / name).write_text(text, encoding="utf-8")
    if config is not None:
        (root / "toolhaft.toml").write_text(config, encoding="utf-8")
    if env is not None:
        (root / ".env").write_text(env, encoding="utf-8")
    return Project.at(root)


def make_distribution(folder, name, entries, modules):
    """A distribution as an installer leaves it: its facts, its entry points, its modules."""
    facts = folder / f"{name}-1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    told = "".join(f"{id} = {value}\n" for id, value in entries.items())
    (facts / "entry_points.txt").write_text(f"[toolhaft.tools]\n{told}", encoding="utf-8")
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text, encoding="utf-8")


class LoopbackPlatform:
    """The routes of a platform over a real store; `say` puts another answer in the place of all."""

    def __init__(self, url_of):
        self._url_of = url_of
        self.say = None
        self.requests = []
        self.page = 2

    @property
    def url(self):
        return self._url_of()

    def open(self):
        self.store = PublishedStore(open_database("sqlite://"), url=self.url)

    def answer(self, method, path, headers, body):
        self.requests.append((method, path, headers, body))
        if self.say is not None:
            return self.say(method, path)
        if headers.get("Authorization") != f"Bearer {KEY}":
            return problem(401, "no key")
        parts = urlsplit(path)
        try:
            return self._route(method, parts.path, parse_qs(parts.query), headers, body)
        except UnknownToolError as error:
            return problem(404, str(error))
        except ConflictError as error:
            return problem(412, str(error), current=error.current)
        except DefinitionError as error:
            return problem(422, "the tool cannot be stored as written", problems=str(error).splitlines())

    def _route(self, method, path, query, headers, body):
        if path == "/v3/tools":
            after = query.get("after", [None])[0]
            found = self.store.list(OPERATOR, after=after, limit=self.page)
            following = found[-1].id if len(found) == self.page else None
            return as_json(200, {"tools": [tool_fields(one.tool) for one in found], "next": following})
        id = unquote(path.rpartition("/")[2])
        if path.startswith("/v3/tool/"):
            return as_json(200, {"ran": id, "with": json.loads(body)})
        if method == "GET":
            return self._yaml(self.store.get(id, OPERATOR))
        if method == "PUT":
            self._check_there(id, headers)
            return self._yaml(self.store.put(body.decode(), OPERATOR, base=base_of(headers)))
        self.store.remove(id, OPERATOR, base=base_of(headers))
        return 204, {}, b""

    def _check_there(self, id, headers):
        """By HTTP, a condition on a version fails where there is none."""
        try:
            self.store.get(id, OPERATOR)
        except UnknownToolError as error:
            if "If-Match" in headers:
                raise ConflictError("there is no such tool yet") from error

    def _yaml(self, published):
        return 200, {"Content-Type": "application/yaml", "ETag": published.etag}, published.text.encode()


def base_of(headers):
    """What a request is conditional on, as the store takes it."""
    if headers.get("If-None-Match") == "*":
        return None
    said = headers.get("If-Match", "*")
    return ... if said == "*" else said.strip('"')


def as_json(status, value, kind="application/json"):
    return status, {"Content-Type": kind}, json.dumps(value).encode()


def problem(status, detail, **more):
    return as_json(status, {"status": status, "detail": detail, **more}, "application/problem+json")


@contextmanager
def loopback_platform():
    """A platform on a port of its own."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answer = platform.answer(self.command, self.path, dict(self.headers), body)
            if callable(answer):
                answer(self)
                return
            status, headers, data = answer
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_PUT = do_DELETE = do_POST = _serve  # noqa: N815 -- the server asks for these

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_):
            pass  # a client that goes away is what some tests are about

    server = Server(("127.0.0.1", 0), Handler)
    platform = LoopbackPlatform(lambda: f"http://127.0.0.1:{server.server_port}")
    platform.open()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield platform
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def age(path):
    """Wait until a file is no longer just written: what was is not trusted to stay."""
    settled_at = path.stat().st_ctime_ns + 110_000_000
    time.sleep(max(0, settled_at - time.time_ns()) / 10**9)
