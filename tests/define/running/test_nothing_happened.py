"""A tool that fails before it has sent or started anything reports that nothing happened, whatever its effect."""

import json
import signal
import socket

import pytest

from tests.define.running.kit import call, http_tool, parameter, tool_of
from toolhaft import Session, ToolCall, ToolExecutor, ToolInvoked
from toolhaft.define.running import HOPS, Environment, PlatformAccess, http_handler
from toolhaft.define.running.endpoint import RESULT_TYPE
from toolhaft.errors import ToolValidationError
from toolhaft.resources.http import HttpClient

pytestmark = pytest.mark.external

NOTHING = ("nothing_happened", "Nothing happened: it may be called again.")
UNKNOWN = ("unknown", "Outcome unknown: check before repeating.")
HARMFUL = {"effect": "irreversible"}


def left_by(result):
    return (result.failure.outcome, result.failure.advice.partition(" This was")[0])


def posting(url, **http):
    return http_tool(
        url, [parameter("id", required=False, default="x")], fields=HARMFUL, method="POST", **http
    )


# --- requests ---


def test_a_refused_host_was_sent_nothing(site):
    """As a private address, as a name that has one, and as what no client may reach."""
    named = posting("http://shop.example/")
    client = HttpClient(resolver=lambda name, port: ["10.0.0.1"])
    for result in (
        call(posting("http://10.0.0.1/")),
        call(named, {}, client=client),
        call(posting(site.url), {}, client=HttpClient(only=["other.example"])),
    ):
        assert left_by(result) == NOTHING
        assert "the request was not sent: " in result.message


def test_an_unreachable_host_was_sent_nothing():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        host = f"127.0.0.1:{taken.getsockname()[1]}"
    result = call(posting(f"http://{host}/"), {}, client=HttpClient(allow=[host]))
    assert "refuses connections" in result.message
    assert left_by(result) == NOTHING

    def nobody(name, port):
        raise socket.gaierror

    result = call(posting("http://nobody.example/"), {}, client=HttpClient(resolver=nobody))
    assert "no address was found" in result.message
    assert left_by(result) == NOTHING


def test_a_client_whose_packages_are_missing_has_sent_nothing(monkeypatch):
    def missing(context):
        raise ImportError("pip install 'toolhaft[web]'")

    monkeypatch.setattr(http_handler, "http_of", missing)
    for made in (posting("http://a.example/"), tool_of(endpoint="http://a.example/", **HARMFUL)):
        result = call(made)
        assert "pip install 'toolhaft[web]'" in result.message
        assert left_by(result) == NOTHING


@pytest.mark.parametrize("location", ["http://10.0.0.1/", "ftp://x.example/", "http://127.0.0.1:1/"])
@pytest.mark.parametrize("status", [302, 307])
def test_a_refused_redirect_comes_after_the_request(site, location, status):
    site.answer = lambda asked: (status, {"Location": location}, b"")
    result = call(posting(f"{site.url}/a", body={"a": 1}), {}, site)
    assert len(site.asked) == 1
    assert "the request was sent, and its redirect refused: " in result.message
    assert left_by(result) == UNKNOWN


def test_a_redirect_to_nobody_comes_after_the_request(site):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        gone = f"127.0.0.1:{taken.getsockname()[1]}"
    site.answer = lambda asked: (303, {"Location": f"http://{gone}/"}, b"")
    result = call(posting(site.url), {}, client=HttpClient(allow=[site.host, gone]))
    assert "refuses connections" in result.message
    assert left_by(result) == UNKNOWN


@pytest.mark.parametrize("answer", [(500, {}, {}), (404, {}, {}), None], ids=["500", "404", "hangs up"])
def test_a_response_leaves_the_outcome_unknown(site, answer):
    site.answer = lambda asked: answer
    assert left_by(call(posting(site.url), {}, site)) == UNKNOWN


def test_a_missing_variable_and_a_bad_value_fail_before_sending(site):
    made = posting(site.url, headers={"X-Key": "${env:KEY}"})
    assert left_by(call(made, {}, site, env=Environment({}))) == NOTHING
    empty = call(made, {}, site, env=Environment({"KEY": ""}))
    assert "the variable KEY is empty. Fix: set it" in empty.message
    assert left_by(empty) == NOTHING
    climbing = call(posting(f"{site.url}/${{id}}"), {"id": ".."}, site)
    assert (climbing.failure.kind, left_by(climbing)) == ("invalid_arguments", NOTHING)
    assert site.asked == []


def test_a_value_that_breaks_the_json_body_fails_before_sending(site):
    made = posting(site.url, body='{"a": ${id}}')
    deep = made.handler.plan.body
    with pytest.raises(ToolValidationError, match="id: the body of the request is not JSON with this value"):
        deep.fill({"id": float("inf")})
    assert call(made, {"id": '","b":"'}, site).success
    assert site.asked[0].json == {"a": '","b":"'}


def test_nothing_happened_is_in_the_event_and_a_repeated_key_runs(site, monkeypatch):
    session = Session()
    made = posting(site.url, headers={"X-Key": "${env:A_KEY_OF_TESTS}"})
    resources = {HttpClient: HttpClient(allow=[site.host]), Environment: Environment()}
    executor = ToolExecutor([made], session=session, resources=resources)
    executor.execute(ToolCall(name="sample", idempotency_key="once"))
    assert session[ToolInvoked].latest().outcome == "nothing_happened"
    monkeypatch.setenv("A_KEY_OF_TESTS", "k")
    assert executor.execute(ToolCall(name="sample", idempotency_key="once")).success


def test_nothing_happened_is_reported_from_another_process():
    made = tool_of({"argv": ["no-such-program"]}, isolation="process", **HARMFUL)
    assert left_by(call(made)) == NOTHING


# --- programs and functions ---


def test_a_program_that_was_not_started_has_done_nothing(tmp_path):
    value = [parameter("text")]
    for made, given in (
        (tool_of({"argv": ["no-such-program"]}, **HARMFUL), {}),
        (tool_of({"argv": ["true"], "cwd": "nowhere"}, folder=tmp_path, **HARMFUL), {}),
        (tool_of({"argv": ["true", "${text}"]}, value, **HARMFUL), {"text": "a\0b"}),
        (tool_of({"argv": ["true", "${text}"]}, value, **HARMFUL), {"text": "x" * 300_000}),
    ):
        assert left_by(call(made, given)) == NOTHING
    assert left_by(call(tool_of({"argv": ["false"]}, **HARMFUL))) == UNKNOWN


def test_a_process_that_ignores_its_children_starts_no_program():
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        result = call(tool_of({"argv": ["true"]}, **HARMFUL))
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert "true was not started: this process ignores SIGCHLD" in result.message
    assert left_by(result) == NOTHING


def test_a_missing_function_has_done_nothing():
    for target in ("no_such_module_at_all:f", "json:no_such_function", "json:__doc__"):
        assert left_by(call(tool_of({"python": target}, **HARMFUL))) == NOTHING
    assert left_by(call(tool_of({"python": "json:loads"}, **HARMFUL))) == UNKNOWN


# --- endpoints ---


def test_an_endpoint_that_was_not_asked_has_done_nothing(site):
    made = tool_of(endpoint="http://10.0.0.1/", **HARMFUL)
    assert left_by(call(made)) == NOTHING
    token = HOPS.set(tuple(f"{number:016x}" for number in range(9)))
    try:
        assert left_by(call(made)) == NOTHING
    finally:
        HOPS.reset(token)


@pytest.mark.parametrize(
    ("url", "outcome", "left"),
    [
        (..., "nothing_happened", NOTHING),
        (..., "unknown", UNKNOWN),
        ("https://o.example", "nothing_happened", UNKNOWN),
    ],
    ids=["the platform", "the platform does not know", "a stranger"],
)
def test_the_platform_reports_the_outcome_of_its_tool(site, url, outcome, left):
    failure = {"kind": "failed", "problems": [], "advice": "", "outcome": outcome}
    body = {"success": False, "message": "No.", "value": None, "failure": failure, "untrusted": False}
    site.says(json.dumps(body), status=424, Content_Type=RESULT_TYPE)
    made = tool_of(endpoint=f"{site.url}/v3/tool/sample", **HARMFUL)
    access = PlatformAccess(url=site.url if url is ... else url, key="k")
    assert left_by(call(made, {}, site, access=access)) == left
