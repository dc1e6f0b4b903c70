"""The model's attempts: counted, told, logged, and ended."""

import asyncio
import threading

from tests.cases import each_case
from tests.execute.calls import PATIENCE_S, both_ways, call, hear, kind_of
from toolhaft import Principal, ToolCall, ToolExecutor, ToolResult, tool
from toolhaft.errors import (
    ToolAuthorizationError,
    ToolExecutionError,
    ToolTimeoutError,
    ToolValidationError,
)
from toolhaft.execute import call_starter
from toolhaft.execute.attempts import Attempts, CircuitBreaker, Circuits
from toolhaft.execute.failures import after_running, refused


class Desk:
    """Tools whose failures a test decides on, and what they were called with."""

    def __init__(self, **options):
        self.ran = []

        @tool(**options)
        def read_file(path: str) -> str:
            """Read a file."""
            self.ran.append(path)
            if path.endswith(".txt"):
                raise ToolExecutionError(f"File not found: {path}")
            return "content"

        @tool
        def other(ok: bool = True) -> str:
            """Do something else."""
            if not ok:
                raise ToolExecutionError("not ok")
            return "done"

        self.executor = ToolExecutor([read_file, other])


@both_ways
def test_a_model_can_correct_its_arguments_after_a_failure(run):
    desk = Desk()
    events = hear(desk.executor)
    first = run(desk.executor, call("read_file", path="data.txt"))
    assert not first.success
    assert first.message.startswith("File not found: data.txt")
    second = run(desk.executor, call("read_file", path="data.json"))
    assert second.value == "content"
    assert [(event.attempt, event.success) for event in events] == [(1, False), (2, True)]


@both_ways
def test_each_failure_tells_the_model_which_attempt_it_was(run):
    """The agent receives an error message after each failure."""
    desk = Desk()
    told = [run(desk.executor, call("read_file", path=f"{n}.txt")).message for n in range(3)]
    assert [f"attempt {n} of 3" in message for n, message in enumerate(told, 1)] == [True, True, True]
    assert "not run again" not in told[1]
    assert "not run again" in told[2]


@both_ways
def test_after_three_failures_in_a_row_the_tool_is_refused_unrun(run):
    desk = Desk()
    for n in range(3):
        assert kind_of(run(desk.executor, call("read_file", path=f"{n}.txt"))) == "failed"
    refused = run(desk.executor, call("read_file", path="data.json"))
    assert kind_of(refused) == "attempts"
    assert "read_file failed 3 times in a row and is not run again" in refused.message
    assert refused.failure.advice in refused.message
    assert refused.failure.outcome == "nothing_happened"
    assert len(desk.ran) == 3


@both_ways
def test_any_success_resets_the_attempts_of_every_tool(run):
    desk = Desk()
    for _ in range(4):
        run(desk.executor, call("read_file", path="a.txt"))
    assert run(desk.executor, call("other")).success
    assert run(desk.executor, call("read_file", path="data.json")).success


@both_ways
def test_a_new_run_resets_the_attempts_of_every_tool(run):
    desk = Desk()
    for _ in range(4):
        run(desk.executor, call("read_file", path="a.txt"))
    desk.executor.new_run()
    assert run(desk.executor, call("read_file", path="data.json")).success


@both_ways
def test_failures_are_counted_per_tool(run):
    desk = Desk()
    for _ in range(3):
        run(desk.executor, call("read_file", path="a.txt"))
        run(desk.executor, call("other", ok=False))
    assert kind_of(run(desk.executor, call("other", ok=False))) == "attempts"
    desk.executor.new_run()
    for _ in range(2):
        run(desk.executor, call("read_file", path="a.txt"))
    assert kind_of(run(desk.executor, call("other", ok=False))) == "failed"


@each_case("most", [1, 2, 5])
def test_max_attempts_sets_the_number_of_attempts(most):
    desk = Desk(max_attempts=most)
    kinds = [kind_of(desk.executor.execute(call("read_file", path="a.txt"))) for _ in range(most + 1)]
    assert kinds == ["failed"] * most + ["attempts"]


@each_case(
    "arguments",
    ["{", '{"path": 1}', '{"path": "a", "x": 1}', "[]"],
)
def test_arguments_that_are_not_valid_are_failures_too(arguments):
    desk = Desk()
    kinds = [
        kind_of(desk.executor.execute(ToolCall(name="read_file", arguments=arguments))) for _ in range(4)
    ]
    assert kinds == ["invalid_arguments"] * 3 + ["attempts"]


def test_an_error_result_is_a_failure_too():
    @tool
    def sad():
        """Give back an error."""
        return ToolResult.error("no luck")

    executor = ToolExecutor([sad])
    assert [kind_of(executor.execute(call("sad"))) for _ in range(4)] == ["failed"] * 3 + ["attempts"]


def test_a_refusal_for_missing_permission_is_not_an_attempt():
    @tool
    def guarded(ok: bool) -> str:
        """Refuse."""
        if not ok:
            raise ToolAuthorizationError("not yours")
        return "done"

    executor = ToolExecutor([guarded])
    assert [kind_of(executor.execute(call("guarded", ok=False))) for _ in range(5)] == ["not_allowed"] * 5
    assert executor.execute(call("guarded", ok=True)).success


def test_a_tool_that_is_not_retryable_is_refused_with_the_same_arguments():
    """A tool that is not retryable is refused when it failed and is called again with the same."""
    desk = Desk(retryable=False)
    assert kind_of(desk.executor.execute(call("read_file", path="a.txt"))) == "failed"
    refused = desk.executor.execute(ToolCall(name="read_file", arguments='{ "path" : "a.txt" }'))
    assert kind_of(refused) == "attempts"
    assert "failed with these arguments and cannot be retried" in refused.message
    assert desk.ran == ["a.txt"]


def test_a_tool_that_is_not_retryable_runs_with_other_arguments():
    desk = Desk(retryable=False)
    desk.executor.execute(call("read_file", path="a.txt"))
    assert desk.executor.execute(call("read_file", path="a.json")).success
    assert desk.ran == ["a.txt", "a.json"]


def test_every_attempt_is_logged_with_what_changed():
    desk = Desk(max_attempts=4)
    events = hear(desk.executor)
    desk.executor.execute(call("read_file", path="a.txt"))
    desk.executor.execute(call("read_file", path="b.txt"))
    desk.executor.execute(ToolCall(name="read_file", arguments='{"path": "b.txt", "mode": [1]}'))
    desk.executor.execute(call("read_file", path="c.json"))
    assert [(event.attempt, event.changed) for event in events] == [
        (1, ()),
        (2, (("path", '"a.txt"', '"b.txt"'),)),
        (3, (("mode", "", "[1]"),)),
        (4, (("path", '"b.txt"', '"c.json"'), ("mode", "[1]", ""))),
    ]


def test_the_attempt_that_is_refused_is_logged_as_the_fourth():
    """`ToolInvoked.attempt`: which of the model's consecutive tries this was."""
    desk = Desk()
    events = hear(desk.executor)
    for _ in range(4):
        desk.executor.execute(call("read_file", path="a.txt"))
    assert [(event.attempt, event.kind) for event in events] == [
        (1, "failed"),
        (2, "failed"),
        (3, "failed"),
        (4, "attempts"),
    ]


def test_attempts_are_counted_per_caller():
    """Attempts are the model's: two principals are two models."""
    desk = Desk()
    alice, bob = Principal(id="alice"), Principal(id="bob")
    for _ in range(4):
        desk.executor.execute(call("read_file", path="a.txt"), principal=alice)
    assert kind_of(desk.executor.execute(call("read_file", path="a.json"), principal=alice)) == "attempts"
    assert desk.executor.execute(call("read_file", path="a.json"), principal=bob).success
    assert kind_of(desk.executor.execute(call("read_file", path="a.json"), principal=alice)) == "attempts"
    desk.executor.new_run()
    assert desk.executor.execute(call("read_file", path="a.json"), principal=alice).success


def all_at_once(executor, calls):
    return executor.execute_all(calls)


def all_at_once_async(executor, calls):
    return asyncio.run(executor.aexecute_all(calls))


def each_on_its_own(executor, calls):
    async def main():
        return await asyncio.gather(*map(executor.aexecute, calls))

    return asyncio.run(main())


@each_case("isolation", ["inline", "thread"])
@each_case("run_turn", [all_at_once, all_at_once_async])
def test_parallel_calls_of_one_turn_are_one_attempt(run_turn, isolation):
    """Parallel calls of one turn count as one."""
    desk = Desk(isolation=isolation)
    events = hear(desk.executor)
    for attempt in (1, 2, 3):
        results = run_turn(desk.executor, [call("read_file", path=f"{n}.txt") for n in range(4)])
        assert [f"attempt {attempt} of 3" in result.message for result in results] == [True] * 4
        assert {event.attempt for event in events} == {attempt}
        events.clear()
    assert len(desk.ran) == 12
    results = run_turn(desk.executor, [call("read_file", path=f"{n}.json") for n in range(2)])
    assert [kind_of(result) for result in results] == ["attempts"] * 2
    assert "read_file failed 3 times in a row" in results[0].message


def test_calls_that_run_at_the_same_time_are_one_attempt():
    """No message says "attempt 4 of 3", however the host makes parallel calls."""
    begun = threading.Barrier(4)

    @tool
    def look(n: int) -> int:
        """Look."""
        begun.wait(PATIENCE_S)
        raise ToolExecutionError("nothing there")

    results = each_on_its_own(ToolExecutor([look]), [call("look", n=n) for n in range(4)])
    assert ["attempt 1 of 3" in result.message for result in results] == [True] * 4


def test_arguments_of_one_turn_that_are_not_valid_are_one_attempt():
    desk = Desk(isolation="inline")
    wrong = ToolCall(name="read_file", arguments="{")
    for _ in range(3):
        results = desk.executor.execute_all([wrong] * 4)
        assert [kind_of(result) for result in results] == ["invalid_arguments"] * 4
    assert results[3].failure.advice.startswith("This was attempt 3 of 3: it is not run again")
    assert kind_of(desk.executor.execute(wrong)) == "attempts"


def test_a_success_in_the_same_turn_resets_the_attempts():
    desk = Desk(isolation="inline")
    for _ in range(2):
        desk.executor.execute(call("read_file", path="a.txt"))
    turn = [call("read_file", path=path) for path in ("a.json", "b.txt", "c.txt")]
    results = desk.executor.execute_all(turn)
    assert ["attempt 1 of 3" in result.message for result in results] == [False, True, True]


def test_a_slow_call_that_fails_after_a_success_is_the_first_attempt():
    desk = Desk()
    desk.executor.execute(call("other", ok=False))
    earlier = desk.executor._starter._attempts.earlier_failures("other")  # noqa: SLF001 -- when a call begins
    desk.executor.execute(call("other"))
    attempts = desk.executor._starter._attempts  # noqa: SLF001 -- as above
    failed = attempts.failed(desk.executor.tools["other"], {}, {}, refused("failed", "no"), earlier)
    assert failed.failure.advice == "This was attempt 1 of 3."


CONTRADICTIONS = ("may be called again", "may be repeated", "before repeating")


@each_case("retryable", [True, False])
@each_case("effect", ["read", "idempotent", "reversible", "irreversible"])
def test_no_message_says_both_that_a_tool_may_be_called_again_and_that_it_is_not_run(effect, retryable):
    def end(how):
        if how == "result":
            return ToolResult.error("no luck")
        if how == "output":
            return "text"
        raise {
            "bug": ValueError("no luck"),
            "told": ToolExecutionError("no luck"),
            "arguments": ToolValidationError("no luck"),
            "timeout": ToolTimeoutError("no luck"),
            "cancelled": asyncio.CancelledError(),
            "exit": SystemExit(3),
        }[how]

    ways = ("bug", "told", "arguments", "timeout", "cancelled", "exit", "result", "output")
    for how in ways:

        @tool(name="act", effect=effect, retryable=retryable, max_attempts=2, isolation="inline")
        def act(n: int, how: str = how) -> int:
            """Act."""
            return end(how)

        executor = ToolExecutor([act])
        for n in range(3):
            result = executor.execute(call("act", n=n))
            told = f"{result.message} {result.failure.advice}"
            if "not run" in told:
                assert not any(words in told for words in CONTRADICTIONS), told
        assert kind_of(result) == "attempts"


@each_case("kind", ["budget", "deadline"])
def test_a_run_that_is_over_invites_no_further_call(kind):
    look = Desk(effect="read").executor.tools["read_file"]
    assert after_running(look, kind, "it is over").message == "it is over. Nothing happened."
    assert after_running(look, "timeout", "too slow").message.endswith("it may be called again.")


def test_only_the_last_failed_arguments_are_remembered():
    """Calls of one turn can fail more often than a tool has attempts; what is remembered of them is bounded."""

    @tool(retryable=False, max_attempts=2)
    def act(n: int) -> None:
        """Act."""

    attempts = Attempts(Circuits(CircuitBreaker()))
    for n in range(10):
        attempts.failed(act, {"n": n}, {"n": n}, refused("failed", "no"))
    assert [attempts.has_failed_with("act", {"n": n}) for n in (6, 7, 8, 9)] == [False, True, True, True]


def test_the_attempts_of_a_bounded_number_of_callers_are_kept(monkeypatch):
    monkeypatch.setattr(call_starter, "_MOST_CALLERS", 3)
    executor = Desk().executor
    for n in range(20):
        executor.execute(call("other", ok=False), principal=Principal(id=f"caller {n}"))
    assert len(executor._starter._attempts_by_caller) <= 4  # noqa: SLF001 -- how many are kept is the point
