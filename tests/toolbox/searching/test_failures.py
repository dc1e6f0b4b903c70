"""Providers that refuse, stall, are busy or send nonsense; keys are never shown."""

import logging
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from urllib.parse import quote, quote_plus

import pytest

from tests.toolbox.searching.engines_kit import BRAVE, CASES, FOUND, GOOGLE, KEY, SERPAPI, TAVILY, error_of
from tests.toolbox.searching.provider import Reply
from toolhaft import Deadline, RetryPolicy, Session, ToolInvoked
from toolhaft.resources.http import HttpClient
from toolhaft.toolbox import json_service

by_engine = pytest.mark.parametrize("case", CASES, ids=lambda case: case.engine)
PAGE = b"<!doctype html><title>Down</title><p>Back soon."


def from_now(seconds):
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@by_engine
@pytest.mark.parametrize("status", [401, 403])
def test_error_for_a_rejected_key_says_so(provider, case, status):
    provider.say(Reply(status=status, body=error_of(case, f"no account for {KEY}")))
    result = provider.run(case.tool(provider.address), {"query": "length"})
    assert result.failure.kind == "failed"
    assert f"did not accept the key (HTTP {status}, it said 'no account for [hidden]')" in result.message
    assert f"check SearchConfig(api_key=...) or {' or '.join(case.variables)}" in result.message


@pytest.mark.parametrize("many", [False, True])
def test_brave_bad_key_is_recognised_by_its_error_code(provider, many):
    error = {"code": "SUBSCRIPTION_TOKEN_INVALID", "detail": "The token is not valid.", "status": 422}
    provider.say(Reply(status=422, body={"errors": [error]} if many else {"error": error}))
    result = provider.run(BRAVE.tool(provider.address), {"query": "length"})
    assert (
        "Brave Search did not accept the key (HTTP 422, it said 'The token is not valid.')" in result.message
    )


@by_engine
def test_other_statuses_are_told_with_the_reason_of_the_provider(provider, case):
    tool = case.tool(provider.address)
    for number, status in enumerate([300, 302, 400, 404, 418, 422, 432, 500, 502], 1):
        provider.say(
            Reply(
                status=status, body=error_of(case, "some  reason\u202e"), headers={"Location": "/elsewhere"}
            )
        )
        result = provider.run(tool, {"query": "length"})
        assert result.failure.kind == "failed", status
        assert f"answered with HTTP {status}, it said 'some reason<U+202E>'" in result.message
        assert result.untrusted, "its words are data too"
        assert len(provider.asked) == number, status


@by_engine
def test_refusal_without_a_reason_is_told_by_its_status_alone(provider, case):
    tool = case.tool(provider.address)
    for body in (PAGE, b"", b"\xff\xfe", b"{", b"[" * 100_000, {}, [], [[]], 7, {"error": {}}):
        provider.say(Reply(status=500, body=body))
        result = provider.run(tool, {"query": "length"})
        assert "answered with HTTP 500" in result.message, body
        assert "it said" not in result.message, body
        assert not result.untrusted, body


def test_long_reason_is_cut(provider):
    provider.say(Reply(status=500, body={"error": "x" * 50_000}))
    result = provider.run(SERPAPI.tool(provider.address), {"query": "length"})
    assert f"it said '{'x' * 300}'" in result.message
    assert len(result.message) < 600


@by_engine
def test_answer_that_is_no_json_is_a_failure(provider, case):
    tool = case.tool(provider.address)
    for body in (PAGE, b"", b"{", b"[" * 100_000, b"\xff\xfe\xfd"):
        provider.say(Reply(body=body))
        result = provider.run(tool, {"query": "length"})
        assert result.failure.kind == "failed", body
        problem = f"the response is not JSON (text/html, {len(body):,} bytes)"
        assert f"gave no usable response: {problem}" in result.message


def test_answer_of_too_many_bytes_is_a_failure(provider):
    provider.say(Reply(body=b" " * 2_000_001))
    result = provider.run(TAVILY.tool(provider.address), {"query": "length"})
    assert "Tavily could not be reached: " in result.message


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("said", "seconds"),
    [("0", 0), ("0.2", 0.2), (" 1 ", 1), (-60, 0), ("Thu, 01 Jan 2026 00:00:00", 0)],
    ids=["now", "soon", "spaces", "past", "no zone"],
)
def test_busy_provider_is_retried_after_the_requested_time(provider, waits, status, said, seconds):
    said = said if isinstance(said, str) else from_now(said)
    provider.say(Reply(status=status, headers={"Retry-After": said}), TAVILY.answer)
    result = provider.run(TAVILY.tool(provider.address), {"query": "length"})
    assert result.value == {"results": FOUND}
    assert len(provider.asked) == 2
    assert waits == [seconds]


def test_date_to_come_back_at_is_waited_for(provider, waits):
    provider.say(Reply(status=429, headers={"Retry-After": from_now(600)}), TAVILY.answer)
    tool = TAVILY.tool(provider.address).replace(timeout_s=900)
    assert provider.run(tool, {"query": "length"}).success
    assert len(waits) == 1
    assert 0 < waits[0] <= 600


def test_a_pause_lasts_as_long_as_it_should(monkeypatch):
    class Clock:
        now = 0.0

        def monotonic(self):
            return self.now

        def sleep(self, seconds):
            self.now += seconds

    clock = Clock()
    monkeypatch.setattr(json_service, "time", clock)
    json_service._pause(1.1, None)  # noqa: SLF001 -- the other tests replace it
    assert clock.now == pytest.approx(1.1)


def test_provider_that_stays_busy_is_asked_three_times_in_all(provider):
    provider.say(Reply(status=429, headers={"Retry-After": "0"}))
    result = provider.run(TAVILY.tool(provider.address), {"query": "length"})
    assert "Tavily is busy (HTTP 429) and asks to wait under a second; try again after that" in result.message
    assert result.failure.error.retry_after == 0
    assert len(provider.asked) == 3


@pytest.mark.parametrize(("said", "wait"), [("14.6", "15 s"), ("20", "20 s"), ("999999999", "999,999,999 s")])
def test_wait_beyond_the_deadline_fails_at_once_and_says_how_long(provider, waits, said, wait):
    provider.say(Reply(status=429, headers={"Retry-After": said}))
    result = provider.run(TAVILY.tool(provider.address), {"query": "length"})
    assert waits == []
    assert result.failure.kind == "failed"
    assert f"asks to wait {wait}; try again after that" in result.message
    assert len(provider.asked) == 1


def test_date_beyond_the_deadline_fails_at_once_too(provider, waits):
    provider.say(Reply(status=429, headers={"Retry-After": "Fri, 01 Jan 2100 00:00:00 GMT"}))
    result = provider.run(TAVILY.tool(provider.address), {"query": "length"})
    left = datetime(2100, 1, 1, tzinfo=UTC) - datetime.now(UTC)
    assert result.failure.error.retry_after == pytest.approx(left.total_seconds(), abs=60)
    assert (len(provider.asked), waits) == (1, [])


def test_deadline_of_the_caller_bounds_the_wait_too(provider, waits):
    provider.say(Reply(status=429, headers={"Retry-After": "2"}))
    result = provider.run(TAVILY.tool(provider.address), {"query": "length"}, deadline=Deadline.after(2.2))
    assert "asks to wait 2 s" in result.message
    assert waits == []


@pytest.mark.parametrize(
    "said", [None, "", "soon", "-1", "1, 2", "1e3", "9" * 5_000, "Thu, 99 Foo 2026 00:00:00 GMT"]
)
def test_busy_provider_that_does_not_say_for_how_long_fails_at_once(provider, said):
    headers = {} if said is None else {"Retry-After": said}
    provider.say(Reply(status=429, headers=headers, body={"detail": {"error": "used up"}}))
    result = provider.run(TAVILY.tool(provider.address), {"query": "length"})
    assert "Tavily is busy (HTTP 429, it said 'used up') and does not say for how long" in result.message
    assert len(provider.asked) == 1


def test_automatic_repeats_wait_as_long_as_the_provider_says(provider):
    provider.say(*[Reply(status=429, headers={"Retry-After": "0"})] * 4, TAVILY.answer)
    result = provider.run(TAVILY.tool(provider.address), {"query": "x"}, retry=RetryPolicy(backoff_s=30))
    assert result.value == {"results": FOUND}
    assert len(provider.asked) == 5


@pytest.mark.parametrize(
    ("headers", "outcome"),
    [
        ({"Remaining": "0, 900", "Reset": "1, 1419704", "Limit": "1, 2000"}, "found"),
        ({"Remaining": "0, 0", "Reset": "1, 1419704", "Limit": "50, 0"}, "found"),
        ({"Remaining": "1, 900", "Reset": "1, 1419704"}, "found"),
        ({"Remaining": "0, 0", "Reset": "1, 1419704", "Limit": "1, 2000"}, "asks to wait 1,419,704 s"),
        ({"Remaining": "0", "Reset": "1, 1419704", "Limit": "1, 2000"}, "does not say for how long"),
        ({"Remaining": "0, x", "Reset": "1, 1419704"}, "does not say for how long"),
        ({"Remaining": "0, 900"}, "does not say for how long"),
        ({}, "does not say for how long"),
    ],
)
def test_brave_rate_limit_headers_give_the_wait(provider, waits, headers, outcome):
    named = {f"X-RateLimit-{name}": value for name, value in headers.items()}
    provider.say(Reply(status=429, headers=named, body={"error": {"detail": "slow down"}}), BRAVE.answer)
    result = provider.run(BRAVE.tool(provider.address), {"query": "length"})
    assert outcome in (result.message if not result.success else "found")
    assert len(provider.asked) == (2 if outcome == "found" else 1)
    assert waits == ([1] if outcome == "found" else [])


def test_brave_retry_after_header_has_priority(provider):
    headers = {"Retry-After": "0", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9999"}
    provider.say(Reply(status=429, headers=headers), BRAVE.answer)
    assert provider.run(BRAVE.tool(provider.address), {"query": "length"}).success


@by_engine
def test_provider_that_never_responds_times_out(provider, case):
    provider.say(Reply(never=True))
    result = provider.run(case.tool(provider.address), {"query": "length"}, deadline=Deadline.after(0.3))
    assert result.failure.kind in {"deadline", "failed"}
    assert not provider.ended.is_set(), "the provider is still silent"
    assert KEY not in result.message


def test_wait_ends_when_the_call_does(provider):
    """A handler that sleeps on after its call was given up would hold its thread for nothing."""
    provider.say(Reply(status=429, headers={"Retry-After": "9"}))
    tool = TAVILY.tool(provider.address)
    context = Ended()
    with pytest.raises(InterruptedError):
        tool.handler({"query": "length"}, context)
    assert context.beats == 1, "after the first part of the wait"


class Ended:
    """The context of a call that is over: it has time left, but nobody waits any more."""

    beats = 0

    def __init__(self):
        self.time_limit = Deadline.after(30)
        self.resources = self

    def get(self, kind):
        return HttpClient(allow=["127.0.0.1"])

    def beat(self):
        self.beats += 1
        raise InterruptedError


@by_engine
@pytest.mark.parametrize(
    "name",
    [
        "refused",
        "echo",
        "page",
        "busy",
        "html",
        "shape",
        "failed",
        "packed",
        "header",
        "closed",
        "nowhere",
        "found",
    ],
)
def test_key_is_shown_nowhere_whatever_goes_wrong(provider, case, name, caplog):
    # the headers of an answer stand in the HTTP library's own debugging log, and nowhere else
    caplog.set_level(logging.INFO if name in {"packed", "header"} else logging.DEBUG)
    spelled = f"{KEY} {quote(KEY)} {quote(KEY, safe='')} {quote_plus(KEY)}"
    echoes = [{"title": spelled, "snippet": spelled, "link": f"https://m.example/?{quote(KEY, safe='')}"}]
    replies = {
        "refused": Reply(status=403, body=error_of(case, spelled)),
        "echo": Reply(status=500, body=error_of(case, spelled)),
        "page": Reply(status=500, body=spelled.encode()),
        "busy": Reply(status=429, body=error_of(case, spelled), headers={"Retry-After": "60"}),
        "html": Reply(body=spelled.encode()),
        "shape": Reply(
            body={"web": spelled, "organic_results": spelled, "items": spelled, "results": spelled}
        ),
        "failed": Reply(body={"search_metadata": {"status": "Error"}, "error": spelled}),
        "packed": Reply(headers={"Content-Encoding": KEY}),
        "header": Reply(headers={f"{KEY} {KEY}": "x"}),
        "closed": Reply(never=True),
        "nowhere": Reply(),
        "found": Reply(
            body={"web": {"results": echoes}, "organic_results": echoes, "items": echoes, "results": echoes}
        ),
    }
    provider.say(replies[name])
    if name == "closed":
        provider.ended.set()
    if name == "nowhere":
        provider.client = HttpClient()  # which refuses loopback
    session = Session()
    tool = case.tool(provider.address)
    result = provider.run(tool, {"query": "length"}, session=session)
    assert result.success == (name == "found")
    failure = result.failure
    seen = [
        result.message,
        result.render(),
        repr(result),
        repr(failure),
        repr(tool),
        repr(case.config(provider.address)),
        repr(session[ToolInvoked].latest()),
        "".join(traceback.format_exception(failure.error)) if failure else "",
        caplog.text,
    ]
    assert len(provider.asked) == (0 if name == "nowhere" else 1)
    for spelling in spelled.split():
        assert not [text for text in seen if spelling in text]


def test_key_is_hidden_before_a_reason_is_cut(provider):
    (case,) = (case for case in CASES if case.engine == "serpapi")
    for padding in range(230, 300):
        provider.say(Reply(body={"search_metadata": {"status": "Error"}, "error": "x" * padding + KEY}))
        message = provider.run(case.tool(provider.address), {"query": "length"}).message
        assert "xx" in message
        assert f"x{KEY[:3]}" not in message


@by_engine
def test_query_too_long_for_a_url_is_refused_before_the_request(provider, case):
    result = provider.run(case.tool(provider.address), {"query": "語" * 700})
    assert result.failure.kind == "invalid_arguments"
    assert "shorten it" in result.message
    assert not provider.asked


def test_notice_of_an_engine_that_closes_is_part_of_its_failures_and_results(provider):
    provider.say(Reply(status=403, body=error_of(GOOGLE, "closed")), GOOGLE.answer)
    tool = GOOGLE.tool(provider.address)
    for _ in range(2):
        assert "ends for all on 2027-01-01" in provider.run(tool, {"query": "length"}).message
