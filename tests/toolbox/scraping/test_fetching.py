"""Pages are fetched through the guard; each way to fail says what, where and what next."""

import gzip
import threading

import pytest

from tests.resources.http.servers import LoopbackConnector, Names, scripted, serve, unused_port
from tests.toolbox.scraping.kit import HTML, Site, scrape, site
from toolhaft import Deadline, ToolContext, execute_tool
from toolhaft.resources.http import HttpClient, HttpResponse
from toolhaft.toolbox import ScraperConfig, web_scraper
from toolhaft.toolbox.json_service import ServiceError
from toolhaft.toolbox.scraping import fetching

pytestmark = pytest.mark.external

PAGE = "<title>Tea</title><p>A hot drink.</p>"
TEXT = {"text": "A hot drink.", "title": "Tea"}


HINTS = {
    400: "check the address",
    401: "it requires a login",
    403: "it refuses this client",
    404: "there is no such page",
    410: "the page is gone",
    429: "too many requests",
    500: "try later",
    503: "try later",
}


def test_status_of_an_error_is_reported_with_the_host():
    pages = {f"/{status}": (status, HTML, PAGE) for status in HINTS}
    with site({"/robots.txt": (404, {}, ""), **pages}) as served:
        results = {status: served.scrape(f"/{status}?key=1") for status in HINTS}
    for status, result in results.items():
        assert result.failure.kind == "failed", status
        assert f"{served.web.authority} answered with HTTP {status} instead of the page" in result.message
        assert HINTS[status] in result.message
        assert "key" not in result.message


REFUSED = [
    ("example.com/page", "such as https://example.com/page"),
    ("example.com:8080/page", "write https://example.com:8080/page"),
    ("mailto:someone@example.com", "write it like https://example.com/page"),
    ("ftp://example.com/file", "must begin with http:// or https://"),
    ("file:///etc/passwd", "must begin with http:// or https://"),
    ("http://user:secret@example.com/", "has a user or a password in it"),
    ("http://127.0.0.1/", "is not a public host"),
    ("http://[::1]/", "is not a public host"),
    ("http://169.254.169.254/latest/meta-data/", "is not a public host"),
    ("http://2130706433/", "written as four decimal numbers"),
    ("http://localhost/", "is not a public host"),
]


def test_address_that_may_not_be_fetched_is_the_models_fault():
    for url, message in REFUSED:
        result = execute_tool(web_scraper, {"url": url})
        assert result.failure.kind == "invalid_arguments", url
        assert message in result.message, url
        assert "secret" not in result.message


def test_redirect_is_followed_and_reported_without_its_query():
    pages = {"/": (301, {"Location": "/new?session=abc"}, ""), "/new": PAGE}
    with site(pages) as served:
        result = served.scrape("/")
    assert result.value == TEXT
    assert f"Redirected to {served.web.url}/new." in result.message
    assert "abc" not in result.message


def test_address_in_another_spelling_is_not_reported_as_redirect():
    with site({"/a/b": PAGE}) as served:
        result = served.scrape("/a/./c/../b#part")
    assert result.value == TEXT
    assert "Redirected" not in result.message


def test_redirect_to_a_private_host_is_refused():
    names = Names({"shop.example": ["93.184.216.34"]})
    pages = {"/robots.txt": (404, {}, ""), "/": (302, {"Location": "http://10.0.0.7/admin"}, "")}
    with serve(pages) as web:
        client = HttpClient(resolver=names, connector=LoopbackConnector({"93.184.216.34": web}))
        result = execute_tool(web_scraper, {"url": "http://shop.example/"}, resources={HttpClient: client})
    assert result.failure.kind == "invalid_arguments"
    assert "'shop.example' redirects to a URL that may not be fetched" in result.message


def test_name_that_leads_to_a_private_address_is_refused_before_robots_is_asked():
    connector = LoopbackConnector()
    client = HttpClient(resolver=Names({"rebind.example": ["10.0.0.7"]}), connector=connector)
    result = execute_tool(web_scraper, {"url": "http://rebind.example/"}, resources={HttpClient: client})
    assert result.failure.kind == "invalid_arguments"
    assert "is not a public host" in result.message
    assert connector.connected == []


def test_packed_page_is_unpacked():
    packed = (200, {**HTML, "Content-Encoding": "gzip"}, gzip.compress(PAGE.encode()))
    assert scrape(packed).value == TEXT


def test_page_that_unpacks_to_too_much_is_refused():
    bomb = (200, {**HTML, "Content-Encoding": "gzip"}, gzip.compress(b"x" * 10_000_000))
    result = scrape(bomb, config=ScraperConfig(max_bytes=1_000_000))
    assert result.failure.kind == "failed"
    assert "too large: at most 1,000,000 bytes" in result.message


def test_server_that_nobody_runs_is_reported():
    port = unused_port()
    client = HttpClient(allow=[f"127.0.0.1:{port}"])
    result = execute_tool(web_scraper, {"url": f"http://127.0.0.1:{port}/"}, resources={HttpClient: client})
    assert result.failure.kind == "failed"
    assert "could not be fetched" in result.message


def test_page_that_breaks_off_is_reported():
    with scripted(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99\r\n\r\n<p>half") as web:
        result = Site(web, ScraperConfig(robots=False)).scrape("/")
    assert result.failure.kind == "failed"
    assert "the page could not be fetched" in result.message


def test_deadline_of_the_call_bounds_robots_and_page_together():
    ended = threading.Event()

    def slow(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        while not ended.wait(0.05):  # goes on for as long as the client listens
            connection.sendall(b"<p>x")

    with scripted(slow) as web:
        result = Site(web).scrape("/", deadline=Deadline.after(0.5))
        ended.set()
    assert not result.success


def test_deadline_reaches_every_request(monkeypatch):
    deadlines = {}

    class Recorder:
        """A client that asks before it answers, as the real one does."""

        def fetch(self, url, *, deadline, vet=None, **_):
            if vet is not None:
                vet(url)
            deadlines[url] = deadline
            return HttpResponse(url=url, status=404, headers={}, body=b"")

    monkeypatch.setattr(fetching, "http_of", lambda _: Recorder())
    context = ToolContext(deadline=Deadline.after(60))
    with pytest.raises(ServiceError):
        fetching.DocumentFetcher(ScraperConfig()).fetch("https://a.example/page", context)
    assert deadlines == {
        "https://a.example/robots.txt": context.deadline,
        "https://a.example/page": context.deadline,
    }


def test_no_answer_beyond_the_redirects_that_are_followed():
    with site({None: (302, {"Location": "/again"}, ""), "/robots.txt": (404, {}, "")}) as served:
        result = served.scrape("/")
    assert "more than 5 redirects" in result.message


def test_answer_without_content_has_nothing_to_read():
    for status in (204, 205):
        with site({"/robots.txt": (404, {}, ""), "/": (status, {"Content-Length": None}, "")}) as served:
            assert "the document is empty" in served.scrape("/").message, status
