"""Edge cases: secrets in logs and events, handlers called without a context, unusual responses."""

import asyncio
import logging
import pickle

import pytest

from tests.define.running.kit import call, http_tool, parameter, tool_of
from toolhaft import Session, ToolCall, ToolContext, ToolExecutor, ToolInvoked
from toolhaft.define.running import Environment, PlatformAccess, environment, platform_access
from toolhaft.define.running.program_run import ProgramRun
from toolhaft.define.running.program_watch import run_to_end
from toolhaft.define.running.template import as_text, names_in, read_template
from toolhaft.define.running.url_template import authority_of, encode_value
from toolhaft.errors import ResourceError, ToolError, ToolExecutionError, ToolValidationError
from toolhaft.execute import log_calls
from toolhaft.resources.http import HttpClient
from toolhaft.resources.registry import ResourceRegistry

pytestmark = pytest.mark.external

CITY = [parameter("city")]


def test_no_secret_is_in_events_logs_or_files(site, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    site.answer = lambda asked: (500, {}, {"message": asked.headers["x-key"]})
    made = http_tool(site.url, headers={"X-Key": "${env:WEATHER_KEY}"})
    session = Session()
    resources = {
        HttpClient: HttpClient(allow=[site.host]),
        Environment: Environment({"WEATHER_KEY": "s3cret-value"}),
    }
    executor = ToolExecutor([made], session=session, resources=resources)
    log = log_calls(executor, tmp_path / "calls.jsonl")
    result = executor.execute(ToolCall(name="sample"))
    log.close()
    assert site.asked[0].headers["x-key"] == "s3cret-value"
    seen = [repr(session[ToolInvoked].latest()), (tmp_path / "calls.jsonl").read_text(encoding="utf-8")]
    seen += [caplog.text, repr(result), result.message, result.render(), repr(made), repr(made.handler)]
    error = result.failure.error
    while error is not None:
        seen.append(repr(error))
        error = error.__cause__ or error.__context__
    assert not [text for text in seen if "s3cret" in text]


# --- without an executor ---


def test_handlers_can_be_called_without_a_context(site, monkeypatch):
    with pytest.raises(ToolExecutionError, match="the request was not sent"):
        http_tool(site.url).handler({})
    assert asyncio.run(tool_of({"argv": ["echo", "hi"]}).handler({})).value == "hi"
    monkeypatch.setenv("TOOLHAFT_PLATFORM_URL", site.url)
    assert tool_of(None, endpoint=f"{site.url}/x").handler({}).value == {"ok": True}
    assert tool_of({"python": "builtins:dict"}).handler({"a": 1}) == {"a": 1}


@pytest.mark.parametrize(
    "run",
    [{"http": {"url": "https://x.example/${city}"}}, {"argv": ["echo", "${city}"]}, {"python": "a:b"}, None],
)
def test_handlers_can_be_pickled(run):
    made = tool_of(run, CITY, endpoint="https://x.example/")
    again = pickle.loads(pickle.dumps(made.handler))  # noqa: S301 -- written here
    assert type(again) is type(made.handler)
    assert isinstance(hash(again), int)


def test_a_lone_surrogate_is_refused_everywhere():
    with pytest.raises(ToolValidationError, match="lone surrogate"):
        asyncio.run(tool_of({"argv": ["echo", "${city}"]}, CITY).handler({"city": "\ud800"}))
    with pytest.raises(ToolValidationError, match="lone surrogate"):
        asyncio.run(tool_of({"argv": ["cat"], "stdin": "${city}"}, CITY).handler({"city": "\ud800"}))
    with pytest.raises(ToolValidationError, match="lone surrogate"):
        encode_value("\udfff")
    with pytest.raises(ToolError):
        http_tool("https://x.example/${city}", CITY).handler({"city": "\ud800"})


# --- resources that cannot be had ---


@pytest.mark.parametrize(
    ("kind", "ask"),
    [
        (Environment, lambda context: environment.environment_of(context, None)),
        (PlatformAccess, lambda context: platform_access.access_of(context, Environment({}))),
    ],
)
def test_a_failed_resource_is_not_replaced_by_a_default(kind, ask):
    registry = ResourceRegistry()
    assert ask(ToolContext(resources=registry)) is not None
    registry.provide(kind, lambda resources: resources.get(dict))
    with pytest.raises(ResourceError):
        ask(ToolContext(resources=registry))


# --- answers of odd kinds ---


@pytest.mark.parametrize(
    ("body", "media", "value"),
    [
        (b"<a/>", "application/xml", "<a/>"),
        (b"<a/>", "image/svg+xml", "<a/>"),
        (b"a: 1", "application/yaml; x=y; charset=utf-8", "a: 1"),
        (b"a\xff", "text/plain", "a\ufffd"),
        (b"[1]", "text/json", [1]),
        (b"[1]", "application/geo+json", [1]),
        ("é".encode("utf-16"), "text/plain; charset=utf-16", "é"),
    ],
)
def test_text_responses_of_many_media_types_are_returned(site, body, media, value):
    site.says(body, Content_Type=media)
    assert call(http_tool(site.url), {}, site).value == value


@pytest.mark.parametrize(
    ("body", "media"), [(b"\xff\xfe\x00", "application/yaml"), (b"\xff", ""), (b"PK", "application/zip")]
)
def test_a_value_that_is_not_text_is_reported(site, body, media):
    site.says(body, Content_Type=media)
    assert "neither JSON nor text" in call(http_tool(site.url), {}, site).message


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("[1, 2]", ": [1, 2]"),
        ("{", ": {"),
        ('{"code": 5}', ': {"code": 5}'),
        ("", ""),
        ('{"error": {"code": 1}, "title": "Bad"}', ": Bad"),
    ],
)
def test_an_error_response_is_quoted_if_it_has_a_message(site, body, told):
    site.says(body, 599, Content_Type="application/json")
    result = call(http_tool(site.url, fields={"retryable": False}), {}, site)
    assert f"{site.host} answered 599{told}. " in result.message


def test_a_short_secret_is_not_masked(site):
    site.says({"a": "xyz"})
    made = http_tool(site.url, headers={"X-Key": "${env:K}"})
    assert call(made, {}, site, env=Environment({"K": "xyz"})).value == {"a": "xyz"}


def test_an_accept_header_of_the_file_is_kept(site):
    assert call(http_tool(site.url, headers={"accept": "text/csv"}), {}, site).success
    assert site.asked[0].headers["accept"] == "text/csv"


# --- small parts ---


def test_a_url_that_names_no_host_has_no_authority():
    assert authority_of("https://me@x.example/") == ""
    assert authority_of("HTTPS://X.Example/") == "x.example:443"


def test_a_template_is_read_in_its_parts():
    made = read_template("a${b}c${env:D}$${e}")
    assert (made.names, made.variables, made.literal, made.whole) == (("b",), ("D",), "ac${e}", None)
    assert made.fill({"b": [1]}, str.lower) == "a[1]cd${e}"
    assert read_template("").parts == ("",)
    assert read_template("${a}").whole == "a"
    assert as_text(None) == "null"
    assert list(names_in({"a": ["${x}", 5, {"b": "$${y} ${env:Z} ${z}"}]})) == ["x", "z"]


def test_a_program_that_no_thread_can_watch_is_killed(monkeypatch):
    async def drive():
        run = ProgramRun([b"sleep", b"60"], cwd="/", env={"PATH": "/bin:/usr/bin"}, stdin=None, max_bytes=10)
        await run_to_end(run, 5.0, None)

    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("toolhaft.define.running.program_watch.Thread.start", refuse)
    with pytest.raises(RuntimeError, match="new thread"):
        asyncio.run(drive())


def test_stopping_a_finished_run_does_nothing():
    run = ProgramRun([b"true"], cwd="/", env={"PATH": "/bin:/usr/bin"}, stdin=None, max_bytes=10)
    assert (run.wait(5.0).ending, run.stop()) == ("ended", None)
    run = ProgramRun([b"sleep", b"60"], cwd="/", env={"PATH": "/bin:/usr/bin"}, stdin=None, max_bytes=10)
    run.stop()
    run.stop()
    assert run.wait(5.0).ending == "stopped"
