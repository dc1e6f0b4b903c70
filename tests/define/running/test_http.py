"""`run: http`: the request that is sent for each value, and the result of each response."""

import json
import socket
import time
from contextlib import suppress
from threading import Thread
from urllib.parse import parse_qs, unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.define.running.kit import call, http_tool, parameter, serving
from toolhaft import execute_tool
from toolhaft.define.running import HOPS, Environment, hop_token, http_handler
from toolhaft.errors import HttpError, HttpRefusedError, HttpTimeoutError
from toolhaft.resources.http import HttpClient

pytestmark = pytest.mark.external

CITY = [parameter("city")]
TEMPERATURE = [{"name": "temperature", "type": "number", "description": "In degrees."}]


# --- what is sent ---


def test_placeholders_are_filled_with_values(site):
    made = http_tool(
        f"{site.url}/v1/${{city}}/now?fixed=1&own=${{city}}",
        [
            parameter("city"),
            parameter("days", "integer"),
            parameter("tags", "array", items={"type": "string"}),
        ],
        method="POST",
        query={"days": "${days}", "tags": "${tags}", "text": "d=${days}", "flag": True},
        headers={"X-Days": "for ${days}", "X-Number": 5},
        body={
            "days": "${days}",
            "text": "for ${days} days",
            "list": ["${city}", 1],
            "tags": "${tags}",
            "none": None,
        },
    )
    result = call(made, {"city": "São Paulo & co", "days": 3, "tags": ["a b", "c&d"]}, site)
    assert result.success, result.message
    (asked,) = site.asked
    city = "S%C3%A3o%20Paulo%20%26%20co"
    query = "days=3&tags=a%20b&tags=c%26d&text=d%3D3&flag=true"
    assert asked.path == f"/v1/{city}/now?fixed=1&own={city}&{query}"
    assert (asked.headers["x-days"], asked.headers["x-number"]) == ("for 3", "5")
    assert asked.json == {
        "days": 3,
        "text": "for 3 days",
        "list": ["São Paulo & co", 1],
        "tags": ["a b", "c&d"],
        "none": None,
    }
    assert asked.headers["content-type"] == "application/json"


def test_a_placeholder_in_a_header_is_filled(site):
    made = http_tool(site.url, CITY, headers={"X-City": "in ${city}"})
    assert call(made, {"city": "Rome"}, site).success
    assert site.asked[0].headers["x-city"] == "in Rome"


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\rb", "é", "a\0b", "tab\u2028"])
def test_a_value_cannot_add_another_header(site, value):
    made = http_tool(site.url, CITY, headers={"X-City": "in ${city}"})
    result = call(made, {"city": value}, site)
    assert (result.success, result.failure.kind) == (False, "invalid_arguments")
    assert result.message.startswith("city: the value of the header 'X-City' must be one line of ASCII")
    assert site.asked == []


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("a/b", "/v1/a%2Fb/now"),
        ("../admin", "/v1/..%2Fadmin/now"),
        ("%2e%2e", "/v1/%252e%252e/now"),
        ("%2e%2e/", "/v1/%252e%252e%2F/now"),
        ("x?admin=1", "/v1/x%3Fadmin%3D1/now"),
        ("x#y", "/v1/x%23y/now"),
        ("x y", "/v1/x%20y/now"),
        ("a\r\nb", "/v1/a%0D%0Ab/now"),
        ("..\\x", "/v1/..%5Cx/now"),
        ("...", "/v1/.../now"),
        ("@evil.example", "/v1/%40evil.example/now"),
        ("a;b", "/v1/a%3Bb/now"),
    ],
)
def test_a_value_stays_in_its_segment_of_the_path(site, value, path):
    assert call(http_tool(f"{site.url}/v1/${{city}}/now", CITY), {"city": value}, site).success
    assert site.asked[0].path == path


@pytest.mark.parametrize("value", ["", ".", ".."])
def test_dot_segments_in_a_value_are_refused(site, value):
    result = call(http_tool(f"{site.url}/v1/${{city}}/now", CITY), {"city": value}, site)
    assert result.failure.kind == "invalid_arguments"
    assert "cannot be in the path" in result.message
    assert site.asked == []


@pytest.mark.parametrize(("written", "value"), [(".${city}", "."), ("%2e${city}", "."), ("${city}.", ".")])
def test_a_value_cannot_complete_a_dot_segment(site, written, value):
    result = call(http_tool(f"{site.url}/v1/{written}/now", CITY), {"city": value}, site)
    assert result.failure.kind == "invalid_arguments"
    assert site.asked == []


@settings(max_examples=20, deadline=None)
@given(st.text(max_size=30))
def test_any_text_arrives_unchanged_or_is_refused(server, value):
    server.asked.clear()
    server.says({"ok": True})
    made = http_tool(
        f"{server.url}/v1/x${{city}}/now", CITY, method="POST", query={"q": "${city}"}, body={"b": "${city}"}
    )
    assert call(made, {"city": value}, server).success
    (asked,) = server.asked
    path, _, query = asked.path.partition("?")
    assert path.count("/") == 3
    assert unquote(path.split("/")[2]) == f"x{value}"
    assert parse_qs(query, keep_blank_values=True) == {"q": [value]}
    assert asked.json == {"b": value}


def test_missing_parameters_are_left_out_of_the_request(site):
    optional = [parameter("city", required=False), parameter("units", required=False, default="metric")]
    made = http_tool(
        f"{site.url}/${{units}}",
        optional,
        method="PUT",
        query={"city": "${city}", "units": "${units}"},
        headers={"X-City": "${city}"},
        body={"city": "${city}", "units": "${units}", "all": ["${city}", "${units}"]},
    )
    assert call(made, {}, site).success
    (asked,) = site.asked
    assert asked.path == "/metric?units=metric"
    assert asked.json == {"units": "metric", "all": ["metric"]}
    assert "x-city" not in asked.headers


def test_a_text_body_is_a_template_of_json(site):
    made = http_tool(
        site.url,
        [parameter("name"), parameter("tags", "array"), parameter("n", "number")],
        method="POST",
        body='{"name": "Mr ${name}", "raw": ${name}, "tags": ${tags}, "n": [${n}], "literal": "$${x}\\"${n}\\""}',
    )
    name = 'a"b\\c\n${n}é'
    assert call(made, {"name": name, "tags": ["x", {"y": 1}], "n": 1.5}, site).success
    assert site.asked[0].json == {
        "name": f"Mr {name}",
        "raw": name,
        "tags": ["x", {"y": 1}],
        "n": [1.5],
        "literal": '${x}"1.5"',
    }


def test_a_body_of_one_missing_parameter_is_left_out(site):
    made = http_tool(site.url, [parameter("data", "object", required=False)], method="POST", body="${data}")
    assert call(made, {"data": {"a": [1]}}, site).success
    assert call(made, {}, site).success
    assert [asked.body for asked in site.asked] == [b'{"a":[1]}', b""]


def test_a_url_that_values_make_too_long_is_refused(site):
    result = call(http_tool(f"{site.url}/${{city}}", CITY), {"city": "x" * 9000}, site)
    assert (result.failure.kind, site.asked) == ("invalid_arguments", [])
    assert "at most 8,192" in result.message


def test_the_hops_header_is_sent(site):
    token = hop_token("here", "sample")
    reset = HOPS.set((token,))
    try:
        assert call(http_tool(site.url), {}, site).success
    finally:
        HOPS.reset(reset)
    assert call(http_tool(site.url), {}, site).success
    assert [asked.headers.get("toolhaft-trail") for asked in site.asked] == [token, None]


# --- secrets ---


def test_a_secret_appears_in_the_header_only(site):
    site.answer = lambda asked: (200, {}, {"heard": asked.headers["authorization"], "ok": True})
    made = http_tool(site.url, headers={"Authorization": "Bearer ${env:WEATHER_KEY}"})
    result = call(made, {}, site, env=Environment({"WEATHER_KEY": "s3cret-value"}))
    assert site.asked[0].headers["authorization"] == "Bearer s3cret-value"
    assert result.value == {"heard": "Bearer ${env:WEATHER_KEY}", "ok": True}
    assert "s3cret" not in json.dumps(made.preview({}))


def test_a_secret_in_an_error_response_is_masked(site):
    site.answer = lambda asked: (401, {}, {"message": f"bad key {asked.headers['authorization']}"})
    made = http_tool(site.url, headers={"Authorization": "Bearer ${env:WEATHER_KEY}"})
    result = call(made, {}, site, env=Environment({"WEATHER_KEY": "s3cret-value"}))
    assert not result.success
    assert "s3cret" not in result.message
    assert "bad key Bearer ${env:WEATHER_KEY}" in result.message


def test_a_missing_variable_is_named_with_both_places_to_put_it(site):
    made = http_tool(site.url, headers={"Authorization": "Bearer ${env:WEATHER_KEY}"})
    result = call(made, {}, site, env=Environment({}))
    assert "the variable WEATHER_KEY is not set" in result.message
    assert "the environment" in result.message
    assert ".env" in result.message
    assert site.asked == []


def test_a_variable_that_is_invalid_in_a_header_is_reported_without_its_value(site):
    made = http_tool(site.url, headers={"Authorization": "Bearer ${env:WEATHER_KEY}"})
    result = call(made, {}, site, env=Environment({"WEATHER_KEY": "s3cret\nvalue"}))
    assert "correct WEATHER_KEY" in result.message
    assert "s3cret" not in result.message
    assert site.asked == []


def test_the_variables_of_the_projects_env_file_are_used(site, tmp_path):
    tools = tmp_path / "local-kit" / "tools"
    tools.mkdir(parents=True)
    (tmp_path / ".env").write_text("WEATHER_KEY='from the file'\n", encoding="utf-8")
    made = http_tool(site.url, folder=tools, headers={"X-Token": "${env:WEATHER_KEY}"})
    assert call(made, {}, site).success
    assert site.asked[0].headers["x-token"] == "from the file"


def test_a_secret_is_not_sent_to_the_origin_of_a_redirect(site):
    with serving() as other:
        site.says("", 302, Location=f"{other.url}/elsewhere")
        made = http_tool(site.url, headers={"X-Api-Key": "${env:WEATHER_KEY}"})
        client = HttpClient(allow=[site.host, other.host])
        env = Environment({"WEATHER_KEY": "s3cret-value"})
        result = execute_tool(made, {}, resources={HttpClient: client, Environment: env})
    assert result.success
    assert other.asked[0].path == "/elsewhere"
    assert "s3cret-value" not in str(other.asked[0].headers)


# --- what comes back ---


def test_declared_names_are_picked_and_others_dropped(site):
    site.says({"temperature": 21.5, "debug": "x"})
    result = call(http_tool(site.url, returns=TEMPERATURE), {}, site)
    assert (result.value, result.untrusted) == ({"temperature": 21.5}, True)


@pytest.mark.parametrize("pointer", ["/list/0/a~1b", "list.0.a/b"])
def test_result_pointers_find_nested_values(site, pointer):
    site.says({"list": [{"a/b": 7}]})
    made = http_tool(site.url, returns=TEMPERATURE, result={"temperature": pointer})
    assert call(made, {}, site).value == {"temperature": 7}


def test_an_empty_pointer_is_the_whole_response(site):
    site.says([1, 2])
    returns = [
        {"name": "all", "type": "array", "description": "All."},
        {"name": "first", "type": "number", "description": "One."},
    ]
    made = http_tool(site.url, returns=returns, result={"all": "", "first": "/0"})
    assert call(made, {}, site).value == {"all": [1, 2], "first": 1}


def test_a_single_field_takes_a_response_that_is_not_an_object(site):
    site.says(b"21", Content_Type="application/json")
    assert call(http_tool(site.url, returns=TEMPERATURE), {}, site).value == {"temperature": 21}


@pytest.mark.parametrize("answer", [{"temp": 1}, {"temperature": "warm"}])
def test_a_missing_or_wrong_field_is_an_invalid_output(site, answer):
    site.says(answer)
    result = call(http_tool(site.url, returns=TEMPERATURE), {}, site)
    assert result.failure.kind == "invalid_output"


def test_without_returns_json_is_a_value_and_text_is_text(site):
    site.says({"a": [1]})
    assert call(http_tool(site.url), {}, site).value == {"a": [1]}
    site.says("héllo\n", Content_Type="text/plain; charset=utf-8")
    assert call(http_tool(site.url), {}, site).value == "héllo\n"
    site.says("h\xe9".encode("latin-1"), Content_Type="text/plain; charset=latin-1")
    assert call(http_tool(site.url), {}, site).value == "hé"
    site.says(b"\xff\xfe!", Content_Type="text/plain; charset=nonsense")
    assert call(http_tool(site.url), {}, site).value == "\ufffd\ufffd!"
    site.says(b"[1]")
    assert call(http_tool(site.url), {}, site).value == [1]
    site.says(b"plain")
    assert call(http_tool(site.url), {}, site).value == "plain"


def test_an_empty_response_is_null(site):
    site.says("", 204)
    result = call(http_tool(site.url), {}, site)
    assert (result.success, result.value) == (True, None)
    assert call(http_tool(site.url, method="HEAD"), {}, site).value is None
    result = call(http_tool(site.url, returns=TEMPERATURE), {}, site)
    assert "answered 204 No Content with an empty body, and JSON was expected" in result.message


def test_a_response_that_is_neither_json_nor_text_is_reported(site):
    site.says(b"\x89PNG\xff", Content_Type="image/png")
    result = call(http_tool(site.url), {}, site)
    assert "answered with image/png (5 bytes), which is neither JSON nor text" in result.message


def test_html_in_place_of_json_is_reported_by_its_type(site):
    site.says("<html>Log in</html>", Content_Type="text/html")
    result = call(http_tool(site.url, returns=TEMPERATURE), {}, site)
    assert result.failure.kind == "failed"
    assert "answered with no JSON (text/html, 19 bytes), and JSON was expected" in result.message
    assert not isinstance(result.failure.error.__cause__, HttpError)


@pytest.mark.parametrize("body", ['{"temperature": ', "[" * 100_000, '{"temperature": NaN}', "\xff"])
def test_broken_json_is_reported(site, body):
    site.says(body, Content_Type="application/json")
    result = call(http_tool(site.url, returns=TEMPERATURE), {}, site)
    assert "answered with broken JSON (application/json" in result.message


@pytest.mark.parametrize("status", [400, 404, 429, 500, 503])
def test_an_error_status_is_reported_with_the_services_message(site, status):
    site.says({"error": {"message": "no\x1b[31m such\ncity"}}, status)
    result = call(http_tool(site.url, fields={"retryable": False}), {}, site)
    assert f"{site.host} answered {status}" in result.message
    assert "no?[31m such city" in result.message
    assert (result.failure.kind, result.untrusted) == ("failed", True)


def test_an_html_error_page_is_not_quoted(site):
    site.says("<html><script>evil()</script></html>", 500, Content_Type="text/html")
    result = call(http_tool(site.url, fields={"retryable": False}), {}, site)
    assert "500 Internal Server Error: a page of 36 bytes" in result.message
    assert "evil" not in result.message


def test_a_long_error_message_is_cut(site):
    site.says("x" * 100_000, 500, Content_Type="text/plain")
    result = call(http_tool(site.url, fields={"retryable": False}), {}, site)
    assert "xxx..." in result.message
    assert len(result.message) < 600


def test_the_retry_after_header_is_read(site):
    site.says({"detail": "slow down"}, 429, Retry_After="120")
    result = call(http_tool(site.url, fields={"retryable": False}), {}, site)
    assert result.failure.error.retry_after == 120


def test_ten_megabytes_are_refused(site):
    site.says(b"x" * 10_000_000, Content_Type="text/plain")
    result = call(http_tool(site.url, fields={"retryable": False}), {}, site)
    assert "no answer from" in result.message
    assert isinstance(result.failure.error.__cause__, HttpError)


# --- trouble on the way ---


def test_a_host_that_is_not_allowed_is_reported_with_how_to_allow_it():
    result = execute_tool(http_tool("http://127.0.0.1:9/x"), {})
    assert "HttpClient(allow=[...]) in Python, or with http_allow in toolhaft.toml for lk" in result.message
    assert isinstance(result.failure.error.__cause__, HttpRefusedError)


def test_an_unreachable_host_is_a_network_error():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"
    made = http_tool(f"http://{host}/x", fields={"retryable": False})
    result = execute_tool(made, {}, resources={HttpClient: HttpClient(allow=[host])})
    assert f"no answer from {host}" in result.message
    assert isinstance(result.failure.error.__cause__, HttpError)


def test_a_closed_connection_is_a_network_error(site):
    site.answer = lambda asked: None
    result = call(http_tool(site.url, fields={"retryable": False}), {}, site)
    assert isinstance(result.failure.error.__cause__, HttpError)


def test_the_client_times_out_before_the_tool(monkeypatch):
    monkeypatch.setattr(http_handler, "request_timeout_s", lambda context: 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        made = http_tool(f"http://{host}/x", fields={"timeout_s": 60, "retryable": False})
        result = execute_tool(made, {}, resources={HttpClient: HttpClient(allow=[host])})
    assert result.failure.kind == "timeout"
    assert isinstance(result.failure.error.__cause__, HttpTimeoutError)


def test_a_slow_body_times_out():
    with socket.create_server(("127.0.0.1", 0)) as slow:
        host = f"127.0.0.1:{slow.getsockname()[1]}"

        def drip():
            peer, _ = slow.accept()
            with peer, suppress(OSError):
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
                for _ in range(100):
                    peer.sendall(b"x")
                    time.sleep(0.02)

        thread = Thread(target=drip)
        thread.start()
        made = http_tool(f"http://{host}/x", fields={"timeout_s": 0.3, "retryable": False})
        result = execute_tool(made, {}, resources={HttpClient: HttpClient(allow=[host])})
        thread.join()
    assert result.failure.kind == "timeout"


def test_a_tool_may_have_more_time_than_the_client_has_by_default(site, monkeypatch):
    made = http_tool(site.url, fields={"timeout_s": 60})
    seen = []
    site.answer = lambda asked: (200, {}, {"ok": True})
    original = http_handler.request_timeout_s
    monkeypatch.setattr(
        http_handler, "request_timeout_s", lambda context: seen.append(original(context)) or original(context)
    )
    assert call(made, {}, site).success
    assert 50 < seen[0] <= 60


def test_redirects_of_one_origin_are_followed(site):
    site.answer = lambda asked: (
        (302, {"Location": "/b"}, "") if asked.path == "/a" else (200, {}, {"at": asked.path})
    )
    assert call(http_tool(f"{site.url}/a"), {}, site).value == {"at": "/b"}


def test_a_redirect_to_a_host_that_is_not_allowed_is_refused(site):
    site.says("", 302, Location="http://127.0.0.1:9/inner")
    result = call(http_tool(site.url, fields={"retryable": False}), {}, site)
    assert isinstance(result.failure.error.__cause__, HttpRefusedError)


def test_process_isolation_sends_the_same_request(site):
    made = http_tool(f"{site.url}/${{city}}", CITY, fields={"isolation": "process"})
    assert call(made, {"city": "Rome"}, site).value == {"ok": True}
    assert site.asked[0].path == "/Rome"
