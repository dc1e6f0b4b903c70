"""Redirects: each hop is checked like the first, other origins get no secrets, methods change as in browsers."""

from itertools import product
from urllib.parse import quote

import pytest

from tests.cases import each_case
from tests.resources.http.servers import (
    LOOPBACK,
    LoopbackConnector,
    Names,
    client_tls,
    scripted,
    serve,
    server_tls,
)
from tests.resources.kit import refusal
from toolhaft.errors import HttpError, HttpRefusedError
from toolhaft.resources.http import HttpClient
from toolhaft.resources.http.request import redirect_target
from toolhaft.resources.http.urls import parse_url

pytestmark = pytest.mark.external

PUBLIC, OTHER = "93.184.216.34", "93.184.216.35"
MOVES = [301, 302, 303, 307, 308]


def to(location, status=302):
    return status, {"Location": location}, "moved"


@pytest.fixture
def world():
    """`world(pages)` runs them at shop.example and other.example; returns client, server and connector."""
    opened = []

    def make(pages, *, tls=False, **options):
        running = serve(pages, tls=server_tls("shop.example", "other.example") if tls else None)
        opened.append(running)
        web = running.__enter__()
        names = Names({"shop.example": [PUBLIC], "other.example": [OTHER], "evil.example": [LOOPBACK]})
        connector = LoopbackConnector({PUBLIC: web, OTHER: web})
        return HttpClient(resolver=names, connector=connector, tls=client_tls(), **options), web, connector

    yield make
    for running in opened:
        running.__exit__(None, None, None)


LOCATIONS = (
    "/end",
    "end",
    "http://shop.example/end#part",
    "//shop.example/end",
    "./a/../end",
    "  /end  ",
    "HTTP://SHOP.EXAMPLE:80/end",
)


def test_redirect_is_followed(world):
    moves = {
        f"/{status}-{quote(location, safe='')}": (location, status)
        for location, status in product(LOCATIONS, MOVES)
    }
    client, _, _ = world({"/end": (200, {}, "end"), **{path: to(*move) for path, move in moves.items()}})
    for path, move in moves.items():
        response = client.fetch(f"http://shop.example{path}")
        found = (response.status, response.body, response.url)
        assert found == (200, b"end", "http://shop.example/end"), move


@each_case(
    ("location", "leads_to"),
    [
        ("?x=1", "/dir/page?x=1"),
        ("", "/dir/page?q=1"),
        ("#part", "/dir/page?q=1"),
        ("other", "/dir/other"),
        ("../other", "/other"),
        ("../../../other", "/other"),
        ("/%2e%2e/other", "/other"),
    ],
)
def test_relative_location_is_joined_to_the_current_url(location, leads_to):
    assert redirect_target(parse_url("http://shop.example/dir/page?q=1"), [location]).target == leads_to


@pytest.mark.parametrize(
    ("raw", "target"), [("/a b/ä?q=ü".encode(), "/a%20b/%C3%A4?q=%C3%BC"), (b"/a b/\xe4", "/a%20b/%C3%A4")]
)
def test_location_with_a_space_or_foreign_letters_is_encoded(raw, target):
    circle = scripted(b"HTTP/1.1 302 Found\r\nLocation: " + raw + b"\r\nContent-Length: 0\r\n\r\n")
    with circle as web, pytest.raises(HttpError, match="more than 1 redirects"):
        HttpClient(allow=[web.authority]).fetch(web.url, max_redirects=1)
    assert web.requests[-1].target == target


CLOSED = (
    "http://127.0.0.1/",
    "http://localhost/admin",
    "http://169.254.169.254/latest/meta-data/",
    "http://[::1]/",
    "http://[::ffff:169.254.169.254]/",
    "http://2130706433/",
    "//127.1/",
    "http://evil.example/",
    "http://user:pw@shop.example/",
    "http://shop.example:22/",
    "file:///etc/passwd",
    "gopher://shop.example/",
    "javascript:alert(1)",
    "data:text/plain,hi",
    "http://",
    "http:///etc/passwd",
    "///etc/passwd",
    "http:other",
    "\\\\127.0.0.1\\",
    "/\\127.0.0.1/",
    "http://shop.example\\@127.0.0.1/",
    "http://a b/",
)


def test_redirect_to_a_url_that_may_not_be_fetched_is_refused(world):
    moves = {
        f"/{status}-{quote(location, safe='')}": (location, status)
        for location, status in product(CLOSED, [301, 307])
    }
    client, web, connector = world({path: to(*move) for path, move in moves.items()})
    for number, path in enumerate(moves, 1):
        message = refusal(HttpRefusedError, client.fetch, f"http://shop.example{path}?key=SECRET")
        assert message.startswith("'shop.example' redirects to a URL that may not be fetched: "), moves[path]
        assert "SECRET" not in message, moves[path]
        assert (connector.connected, len(web.requests)) == ([(PUBLIC, 80)] * number, number), moves[path]


def test_redirect_to_a_private_host_is_refused_at_any_hop(world):
    client, web, connector = world(
        {"/": to("/2"), "/2": to("http://other.example/3"), "/3": to("http://evil.example/")}
    )
    with pytest.raises(
        HttpRefusedError,
        match=r"^'other\.example' redirects to a URL that may not be fetched: 'evil\.example' is not a public host",
    ):
        client.fetch("http://shop.example/")
    assert [request.path for request in web.requests] == ["/", "/2", "/3"]
    assert [address for address, _ in connector.connected] == [PUBLIC, PUBLIC, OTHER]


def test_redirect_out_of_only_is_refused(world):
    client, _web, connector = world({None: to("http://other.example/")}, only=["shop.example"])
    with pytest.raises(HttpRefusedError, match=r"'other\.example' \(port 80\) is not one of the hosts"):
        client.fetch("http://shop.example/")
    assert len(connector.connected) == 1


def test_redirect_from_an_allowed_host_to_another_private_one_is_refused():
    with serve({None: to("http://127.0.0.1:1/")}) as web, pytest.raises(HttpRefusedError):
        HttpClient(allow=[web.authority]).fetch(web.url)


def test_redirect_from_https_to_http_is_refused(world):
    client, _web, connector = world({None: to("http://shop.example/")}, tls=True)
    with pytest.raises(HttpRefusedError, match=r"'shop\.example' redirects from https to http"):
        client.fetch("https://shop.example/")
    assert len(connector.connected) == 1


def test_redirect_between_https_hosts_is_followed(world):
    client, _web, _ = world({"/": to("https://other.example/end"), "/end": (200, {}, "end")}, tls=True)
    assert client.fetch("https://shop.example/").url == "https://other.example/end"


# --- how many -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["/", "/other"])
def test_redirect_loop_ends(world, target):
    client, web, _ = world({"/": to(target), "/other": to("/")})
    with pytest.raises(HttpError, match=r"^more than 5 redirects, the last one from 'shop\.example'$"):
        client.fetch("http://shop.example/")
    assert len(web.requests) == 6


@pytest.mark.parametrize("hops", [1, 2, 7])
def test_no_more_redirects_are_followed_than_allowed(world, hops):
    pages = {f"/{number}": to(f"/{number + 1}") for number in range(hops + 1)} | {
        f"/{hops + 1}": (200, {}, "end")
    }
    client, _web, _ = world(pages, max_redirects=hops)
    assert client.fetch("http://shop.example/1").body == b"end"
    with pytest.raises(HttpError, match=f"more than {hops} redirects"):
        client.fetch("http://shop.example/0")
    assert client.fetch("http://shop.example/0", max_redirects=hops + 1).body == b"end"


def test_redirect_is_the_response_if_none_are_allowed(world):
    client, _, _ = world({"/": to("http://127.0.0.1/")}, max_redirects=0)
    response = client.fetch("http://shop.example/")
    assert (response.status, response.headers["location"], response.body) == (
        302,
        "http://127.0.0.1/",
        b"moved",
    )
    assert response.url == "http://shop.example/"
    client, _web, _ = world({"/": to("/")})
    assert client.fetch("http://shop.example/", max_redirects=0).status == 302


@pytest.mark.parametrize("status", [300, 304, 305, 306, 399])
def test_status_that_is_not_a_redirect_is_a_response(world, status):
    client, _, _ = world({"/": (status, {"Location": "http://127.0.0.1/"}, "")})
    assert client.fetch("http://shop.example/").status == status


# --- what is wrong with it ------------------------------------------------------------------------------


@each_case(
    ("headers", "told"),
    [
        (b"", "responds with a redirect to no URL"),
        (b"Location: /a\r\nLocation: /b\r\n", "responds with a redirect to several URLs"),
        (b"Location: /" + b"a" * 9_000 + b"\r\n", "redirects to a URL of more than 8,192 characters"),
        (b"Location: http://[::1\r\n", "redirects to a URL that may not be fetched: "),
        (b"Location: http://[x]/\r\n", "redirects to a URL that may not be fetched: "),
        (
            b"Location: /\t/evil.example\r\n",
            "redirects to a URL that may not be fetched: the URL has an invalid character",
        ),
        (
            b"Location: /a\tb\r\n",
            "redirects to a URL that may not be fetched: the URL has an invalid character",
        ),
    ],
)
def test_redirect_that_cannot_be_read_is_an_error(headers, told):
    answer = b"HTTP/1.1 302 Found\r\n" + headers + b"Content-Length: 0\r\n\r\n"
    with scripted(answer) as web, pytest.raises(HttpError, match=told):
        HttpClient(allow=[web.authority]).fetch(web.url)


def test_location_that_is_said_twice_is_one():
    head = b"HTTP/1.1 302 Found\r\nLocation: /end\r\nLocation: /end\r\nContent-Length: 0\r\n\r\n"
    with scripted(head) as web, pytest.raises(HttpError, match="more than 1 redirects"):
        HttpClient(allow=[web.authority]).fetch(web.url, max_redirects=1)


def test_body_of_a_redirect_that_is_followed_is_not_read():
    def script(connection):
        first = web.connections == 1
        connection.sendall(
            b"HTTP/1.1 302 Found\r\nLocation: /end\r\nContent-Length: 99999999\r\nContent-Encoding: br\r\n\r\nxx"
            if first
            else b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nend"
        )
        connection.recv(1)

    with scripted(script) as web:
        assert HttpClient(allow=[web.authority]).fetch(web.url).body == b"end"


# --- what goes along ------------------------------------------------------------------------------------

SENT = {
    "Authorization": "Bearer SECRET",
    "Cookie": "a=SECRET",
    "X-Api-Key": "SECRET",
    "Accept": "text/plain",
    "Accept-Language": "de",
    "User-Agent": "mine/1.0",
}
KEPT = {"accept": "text/plain", "accept-language": "de", "user-agent": "mine/1.0"}


def test_same_origin_gets_the_callers_headers_again(world):
    client, web, _ = world({"/": to("/end"), "/end": (200, {}, "")})
    client.fetch("http://shop.example/", headers=SENT)
    first, second = (request.headers for request in web.requests)
    assert first == second
    assert second["x-api-key"] == "SECRET"


@pytest.mark.parametrize("location", ["http://other.example/end", "http://shop.example:8080/end"])
def test_another_origin_gets_none_of_the_callers_secrets(world, location):
    client, web, _ = world(
        {"/": to(location), "/end": to("http://shop.example/back"), "/back": (200, {}, "")}
    )
    client.fetch("http://shop.example/", headers=SENT)
    for request in web.requests[1:]:  # the way back included
        assert "SECRET" not in str(request)
        assert {name: value for name, value in request.headers.items() if name in KEPT} == KEPT
        assert set(request.headers) == {*KEPT, "host", "accept-encoding", "connection"}
        assert "referer" not in request.headers


def test_change_to_https_is_another_origin(world):
    _, secure, _ = world({None: (200, {}, "end")}, tls=True)
    _, plain, _ = world({None: to("https://shop.example/end")})

    def connector(address, port, timeout_s):
        return LoopbackConnector({PUBLIC: secure if port == 443 else plain})(address, port, timeout_s)

    client = HttpClient(resolver=Names({"shop.example": [PUBLIC]}), connector=connector, tls=client_tls())
    assert client.fetch("http://shop.example/", headers=SENT).body == b"end"
    assert "SECRET" in str(plain.requests[0])
    assert "SECRET" not in str(secure.requests[0])


@each_case(
    ("method", "status", "becomes"),
    [
        ("GET", 301, "GET"),
        ("GET", 303, "GET"),
        ("GET", 307, "GET"),
        ("HEAD", 301, "HEAD"),
        ("HEAD", 303, "HEAD"),
        ("POST", 301, "GET"),
        ("POST", 302, "GET"),
        ("POST", 303, "GET"),
        ("POST", 307, "POST"),
        ("POST", 308, "POST"),
        ("PUT", 301, "PUT"),
        ("PUT", 303, "GET"),
        ("DELETE", 302, "DELETE"),
        ("DELETE", 303, "GET"),
        ("PATCH", 308, "PATCH"),
        ("OPTIONS", 303, "GET"),
    ],
)
def test_method_and_body_change_as_in_browsers(world, method, status, becomes):
    client, web, _ = world({"/": to("/end", status), "/end": (200, {}, "")})
    content = b"{}" if method in ("POST", "PUT", "PATCH") else None
    headers = (
        {"Content-Type": "application/json", "Content-Language": "de", "X-Own": "1"}
        if content
        else {"X-Own": "1"}
    )
    client.fetch("http://shop.example/", method=method, content=content, headers=headers)
    end = web.requests[-1]
    assert (end.method, end.headers["x-own"]) == (becomes, "1")
    if becomes == method and content:
        assert (end.body, end.headers["content-type"], end.headers["content-length"]) == (
            b"{}",
            "application/json",
            "2",
        )
    else:
        assert end.body == b""
        assert not any(name.startswith("content-") for name in end.headers)


@each_case(
    ("method", "status", "content"),
    [
        ("POST", 307, b"{}"),
        ("POST", 308, b""),
        ("PUT", 301, b"{}"),
        ("PATCH", 302, b"{}"),
        ("DELETE", 302, None),
        ("GET", 302, b"{}"),
    ],
)
def test_body_is_not_sent_to_another_origin(world, method, status, content):
    client, _web, connector = world({None: to("http://other.example/", status)})
    with pytest.raises(HttpRefusedError, match=f"'shop.example' redirects a {method} to 'other.example'"):
        client.fetch("http://shop.example/", method=method, content=content)
    assert len(connector.connected) == 1


@pytest.mark.parametrize("status", [301, 302, 303])
def test_post_that_becomes_a_get_may_go_to_another_origin(world, status):
    client, web, _ = world({"/": to("http://other.example/end", status), "/end": (200, {}, "end")})
    assert client.fetch("http://shop.example/", method="POST", json={"secret": 1}).body == b"end"
    assert (web.requests[1].method, web.requests[1].body) == ("GET", b"")


# --- vet ------------------------------------------------------------------------------------------------


def test_each_hop_is_shown_to_vet_before_it_is_requested(world):
    client, _web, connector = world(
        {"/": to("/a/../%62?x=1#y"), "/b": to("http://OTHER.example"), "/%62": to("http://OTHER.example")}
    )
    seen = []

    def vet(url):
        seen.append((url, len(connector.connected)))
        if "other" in url:
            raise LookupError("robots say no")

    with pytest.raises(LookupError, match="robots say no"):
        client.fetch("http://SHOP.example", vet=vet)
    assert seen == [
        ("http://shop.example/", 0),
        ("http://shop.example/%62?x=1", 1),
        ("http://other.example/", 2),
    ]
    assert len(connector.connected) == 2


def test_vet_is_not_called_for_refused_urls(world):
    client, _, _ = world({"/": to("http://127.0.0.1/")})
    seen = []
    with pytest.raises(HttpRefusedError):
        client.fetch("http://shop.example/", vet=seen.append)
    assert seen == ["http://shop.example/"]


def test_a_redirect_to_the_same_host_with_a_dot_at_its_end_is_not_another_origin(world):
    client, web, _ = world({"/": to("http://shop.example./next"), "/next": (200, {}, "done")})
    response = client.fetch("http://shop.example/", headers={"Authorization": "secret"})
    assert (response.body, response.url) == (b"done", "http://shop.example/next")
    assert [request.headers["host"] for request in web.requests] == ["shop.example", "shop.example"]
    assert [request.headers.get("authorization") for request in web.requests] == ["secret", "secret"]
