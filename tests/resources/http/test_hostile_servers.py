"""Servers that lie, are slow, flood or break off: each is an HttpError in bounded time and size."""

import gzip
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

import pytest

from tests.cases import each_case
from tests.resources.http.servers import client_tls, scripted, server_tls
from toolhaft.errors import HttpError, HttpRefusedError, HttpTimeoutError, HttpTooLargeError
from toolhaft.resources.http import HttpClient

pytestmark = pytest.mark.external

OK = b"HTTP/1.1 200 OK\r\n"
TIMEOUT_S = 0.3


@pytest.fixture(params=["http", "https"])
def tls(request):
    return server_tls() if request.param == "https" else None


def fetch(web, **options):
    return HttpClient(allow=[web.authority], tls=client_tls()).fetch(web.url, **options)


def failing(script, *, tls=None, reads_request=True, **options):
    """The error of a fetch from a scripted server."""
    with scripted(script, tls=tls, reads_request=reads_request) as web:
        with pytest.raises(HttpError) as caught:
            fetch(web, **options)
        return caught.value


def dripping(start, drop, pause_s=0.02):
    def script(connection):
        connection.sendall(start)
        for piece in repeat(drop):
            connection.sendall(piece)
            time.sleep(pause_s)

    return script


def flooding(start, wave):
    sent = []

    def script(connection):
        connection.sendall(start)
        while True:
            connection.sendall(wave)
            sent.append(len(wave))

    return script, sent


def silent(connection):
    while connection.recv(65536):
        pass


# --- time -----------------------------------------------------------------------------------------------


SLOW = {
    "silence": silent,
    "status": dripping(b"", b"H"),
    "header": dripping(OK, b"X"),
    "headers": dripping(OK, b"X-Name: value\r\n"),
    "hints": dripping(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "endless": dripping(OK + b"\r\n", b"x"),
    "length": dripping(OK + b"Content-Length: 1000000\r\n\r\n", b"x"),
    "chunks": dripping(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    "chunk-size": dripping(OK + b"Transfer-Encoding: chunked\r\n\r\n1", b"0"),
    "trailers": dripping(OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-Trailer: v\r\n"),
}


def test_slow_response_times_out(tls):
    with ThreadPoolExecutor(len(SLOW)) as threads:
        waiting = {
            name: threads.submit(failing, script, tls=tls, timeout_s=TIMEOUT_S)
            for name, script in SLOW.items()
        }
    for name, error in waiting.items():
        assert isinstance(error.result(), HttpTimeoutError), name
        assert str(error.result()).endswith("'127.0.0.1': there were 0.3 s for everything"), name


def test_hanging_tls_handshake_times_out():
    with scripted(silent, reads_request=False) as web, pytest.raises(HttpTimeoutError):
        HttpClient(allow=[web.authority]).fetch(f"https://{web.authority}/", timeout_s=TIMEOUT_S)


@pytest.mark.parametrize("size", [0, 100_000])
def test_slow_or_missing_reader_of_the_body_times_out(size, tls):
    done = threading.Event()

    def script(connection):
        while size and connection.recv(size):  # always a little, so that no single wait is long
            time.sleep(0.02)
        done.wait(60)

    with scripted(script, tls=tls) as web:
        with pytest.raises(HttpTimeoutError, match=r"timed out sending to '127\.0\.0\.1'"):
            fetch(web, method="POST", content=bytes(60_000_000), timeout_s=TIMEOUT_S)
        done.set()


def test_redirects_share_one_limit_of_time():
    def script(connection):
        time.sleep(0.12)
        connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")

    error = failing(script, timeout_s=TIMEOUT_S, max_redirects=50)
    assert isinstance(error, HttpTimeoutError)


# --- size -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "wave", "told"),
    [
        (OK + b"\r\n", b"x" * 10_000, "the response is too large: at most 100,000 bytes are read"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"2710\r\n" + b"x" * 10_000 + b"\r\n", "too large"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 2_000, "did not end within"),
        (
            OK + b"Transfer-Encoding: chunked\r\n\r\n",
            b"1;" + b"e" * 5_000 + b"\r\nx\r\n",
            "did not end within",
        ),
        (OK, b"X-Name: " + b"v" * 1_000 + b"\r\n", "the headers of '127.0.0.1' did not end within"),
        (OK + b"X-Name: ", b"v" * 10_000, "the headers of '127.0.0.1' did not end within"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 400, "the headers of '127.0.0.1' did not end within"),
        (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 400, "the headers of"),
        (b"", b"H" * 10_000, "127.0.0.1"),
        (
            OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n",
            b"X-Trailer: " + b"v" * 1_000 + b"\r\n",
            "127.0.0.1",
        ),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"0" * 10_000, "127.0.0.1"),
        (OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"end"), b"x" * 10_000, "did not end within"),
        (OK + b"Content-Encoding: gzip\r\n\r\n", gzip.compress(b"") * 500, "did not end within"),
    ],
    ids=[
        "body",
        "chunks",
        "tiny-chunks",
        "extensions",
        "headers",
        "header",
        "continue",
        "hints",
        "status",
        "trailers",
        "chunk-size",
        "after-the-end",
        "empty-members",
    ],
)
def test_flood_is_cut_off(start, wave, told, tls):
    script, sent = flooding(start, wave)
    error = failing(script, tls=tls, max_bytes=100_000, timeout_s=60)
    assert told in str(error)
    assert isinstance(error, HttpTooLargeError) or "is not valid HTTP" in str(error)
    assert sum(sent) < 20_000_000  # what the buffers of the system take along, not a flood


def test_tiny_chunks_are_cut_off_before_the_body_limit():
    script, _ = flooding(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 2_000)
    error = failing(script, max_bytes=5_000_000, timeout_s=60)
    found = re.search(r"did not end within ([0-9,]+) bytes", str(error))
    assert int(found[1].replace(",", "")) < 500_000


def test_many_small_headers_within_the_limit_are_an_answer():
    head = OK + b"".join(b"X-%d: v\r\n" % number for number in range(5_000)) + b"Content-Length: 2\r\n\r\nhi"
    assert len(head) < 96 * 1024
    with scripted(head) as web:
        response = fetch(web)
    assert (response.body, len(response.headers)) == (b"hi", 5_001)


def test_early_hints_before_an_answer_are_passed_over():
    with scripted(
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 20 + OK + b"Content-Length: 2\r\n\r\nhi"
    ) as web:
        response = fetch(web)
    assert (response.status, response.body, "link" in response.headers) == (200, b"hi", False)


# --- lies -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"", "closed the connection without a response"),
        (b"HTT", "ends early, after 3 bytes"),
        (OK + b"X-Name: v", "ends early, after"),
        (OK + b"Content-Length: 9\r\n\r\nshort", "ends early, after 43 bytes"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel", "ends early, after"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "ends early, after"),
    ],
)
def test_truncated_response_is_an_error(answer, told, tls):
    error = failing(answer, tls=tls)
    assert told in str(error)


@each_case(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"<html>hello</html>\r\n\r\n",
        b"HTTP/0.9 200 OK\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/2.0 200 OK\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nraw",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        OK + b"no colon\r\n\r\n",
        OK + b"bad name: v\r\n\r\n",
        OK + b"X: a\x00b\r\n\r\n",
        OK + b": empty\r\n\r\n",
        OK + b"Content-Length: -1\r\n\r\n",
        OK + b"Content-Length: 1e3\r\n\r\n",
        OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
        OK + b"Content-Length: 999999999999999999999999999\r\n\r\n",
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhelloworld\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffffffffff\r\nhello\r\n",
    ],
)
def test_error_for_invalid_http_does_not_quote_the_response(answer):
    error = failing(lambda connection: (connection.sendall(answer), silent(connection)))
    assert str(error) == "the response of '127.0.0.1' is not valid HTTP, or is incomplete"


def test_bytes_after_the_end_of_an_answer_are_not_part_of_it(tls):
    with scripted(OK + b"Content-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\n\r\nsmuggled", tls=tls) as web:
        assert fetch(web).body == b"hello"


def test_content_length_is_ignored_for_a_chunked_body():
    with scripted(
        OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    ) as web:
        assert fetch(web).body == b"hello"


def test_body_without_a_length_goes_to_the_end_of_the_connection(tls):
    with scripted(OK + b"\r\nuntil the end", tls=tls) as web:
        assert fetch(web).body == b"until the end"


def test_connection_that_is_reset_is_an_error(tls):
    def script(connection):
        connection.sendall(OK)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    error = failing(script, tls=tls)
    assert "'127.0.0.1'" in str(error)
    assert "is incomplete" in str(error) or "ends early" in str(error)


def test_response_before_the_request_body_was_read_is_accepted(tls):
    def script(connection):
        connection.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
        connection.shutdown(socket.SHUT_RD)
        silent(connection)

    with scripted(script, tls=tls) as web:
        assert fetch(web, method="POST", content=bytes(100_000)).status == 413


def test_response_of_a_server_that_closes_early_is_read():
    ours, theirs = socket.socketpair()
    theirs.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
    theirs.close()
    client = HttpClient(allow=["127.0.0.1"], connector=lambda *_: ours)
    assert client.fetch("http://127.0.0.1/", method="POST", content=b"x").status == 413


def test_error_for_html_in_place_of_json_names_the_media_type():
    with scripted(OK + b"Content-Type: Text/HTML; charset=utf-8\r\nContent-Length: 6\r\n\r\n<html>") as web:
        response = fetch(web)
    assert response.media_type == "text/html"
    with pytest.raises(HttpError, match=r"^the response is not JSON \(text/html, 6 bytes\)$"):
        response.json()


def test_refusals_and_errors_hold_no_secret_and_no_address(tls):
    secrets = {"url": "?key=SECRET-Q", "headers": {"Authorization": "Bearer SECRET-H"}}
    with scripted(OK + b"Content-Length: 9\r\nX: SECRET-A\r\n\r\nSECRET-", tls=tls) as web:
        client = HttpClient(allow=["intranet"], tls=client_tls(), resolver=lambda *_: ["127.0.0.1"])
        told = []
        for host in (f"intranet:{web.port}", "private.example", "localhost", "user:SECRET-U@a.example"):
            with pytest.raises(HttpError) as caught:
                client.fetch(
                    f"http://{host}/SECRET-P{secrets['url']}",
                    headers=secrets["headers"],
                    query={"token": "SECRET-T"},
                )
            told.append(caught.value)
    assert [isinstance(error, HttpRefusedError) for error in told] == [False, True, True, True]
    for error in told:
        assert "SECRET" not in str(error)
        assert "127.0.0.1" not in str(error)
