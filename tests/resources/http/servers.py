r"""Web servers on loopback for tests: well-behaved and hostile ones, and a resolver and a connector that lead to them.

    with serve({"/": (200, {"Content-Type": "text/html"}, "<p>hello")}) as web:
        client = HttpClient(allow=[web.authority])
        client.fetch(web.url + "/")
        assert web.requests[0].headers["user-agent"]

    with scripted(lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort")) as web:
        ...

    names = Names({"shop.example": ["93.184.216.34"]})            # a resolver that records the names
    connector = LoopbackConnector({"93.184.216.34": web})         # connects to loopback instead
    client = HttpClient(resolver=names, connector=connector)

Nothing here ever connects to anything but loopback.
"""

import json
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

import trustme

LOOPBACK = "127.0.0.1"


@dataclass
class Request:
    """What a server was asked; `query` holds the last value of each parameter, `headers` have lower-case names."""

    method: str
    target: str
    path: str
    query: dict
    headers: dict
    body: bytes

    def json(self):
        return json.loads(self.body)


@dataclass
class Web:
    """A running server."""

    scheme: str
    port: int
    requests: list[Request] = field(default_factory=list)
    connections: int = 0

    @property
    def authority(self):
        return f"{LOOPBACK}:{self.port}"

    @property
    def url(self):
        """Without a path."""
        return f"{self.scheme}://{self.authority}"


# --- certificates ---------------------------------------------------------------------------------------


@cache
def authority_of_tests():
    """A certificate authority that nobody but `client_tls` trusts."""
    return trustme.CA()


def server_tls(*names, ca=None, not_after=None):
    """A server's side of TLS, for these names (or addresses)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate = (ca or authority_of_tests()).issue_cert(
        *(names or (LOOPBACK, "localhost")), not_after=not_after
    )
    certificate.configure_cert(context)
    return context


def client_tls():
    """A client's side: `HttpClient(tls=client_tls())` trusts the authority of these tests, and verifies."""
    context = ssl.create_default_context()
    authority_of_tests().configure_trust(context)
    return context


# --- well-behaved servers -------------------------------------------------------------------------------


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_one_request(self):
        with suppress(OSError):  # a client that goes away is no trouble of ours
            super().handle_one_request()

    def __getattr__(self, name):
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def _answer(self):
        asked = self._asked()
        self.server.web.requests.append(asked)
        pages = self.server.pages
        page = pages.get(asked.path, pages.get(None, (404, {}, "no such page")))
        status, headers, body = page(asked) if callable(page) else page
        data, usual = _to_bytes(body)
        self.send_response(status)
        for name, value in {"Content-Type": usual, "Content-Length": str(len(data)), **headers}.items():
            if value is not None:
                self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _asked(self):
        url = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        body = self.rfile.read(int(headers.get("content-length", 0)))
        return Request(self.command, self.path, url.path, query, headers, body)

    def log_message(self, *_):
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, web, pages, tls):
        super().__init__((LOOPBACK, 0), _Handler)
        self.web, self.pages, self.tls = web, pages, tls
        web.port = self.server_address[1]

    def get_request(self):
        connection, address = super().get_request()
        self.web.connections += 1
        connection.settimeout(10)
        return connection, address

    def finish_request(self, request, client_address):
        if self.tls is None:
            super().finish_request(request, client_address)
            return
        with suppress(OSError), self.tls.wrap_socket(request, server_side=True) as secured:
            super().finish_request(secured, client_address)


@contextmanager
def serve(pages, *, tls=None):
    """A server of pages by path.

    A page is `(status, headers, body)` or a function from a Request to one; a body is bytes, text, or a list or
    dict that is sent as JSON. `None` as a key answers for every other path, which is 404 otherwise; a header
    whose value is None is left out. `tls` is the server's side, from `server_tls`.
    """
    web = Web("https" if tls else "http", 0)
    with _Server(web, pages, tls) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield web
        finally:
            server.shutdown()
            thread.join()


def _to_bytes(body):
    if isinstance(body, bytes):
        return body, "application/octet-stream"
    if isinstance(body, str):
        return body.encode(), "text/html; charset=utf-8"
    return json.dumps(body).encode(), "application/json"


# --- hostile servers ------------------------------------------------------------------------------------


@contextmanager
def scripted(script: Callable[[socket.socket], None] | bytes, *, tls=None, reads_request=True):
    """A server that does exactly what a script does with each connection, once the request's head has come.

    A script of bytes is sent, and the connection closed. What the client does not want to hear is no error. With
    `reads_request=False` the script begins at once.
    """
    web = Web("https" if tls else "http", 0)
    open_ones: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def answer(connection):
        with suppress(OSError), connection:
            spoken = connection if tls is None else tls.wrap_socket(connection, server_side=True)
            with spoken:
                if reads_request:
                    web.requests.append(_read_head(spoken))
                if callable(script):
                    script(spoken)
                else:
                    spoken.sendall(script)

    def accept():
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                web.connections += 1
                connection.settimeout(10)
                open_ones.append(connection)
                threads.append(threading.Thread(target=answer, args=(connection,), daemon=True))
                threads[-1].start()

    with socket.create_server((LOOPBACK, 0), backlog=64) as listener:
        web.port = listener.getsockname()[1]
        acceptor = threading.Thread(target=accept, daemon=True)
        acceptor.start()
        try:
            yield web
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            acceptor.join()
            for connection in open_ones:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()


def _read_head(connection):
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(65536)
        if not piece:
            break
        head += piece
    head, _, body = head.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, *_ = [*first.split(" "), "", ""]
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    url = urlsplit(target)
    return Request(method, target, url.path, dict(parse_qsl(url.query)), headers, body)


def unused_port():
    """A port of loopback that nobody listens on."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        return listener.getsockname()[1]


# --- stubs ----------------------------------------------------------------------------------------------


class Names:
    """A resolver from a table: a list of addresses, or a list of such lists, one for each time it is asked."""

    def __init__(self, table):
        self.table = table
        self.asked = []

    def __call__(self, name, port):
        self.asked.append(name)
        found = self.table.get(name)
        if found is None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        if found and isinstance(found[0], list):
            return found[min(self.asked.count(name), len(found)) - 1]
        return found


class LoopbackConnector:
    """A connector that records the addresses, and connects to a server on loopback or refuses."""

    def __init__(self, table=None):
        self.table = table or {}
        self.connected = []

    def __call__(self, address, port, timeout_s):
        self.connected.append((address, port))
        web = self.table.get(address)
        if web is None:
            raise ConnectionRefusedError("nobody there")
        return socket.create_connection((LOOPBACK, web.port), timeout_s)
