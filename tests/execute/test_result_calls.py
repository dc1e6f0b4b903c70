"""Every result that an executor gives back says which call it answers."""

import asyncio
import pickle
import threading
from copy import copy, deepcopy
from dataclasses import dataclass

import pytest

from tests.cases import each_case
from tests.execute.calls import WAYS, call, each_way, in_threads, kind_of
from tests.execute.defined_tools import DEFINED_TOOLS, add, fail, inline_add, typed_add
from tests.execute.process_tools import add as add_process
from toolhaft import (
    Budget,
    Deadline,
    Effect,
    Principal,
    RetryPolicy,
    Tool,
    ToolCall,
    ToolContext,
    ToolExecutor,
    ToolResponse,
    ToolResult,
    execute_tool,
    tool,
)
from toolhaft.errors import PromptEvaluationError

SHARED = ToolResult.ok(1, message="always the same")


@tool(isolation="inline")
def share() -> int:
    """Give one shared result to everybody."""
    return SHARED


@tool
def share_on_a_thread() -> int:
    """Give one shared result to everybody."""
    return SHARED


@tool
async def share_async() -> int:
    """Give one shared result to everybody."""
    return SHARED


@tool(isolation="inline")
def share_response() -> int:
    """Give one shared result to everybody."""
    return ToolResponse(observation=SHARED, final_answer=True)


SHARED_ERROR = ToolResult.error("never")


@tool(isolation="inline", max_attempts=1000)
def share_error() -> int:
    """Give one shared error to everybody."""
    return SHARED_ERROR


@tool(timeout_s=0.005, effect="read")
async def wait() -> int:
    """Wait for ever."""
    await asyncio.sleep(60)
    return 1


@tool(isolation="inline")
def end_run() -> int:
    """End the run."""
    raise PromptEvaluationError("over")


@each_way
@each_case("thing", [*DEFINED_TOOLS, typed_add], ids=lambda thing: type(thing).__name__)
def test_a_result_defined_in_any_way_knows_its_call(run, thing):
    executor = ToolExecutor([thing])
    (name,) = executor.tools
    one = ToolCall(id="7", name=name, arguments='{"a": 2}', extras={"signature": "x"})
    result = run(executor, one)
    assert result.success
    assert result.call is one


@pytest.mark.external
def test_a_result_out_of_a_process_knows_its_call():
    one = call("add", a=1, id="7")
    with ToolExecutor([add_process]) as executor:
        for run in WAYS:
            assert run(executor, one).call is one, run


@each_way
@each_case(
    ("one", "options", "kind"),
    [
        (call("nobody", id="1"), {}, "unknown_tool"),
        (call("add", id="1"), {}, "invalid_arguments"),
        (call("fail", id="1"), {}, "failed"),
        (call("add", a=1, id="1"), {"allow": []}, "not_allowed"),
        (call("add", a=1, id="1"), {"policy": lambda _: "deny"}, "not_allowed"),
        (call("add", a=1, id="1"), {"policy": lambda _: "ask"}, "needs_approval"),
        (call("add", a=1, id="1"), {"principal": Principal(sees=[])}, "unknown_tool"),
        (call("add", a=1, id="1"), {"deadline": Deadline.after(0)}, "deadline"),
        (call("add", a=1, id="1"), {"budget": Budget(max_calls=0)}, "budget"),
        (call("wait", id="1"), {}, "timeout"),
        (call("wait", id="1"), {"retry": RetryPolicy(max_attempts=2, backoff_s=0)}, "timeout"),
        (call("share_error", id="1"), {}, "failed"),
    ],
    ids=lambda part: getattr(part, "name", None),
)
def test_a_failure_of_any_kind_knows_its_call(run, one, options, kind):
    result = run(ToolExecutor([add, fail, wait, share_error], **options), one)
    assert kind_of(result) == kind
    assert result.call is one


@each_way
def test_a_repaired_and_a_cut_result_know_their_calls(run):
    one = ToolCall(id="1", name="add", arguments='{"a": "2"}')
    result = run(ToolExecutor([add], max_output_chars=5), one)
    assert (result.value, len(result.repairs)) == (3, 1)
    assert result.call is one


@each_way
def test_a_cached_result_answers_the_call_that_asks(run):
    @tool(isolation="inline", effect=Effect.READ, cache_s=60)
    def look(a: int) -> list[int]:
        """Look it up."""
        return [a]

    executor = ToolExecutor([look])
    calls = [call("look", a=1, id=str(number)) for number in range(3)]
    results = [run(executor, one) for one in calls]
    assert [result.value for result in results] == [[1]] * 3
    assert all(result.call is one for result, one in zip(results, calls, strict=True))


def test_a_replayed_result_answers_the_call_that_asks():
    executor = ToolExecutor([add])
    first = executor.execute(call("add", a=1, id="1", idempotency_key="k"))
    second = executor.execute(call("add", a=1, id="2", idempotency_key="k"))
    third = executor.execute(call("add", a=1, id="3"), idempotency_key="k")
    assert [result.call.id for result in (first, second, third)] == ["1", "2", "3"]
    assert third.call == call("add", a=1, id="3", idempotency_key="k")


@each_way
@each_case("name", ["share", "share_on_a_thread", "share_async", "share_response", "share_error"])
def test_a_result_that_a_handler_shares_is_left_alone(run, name):
    executor = ToolExecutor([share, share_on_a_thread, share_async, share_response, share_error])
    calls = [call(name, id=str(number)) for number in range(3)]
    results = [run(executor, one) for one in calls]
    assert all(result.call is one for result, one in zip(results, calls, strict=True))
    assert (SHARED.call, SHARED_ERROR.call) == (None, None)
    assert (SHARED.render(), SHARED.final) == ("always the same\n\n1", False)
    assert SHARED_ERROR.failure is None


def test_a_result_shared_among_threads_answers_each_of_their_calls():
    executor = ToolExecutor([share])
    start = threading.Barrier(8)
    wrong = []

    def work(first):
        start.wait()
        for number in range(first, first + 200):
            one = call("share", id=str(number))
            if executor.execute(one).call is not one:
                wrong.append(one)

    in_threads([lambda first=first: work(first) for first in range(0, 1600, 200)])
    assert wrong == []


def test_a_result_that_is_more_than_a_result_stays_what_it_is():
    class Report(ToolResult):
        __slots__ = ("pages",)

    report = Report(value=1)
    report.pages = 3

    @tool(isolation="inline")
    def write() -> object:
        """Write a report."""
        return report

    result = ToolExecutor([write]).execute(call("write", id="1"))
    assert isinstance(result, Report)
    assert (result.pages, result.value, result.call.id) == (3, 1, "1")
    assert report.call is None


def test_a_result_of_a_nested_call_that_is_handed_on_answers_the_outer_one():
    kept = []

    @tool(isolation="inline")
    def outer() -> object:
        """Hand on what another tool gave."""
        kept.append(executor.execute(call("share", id="inner")))
        return kept[0]

    executor = ToolExecutor([outer, share])
    assert executor.execute(call("outer", id="outer")).call.id == "outer"
    assert kept[0].call.id == "inner"


@each_case("way", ["execute_all", "aexecute_all"])
def test_results_that_an_exception_carries_know_their_calls(way):
    executor = ToolExecutor([add, end_run])
    calls = [call("add", a=1, id="1"), call("end_run", id="2"), call("nobody", id="3")]

    def run_all():
        done = getattr(executor, way)(calls)
        return asyncio.run(done) if way == "aexecute_all" else done

    with pytest.raises(PromptEvaluationError) as caught:
        run_all()
    assert [kind_of(result) for result in caught.value.results] == [None, "failed", "unknown_tool"]
    assert [result.call for result in caught.value.results] == calls


def test_a_call_that_was_cancelled_from_within_knows_itself():
    @tool(isolation="inline")
    def leave() -> int:
        """Cancel the task around."""
        raise asyncio.CancelledError

    @tool(effect="read")
    async def cancel_task() -> int:
        """Cancel the task around, for good."""
        asyncio.current_task().cancel()
        await asyncio.sleep(60)
        return 1

    calls = [call("leave", id="1"), call("cancel_task", id="2")]
    results = asyncio.run(ToolExecutor([leave, cancel_task]).aexecute_all(calls))
    assert [kind_of(result) for result in results] == ["cancelled", "cancelled"]
    assert [result.call for result in results] == calls


@dataclass
class Money:
    amount: int


def pay(params: Money, *, context: ToolContext) -> ToolResult[int]:
    return ToolResult.ok(params.amount)


PAY = Tool[Money, int](name="pay", description="Pays.", handler=pay)


@each_case("approves", [True, False])
def test_a_resumed_call_is_the_one_that_was_asked_for(approves):
    executor = ToolExecutor([PAY], policy=lambda _: "ask")
    pending = executor.execute(call("pay", amount=5, id="9")).pending
    again = ToolCall(id="9", name="pay", arguments={"amount": 5}, idempotency_key=f"approval:{pending.id}")
    stored = pending.to_json()
    assert executor.resume(stored, approves).call == again
    assert asyncio.run(executor.aresume(stored, approves)).call == again


def test_one_tool_alone_gives_a_result_with_its_call():
    assert execute_tool(add, {"a": 1}).call == ToolCall(name="add", arguments={"a": 1})


def test_a_refused_result_can_be_stored_and_copied_with_its_problems():
    executor = ToolExecutor([inline_add])
    for _ in range(2):  # the second time the problems are known, and are made only when used
        result = executor.execute(call("inline_add", a="x", b=2))
    for again in (pickle.loads(pickle.dumps(result)), copy(result), deepcopy(result)):  # noqa: S301 -- our own
        assert [problem.path for problem in again.failure.problems] == ["a"]
        assert again == result
