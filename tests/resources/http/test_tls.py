"""TLS: names and certificates are verified; error messages contain no address."""

import socket
import ssl
from datetime import UTC, datetime, timedelta

import pytest
import trustme

from tests.resources.http.servers import (
    LoopbackConnector,
    Names,
    authority_of_tests,
    client_tls,
    scripted,
    serve,
    server_tls,
)
from toolhaft.errors import HttpError
from toolhaft.resources.http import HttpClient
from toolhaft.resources.http.exchange import default_tls

pytestmark = pytest.mark.external

PUBLIC = "93.184.216.34"
PAGE = {None: (200, {}, "hello")}


def visit(web, url="https://shop.example/"):
    names = Names({key: [PUBLIC] for key in ("shop.example", "www.shop.example", "xn--mnchen-3ya.example")})
    return HttpClient(resolver=names, connector=LoopbackConnector({PUBLIC: web}), tls=client_tls()).fetch(url)


def told(server_side):
    with serve(PAGE, tls=server_side) as web, pytest.raises(HttpError) as caught:
        visit(web)
    assert web.requests == []  # nothing was said to who is not trusted
    assert PUBLIC not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://shop.example/", "shop.example"),
        ("https://shop.example./", "shop.example"),
        ("https://WWW.shop.example.:443/", "*.shop.example"),
        ("https://WWW.shop.example:443/", "*.shop.example"),
        ("https://münchen.example/", "münchen.example"),
        (f"https://{PUBLIC}/", PUBLIC),
    ],
)
def test_name_of_the_url_is_verified_though_the_connection_goes_to_an_address(url, name):
    asked = []
    server_side = server_tls(name)
    server_side.sni_callback = lambda _socket, server_name, _context: asked.append(server_name)
    with serve(PAGE, tls=server_side) as web:
        assert visit(web, url).body == b"hello"
    host = web.requests[0].headers["host"]
    assert asked == [None if host == PUBLIC else host]


def test_certificate_for_another_host_is_refused():
    assert (
        told(server_tls("other.example"))
        == "'shop.example' is not trusted: its certificate is for another host"
    )


def test_certificate_for_another_address_is_refused():
    expected = "is not trusted: its certificate is for another address"
    with serve(PAGE, tls=server_tls("127.0.0.1")) as web, pytest.raises(HttpError, match=expected):
        visit(web, f"https://{PUBLIC}/")
    assert web.requests == []


def test_certificate_that_has_expired_is_refused():
    yesterday = datetime.now(UTC) - timedelta(days=1)
    expected = "'shop.example' is not trusted: its certificate has expired"
    assert told(server_tls("shop.example", not_after=yesterday)) == expected


def test_certificate_that_is_not_valid_yet_is_refused():
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    authority_of_tests().issue_cert("shop.example", not_before=tomorrow).configure_cert(server_side)
    assert told(server_side) == "'shop.example' is not trusted: its certificate is not valid yet"


def test_certificate_of_an_unknown_authority_is_refused():
    expected = "'shop.example' is not trusted: its certificate is signed by an untrusted authority"
    assert told(server_tls("shop.example", ca=trustme.CA())) == expected


def test_server_gets_a_tls_alert():
    heard = []

    def script(connection):
        try:
            server_tls("shop.example", ca=trustme.CA()).wrap_socket(connection, server_side=True)
        except ssl.SSLError as error:
            heard.append(error.reason)

    with scripted(script, reads_request=False) as web, pytest.raises(HttpError, match="is not trusted"):
        visit(web)
    assert heard == ["TLSV1_ALERT_UNKNOWN_CA"]


def test_self_signed_certificate_is_refused(tmp_path):
    alone = trustme.CA()
    file = tmp_path / "both.pem"
    file.write_bytes(alone.private_key_pem.bytes() + alone.cert_pem.bytes())
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(file)
    assert told(server_side) == "'shop.example' is not trusted: its certificate is self-signed"


def test_default_tls_does_not_trust_the_test_authority():
    names, connector = Names({"shop.example": [PUBLIC]}), LoopbackConnector()
    with serve(PAGE, tls=server_tls("shop.example")) as web:
        connector.table[PUBLIC] = web
        client = HttpClient(resolver=names, connector=connector)
        for _ in range(2):  # made once, used again
            with pytest.raises(HttpError, match="signed by an untrusted authority"):
                client.fetch("https://shop.example/")


def test_server_that_does_not_speak_tls_is_an_error():
    with serve(PAGE) as web, pytest.raises(HttpError, match=r"^no secure connection to 'shop\.example'"):
        visit(web)


def test_server_that_hangs_up_during_the_handshake_is_an_error():
    leaving = scripted(lambda connection: connection.recv(10), reads_request=False)
    with leaving as web, pytest.raises(HttpError, match=r"'shop\.example'"):
        visit(web)


def test_server_that_speaks_only_old_tls_is_an_error():
    server_side = server_tls("shop.example")
    with pytest.warns(DeprecationWarning, match="TLSv1_1 is deprecated"):
        server_side.minimum_version = ssl.TLSVersion.TLSv1_1
    with pytest.warns(DeprecationWarning, match="TLSv1_1 is deprecated"):
        server_side.maximum_version = ssl.TLSVersion.TLSv1_1
    assert told(server_side).startswith("no secure connection to 'shop.example'")


def test_http_2_is_not_agreed_on():
    server_side = server_tls("shop.example")
    server_side.set_alpn_protocols(["h2", "http/1.1"])
    with serve(PAGE, tls=server_side) as web:
        assert visit(web).body == b"hello"


def test_default_tls_negotiates_http_1_1():
    agreed = []

    def script(connection):
        agreed.append(connection.selected_alpn_protocol())
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")

    server_side, client_side = server_tls("shop.example"), default_tls()
    server_side.set_alpn_protocols(["h2", "http/1.1"])
    authority_of_tests().configure_trust(client_side)
    with scripted(script, tls=server_side) as web:
        client = HttpClient(
            resolver=Names({"shop.example": [PUBLIC]}),
            connector=LoopbackConnector({PUBLIC: web}),
            tls=client_side,
        )
        assert client.fetch("https://shop.example/").is_ok
    assert agreed == ["http/1.1"]


def test_tls_connection_without_shutdown_is_accepted_if_the_response_is_complete():
    def script(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")
        socket.socket(fileno=connection.detach()).close()  # no close_notify

    with scripted(script, tls=server_tls("shop.example")) as web:
        assert visit(web).body == b"until the end"


def test_garbage_in_the_middle_of_tls_is_an_error():
    def script(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello")
        with socket.socket(fileno=connection.detach()) as bare:
            bare.sendall(b"\x17\x03\x03\x00\x20" + b"garbage!" * 4)

    with (
        scripted(script, tls=server_tls("shop.example")) as web,
        pytest.raises(
            HttpError, match=r"the response of 'shop\.example' is not valid HTTP, or is incomplete"
        ),
    ):
        visit(web)


@pytest.mark.parametrize("size", [0, 1, 16_384, 16_385, 3_000_000])
def test_bodies_of_any_size_are_sent_and_received(size):
    with serve({"/": lambda asked: (200, {}, asked.body)}, tls=server_tls("shop.example")) as web:
        names = Names({"shop.example": [PUBLIC]})
        client = HttpClient(resolver=names, connector=LoopbackConnector({PUBLIC: web}), tls=client_tls())
        data = bytes(number % 251 for number in range(size))
        assert client.fetch("https://shop.example/", method="POST", content=data).body == data
