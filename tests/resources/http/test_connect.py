"""Names are looked up once, judged, and connected to by the judged address; all of it in bounded time."""

import socket
import threading
import time

import pytest

from tests.resources.http.servers import LOOPBACK, Names, Roads, serve, unused_port
from toolhaft.core.limits import Deadline
from toolhaft.errors import HttpError, HttpRefusedError, HttpTimeoutError
from toolhaft.resources.http import HttpClient
from toolhaft.resources.http import lookup as lookup_module

PUBLIC, OTHER = "93.184.216.34", "93.184.216.35"


@pytest.fixture
def web():
    pages = {"/": (200, {}, "hello"), "/again": (302, {"Location": "/"}, "")}
    with serve(pages) as running:
        yield running


def test_name_is_looked_up_once_a_hop_and_the_connection_goes_where_it_was_judged(web):
    names = Names({"rebind.example": [[PUBLIC], [LOOPBACK]]})
    roads = Roads({PUBLIC: web})
    client = HttpClient(resolver=names, connector=roads)
    assert client.fetch("http://rebind.example/").body == b"hello"
    assert (names.asked, roads.taken) == (["rebind.example"], [(PUBLIC, 80)])
    assert web.requests[0].headers["host"] == "rebind.example"
    with pytest.raises(HttpRefusedError, match=r"'rebind\.example' is not a public host"):
        client.fetch("http://rebind.example/")
    assert roads.taken == [(PUBLIC, 80)]


def test_name_that_is_rebound_between_two_hops_is_refused_at_the_second(web):
    names = Names({"rebind.example": [[PUBLIC], [LOOPBACK]]})
    roads = Roads({PUBLIC: web, LOOPBACK: web})
    with pytest.raises(
        HttpRefusedError,
        match=r"'rebind\.example' redirects to what may not be fetched: 'rebind\.example' is not",
    ):
        HttpClient(resolver=names, connector=roads).fetch("http://rebind.example/again")
    assert (names.asked, roads.taken) == (["rebind.example"] * 2, [(PUBLIC, 80)])
    assert [request.path for request in web.requests] == ["/again"]


def test_host_header_has_a_port_that_is_not_the_usual_one(web):
    client = HttpClient(
        resolver=Names({"a.example": [PUBLIC]}), connector=Roads({PUBLIC: web, "2606:4700::1": web})
    )
    client.fetch("http://A.example:8080/")
    client.fetch("http://[2606:4700:0::1]:8080/")
    client.fetch("http://[2606:4700:0::1]/")
    hosts = [request.headers["host"] for request in web.requests]
    assert hosts == ["a.example:8080", "[2606:4700::1]:8080", "[2606:4700::1]"]


def test_addresses_are_tried_in_order_until_one_answers(web):
    roads = Roads({OTHER: web})
    client = HttpClient(resolver=Names({"a.example": [PUBLIC, PUBLIC, OTHER]}), connector=roads)
    assert client.fetch("http://a.example/").is_ok
    assert roads.taken == [(PUBLIC, 80), (OTHER, 80)]


def test_each_address_gets_a_share_of_the_time_that_is_left():
    shares = []

    def connector(_address, _port, timeout_s):
        shares.append(timeout_s)
        raise TimeoutError

    client = HttpClient(resolver=Names({"a.example": [PUBLIC, OTHER]}), connector=connector)
    with pytest.raises(HttpError, match=r"could not connect to 'a\.example' on port 80"):
        client.fetch("http://a.example/", timeout_s=8)
    assert shares == pytest.approx([4, 8], abs=0.5)


def test_only_so_many_addresses_are_tried_and_all_are_judged():
    roads = Roads()
    many = [f"93.184.216.{number}" for number in range(200)]
    with pytest.raises(HttpError, match="takes no connections on port 80"):
        HttpClient(resolver=Names({"a.example": many}), connector=roads).fetch("http://a.example/")
    assert len(roads.taken) == 8
    with pytest.raises(HttpRefusedError):
        HttpClient(resolver=Names({"a.example": [*many, "10.0.0.1"]}), connector=roads).fetch(
            "http://a.example/"
        )
    assert len(roads.taken) == 8


def test_connection_that_nobody_takes_is_an_error_without_an_address():
    port = unused_port()
    with pytest.raises(HttpError, match=f"^'localhost' takes no connections on port {port}$"):
        HttpClient(allow=["localhost"]).fetch(f"http://localhost:{port}/")


def test_names_of_the_operating_system_are_looked_up(web):
    assert HttpClient(allow=["localhost"]).fetch(f"http://localhost:{web.port}/").is_ok
    with pytest.raises(HttpRefusedError):
        HttpClient().fetch(f"http://localhost:{web.port}/")


def test_connecting_to_an_address_that_drops_everything_ends_with_the_time():
    with socket.create_server((LOOPBACK, 0), backlog=0) as full:
        address = full.getsockname()
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:  # once its queue is full, the listener answers nobody
            filler.setblocking(False)
            filler.connect_ex(address)
        started = time.monotonic()
        with pytest.raises(
            HttpTimeoutError, match=r"timed out connecting to '127\.0\.0\.1': there were 0\.2 s"
        ):
            HttpClient(allow=[LOOPBACK]).fetch(f"http://{LOOPBACK}:{address[1]}/", timeout_s=0.2)
        assert time.monotonic() - started < 3
        for filler in fillers:
            filler.close()


# --- lookups --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [socket.gaierror(-2, "unknown 10.0.0.1"), UnicodeError("no"), TimeoutError("no"), OSError("no")]
)
def test_lookup_that_fails_is_an_error_that_names_the_host(error):
    def resolver(_name, _port):
        raise error

    with pytest.raises(
        HttpError, match=r"^no address was found for 'a\.example'; check the spelling, or try again later$"
    ):
        HttpClient(resolver=resolver).fetch("http://a.example/")


@pytest.mark.parametrize("found", [[], ["nonsense"], ["1.2.3"]])
def test_lookup_that_finds_no_address_is_an_error(found):
    with pytest.raises(HttpError, match="no address was found"):
        HttpClient(resolver=lambda *_: found).fetch("http://a.example/")


def test_mistake_in_a_resolver_is_its_own_error():
    def resolver(_name, _port):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        HttpClient(resolver=resolver).fetch("http://a.example/")


def test_lookup_that_hangs_ends_with_the_time():
    release = threading.Event()
    started = time.monotonic()
    with pytest.raises(
        HttpTimeoutError, match=r"timed out looking up 'a\.example': there were 0\.1 s for everything"
    ):
        HttpClient(resolver=lambda *_: release.wait(10)).fetch("http://a.example/", timeout_s=0.1)
    assert time.monotonic() - started < 3
    release.set()


def test_deadline_that_comes_sooner_than_the_timeout_counts():
    release = threading.Event()
    started = time.monotonic()
    client = HttpClient(resolver=lambda *_: release.wait(10))
    with pytest.raises(HttpTimeoutError, match=r"there were 0\.1 s"):
        client.fetch("http://a.example/", timeout_s=60, deadline=Deadline.after(0.1))
    assert time.monotonic() - started < 3
    with pytest.raises(HttpTimeoutError, match="timed out looking up"):
        client.fetch("http://a.example/", deadline=Deadline.after(-1))
    release.set()


def test_lookups_that_hang_are_bounded_in_number(monkeypatch):
    monkeypatch.setattr(lookup_module, "_turns", threading.BoundedSemaphore(2))
    release, begun = threading.Event(), []

    def resolver(name, _port):
        begun.append(name)
        release.wait(10)
        return [PUBLIC]

    client = HttpClient(resolver=resolver, connector=Roads())
    for name in ("a.example", "b.example"):
        with pytest.raises(HttpTimeoutError):
            client.fetch(f"http://{name}/", timeout_s=0.05)
    with pytest.raises(
        HttpTimeoutError, match=r"looking up 'c\.example', behind 32 others that got no answer"
    ):
        client.fetch("http://c.example/", timeout_s=0.05)
    assert begun == ["a.example", "b.example"]
    release.set()
    with pytest.raises(HttpError, match="takes no connections"):  # their turns come back
        client.fetch("http://d.example/")


def test_thread_that_cannot_start_gives_its_turn_back(monkeypatch):
    turns = threading.BoundedSemaphore(1)
    monkeypatch.setattr(lookup_module, "_turns", turns)

    def cannot_start(_thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(lookup_module.Thread, "start", cannot_start)
        with pytest.raises(RuntimeError):
            HttpClient(resolver=Names({})).fetch("http://a.example/")
    with pytest.raises(HttpError, match="no address was found"):
        HttpClient(resolver=Names({})).fetch("http://a.example/")


def test_address_itself_is_not_looked_up():
    names, roads = Names({}), Roads()
    with pytest.raises(HttpError, match="takes no connections"):
        HttpClient(resolver=names, connector=roads).fetch(f"http://{PUBLIC}/")
    assert (names.asked, roads.taken) == ([], [(PUBLIC, 80)])
