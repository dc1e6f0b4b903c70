"""One client cannot block the others: endless headers, many documents, wrong keys, a hanging storage."""

import asyncio
import resource
import socket
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.postgres import PostgresServer
from tests.serve.kit import make_key, plain_tool, platform, serving, serving_here
from tests.serve.test_connections import head, raw, read_all
from toolhaft.serve import callers
from toolhaft.serve.documents import read_tool_text
from toolhaft.serve.revision import RevisionReader

pytestmark = pytest.mark.external

CHUNKED = {"Content_Type": "application/json", "Transfer_Encoding": "chunked"}


def memory_of(pid):
    """Bytes that a process holds now."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


@pytest.fixture(scope="module")
def process():
    """A server in a process of its own, whose memory can be measured."""
    with serving() as server:
        yield server


@pytest.mark.parametrize("line", [b"X: a\r\n" * 5_000, b"a" * 30_000], ids=["many", "long"])
def test_endless_trailers_are_refused(process, line):
    server = process
    before = memory_of(server.process.pid)
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
        connection.sendall(
            b"POST /v3/tool/x HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: "
            % server.port
        )
        sent = 0
        try:
            while sent < 60_000_000:
                connection.sendall(line)
                sent += len(line)
        except (BrokenPipeError, ConnectionResetError):
            pass
    assert sent < 20_000_000
    assert memory_of(server.process.pid) - before < 30_000_000
    assert server.ask("GET", "/healthz", key=None).status == 200


@pytest.fixture(scope="module")
def served():
    with serving_here() as server:
        yield server


def test_key_in_a_trailer_is_ignored(served):
    start = head(served, "/v3/tool/calculator", **CHUNKED).replace(b"Authorization: Bearer", b"X-Not:")
    key = served.key.encode()
    body = b'15\r\n{"expression": "1+1"}\r\n'
    got = raw(served, start + body + b"0\r\nAuthorization: Bearer " + key + b"\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 401")


def test_trailers_are_ignored(served):
    body = b'15\r\n{"expression": "1+1"}\r\n0\r\nHost: elsewhere\r\nContent-Type: text/plain\r\n\r\n'
    got = raw(served, head(served, "/v3/tool/calculator", **CHUNKED) + body)
    assert got.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "fields", [b"X-Long: " + b"a" * 70_000, b"X: a\r\n" * 12_000 + b"X: a"], ids=["long", "many"]
)
def test_head_in_one_packet_is_limited(served, fields):
    got = raw(served, b"GET /healthz HTTP/1.1\r\n" + fields + b"\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 431")
    assert served.ask("GET", "/healthz", key=None).status == 200


def test_unknown_transfer_encoding_is_refused(served):
    start = head(
        served, "/v3/tool/calculator", Content_Type="application/json", Transfer_Encoding="gzip, chunked"
    )
    got = raw(served, start + b'15\r\n{"expression": "1+1"}\r\n0\r\n\r\n')
    assert got.startswith(b"HTTP/1.1 400")


def test_large_body_in_small_chunks_is_read(served):
    text = b'{"expression": "' + b"1+" * 50_000 + b'1"}'
    parts = b"".join(
        b"%x\r\n%s\r\n" % (len(part), part)
        for part in (text[start : start + 7] for start in range(0, len(text), 7))
    )
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
        connection.sendall(head(served, "/v3/tool/calculator", **CHUNKED) + parts + b"0\r\n\r\n")
        assert read_all(connection).startswith(b"HTTP/1.1 4")  # too long an expression, which was read


def _many(id, count):
    return f"id: {id}\nname: N\ndescription: d\nparameters:\n" + "".join(
        f"  - {{name: p{number}, type: string, description: d}}\n" for number in range(count)
    )


def test_parallel_publishing_does_not_block_other_keys(tmp_path, monkeypatch):
    url = f"sqlite://{tmp_path}/p.db"
    _, ann = make_key(url, "ann")
    _, bob = make_key(url, "bob")
    may_go_on = threading.Event()

    def read_slowly(body, media_type):
        if b"id: slow_" in body:
            may_go_on.wait(60)
        return read_tool_text(body, media_type)

    monkeypatch.setattr("toolhaft.serve.catalog_routes.read_tool_text", read_slowly)
    with platform(url) as near:

        def put(id, key):
            return near.aask(
                "PUT", f"/v3/tools/{id}", plain_tool(id), key=key, content_type="application/yaml"
            )

        async def rounds():
            slow = [asyncio.ensure_future(put(f"slow_{number}", ann)) for number in range(30)]
            others = [
                await near.aask(
                    "POST",
                    "/v3/tool/calculator",
                    '{"expression": "1"}',
                    key=bob,
                    content_type="application/json",
                ),
                await near.aask("GET", "/v3/tools/calculator", key=bob),
                await near.aask("GET", "/v3/tools", key=bob),
                await put("quick", bob),
            ]
            may_go_on.set()
            return [answer.status for answer in others], await asyncio.gather(*slow)

        others, answers = asyncio.run(rounds())
    assert others == [200, 200, 200, 201]
    assert sorted(answer.status for answer in answers) == [201] * 8 + [429] * 22
    refused = next(answer for answer in answers if answer.status == 429)
    assert refused.is_problem
    assert int(refused.headers["retry-after"]) >= 1


def test_document_with_too_many_parameters_is_refused():
    with platform() as near:
        answer = near.put("w", _many("w", 201))
        assert answer.status == 422
        assert answer.is_problem
        assert "201 parameters" in answer.json["problems"][0]["problem"]
        assert near.put("w", _many("w", 200)).status == 201


def test_wrong_keys_are_limited_per_address_and_valid_keys_still_work(tmp_path, monkeypatch):
    assert callers.WRONG_KEY_RATE == "60/min"
    monkeypatch.setattr(callers, "WRONG_KEY_RATE", "60/day")  # none comes back while the test runs
    url = f"sqlite://{tmp_path}/p.db"
    _, ann = make_key(url, "ann")
    with platform(url) as near:
        wrong = [near.ask("GET", "/v3/tools", key=f"th_0000{n:04}_{'a' * 43}").status for n in range(61)]
        assert wrong == [401] * 60 + [429]
        assert near.ask("GET", "/v3/tools", key=ann).status == 200
        last = near.ask("GET", "/v3/tools", key="wrong")
        assert last.is_problem
        assert int(last.headers["retry-after"]) >= 1


@contextmanager
def _paused(server):
    server.pause()
    try:
        yield
    finally:
        server.resume()


def test_hanging_storage_returns_503_in_time(monkeypatch):
    monkeypatch.setattr(RevisionReader.read, "__defaults__", (0.5,))
    monkeypatch.setattr("toolhaft.serve.revision._MAX_AGE_S", 0.05)
    database = PostgresServer()
    try:
        with serving_here(database_url=database.create_database()) as server:
            server.put("shout", plain_tool("shout"))
            with _paused(database):
                time.sleep(0.1)  # until the revision is read again
                assert server.ask("GET", "/healthz", key=None).status == 503
                got = []
                threads = [
                    threading.Thread(target=lambda: got.append(server.ask("GET", "/v3/tools").status))
                    for _ in range(10)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                assert got == [503] * 10
            ends = time.monotonic() + 60
            while (answer := server.ask("GET", "/v3/tools")).status != 200 and time.monotonic() < ends:
                time.sleep(0.1)
            assert answer.status == 200
    finally:
        database.stop()
