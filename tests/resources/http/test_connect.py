"""A name is looked up once, its addresses are checked, and a checked address is connected to, in bounded time."""

import socket

import pytest

from tests.resources.http.servers import LOOPBACK, LoopbackConnector, Names, serve, unused_port
from toolhaft.errors import HttpError, HttpRefusedError, HttpTimeoutError
from toolhaft.resources.http import HttpClient

pytestmark = pytest.mark.external

PUBLIC, OTHER = "93.184.216.34", "93.184.216.35"


@pytest.fixture
def web():
    pages = {"/": (200, {}, "hello"), "/again": (302, {"Location": "/"}, "")}
    with serve(pages) as running:
        yield running


def test_name_is_looked_up_once_per_hop_and_the_checked_address_is_used(web):
    names = Names({"rebind.example": [[PUBLIC], [LOOPBACK]]})
    connector = LoopbackConnector({PUBLIC: web})
    client = HttpClient(resolver=names, connector=connector)
    assert client.fetch("http://rebind.example/").body == b"hello"
    assert (names.asked, connector.connected) == (["rebind.example"], [(PUBLIC, 80)])
    assert web.requests[0].headers["host"] == "rebind.example"
    with pytest.raises(HttpRefusedError, match=r"'rebind\.example' is not a public host"):
        client.fetch("http://rebind.example/")
    assert connector.connected == [(PUBLIC, 80)]


def test_name_that_is_rebound_between_two_hops_is_refused_at_the_second(web):
    names = Names({"rebind.example": [[PUBLIC], [LOOPBACK]]})
    connector = LoopbackConnector({PUBLIC: web, LOOPBACK: web})
    with pytest.raises(
        HttpRefusedError,
        match=r"'rebind\.example' redirects to a URL that may not be fetched: 'rebind\.example' is not",
    ):
        HttpClient(resolver=names, connector=connector).fetch("http://rebind.example/again")
    assert (names.asked, connector.connected) == (["rebind.example"] * 2, [(PUBLIC, 80)])
    assert [request.path for request in web.requests] == ["/again"]


def test_host_header_has_a_port_that_is_not_the_usual_one(web):
    client = HttpClient(
        resolver=Names({"a.example": [PUBLIC]}),
        connector=LoopbackConnector({PUBLIC: web, "2606:4700::1": web}),
    )
    client.fetch("http://A.example:8080/")
    client.fetch("http://[2606:4700:0::1]:8080/")
    client.fetch("http://[2606:4700:0::1]/")
    hosts = [request.headers["host"] for request in web.requests]
    assert hosts == ["a.example:8080", "[2606:4700::1]:8080", "[2606:4700::1]"]


def test_addresses_are_tried_in_order_until_one_answers(web):
    connector = LoopbackConnector({OTHER: web})
    client = HttpClient(resolver=Names({"a.example": [PUBLIC, PUBLIC, OTHER]}), connector=connector)
    assert client.fetch("http://a.example/").is_ok
    assert connector.connected == [(PUBLIC, 80), (OTHER, 80)]


def test_each_address_gets_a_share_of_the_time_that_is_left():
    shares = []

    def connector(_address, _port, timeout_s):
        shares.append(timeout_s)
        raise TimeoutError

    client = HttpClient(resolver=Names({"a.example": [PUBLIC, OTHER]}), connector=connector)
    with pytest.raises(HttpError, match=r"could not connect to 'a\.example' on port 80"):
        client.fetch("http://a.example/", timeout_s=8)
    assert shares == pytest.approx([4, 8], abs=0.5)


def test_all_addresses_are_checked_and_at_most_eight_are_tried():
    connector = LoopbackConnector()
    many = [f"93.184.216.{number}" for number in range(200)]
    with pytest.raises(HttpError, match="refuses connections on port 80"):
        HttpClient(resolver=Names({"a.example": many}), connector=connector).fetch("http://a.example/")
    assert len(connector.connected) == 8
    with pytest.raises(HttpRefusedError):
        HttpClient(resolver=Names({"a.example": [*many, "10.0.0.1"]}), connector=connector).fetch(
            "http://a.example/"
        )
    assert len(connector.connected) == 8


def test_error_for_a_refused_connection_has_no_address():
    port = unused_port()
    with pytest.raises(HttpError, match=f"^'localhost' refuses connections on port {port}$"):
        HttpClient(allow=["localhost"]).fetch(f"http://localhost:{port}/")


def test_names_of_the_operating_system_are_looked_up(web):
    assert HttpClient(allow=["localhost"]).fetch(f"http://localhost:{web.port}/").is_ok
    with pytest.raises(HttpRefusedError):
        HttpClient().fetch(f"http://localhost:{web.port}/")


def test_connecting_to_a_silent_address_times_out():
    with socket.create_server((LOOPBACK, 0), backlog=0) as full:
        address = full.getsockname()
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:  # once its queue is full, the listener answers nobody
            filler.setblocking(False)
            filler.connect_ex(address)
        with pytest.raises(
            HttpTimeoutError, match=r"timed out connecting to '127\.0\.0\.1': there were 0\.2 s"
        ):
            HttpClient(allow=[LOOPBACK]).fetch(f"http://{LOOPBACK}:{address[1]}/", timeout_s=0.2)
        for filler in fillers:
            filler.close()


def test_address_itself_is_not_looked_up():
    names, connector = Names({}), LoopbackConnector()
    with pytest.raises(HttpError, match="refuses connections"):
        HttpClient(resolver=names, connector=connector).fetch(f"http://{PUBLIC}/")
    assert (names.asked, connector.connected) == ([], [(PUBLIC, 80)])
