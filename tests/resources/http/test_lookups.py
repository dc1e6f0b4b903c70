"""Names are looked up in bounded time by a limited number of threads; a hanging one does not delay others."""

import socket
import threading
from contextlib import contextmanager

import pytest

from tests.cases import each_case
from tests.resources.http.servers import LoopbackConnector, Names
from toolhaft.core.limits import Deadline
from toolhaft.errors import HttpError, HttpTimeoutError
from toolhaft.resources.http import HttpClient
from toolhaft.resources.http import connect as connect_module
from toolhaft.resources.http.connect import MAX_LOOKUPS, MAX_PER_DOMAIN, LookupLimiter, registered_domain

PUBLIC = "93.184.216.34"


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


def test_hanging_lookup_times_out():
    release = threading.Event()
    with pytest.raises(
        HttpTimeoutError, match=r"timed out looking up 'a\.example': there were 0\.1 s for everything"
    ):
        HttpClient(resolver=lambda *_: release.wait(60)).fetch("http://a.example/", timeout_s=0.1)
    release.set()


def test_deadline_that_comes_sooner_than_the_timeout_counts():
    release = threading.Event()
    client = HttpClient(resolver=lambda *_: release.wait(60))
    with pytest.raises(HttpTimeoutError, match=r"there were 0\.(1|09\d*) s"):
        client.fetch("http://a.example/", timeout_s=60, deadline=Deadline.after(0.1))
    with pytest.raises(HttpTimeoutError, match="timed out looking up"):
        client.fetch("http://a.example/", deadline=Deadline.after(-1))
    release.set()


@pytest.mark.parametrize("found", [None, PUBLIC, 5])
def test_resolver_that_returns_no_list_raises_type_error(found):
    with pytest.raises(TypeError, match="a resolver returns a list of addresses, not "):
        HttpClient(resolver=lambda *_: found).fetch("http://a.example/")


# --- lookups that hang ----------------------------------------------------------------------------------


class Hanging:
    """A resolver that knows no answer for names with 'hang' in them, until it is let go."""

    def __init__(self):
        self.let_go = threading.Event()
        self.begun = []

    def __call__(self, name, port):
        self.begun.append(name)
        if "hang" in name:
            self.let_go.wait(20)
        return [PUBLIC]


@pytest.fixture
def hanging():
    resolver = Hanging()
    yield resolver
    resolver.let_go.set()


@contextmanager
def looking_up(client, names, timeout_s):
    """Fetches from all of these hosts at once."""

    def fetch(name):
        with pytest.raises(HttpTimeoutError):
            client.fetch(f"http://{name}/", timeout_s=timeout_s)

    threads = [threading.Thread(target=fetch, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join()


def is_looked_up(client, name, timeout_s=10):
    with pytest.raises(HttpError) as caught:
        client.fetch(f"http://{name}/", timeout_s=timeout_s)
    return "refuses connections" in str(caught.value)


@pytest.mark.external  # waits for real time
def test_hanging_lookups_of_one_domain_do_not_delay_others(monkeypatch, hanging):
    monkeypatch.setattr(connect_module, "_limiter", LookupLimiter())
    client = HttpClient(resolver=hanging, connector=LoopbackConnector())
    with looking_up(client, [f"hang{number}.evil.example" for number in range(40)], 0.5):
        assert is_looked_up(client, "good.example")
    assert len(hanging.begun) == MAX_PER_DOMAIN + 1
    with pytest.raises(
        HttpTimeoutError,
        match=r"^timed out looking up 'x\.evil\.example', behind 8 others of 'evil\.example' that are not finished",
    ):
        client.fetch("http://x.evil.example/", timeout_s=0.05)
    hanging.let_go.set()
    assert is_looked_up(client, "x.evil.example")  # their turns come back


@pytest.mark.external  # waits for real time
def test_lookups_that_hang_are_bounded_in_number(monkeypatch, hanging):
    monkeypatch.setattr(connect_module, "_limiter", LookupLimiter(3, 2))
    client = HttpClient(resolver=hanging, connector=LoopbackConnector())
    with looking_up(client, ["hang.a.example", "hang.a.example", "hang.b.example"], 0.1):
        pass
    with pytest.raises(
        HttpTimeoutError, match=r"looking up 'c\.example', behind 3 others that are not finished"
    ):
        client.fetch("http://c.example/", timeout_s=0.05)
    assert sorted(hanging.begun) == ["hang.a.example", "hang.a.example", "hang.b.example"]
    hanging.let_go.set()
    assert is_looked_up(client, "c.example")


@pytest.mark.external  # waits for real time
def test_waiting_lookup_starts_when_another_ends(monkeypatch, hanging):
    monkeypatch.setattr(connect_module, "_limiter", LookupLimiter(1, 1))
    client = HttpClient(resolver=hanging, connector=LoopbackConnector())
    with looking_up(client, ["hang.a.example"], 0.05):
        pass
    timer = threading.Timer(0.1, hanging.let_go.set)
    timer.start()
    assert is_looked_up(client, "b.example")
    timer.join()


def test_lookup_whose_thread_cannot_start_is_not_counted(monkeypatch):
    monkeypatch.setattr(connect_module, "_limiter", LookupLimiter(1, 1))

    def cannot_start(_thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(connect_module.Thread, "start", cannot_start)
        with pytest.raises(RuntimeError):
            HttpClient(resolver=Names({})).fetch("http://a.example/")
    with pytest.raises(HttpError, match="no address was found"):
        HttpClient(resolver=Names({})).fetch("http://a.example/")


def test_lookups_of_all_domains_together_are_limited():
    limiter = LookupLimiter()
    taken = [
        domain for number in range(40) for domain in [f"{number}.example"] * 20 if limiter.acquire(domain, 0)
    ]
    assert (len(taken), max(map(taken.count, taken))) == (MAX_LOOKUPS, MAX_PER_DOMAIN)
    for domain in taken:
        limiter.release(domain)
    assert limiter.acquire("a.example", 0)


@each_case(
    ("name", "domain"),
    [
        ("a.b.c.example", "c.example"),
        ("c.example", "c.example"),
        ("localhost", "localhost"),
        ("www.bbc.co.uk", "bbc.co.uk"),
        ("a.b.com.au", "b.com.au"),
        ("a.b.bbc.uk", "bbc.uk"),
        ("a.b.t.co", "t.co"),
        ("www.bahn.de", "bahn.de"),
        ("co.uk", "co.uk"),
    ],
)
def test_registered_domain_of_a_name_is_found(name, domain):
    assert registered_domain(name) == domain
