"""A provider on loopback that sends the replies of a test, and records the requests."""

import json
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from urllib.parse import parse_qsl, urlsplit

from toolhaft import execute_tool
from toolhaft.resources.http import HttpClient


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One answer; a `body` that is not bytes is sent as JSON."""

    status: int = 200
    body: object = b""
    headers: dict = field(default_factory=dict)
    never: bool = False


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request as the provider saw it."""

    method: str
    path: str
    query: dict
    headers: dict
    body: object


class Provider:
    """Sends its replies one after the other, and repeats the last one."""

    def __init__(self, port):
        self.replies = [Reply(body={})]
        self.asked = []
        self.ended = Event()
        self.host = f"127.0.0.1:{port}"
        self.address = f"http://{self.host}"
        self.client = HttpClient(allow=[self.host])

    def say(self, *replies):
        self.replies = [reply if isinstance(reply, Reply) else Reply(body=reply) for reply in replies]

    def next_reply(self, asked):
        self.asked.append(asked)
        return self.replies[min(len(self.asked), len(self.replies)) - 1]

    def run(self, tool, arguments, **options):
        return execute_tool(tool, arguments, resources={HttpClient: self.client}, **options)


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        provider = self.server.provider
        parts = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        content = self.rfile.read(length)
        asked = Asked(
            method=self.command,
            path=parts.path,
            query=dict(parse_qsl(parts.query, keep_blank_values=True)),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=json.loads(content) if content else None,
        )
        reply = provider.next_reply(asked)
        if reply.never:
            provider.ended.wait(60)
            return
        is_raw = isinstance(reply.body, bytes)
        body = reply.body if is_raw else json.dumps(reply.body).encode()
        kind = "text/html" if is_raw else "application/json"
        self.send_response(reply.status)
        for name, value in {"Content-Type": kind, **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(ConnectionError):  # the client may have hung up
            self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 -- the name that the server calls

    def log_message(self, *_):
        pass


@contextmanager
def loopback_server():
    """A server that many tests share, each with a `provider_on` it."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def provider_on(server):
    server.provider = Provider(server.server_port)
    try:
        yield server.provider
    finally:
        server.provider.ended.set()
