"""Awaited fetches, invalid parts of a client, and missing certificates."""

import asyncio
import contextvars
import socket
import ssl
import threading
from concurrent.futures import Future
from contextlib import suppress

import pytest

from toolhaft.errors import DefinitionError, HttpError, HttpTimeoutError
from toolhaft.resources.http import HttpClient, HttpResponse
from toolhaft.resources.http import client as client_file

pytestmark = pytest.mark.external


@pytest.fixture
def silent():
    """A host that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_awaited_fetches_run_at_the_same_time(silent, monkeypatch):
    everyone = threading.Barrier(40)
    run_fetch = client_file._run_fetch  # noqa: SLF001 -- what runs on the thread of a fetch

    def run_together(*args):
        # passes only if all run at once, not one after the other nor on the few threads of the loop
        with suppress(threading.BrokenBarrierError):
            everyone.wait(60)
        run_fetch(*args)

    monkeypatch.setattr(client_file, "_run_fetch", run_together)
    client = HttpClient(allow=[silent])

    async def fetch_all():
        fetches = [client.afetch(f"http://{silent}/", timeout_s=0.5) for _ in range(40)]
        return await asyncio.gather(*fetches, return_exceptions=True)

    errors = asyncio.run(fetch_all())
    assert not everyone.broken
    assert {type(error) for error in errors} == {HttpTimeoutError}


def test_fetch_that_is_given_up_before_it_begins_is_not_run():
    answer: Future[HttpResponse] = Future()
    assert answer.cancel()
    client_file._run_fetch(answer, contextvars.copy_context(), pytest.fail)  # noqa: SLF001 -- too short a moment to meet
    assert answer.cancelled()


def test_cancelled_fetch_releases_its_caller_immediately(silent):
    client = HttpClient(allow=[silent])

    async def give_up():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.afetch(f"http://{silent}/", timeout_s=2), 0.05)
        # the thread still waits for the host, and the caller does not wait for the thread
        return any(thread.name == "toolhaft-fetch" for thread in threading.enumerate())

    assert asyncio.run(give_up())


def test_awaited_fetch_sees_the_variables_of_its_caller(silent):
    who = contextvars.ContextVar("who")
    seen = []

    def vet(url):
        seen.append(who.get())
        raise HttpError("seen enough")

    async def fetch():
        who.set("caller")
        await HttpClient(allow=[silent]).afetch(f"http://{silent}/", vet=vet)

    with pytest.raises(HttpError, match="seen enough"):
        asyncio.run(fetch())
    assert seen == ["caller"]


@pytest.mark.parametrize("part", [{"tls": True}, {"tls": False}, {"resolver": 5}, {"connector": "x"}])
def test_part_of_the_wrong_type_is_refused_when_the_client_is_created(part):
    (name,) = part
    with pytest.raises(DefinitionError, match=f"^{name}: .* is expected, not {part[name]!r}"):
        HttpClient(**part)


def test_client_has_no_subclasses_that_could_be_mistaken_for_it():
    with pytest.raises(TypeError, match="HttpClient cannot be subclassed; configure it with its arguments"):
        type("Narrow", (HttpClient,), {})


@pytest.mark.parametrize(
    "error", [FileNotFoundError(2, "No such file"), ssl.SSLError("no certificate found")]
)
def test_error_for_unreadable_certificates_names_the_variables(monkeypatch, error):
    def broken():
        raise error

    monkeypatch.setattr("toolhaft.resources.http.fetching.default_tls", broken)
    client = HttpClient(resolver=lambda name, port: ["127.0.0.1"], allow=["shop.example"])
    with pytest.raises(HttpError, match="check SSL_CERT_FILE and SSL_CERT_DIR if they are set"):
        client.fetch("https://shop.example/")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e400"])
def test_nan_and_infinity_in_json_are_refused(number):
    response = HttpResponse(
        status=200, url="https://a.example/", headers={}, body=f'{{"a": {number}}}'.encode()
    )
    with pytest.raises(HttpError, match="the response is not JSON"):
        response.json()
    assert HttpResponse(status=200, url="", headers={}, body=b"[1.5, 1e3]").json() == [1.5, 1000.0]
