"""A web server on loopback that answers as a test configures it, and tools made from a few lines of YAML."""

import json
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from textwrap import indent
from threading import Thread

from toolhaft import execute_tool
from toolhaft.define.yaml import parse_tool
from toolhaft.resources.http import HttpClient

META = "id: sample\nname: Sample\ndescription: A sample.\neffect: read\n"


@dataclass
class Asked:
    method: str
    path: str
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class Site:
    """Where a server is, what it was asked, and what it answers."""

    def __init__(self):
        self.asked = []
        self.answer = lambda asked: (200, {}, {"ok": True})
        self.host = ""

    @property
    def url(self):
        return f"http://{self.host}"

    def says(self, body, status=200, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answer = lambda asked: (status, named, body)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __getattr__(self, name):
        if name.startswith("do_"):
            return self.handle_any
        raise AttributeError(name)

    def handle_any(self):
        length = int(self.headers.get("Content-Length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.command, self.path, headers, self.rfile.read(length))
        self.server.site.asked.append(asked)
        answer = self.server.site.answer(asked)
        if answer is None:  # hang up without a word
            self.close_connection = True
            return
        status, headers, body = answer
        if not isinstance(body, bytes | str):
            body = json.dumps(body)
            headers = {"Content-Type": "application/json", **headers}
        data = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # whoever asked has gone


@contextmanager
def serving():
    with Server(("127.0.0.1", 0), Handler) as server:
        server.site = Site()
        server.site.host = f"127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.site
        finally:
            server.shutdown()
            thread.join()


def parameter(name, type="string", **more):
    return {"name": name, "type": type, "description": f"The {name}.", **more}


def text_of(run=None, parameters=(), returns=(), **fields):
    """The text of a tool; what is not text already is written as JSON, which YAML reads too."""
    lines = [META.replace("effect: read\n", "") if "effect" in fields else META]
    fields = {key: value for key, value in fields.items() if value is not ...}
    lines += [f"{key}: {json.dumps(value)}\n" for key, value in fields.items()]
    for key, items in (("parameters", parameters), ("returns", returns)):
        if items:
            lines.append(f"{key}:\n" + "".join(f"  - {json.dumps(item)}\n" for item in items))
    if isinstance(run, str):
        lines.append(f"run:\n{indent(run, '  ')}\n")
    elif run is not None:
        lines.append(f"run: {json.dumps(run)}\n")
    return "".join(lines)


def tool_of(run=None, parameters=(), returns=(), folder=None, **fields):
    return parse_tool(text_of(run, parameters, returns, **fields), folder=folder)


def http_tool(url, parameters=(), returns=(), folder=None, fields=None, **http):
    run = {"http": {"method": "GET", "url": url, **http}}
    return tool_of(run, parameters, returns, folder, **(fields or {}))


def call(made, arguments=None, site=None, **resources):
    """Run a tool once, with the site opened for it."""
    given = {type(thing): thing for thing in resources.values()}
    if site is not None:
        given[HttpClient] = HttpClient(allow=[site.host])
    return execute_tool(made, arguments or {}, resources=given)
