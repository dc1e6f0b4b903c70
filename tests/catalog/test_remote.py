"""A platform over HTTP: requests, and every kind of response."""

import json
import socket
import time
from functools import partial

import pytest

from tests.cases import in_case
from tests.catalog.kit import KEY, OPERATOR, as_json, loopback_platform, problem, yaml_text
from toolhaft import Catalog, execute_tool
from toolhaft.catalog.remote import RemotePlatform
from toolhaft.core.context import ToolContext
from toolhaft.define.yaml import parse_tool
from toolhaft.errors import (
    ConfigError,
    ConflictError,
    DefinitionError,
    ForbiddenError,
    HttpRefusedError,
    HttpTimeoutError,
    PlatformError,
    ToolhaftError,
    UnknownToolError,
)

pytestmark = pytest.mark.external

ECHO = '{argv: [echo, "${input}"]}'


@pytest.fixture(scope="module")
def server():
    with loopback_platform() as platform:
        yield platform


@pytest.fixture
def there(server):
    server.say = None
    server.requests.clear()
    for one in server.store.list(OPERATOR):
        server.store.remove(one.id, OPERATOR)
    return server


@pytest.fixture
def remote(there):
    return RemotePlatform(there.url, KEY, timeout_s=5)


def _return(answer, *_):
    return answer


def test_tool_is_published_listed_fetched_and_removed(remote, there):
    put = remote.put(yaml_text("weather", run=ECHO), base=None)
    assert put.text == remote.get("weather").text
    assert "# kept" in put.text
    assert put.tool.endpoint == f"{there.url}/v3/tool/weather"
    assert put.etag == f'"{put.updated_at}"'
    assert [one.id for one in remote.list()] == ["weather"]
    listing = remote.listings()[0]
    assert (listing.id, listing.store, listing.place, listing.updated_at, listing.search_text) == (
        "weather",
        "platform",
        there.url,
        put.updated_at,
        "input Input value",
    )
    remote.close()
    remote.remove("weather", base=put.updated_at)
    assert remote.listings() == []
    with pytest.raises(UnknownToolError):
        remote.get("weather")


def test_base_is_sent_as_http_conditions(remote, there):
    first = remote.put(yaml_text("a"), base=None)
    remote.put(yaml_text("a"), base=first.updated_at)
    remote.put(yaml_text("a"))
    remote.remove("a")
    said = [
        (headers.get("If-Match"), headers.get("If-None-Match")) for method, _, headers, _ in there.requests
    ]
    assert said == [(None, "*"), (f'"{first.updated_at}"', None), ("*", None), ("*", None)]
    assert {headers["Authorization"] for _, _, headers, _ in there.requests} == {f"Bearer {KEY}"}
    assert {headers["Content-Type"] for method, _, headers, _ in there.requests if method == "PUT"} == {
        "application/yaml"
    }


def test_missing_tool_is_created_whatever_its_base(remote, there):
    assert remote.put(yaml_text("a")).id == "a"
    assert remote.put(yaml_text("b"), base="2024-01-01T00:00:00Z").id == "b"
    conditions = [
        headers.get("If-Match") or headers.get("If-None-Match") for _, _, headers, _ in there.requests
    ]
    assert conditions == ["*", "*", '"2024-01-01T00:00:00Z"', "*"]


@pytest.mark.parametrize(("base", "outcome"), [(..., 4), ("2024-01-01T00:00:00Z", 2), (None, 1)])
def test_endless_race_ends_with_a_conflict(remote, there, base, outcome):
    said = iter([problem(412, "there is none"), problem(412, "somebody was first", current="2025")] * 3)
    there.say = lambda *_: next(said)
    with pytest.raises(ConflictError, match="there is none" if base is None else "somebody was first"):
        remote.put(yaml_text("a"), base=base)
    assert len(there.requests) == outcome


def test_conflict_is_raised_for_an_outdated_base(remote):
    first = remote.put(yaml_text("a"), base=None)
    second = remote.put(yaml_text("a"), base=first.updated_at)
    with pytest.raises(ConflictError, match="was published again") as caught:
        remote.put(yaml_text("a"), base=first.updated_at)
    assert caught.value.current == second.updated_at
    with pytest.raises(ConflictError, match="exists"):
        remote.put(yaml_text("a"), base=None)


def test_long_list_is_read_page_by_page(remote, there):
    for number in range(5):
        remote.put(yaml_text(f"tool{number}"))
    there.requests.clear()
    assert [one.id for one in remote.listings()] == [f"tool{number}" for number in range(5)]
    paths = [path for _, path, _, _ in there.requests]
    assert paths == [
        "/v3/tools?limit=500",
        "/v3/tools?limit=500&after=tool1",
        "/v3/tools?limit=500&after=tool3",
    ]
    list(remote._pages(tag="a b", owner="me", share="org"))  # noqa: SLF001 -- what `list` sends
    assert "/v3/tools?tag=a+b&owner=me&share=org&limit=500" in [path for _, path, _, _ in there.requests]


def test_problems_of_a_refused_document_are_told_with_their_lines(remote, there):
    entries = [
        {"line": 3, "path": "", "problem": "unknown key 'shar'", "fix": "did you mean 'share'?"},
        {"line": None, "path": "parameters", "problem": "too many", "fix": ""},
        "an earlier platform sent texts",
        {"line": True, "problem": 5},
        None,
    ]
    there.say = lambda *_: problem(422, "not as written", problems=entries)
    with pytest.raises(DefinitionError) as caught:
        remote.put(yaml_text("a"), base=None)
    assert str(caught.value).splitlines() == [
        "line 3: unknown key 'shar'. Fix: did you mean 'share'?",
        "parameters: too many",
        "an earlier platform sent texts",
    ]


def test_unexpected_versions_are_refused(remote, there):
    for body in ({}, {"versions": 5}, {"versions": [5]}, {"versions": [{"number": "1"}]}):
        with in_case(body):
            there.say = partial(_return, as_json(200, body))
            with pytest.raises(PlatformError, match="unexpected response"):
                remote.versions("a")
    hostile = {"number": 1, "change": "a\x1b[2J\nb", "published_by": 5, "version": None, "is_current": 1}
    there.say = partial(_return, as_json(200, {"versions": [hostile]}))
    [version] = remote.versions("a")
    assert (version.change, version.published_by, version.is_current) == ("a [2J b", None, False)


def test_invalid_document_is_refused_before_sending(remote, there):
    with pytest.raises(DefinitionError, match=r"tool\.yaml:1"):
        remote.put("id: [")
    assert there.requests == []


def test_tool_removed_during_the_list_is_left_out(remote, there):
    remote.put(yaml_text("a"))
    fields = [{"id": "a"}, {"id": "gone"}]
    route = there.answer

    def say(method, path):
        if path.startswith("/v3/tools?"):
            return as_json(200, {"tools": fields, "next": None})
        there.say = None
        try:
            return route(method, path, {"Authorization": f"Bearer {KEY}"}, b"")
        finally:
            there.say = say

    there.say = say
    assert [one.id for one in remote.list()] == ["a"]


def test_each_response_maps_to_its_error(remote, there):
    cases = [
        (problem(401, "x"), ForbiddenError, "does not accept the key; .* type: lk login http://127"),
        (problem(403, "scope tools:read is missing"), ForbiddenError, "^scope tools:read is missing$"),
        ((403, {}, b""), ForbiddenError, "does not allow this"),
        (problem(404, "no tool 'x'; did you mean 'y'?"), UnknownToolError, "did you mean 'y'"),
        ((404, {"Content-Type": "text/html"}, b"<h1>Not here</h1>"), PlatformError, "status 404 and text/html; is it a Toolhaft platform"),
        (problem(409, "changed", current="2024"), ConflictError, "^changed$"),
        ((412, {"ETag": '"2025"'}, b""), ConflictError, "was changed on the platform"),
        (problem(422, "bad", problems=["x.yaml:1: a", "x.yaml:2: b"]), DefinitionError, "x.yaml:1: a\nx.yaml:2: b"),
        (problem(422, "bad"), DefinitionError, "^bad$"),
        ((422, {}, b""), DefinitionError, "refuses the tool as written"),
        (as_json(422, {"problems": "no"}), DefinitionError, "refuses the tool"),
        ((429, {"Retry-After": "7", "Content-Type": "application/problem+json"}, b'{"detail": "too many"}'), PlatformError, "status 429: too many; try again in 7 s"),
        (problem(503, "the storage is busy"), PlatformError, "status 503: the storage is busy"),
        ((500, {"Content-Type": "text/html"}, b"<html>"), PlatformError, "status 500 and text/html"),
        ((500, {"Content-Type": "application/problem+json"}, b"{nope"), PlatformError, "status 500"),
        ((302, {"Location": "http://127.0.0.1:1/"}, b""), PlatformError, "status 302"),
        ((200, {"Content-Type": "text/html"}, b"<h1>Welcome</h1>"), PlatformError, "text/html instead of application/yaml"),
        ((200, {}, b"id: x"), PlatformError, "no media type instead"),
        ((200, {"Content-Type": "application/yaml"}, b"id: ["), PlatformError, "its tool 'x' cannot be read here"),
        ((200, {"Content-Type": "application/yaml"}, b"\xff\xff"), PlatformError, "cannot be read here"),
        ((200, {"Content-Type": "application/yaml"}, yaml_text("y").encode()), PlatformError, "the tool 'y' for the id 'x'"),
        ((200, {"Content-Type": "application/yaml"}, b"#" * 3_000_000), PlatformError, "did not send a complete response: .*too large"),
    ]  # fmt: skip
    for answer, kind, told in cases:
        with in_case(answer, kind, told):
            there.say = partial(_return, answer)
            with pytest.raises(kind, match=told) as caught:
                remote.get("x")
            assert type(caught.value) is kind
            assert KEY not in str(caught.value)
            assert len(str(caught.value)) < 3_000


def test_key_in_a_response_is_masked(remote, there):
    cases = [
        problem(401, KEY),
        problem(403, f"the key was Bearer {KEY}"),
        problem(404, KEY),
        problem(409, KEY, current=KEY),
        (412, {"ETag": f'"{KEY}"'}, b""),
        problem(422, f"{'x' * 1_995}{KEY}"),
        problem(422, "no", problems=[f"line 1: {KEY}", f"{'x' * 495}{KEY}"]),
        problem(500, f"crashed with {KEY}"),
        (500, {"Content-Type": f"text/{KEY}"}, b""),
        (500, {"Content-Type": "application/json"}, json.dumps({"detail": KEY}).replace("_", "\\u005f").encode()),
        (200, {"Content-Type": f"text/{KEY}"}, b""),
        (200, {"Content-Type": "application/yaml"}, f"id: x\n{KEY}: 1\nname: X\ndescription: Y\n".encode()),
        (302, {"Location": f"http://{KEY}.example/"}, b""),
    ]  # fmt: skip
    for answer in cases:
        with in_case(answer):
            there.say = partial(_return, answer)
            with pytest.raises(ToolhaftError) as caught:
                remote.get("x")
            error = caught.value
            told = [str(error), str(getattr(error, "current", "")), str(error.__cause__ or "")]
            assert not [text for text in told if KEY in text or KEY[:8] in text]


def test_default_client_reaches_only_the_platform(remote):
    with pytest.raises(HttpRefusedError):
        remote._client.fetch("http://elsewhere.example/")  # noqa: SLF001 -- the client that the key is given to


def test_long_error_message_is_truncated(remote, there):
    there.say = lambda *_: problem(403, "x" * 50_000)
    with pytest.raises(ForbiddenError) as caught:
        remote.get("x")
    assert len(str(caught.value)) == 2_003
    there.say = lambda *_: problem(
        422, "bad", problems=[f"line {number}: {'x' * 900}" for number in range(1_000)]
    )
    with pytest.raises(DefinitionError) as caught:
        remote.get("x")
    lines = str(caught.value).splitlines()
    assert (len(lines), len(lines[0])) == (100, 503)


def test_very_short_key_is_not_masked(there):
    there.say = lambda *_: problem(403, "no access")
    with pytest.raises(ForbiddenError, match=r"^no access$"):
        RemotePlatform(there.url, "c").get("x")


def test_inactive_tool_is_not_called(remote, there):
    remote.put(yaml_text("a", run=ECHO))
    tool = remote.runnable("a")
    there.requests.clear()
    result = execute_tool(tool.replace(is_active=False), {"input": "x"})
    assert (result.success, there.requests) == (False, [])
    assert "not active" in result.message
    assert execute_tool(tool.replace(owner="me"), {"input": "x"}).success


def test_invalid_list_is_reported(remote, there):
    cases = [
        (b"<html>", "not JSON"),
        (b"[]", "JSON that is not an object"),
        (b"{}", "its field .tools. is not a list"),
        (b'{"tools": {}}', "its field .tools. is not a list"),
        (b'{"tools": [5]}', "a tool in its list is not an object"),
        (b'{"tools": [{"name": "x"}]}', "has no id"),
        (b'{"tools": [], "next": 5}', "its list of tools repeats itself"),
        (b'{"tools": [], "next": ""}', "its list of tools repeats itself"),
        (b'{"tools": [], "next": "a"}', "its list of tools repeats itself"),
    ]
    for body, told in cases:
        with in_case(body, told):
            there.say = partial(_return, (200, {"Content-Type": "application/json"}, body))
            with pytest.raises(PlatformError, match=told):
                remote.listings()


def test_endless_list_is_aborted(remote, there, monkeypatch):
    monkeypatch.setattr("toolhaft.catalog.remote._MAX_PAGES", 5)
    numbers = iter(range(100, 1000))
    there.say = lambda *_: as_json(200, {"tools": [], "next": f"a{next(numbers)}"})
    with pytest.raises(PlatformError, match="does not end"):
        remote.listings()
    assert len(there.requests) == 5


def test_invalid_fields_of_a_listing_get_defaults(remote, there):
    fields = {
        "id": "x",
        "name": 5,
        "tags": [1, "a"],
        "share": "all",
        "parameters": [5, {"name": "p"}],
        "owner": [],
    }
    there.say = lambda *_: as_json(200, {"tools": [fields]})
    one = remote.listings()[0]
    assert (one.title, one.tags, one.share, one.search_text, one.owner) == ("x", ("a",), "private", "p", "")


def test_unreachable_platform_is_reported():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(
        PlatformError,
        match=r"did not send a complete response: .*; is it running, and is the address right\?",
    ) as caught:
        RemotePlatform(url, KEY).get("x")
    assert isinstance(caught.value, OSError)


def test_slow_platform_times_out(there):
    def drip(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "application/yaml")
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(100):
            try:
                handler.wfile.write(b"#")
                handler.wfile.flush()
            except OSError:
                return
            time.sleep(0.05)

    there.say = lambda *_: drip
    with pytest.raises(PlatformError, match="did not send a complete response") as caught:
        RemotePlatform(there.url, KEY, timeout_s=0.3).get("x")
    assert isinstance(caught.value.__cause__, HttpTimeoutError)  # without it, the answer would be too short


def test_truncated_response_is_reported(remote, there):
    def break_off(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b"id: x")
        handler.close_connection = True

    there.say = lambda *_: break_off
    with pytest.raises(PlatformError, match="did not send a complete response"):
        remote.get("x")


def test_too_large_response_is_refused(remote, there):
    there.say = lambda *_: (200, {"Content-Type": "application/json"}, b" " * 30_000_000)
    with pytest.raises(PlatformError, match="too large"):
        remote.listings()


def test_missing_key_error_says_how_to_set_one(there):
    with pytest.raises(ForbiddenError, match=rf"needs a key; to store one, type: lk login {there.url}$"):
        RemotePlatform(there.url).get("x")
    assert "Authorization" not in there.requests[0][2]


@pytest.mark.parametrize("key", ["two\nlines", "two\x00", "twö", "two\ud800"])
def test_unsendable_key_is_reported_without_showing_it(there, key):
    with pytest.raises(PlatformError) as caught:
        RemotePlatform(there.url, key).get("x")
    assert "tw" not in str(caught.value).replace("network", "")
    assert there.requests == []


def test_impossible_id_is_unknown_without_a_request(remote, there):
    for id in ["", "..", ".", "a" * 129]:
        with in_case(id):
            with pytest.raises(UnknownToolError):
                remote.get(id)
            assert there.requests == []


def test_id_is_quoted_as_one_path_segment(remote, there):
    with pytest.raises(UnknownToolError):
        remote.get("../keys?x=1")
    assert there.requests[0][1] == "/v3/tools/..%2Fkeys%3Fx%3D1"


def test_invalid_platform_url_is_refused():
    with pytest.raises(ConfigError, match="not an http or https URL"):
        RemotePlatform("localhost:8420")
    assert repr(RemotePlatform("http://127.0.0.1:8420/", KEY)) == "<RemotePlatform http://127.0.0.1:8420>"


def test_remote_tool_is_called_on_its_platform_even_with_a_run_block(remote, there):
    remote.put(yaml_text("prints", run="{argv: [touch, '/tmp/never-made-here']}"))
    remote.put(yaml_text("reads", run="{python: 'os:getcwd'}"))
    for id in ("prints", "reads"):
        tool = remote.runnable(id)
        assert (tool.run, tool.endpoint) == (None, f"{there.url}/v3/tool/{id}")
        assert execute_tool(tool, {"input": "x"}).value == {"ran": id, "with": {"input": "x"}}
    method, path, headers, body = there.requests[-1]
    assert (method, path, headers["Authorization"]) == ("POST", "/v3/tool/reads", f"Bearer {KEY}")
    assert json.loads(body) == {"input": "x"}


def test_handler_can_be_called_directly(remote):
    remote.put(yaml_text("a", run=ECHO))
    answer = remote.runnable("a").handler({"input": "x"}, ToolContext())
    assert answer.value == {"ran": "a", "with": {"input": "x"}}


def test_catalog_lists_and_runs_remote_tools(remote):
    remote.put(yaml_text("weather", run=ECHO, description="Tells the weather of tomorrow"))
    catalog = Catalog(project=None, platform=remote)
    assert catalog.listing("weather").store == "platform"
    assert catalog.search("weather tomorrow")[0].id == "weather"
    assert "weather" in catalog
    tool = catalog.get_tool("weather")
    assert tool is catalog.get_tool("weather")
    assert execute_tool(tool, {"input": "x"}).value["ran"] == "weather"
    assert catalog.problems == ()


def test_unreachable_platform_does_not_affect_other_sources(there):
    there.say = lambda *_: (500, {}, b"")
    catalog = Catalog(project=None, platform=RemotePlatform(there.url, KEY))
    assert catalog.get_tool("calculator").name == "calculator"
    assert there.requests == []
    assert "calculator" in [one.id for one in catalog.entries()]
    assert [type(error) for error in catalog.problems] == [PlatformError]
    with pytest.raises(PlatformError, match="status 500"):
        catalog.get_tool("elsewhere")
    there.say = lambda *_: problem(404, "none")
    with pytest.raises(
        UnknownToolError, match="no tool 'calculater' is installed; did you mean 'calculator'"
    ):
        catalog.get_tool("calculater")


def test_fetched_document_equals_the_stored_one(remote):
    published = remote.put(yaml_text("a"))
    assert parse_tool(published.text).updated_at == published.updated_at == remote.get("a").updated_at
    assert published.created_at


def test_texts_with_invisible_characters_are_refused_from_and_to_a_platform(remote, there):
    with pytest.raises(DefinitionError, match="an invisible character"):
        remote.put(yaml_text("x", description="Does\u200b it"))
    poisoned = yaml_text("x", description="Does \\U000E0041 it").encode()
    there.say = partial(_return, (200, {"Content-Type": "application/yaml"}, poisoned))
    with pytest.raises(PlatformError, match="an invisible character"):
        remote.get("x")
    fields = {"id": "x", "name": "X", "description": "Does it", "tags": ["a"], "effect": "read"}
    hidden = [
        {**fields, "description": "Does\u2060 it"},
        {**fields, "tags": ["a\u200b"]},
        {**fields, "effect": "\u202eread"},
        {**fields, "parameters": [{"name": "a", "description": "\U000e0041"}]},
    ]
    for one in hidden:
        there.say = partial(_return, as_json(200, {"tools": [one, {**fields, "id": "y"}], "next": None}))
        first, second = remote.listings()
        assert (first.id, first.title, first.tags, first.is_active, first.search_text) == (
            "x",
            "x",
            (),
            False,
            "",
        )
        assert first.description == "(refused: its texts have invisible characters)"
        assert (second.id, second.description) == ("y", "Does it")
