"""A real server on a socket: malformed, slow, large and parallel requests."""

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress

import pytest

from tests.cases import in_case
from tests.serve.kit import SHOUT, plain_tool, serving_here


def python(name):
    return f'run: {{python: "tests.serve.served_tools:{name}"}}\n'


pytestmark = pytest.mark.external


@pytest.fixture(scope="module")
def impatient():
    """A server that gives its clients little time."""
    with serving_here(allow_run=["python"], request_timeout_s=0.4) as server:
        server.put("shout", SHOUT)
        yield server


@pytest.fixture(scope="module")
def served():
    with serving_here(allow_run=["python"], body_bytes=100_000, max_connections=40) as server:
        server.put("shout", SHOUT)
        server.put(
            "large", plain_tool("large", run=python("shout")).replace("text,", "text, maxLength: 90000,")
        )
        yield server


def raw(server, data, *, timeout=10.0, close=False):
    """Everything that comes back for some bytes, until the server closes or there is a whole answer."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=timeout) as connection:
        connection.sendall(data)
        if close:
            connection.shutdown(socket.SHUT_WR)
        return read_all(connection)


def read_all(connection):
    got = b""
    try:
        while True:
            part = connection.recv(65_536)
            if not part:
                return got
            got += part
            head, found, body = got.partition(b"\r\n\r\n")
            if found and b"content-length: " in head:
                length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
                if len(body) >= length:
                    return got
    except ConnectionResetError:
        return got


def head(server, path, method="POST", **headers):
    lines = [
        f"{method} {path} HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        f"Authorization: Bearer {server.key}",
    ]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def test_server_answers_http_requests(served):
    assert served.ask("GET", "/healthz", key=None).json == {"status": "ok"}
    assert served.run("shout", {"text": "hey"}).json == {"said": "HEY"}
    assert served.run("calculator", {"expression": "2 ** 10"}).json == {"result": 1024}
    assert served.ask("HEAD", "/v3/tools/shout").body == b""
    assert served.ask("GET", "/v3/tools/shout").json["endpoint"] == f"{served.url}/v3/tool/shout"
    assert "server" not in served.ask("GET", "/healthz", key=None).headers


def test_connection_is_reused_for_many_requests(served):
    connection = served.connect()
    headers = {"Authorization": f"Bearer {served.key}", "Content-Type": "application/json"}
    for number in range(50):
        connection.request(
            "POST", "/v3/tool/calculator", json.dumps({"expression": f"{number} + 1"}), headers
        )
        assert json.loads(connection.getresponse().read()) == {"result": number + 1}
        connection.request("POST", "/v3/tool/nothing", "{}", headers)
        assert connection.getresponse().read()
    connection.close()


def test_pipelined_requests_are_answered_in_order(served):
    one, two = b'{"expression": "1"}', b'{"expression": "2"}'
    sent = b"".join(
        head(served, "/v3/tool/calculator", Content_Type="application/json", Content_Length=len(body), **more)
        + body
        for body, more in ((one, {}), (two, {"Connection": "close"}))
    )
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
        connection.sendall(sent)
        got = b""
        while part := connection.recv(65_536):
            got += part
    assert got.index(b'{"result":1}') < got.index(b'{"result":2}')


def test_malformed_requests_get_a_4xx_problem(served):
    cases = [
        b"hello\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST /v3/tools HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"POST /v3/tools HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v3/tools HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a\x00b" + b"\r\n\r\n",
        b"CONNECT evil.example:80 HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"GET /v3/tools HTTP/1.0\r\n\r\n",
        b"GET * HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /v3/tools HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
    ]
    for data in cases:
        with in_case(data):
            got = raw(served, data)
            assert got.startswith(b"HTTP/1.1 4")
            assert b"application/problem+json" in got
            assert served.ask("GET", "/healthz", key=None).status == 200


def test_endless_headers_are_refused(served):
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nX-Long: " + b"a" * 60_000)
        connection.sendall(b"a" * 6_000)
        got = read_all(connection)
    assert got.startswith(b"HTTP/1.1 431")
    assert served.ask("GET", "/healthz", key=None).status == 200


@pytest.mark.parametrize("more", [{}, {"Expect": "100-continue"}])
def test_huge_content_length_is_refused_before_the_body_is_sent(served, more):
    sent = head(served, "/v3/tool/shout", Content_Type="application/json", Content_Length=10**9, **more)
    got = raw(served, sent)
    assert got.startswith(b"HTTP/1.1 413")
    assert b"connection: close" in got


def test_slightly_too_large_body_still_gets_a_response(served):
    answer = served.run("large", {"text": "x" * 400_000})
    assert answer.status == 413
    assert answer.is_problem


def test_endless_chunked_body_is_refused(served):
    sent = head(served, "/v3/tool/shout", Content_Type="application/json", Transfer_Encoding="chunked")
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
        connection.sendall(sent)
        try:
            for _ in range(1000):
                connection.sendall(chunk)
        except (BrokenPipeError, ConnectionResetError):
            pass
        else:
            pytest.fail("64 MB were taken")


def test_slow_senders_are_disconnected(impatient):
    body = head(impatient, "/v3/tool/shout", Content_Type="application/json", Content_Length=1000)
    cases = {
        "nothing": (b"", b""),
        "head": (b"GET /healthz HTTP/1.1\r\nX-Slow: ", b"x"),
        "lines": (b"\r\n", b"\r\n"),
        "body": (body + b'{"text":', b" "),
        "answered": (head(impatient, "/healthz", method="GET"), b"\r\n"),
    }
    with ThreadPoolExecutor(len(cases)) as pool:
        got = dict(zip(cases, pool.map(lambda case: _drip(impatient, *case), cases.values()), strict=True))
    assert all(answer is not None for answer in got.values()), got
    assert got["body"].startswith(b"HTTP/1.1 408")
    assert got["answered"].startswith(b"HTTP/1.1 200")


def _drip(server, begins, drips):
    """What comes back while a few bytes are sent now and then; None if the connection is never closed."""
    got = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(begins)
        connection.settimeout(0.1)
        for _ in range(600):
            try:
                part = connection.recv(65_536)
            except TimeoutError:
                try:
                    connection.sendall(drips)
                except OSError:
                    return got
                continue
            except ConnectionResetError:
                return got
            if not part:
                return got
            got += part
    return None


def test_client_that_does_not_read_is_disconnected(impatient):
    impatient.put("big", plain_tool("big", run=python("big")))
    connections = impatient.server.server_state.connections
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(60)
        connection.connect(("127.0.0.1", impatient.port))
        body = head(impatient, "/v3/tool/big", Content_Type="application/json", Content_Length=2) + b"{}"
        connection.sendall(body)
        for is_open in (True, False):  # until it is there, then until it is cut off
            ends = time.monotonic() + 60
            while bool(connections) != is_open and time.monotonic() < ends:
                time.sleep(0.01)
            assert bool(connections) == is_open
        got = 0
        try:
            while part := connection.recv(1_000_000):
                got += len(part)
        except ConnectionResetError:
            pass
    assert got < 9_900_000


@contextmanager
def crowd(server, count, data=b"", source="127.0.0.1"):
    """Open connections from one address, each with the beginning of a request."""
    with ExitStack() as stack:
        opened = []
        for _ in range(count):
            connection = stack.enter_context(socket.socket())
            connection.bind((source, 0))
            connection.connect(("127.0.0.1", server.port))
            with suppress(OSError):  # the server may have closed it already
                connection.sendall(data)
            opened.append(connection)
        yield opened


HALF_SENT = {
    "nothing": b"",
    "half a line": b"GET /v3/too",
    "half a head": b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: ",
    "half a body": b"POST /v3/tool/shout HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{",
    "blank lines": b"\r\n\r\n",
}


def test_health_is_answered_however_many_connections_wait_from_the_same_address():
    for many, more in ((340, {"max_connections": 20}), (340, {"max_connections_per_address": 20})):
        with serving_here(**more) as server:
            for name, data in HALF_SENT.items():
                with in_case(more, name), crowd(server, many, data):
                    for _ in range(5):
                        health = server.ask("GET", "/healthz", key=None)
                        assert (health.status, health.json) == (200, {"status": "ok"})


def test_one_address_does_not_take_the_connections_of_others():
    with serving_here(max_connections=60, max_connections_per_address=20) as server:
        for name, data in HALF_SENT.items():
            with in_case(name), crowd(server, 90, data, source="127.0.0.2"):
                assert server.run("calculator", {"expression": "6 * 7"}).json == {"result": 42}


def test_only_health_is_answered_beyond_the_limit():
    with serving_here(max_connections=3) as server, crowd(server, 3):
        for path in ("/v3/tools", "/openapi.json", "/healthz/", "/healthzz", "//healthz"):
            with in_case(path):
                answer = server.ask("GET", path)
                assert (answer.status, answer.headers["retry-after"]) == (429, "1")
                assert answer.is_problem
        assert server.run("calculator", {"expression": "1"}).status == 429
        for path in ("/healthz", "/healthz?probe=1"):
            with in_case(path):
                answer = server.ask("GET", path, key=None)
                assert (answer.status, answer.headers["connection"]) == (200, "close")
        pipelined = raw(server, head(server, "/healthz", "GET") + head(server, "/v3/tools", "GET"))
        assert pipelined.startswith(b"HTTP/1.1 429")


def test_connections_are_counted_until_they_are_closed():
    with serving_here(max_connections=4) as server:
        for _ in range(30):
            assert server.run("calculator", {"expression": "1"}).status == 200
        for _ in range(3):
            with crowd(server, 10):
                assert server.ask("GET", "/v3/tools").status == 429
            ends = time.monotonic() + 60
            while server.server.server_state.connections and time.monotonic() < ends:
                time.sleep(0.01)
            assert server.ask("GET", "/v3/tools").status == 200


def test_connections_beyond_the_limit_are_refused(served):
    with crowd(served, 45) as held:
        last = held[-1]
        last.settimeout(10)
        assert read_all(last).startswith(b"HTTP/1.1 429")
        assert served.ask("GET", "/healthz", key=None).status == 200
