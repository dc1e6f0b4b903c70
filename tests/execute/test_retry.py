"""RetryPolicy: which failures are repeated, how long is waited, and what a repeat is given."""

import asyncio
import time

import pytest

from tests.cases import each_case
from tests.execute.calls import both_ways, call, hear, kind_of
from toolhaft import Deadline, RetryPolicy, ToolCall, ToolConfig, ToolExecutor, ToolResult, create_tool, tool
from toolhaft.errors import ToolTimeoutError, ToolValidationError
from toolhaft.execute.waiting import BlockingWaiter, LoopWaiter


def flaky_tool(failures, error=None, **options):
    """A tool that fails this many times, and a list with one item per run of its handler."""
    ran = []

    @tool(**({"effect": "read"} | options))
    def flaky() -> int:
        """Fail at first."""
        ran.append(1)
        if len(ran) <= failures:
            raise error or ConnectionError("no line")
        return len(ran)

    return flaky, ran


@both_ways
def test_a_failure_is_repeated_until_it_succeeds(run):
    flaky, ran = flaky_tool(2)
    result = run(ToolExecutor([flaky], retry=RetryPolicy(max_attempts=3, backoff_s=0)), call("flaky"))
    assert (result.success, result.value) == (True, 3)
    assert len(ran) == 3


@both_ways
def test_the_last_failure_is_the_result_when_all_tries_fail(run):
    flaky, ran = flaky_tool(9)
    result = run(ToolExecutor([flaky], retry=RetryPolicy(max_attempts=2, backoff_s=0)), call("flaky"))
    assert kind_of(result) == "failed"
    assert len(ran) == 2


def test_automatic_repeats_are_one_attempt_of_the_model():
    """The model's attempts and automatic repeats are counted apart."""
    flaky, ran = flaky_tool(99)
    executor = ToolExecutor([flaky], retry=RetryPolicy(max_attempts=2, backoff_s=0))
    events = hear(executor)
    assert "attempt 1 of 3" in executor.execute(call("flaky")).message
    assert "attempt 2 of 3" in executor.execute(call("flaky")).message
    assert len(ran) == 4
    assert [(event.attempt, len(event.repeats)) for event in events] == [(1, 1), (2, 1)]


def test_why_each_repeat_was_needed_is_logged():
    """`ToolInvoked.repeats`: why each automatic try before the last one failed."""
    flaky, _ = flaky_tool(2)
    executor = ToolExecutor([flaky], retry=RetryPolicy(max_attempts=3, backoff_s=0))
    events = hear(executor)
    assert executor.execute(call("flaky")).success
    (event,) = events
    assert event.success
    assert [("ConnectionError: no line" in why) for why in event.repeats] == [True, True]


@each_case("error", [ConnectionError("x"), ValueError("x"), ToolTimeoutError("x")])
def test_retry_on_may_be_a_tuple_of_errors(error):
    flaky, ran = flaky_tool(9, error)
    policy = RetryPolicy(max_attempts=2, backoff_s=0, retry_on=(ConnectionError, TimeoutError))
    ToolExecutor([flaky], retry=policy).execute(call("flaky"))
    assert len(ran) == (1 if isinstance(error, ValueError) else 2)


def test_retry_on_may_be_one_class_as_in_an_except_clause():
    flaky, ran = flaky_tool(9, KeyError("x"))
    policy = RetryPolicy(max_attempts=3, backoff_s=0, retry_on=ConnectionError)
    ToolExecutor([flaky], retry=policy).execute(call("flaky"))
    assert len(ran) == 1


def test_retry_on_may_be_a_function():
    flaky, ran = flaky_tool(9, ConnectionError("permanent"))
    policy = RetryPolicy(max_attempts=3, backoff_s=0, retry_on=lambda error: "permanent" not in str(error))
    ToolExecutor([flaky], retry=policy).execute(call("flaky"))
    assert len(ran) == 1


@both_ways
def test_a_retry_on_that_raises_repeats_nothing_and_breaks_nothing(run):
    """A call never raises, it returns a failed ToolResult."""
    flaky, ran = flaky_tool(9)

    def broken(error):
        raise RuntimeError("the policy is broken")

    policy = RetryPolicy(max_attempts=3, backoff_s=0, retry_on=broken)
    result = run(ToolExecutor([flaky], retry=policy), call("flaky"))
    assert kind_of(result) == "failed"
    assert "no line" in result.message
    assert len(ran) == 1


@both_ways
@each_case("is_async", [False, True])
def test_a_timeout_is_repeated_as_a_tool_timeout_error(run, is_async):
    """RetryPolicy.retry_on: a timeout is a ToolTimeoutError."""
    ran = []

    @tool(effect="read", timeout_s=0.05)
    def slow() -> int:
        """Take too long at first."""
        ran.append(1)
        if len(ran) == 1:
            time.sleep(0.1)
        return len(ran)

    @tool(effect="read", timeout_s=0.05, name="slow")
    async def aslow() -> int:
        """Take too long at first."""
        ran.append(1)
        if len(ran) == 1:
            await asyncio.sleep(1)
        return len(ran)

    # more than one retry: on a busy machine even the quick one may be late
    policy = RetryPolicy(max_attempts=100, backoff_s=0, retry_on=(ToolTimeoutError,))
    result = run(ToolExecutor([aslow if is_async else slow], retry=policy), call("slow"))
    assert result.success
    assert result.value >= 2


@each_case(
    "make",
    [
        lambda: ToolResult.error("no"),
        lambda: (_ for _ in ()).throw(ToolValidationError("no")),
        lambda: "not a number",
    ],
    ids=["error result", "invalid arguments", "invalid output"],
)
def test_failures_that_a_retry_cannot_fix_are_not_retried(make):
    ran = []

    @tool(effect="read", name="sure")
    def sure() -> int:
        """Fail for good."""
        ran.append(1)
        value = make()
        return next(value) if hasattr(value, "__next__") else value

    result = ToolExecutor([sure], retry=RetryPolicy(max_attempts=3, backoff_s=0)).execute(call("sure"))
    assert not result.success
    assert len(ran) == 1


def test_a_tool_that_is_not_retryable_is_not_repeated():
    """Tools marked retryable can be retried."""
    flaky, ran = flaky_tool(9, retryable=False)
    ToolExecutor([flaky], retry=RetryPolicy(max_attempts=3, backoff_s=0)).execute(call("flaky"))
    assert len(ran) == 1


# --- waiting ---


def test_the_wait_grows_by_its_factor_up_to_its_limit():
    policy = RetryPolicy(backoff_s=1.0, factor=3.0, max_backoff_s=5.0, jitter=0)
    assert [policy.wait_s(tried) for tried in (1, 2, 3, 4)] == [1.0, 3.0, 5.0, 5.0]


def test_jitter_leaves_out_a_share_of_the_wait():
    waits = {RetryPolicy(backoff_s=1.0, jitter=0.5).wait_s(1) for _ in range(200)}
    assert len(waits) > 1
    assert all(0.5 <= wait <= 1.0 for wait in waits)


def test_an_error_may_say_how_long_to_wait():
    error = ConnectionError("slow down")
    error.retry_after = 7
    assert RetryPolicy(backoff_s=1.0).wait_s(1, error) == 7.0
    assert RetryPolicy(backoff_s=1.0, max_backoff_s=7.0).wait_s(1, error) == 7.0


@both_ways
def test_an_error_whose_attributes_raise_is_not_repeated_and_breaks_nothing(run, caplog):
    class HostileError(ConnectionError):
        @property
        def retry_after(self):
            raise ValueError("no time")

    flaky, ran = flaky_tool(1, HostileError("no line"))
    result = run(ToolExecutor([flaky], retry=RetryPolicy(backoff_s=0)), call("flaky"))
    assert (kind_of(result), ran) == ("failed", [1])
    assert "retry_on or retry_after failed on 'HostileError'" in caplog.text
    caplog.clear()


@both_ways
def test_an_error_that_asks_for_longer_than_the_policy_waits_is_not_repeated(run):
    error = ConnectionError("slow down")
    error.retry_after = 3600
    flaky, ran = flaky_tool(9, error)
    result = run(ToolExecutor([flaky], retry=RetryPolicy(max_attempts=3, max_backoff_s=0.01)), call("flaky"))
    assert kind_of(result) == "failed"
    assert len(ran) == 1


@each_case("asked", [True, -1, "5", None, float("nan")])
def test_an_invalid_retry_after_is_ignored(asked):
    error = ConnectionError("slow down")
    error.retry_after = asked
    assert RetryPolicy(backoff_s=1.0, jitter=0).wait_s(1, error) == 1.0


@each_case(
    "fields",
    [{"max_attempts": 0}, {"backoff_s": -1}, {"factor": 0.5}, {"jitter": 1.5}, {"jitter": -0.1}],
)
def test_an_invalid_retry_policy_is_refused(fields):
    with pytest.raises(ValueError, match="RetryPolicy needs"):
        RetryPolicy(**fields)


@both_ways
def test_the_executor_waits_for_the_backoff_between_two_tries(run, monkeypatch):
    waits = []
    for waiter in (LoopWaiter, BlockingWaiter):

        def wait(self, start, timeout_s, original=waiter.wait):
            waits.append(timeout_s)
            return original(self, start, timeout_s)

        monkeypatch.setattr(waiter, "wait", wait)
    flaky, ran = flaky_tool(1, timeout_s=30)
    policy = RetryPolicy(max_attempts=2, backoff_s=0.01, jitter=0)
    assert run(ToolExecutor([flaky], retry=policy), call("flaky")).success
    assert (waits, len(ran)) == ([30, 0.01, 30], 2)


@both_ways
@each_case("retry_after", [None, 60])
def test_no_wait_outlasts_the_deadline(run, retry_after):
    """Threats, *retries*: Retry-After is capped by the deadline."""
    error = ConnectionError("slow down")
    if retry_after is not None:
        error.retry_after = retry_after
    flaky, ran = flaky_tool(9, error)
    policy = RetryPolicy(max_attempts=5, backoff_s=60, max_backoff_s=60, jitter=0)
    result = run(ToolExecutor([flaky], retry=policy), call("flaky"), deadline=Deadline.after(1))
    assert kind_of(result) == "failed"
    assert len(ran) == 1


def test_a_stream_that_has_sent_chunks_is_not_retried():
    ran = []

    @tool(effect="read")
    def flaky():
        """Fail after the first chunk, the first time."""
        ran.append(1)
        yield "a"
        if len(ran) == 1:
            raise ConnectionError("no line")
        yield "b"

    async def main():
        executor = ToolExecutor([flaky], retry=RetryPolicy(backoff_s=0))
        return [item async for item in executor.astream(call("flaky"))]

    *chunks, result = asyncio.run(main())
    heard = "".join(chunk.value for chunk in chunks)
    assert heard == ("ab" if result.success else "a")


# --- what a repeat is given ---


@both_ways
@each_case("is_text", [True, False])
@each_case("is_raw", [True, False])
def test_a_retry_gets_the_arguments_as_the_model_wrote_them(run, is_text, is_raw):
    seen = []

    def spoil(items):
        seen.append(list(items))
        items.append("spoiled")
        if len(seen) == 1:
            raise ConnectionError("no line")
        return len(items)

    if is_raw:
        schema = {"type": "object", "properties": {"items": {"type": "array"}}, "required": ["items"]}
        made = create_tool(
            ToolConfig(
                name="spoil",
                description="Spoil.",
                input_schema=schema,
                execute=lambda given: spoil(given["items"]),
                effect="read",
            )
        )
    else:

        @tool(effect="read", name="spoil")
        def made(items: list[str]) -> int:
            """Spoil."""
            return spoil(items)

    arguments = '{"items": ["a"]}' if is_text else {"items": ["a"]}
    executor = ToolExecutor([made], retry=RetryPolicy(backoff_s=0))
    events = hear(executor)
    assert run(executor, ToolCall(name="spoil", arguments=arguments)).value == 2
    assert seen == [["a"], ["a"]]
    assert events[0].arguments == '{"items":["a"]}'
    assert arguments in ('{"items": ["a"]}', {"items": ["a"]})


@both_ways
def test_a_repeated_call_runs_under_one_idempotency_key(run):
    """Threats, *retries*: one idempotency key across attempts."""
    keys = []

    @tool(effect="idempotent", idempotency=["order"])
    def put(order: str) -> int:
        """Put an order."""
        keys.append(order)
        if len(keys) == 1:
            raise ConnectionError("no line")
        return len(keys)

    executor = ToolExecutor([put], retry=RetryPolicy(backoff_s=0))
    assert run(executor, call("put", order="1")).value == 2
    assert run(executor, call("put", order="1")).value == 2
    assert keys == ["1", "1"]
