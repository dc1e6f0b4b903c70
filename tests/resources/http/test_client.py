"""The client: requests, responses, options, and how tools get one."""

import asyncio
import importlib.util
import pickle
import subprocess
import sys
import threading

import pytest

from tests.cases import each_case
from tests.resources.http.servers import LOOPBACK, LoopbackConnector, Names, serve
from toolhaft import Tool, ToolCall, ToolContext, ToolExecutor, execute_tool, tool
from toolhaft.errors import DefinitionError, HttpRefusedError, ResourceError
from toolhaft.resources import ResourceRegistry
from toolhaft.resources.http import HttpClient, exchange, http_of, streams
from toolhaft.resources.providers import rollback_method

pytestmark = pytest.mark.external


@pytest.fixture(scope="module")
def web():
    def echo(asked):
        return (
            200,
            {},
            {
                "method": asked.method,
                "target": asked.target,
                "headers": asked.headers,
                "body": asked.body.decode("latin-1"),
            },
        )

    pages = {
        None: echo,
        "/404": (404, {}, "gone"),
        "/500": (500, {}, "broken"),
        "/two": (200, {"X-A": "1", "x-a": "2", "Content-Type": "Text/Plain ; charset=x"}, b"\xff"),
    }
    with serve(pages) as running:
        yield running


@pytest.fixture
def client(web):
    return HttpClient(allow=[web.authority])


# --- what is sent ---------------------------------------------------------------------------------------


def test_plain_fetch_sends_only_the_default_headers(web, client):
    sent = client.fetch(web.url).json()
    assert (sent["method"], sent["target"], sent["body"]) == ("GET", "/", "")
    agent = sent["headers"].pop("user-agent")
    assert agent.startswith("toolhaft/0.")
    assert sent["headers"] == {
        "host": web.authority,
        "accept": "*/*",
        "accept-encoding": "gzip, deflate",
        "connection": "close",
    }


def test_headers_and_query_of_the_caller_are_sent(web):
    client = HttpClient(allow=[web.authority], user_agent="mine/1.0 (me@example.com)")
    sent = client.fetch(
        web.url + "/a?x=1", query={"q": "ü & ?"}, headers={"X-Key": "k", "ACCEPT": "text/html", "X-Empty": ""}
    ).json()
    assert sent["target"] == "/a?x=1&q=%C3%BC+%26+%3F"
    assert sent["headers"]["user-agent"] == "mine/1.0 (me@example.com)"
    assert (sent["headers"]["x-key"], sent["headers"]["accept"], sent["headers"]["x-empty"]) == (
        "k",
        "text/html",
        "",
    )
    assert client.fetch(web.url, headers={"user-agent": "other"}).json()["headers"]["user-agent"] == "other"


@each_case(
    ("json", "text"),
    [
        ({"a": [1, "ü"]}, '{"a":[1,"Ã¼"]}'),
        (None, "null"),
        ([], "[]"),
        (0, "0"),
        ("x", '"x"'),
        (False, "false"),
    ],
)
def test_json_is_written_compactly(web, client, json, text):
    sent = client.fetch(web.url, method="POST", json=json).json()
    assert (sent["body"], sent["headers"]["content-type"]) == (text, "application/json")
    assert sent["headers"]["content-length"] == str(len(text))


def test_content_is_sent_as_it_is(web, client):
    sent = client.fetch(
        web.url, method="PUT", content=b"\x00\xff", headers={"Content-Type": "image/x"}
    ).json()
    assert (sent["body"], sent["headers"]["content-type"], sent["headers"]["content-length"]) == (
        "\x00\xff",
        "image/x",
        "2",
    )
    sent = client.fetch(
        web.url, method="POST", json={}, headers={"content-type": "application/ld+json"}
    ).json()
    assert sent["headers"]["content-type"] == "application/ld+json"
    assert (
        "content-type" not in client.fetch(web.url, method="POST", content=bytearray(b"x")).json()["headers"]
    )


@each_case("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_method_without_a_body_is_sent(web, client, method):
    sent = client.fetch(web.url, method=method).json()
    assert sent["method"] == method
    assert sent["headers"].get("content-length") == ("0" if method in ("POST", "PUT", "PATCH") else None)


def test_head_returns_headers_without_a_body(web, client):
    response = client.fetch(web.url, method="HEAD")
    assert (response.status, response.body) == (200, b"")
    assert int(response.headers["content-length"]) > 0


@each_case(
    "name",
    [
        "Host",
        "content-length",
        "Transfer-Encoding",
        "Connection",
        "TE",
        "Trailer",
        "Upgrade",
        "Expect",
        "Keep-Alive",
        "Proxy-Authorization",
    ],
)
def test_header_that_only_the_client_sets_is_refused(client, web, name):
    count = len(web.requests)
    with pytest.raises(HttpRefusedError, match=f"the header '{name}' is set by the client itself"):
        client.fetch(web.url, headers={name: "1"})
    assert len(web.requests) == count


@each_case("name", ["", "a b", "a:", "a\r\nb", "ä", "a\0"])
def test_invalid_header_name_is_refused(client, web, name):
    with pytest.raises(HttpRefusedError, match="is not a valid header name"):
        client.fetch(web.url, headers={name: "1"})


@each_case(
    "value",
    [
        "SECRET\r\nHost: evil",
        "SECRET\n",
        "SECRET\0",
        "SECRET\x7f",
        "SECRETé",
        " SECRET",
        "SECRET ",
        5,
        None,
        b"SECRET",
    ],
)
def test_invalid_header_value_is_refused_and_not_quoted(client, web, value):
    with pytest.raises(
        HttpRefusedError, match="the value of the header 'X-Key' must be one line of ASCII"
    ) as caught:
        client.fetch(web.url, headers={"X-Key": value})
    assert "SECRET" not in str(caught.value)


@each_case(
    ("options", "told"),
    [
        ({"method": "get"}, "no method 'get'; use one of GET, HEAD"),
        ({"method": "CONNECT"}, "no method 'CONNECT'"),
        ({"method": "TRACE"}, "no method"),
        ({"method": "GET / HTTP/1.1\r\nX: y"}, "no method"),
        ({"json": 1, "content": b"1"}, "one body"),
        ({"json": float("nan")}, "cannot be written as JSON"),
        ({"json": {1, 2}}, "cannot be written as JSON"),
        ({"json": "\ud800"}, "cannot be written as JSON"),
        ({"timeout_s": 0}, "timeout_s: seconds, more than 0"),
        ({"timeout_s": -1}, "timeout_s"),
        ({"timeout_s": float("nan")}, "timeout_s"),
        ({"timeout_s": float("inf")}, "timeout_s"),
        ({"timeout_s": 1e9}, "timeout_s"),
        ({"timeout_s": True}, "timeout_s"),
        ({"timeout_s": "10"}, "timeout_s"),
        ({"max_bytes": -1}, "max_bytes: an integer of at least 0"),
        ({"max_bytes": 1.5}, "max_bytes"),
        ({"max_redirects": True}, "max_redirects"),
        ({"max_redirects": -1}, "max_redirects"),
    ],
)
def test_invalid_argument_is_a_value_error(client, web, options, told):
    count = len(web.requests)
    with pytest.raises(ValueError, match=told):
        client.fetch(web.url, **options)
    assert len(web.requests) == count


def test_text_as_content_is_a_type_error(client, web):
    with pytest.raises(TypeError, match="content is bytes, not str; encode text first"):
        client.fetch(web.url, method="POST", content="text")


def test_too_deeply_nested_json_argument_is_refused(client, web):
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="cannot be written as JSON"):
        client.fetch(web.url, method="POST", json=deep)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"max_bytes": -1}, "max_bytes: "),
        ({"max_bytes": "5"}, "max_bytes: "),
        ({"max_redirects": None}, "max_redirects: "),
        ({"user_agent": "a\nb"}, "user_agent: "),
        ({"user_agent": "ä"}, "user_agent: "),
    ],
)
def test_invalid_client_options_raise_definition_error(options, told):
    with pytest.raises(DefinitionError, match=f"^{told}"):
        HttpClient(**options)


def test_environment_variables_are_ignored(web, client, monkeypatch, tmp_path):
    (tmp_path / ".netrc").write_text(f"machine {LOOPBACK} login me password SECRET\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    assert "authorization" not in client.fetch(web.url).json()["headers"]


def test_requests_are_not_logged(web, client, caplog):
    with caplog.at_level("DEBUG"):
        client.fetch(
            web.url + "/SECRET?q=SECRET",
            headers={"X-Key": "SECRET"},
            method="POST",
            json="SECRET",
            max_bytes=9**9,
        )
    assert caplog.records
    assert "SECRET" not in caplog.text


def test_no_cookie_is_kept(client, web):
    with serve({None: (200, {"Set-Cookie": "a=1"}, "")}) as baker:
        own = HttpClient(allow=[baker.authority])
        own.fetch(baker.url)
        own.fetch(baker.url)
    assert "cookie" not in baker.requests[1].headers


# --- what comes back ------------------------------------------------------------------------------------


def test_every_status_is_a_response(web, client):
    for status in (404, 500):
        response = client.fetch(f"{web.url}/{status}")
        assert (response.status, response.is_ok) == (status, False)
    assert client.fetch(web.url).is_ok


def test_headers_are_found_by_lower_case_name_and_joined(web, client):
    response = client.fetch(web.url + "/two")
    assert (response.headers["x-a"], response.media_type, response.body) == ("1, 2", "text/plain", b"\xff")
    assert response.url == web.url + "/two"


def test_async_fetch_is_the_same(web, client):
    response = asyncio.run(
        client.afetch(web.url, method="POST", json={"a": 1}, headers={"X": "y"}, query={"q": "1"})
    )
    sent = response.json()
    assert (sent["method"], sent["target"], sent["headers"]["x"], sent["body"]) == (
        "POST",
        "/?q=1",
        "y",
        '{"a":1}',
    )
    with pytest.raises(HttpRefusedError):
        asyncio.run(client.afetch("http://localhost/"))


def test_one_client_serves_many_threads(web, client):
    got, trouble = [], []

    def work(number):
        try:
            got.append(client.fetch(f"{web.url}/{number}x").json()["target"])
        except Exception as error:  # noqa: BLE001 -- looked at below
            trouble.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (trouble, sorted(got)) == ([], sorted(f"/{number}x" for number in range(40)))


# --- how tools come by one ------------------------------------------------------------------------------


@tool(effect="read")
def look(url: str, *, context: ToolContext) -> int:
    """Fetch a page."""
    return http_of(context).fetch(url).status


@tool(effect="read", isolation="process", timeout_s=30)
def look_from_afar(url: str, *, context: ToolContext) -> int:
    """Fetch a page in a process of its own."""
    return http_of(context).fetch(url).status


def test_client_is_a_plain_resource(web, client):
    assert rollback_method(client) == "plain"
    assert execute_tool(look, {"url": web.url}, resources={HttpClient: client}).value == 200
    with ToolExecutor([look], resources={HttpClient: client}) as executor:
        assert executor.execute(ToolCall(name="look", arguments={"url": web.url})).value == 200


@pytest.mark.parametrize("resources", [None, {}])
def test_without_a_resource_the_client_that_all_share_is_used(web, resources):
    result = execute_tool(look, {"url": web.url}, resources=resources)
    assert not result.success
    assert "'127.0.0.1' is not a public host" in result.message
    assert http_of(None) is http_of(ToolContext()) is http_of(None)


def test_client_that_cannot_be_created_is_not_replaced_by_the_default(web):
    for factory in (lambda: None, lambda resources: resources.get(Tool)):
        registry = ResourceRegistry()
        registry.provide(HttpClient, factory)
        with pytest.raises(ResourceError):
            http_of(ToolContext(resources=registry.fork()))


def test_client_can_be_sent_to_a_process(web):
    client = HttpClient(allow=[web.authority], user_agent="afar/1", max_redirects=1)
    assert execute_tool(look_from_afar, {"url": web.url}, resources={HttpClient: client}).value == 200
    assert web.requests[-1].headers["user-agent"] == "afar/1"
    refused = execute_tool(look_from_afar, {"url": web.url})
    assert "'127.0.0.1' is not a public host" in refused.message


def test_pickled_client_keeps_its_limits():
    packed = pickle.dumps(HttpClient(only=iter(["a.example"]), max_bytes=5))
    client = pickle.loads(packed)  # noqa: S301 -- written in the line above
    with pytest.raises(HttpRefusedError, match="not one of the hosts"):
        client.fetch("http://b.example/")


def test_connector_of_the_tests_leads_to_the_loopback_server(web):
    client = HttpClient(
        resolver=Names({"a.example": ["93.184.216.34"]}), connector=LoopbackConnector({"93.184.216.34": web})
    )
    assert client.fetch("http://a.example/x").json()["target"] == "/x"


# --- what it costs to load ------------------------------------------------------------------------------


def run(code):
    search = f"import sys; sys.path[:0] = {sys.path!r}\n"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", search + code], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


HEAVY = "print(sorted({'httpcore2', 'ssl', 'idna', 'asyncio', 'h11'} & set(sys.modules)))\n"


def test_nothing_heavy_is_loaded_before_a_client_is_made():
    code = (
        f"import toolhaft.resources\n{HEAVY}from toolhaft.resources.http import HttpClient, http_of\n{HEAVY}"
    )
    code += f"HttpClient()\n{HEAVY.replace('print(sorted(', 'print(len(')}"
    none, named, made = run(code)
    assert (none, named) == ("[]", "[]")
    assert int(made) >= 3


@pytest.mark.parametrize("module", [exchange, streams])
def test_file_without_its_package_names_the_command(module, monkeypatch):
    monkeypatch.setitem(sys.modules, "httpcore2", None)
    spec = importlib.util.spec_from_file_location("alone", module.__file__)
    with pytest.raises(ImportError, match=r"pip install 'toolhaft\[web\]'$"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_host_in_another_script_without_its_package_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "idna", None)
    with pytest.raises(ImportError, match=r"pip install 'toolhaft\[web\]'$"):
        HttpClient().fetch("https://münchen.example/")


def test_missing_packages_are_named_with_the_command_that_installs_them():
    code = "import sys; sys.modules['{name}'] = None\nfrom toolhaft.resources.http import HttpClient\ntry:\n    HttpClient(allow=['ä.example'])\nexcept ImportError as error:\n    print(error)\n"
    for name in ("httpcore2", "idna"):
        assert run(code.format(name=name)) == [
            "the web client needs httpcore2 and idna: pip install 'toolhaft[web]'"
        ]
