"""Idempotency: a repeat returns the recorded result and runs nothing."""

import asyncio
import threading
import time

import pytest

from tests.cases import each_case, in_case
from tests.execute.calls import both_ways, call, each_way, hear, in_threads, kind_of
from toolhaft import Deadline, Principal, Session, ToolCall, ToolContext, ToolExecutor, ToolResult, tool
from toolhaft.errors import DefinitionError, PromptEvaluationError
from toolhaft.execute.result_memory import ResultMemory

PATIENCE_S = 30.0


def paying(**options):
    """A tool that pays, and what it paid."""
    paid = []

    @tool(**options)
    def pay(order: str, amount: int = 1) -> int:
        """Pay."""
        paid.append((order, amount))
        return len(paid)

    return pay, paid


# --- a caller's key ---


@each_way
def test_a_repeat_with_a_callers_key_returns_the_recorded_result_and_runs_nothing(run):
    pay, paid = paying()
    executor = ToolExecutor([pay])
    events = hear(executor)
    first = run(executor, call("pay", order="1", idempotency_key="k"))
    second = run(executor, call("pay", order="1", idempotency_key="k"))
    assert (first.value, second.value) == (1, 1)
    assert paid == [("1", 1)]
    assert [event.is_replay for event in events] == [False, True]


@both_ways
def test_another_key_is_another_call(run):
    pay, paid = paying()
    executor = ToolExecutor([pay])
    for key in ("a", "b", None, None):
        run(executor, call("pay", order="1", idempotency_key=key))
    assert len(paid) == 4


@both_ways
def test_a_key_that_was_used_with_other_arguments_is_refused(run):
    pay, paid = paying()
    executor = ToolExecutor([pay])
    run(executor, call("pay", order="1", idempotency_key="k"))
    refused = run(executor, call("pay", order="2", idempotency_key="k"))
    assert kind_of(refused) == "invalid_arguments"
    assert "used before with other arguments of pay" in refused.message
    assert "new key" in refused.message
    assert len(paid) == 1


@both_ways
def test_arguments_are_compared_by_their_content(run):
    """A default that is written out, another order of keys: the same call."""
    pay, paid = paying()
    executor = ToolExecutor([pay])
    run(executor, call("pay", order="1", idempotency_key="k"))
    assert run(executor, call("pay", amount=1, order="1", idempotency_key="k")).value == 1
    assert len(paid) == 1


@both_ways
def test_keys_are_separate_per_tool(run):
    pay, paid = paying()
    refund = pay.replace(name="refund")
    executor = ToolExecutor([pay, refund])
    run(executor, call("pay", order="1", idempotency_key="k"))
    assert run(executor, call("refund", order="1", idempotency_key="k")).value == 2
    assert len(paid) == 2


@both_ways
def test_keys_are_separate_per_caller(run):
    """Nobody is given what another principal's call gave back."""
    pay, paid = paying()
    executor = ToolExecutor([pay])
    alice, bob = Principal(id="alice"), Principal(id="bob")
    assert run(executor, call("pay", order="1", idempotency_key="k"), principal=alice).value == 1
    assert run(executor, call("pay", order="1", idempotency_key="k"), principal=bob).value == 2
    assert run(executor, call("pay", order="1", idempotency_key="k"), principal=alice).value == 1
    assert len(paid) == 2


def test_keys_outlive_a_run_of_the_model():
    pay, paid = paying()
    executor = ToolExecutor([pay])
    executor.execute(call("pay", order="1", idempotency_key="k"))
    executor.new_run()
    assert executor.execute(call("pay", order="1", idempotency_key="k")).value == 1
    assert len(paid) == 1


def test_a_replay_still_needs_permission():
    """Threats, *authorization*: decided on every call, deny by default."""
    pay, _ = paying()
    executor = ToolExecutor([pay])
    owner = Principal(id="alice")
    executor.execute(call("pay", order="1", idempotency_key="k"), principal=owner)
    denied = Principal(id="alice", allow=[])
    assert (
        kind_of(executor.execute(call("pay", order="1", idempotency_key="k"), principal=denied))
        == "not_allowed"
    )


# --- declared argument names ---


@each_way
def test_declared_arguments_make_the_key(run):
    pay, paid = paying(idempotency=["order"])
    executor = ToolExecutor([pay])
    assert run(executor, call("pay", order="1")).value == 1
    assert run(executor, call("pay", order="1")).value == 1
    assert run(executor, call("pay", order="2")).value == 2
    assert paid == [("1", 1), ("2", 1)]


def test_equal_numbers_make_one_key_and_values_of_other_types_do_not():
    seen = []

    @tool(idempotency=["what"])
    def pay(what: float | str | bool | list[float | dict[str, float]]) -> str:
        """Pay."""
        seen.append(what)
        return repr(what)

    executor = ToolExecutor([pay])
    for same in (
        ["2", "2.0", "2e0"],
        ["0.0", "-0.0", "0"],
        ['[{"a": 1}]', '[{"a": 1.0}]'],
        ["2.5"],
        ["true"],
        ['"2"'],
    ):
        with in_case(same):
            before = len(seen)
            for text in same:
                assert executor.execute(ToolCall(name="pay", arguments=f'{{"what": {text}}}')).success
            assert len(seen) == before + 1


@both_ways
def test_arguments_outside_the_key_do_not_matter(run):
    """`idempotency`: argument names that make the key; the others may differ."""
    pay, paid = paying(idempotency=["order"])
    executor = ToolExecutor([pay])
    run(executor, call("pay", order="1", amount=1))
    assert run(executor, call("pay", order="1", amount=2)).value == 1
    assert paid == [("1", 1)]


def test_a_declared_name_that_is_not_a_parameter_is_refused():
    pay, _ = paying(idempotency=["ordr"])
    with pytest.raises(DefinitionError, match="'ordr' is not a parameter"):
        ToolExecutor([pay])


# --- failures ---


@both_ways
def test_a_failure_that_changed_nothing_is_not_recorded(run):
    ran = []

    @tool(effect="reversible")
    def put(context: ToolContext) -> int:
        """Fail the first time."""
        ran.append(1)
        if len(ran) == 1:
            raise ConnectionError("no line")
        return len(ran)

    executor = ToolExecutor([put])
    assert kind_of(run(executor, call("put", idempotency_key="k"))) == "failed"
    assert run(executor, call("put", idempotency_key="k")).value == 2
    assert run(executor, call("put", idempotency_key="k")).value == 2


@both_ways
def test_a_refused_call_is_not_recorded(run):
    pay, paid = paying()
    executor = ToolExecutor([pay])
    assert kind_of(run(executor, call("pay", order=1, idempotency_key="k"))) == "invalid_arguments"
    assert run(executor, call("pay", order="1", idempotency_key="k")).success
    assert len(paid) == 1


@both_ways
@each_case("how", ["raises", "times out"])
def test_an_unknown_outcome_is_recorded(run, how):
    """Threats, *retries*: POST sent, reply lost; running it again might do it twice."""
    ran, over = [], threading.Event()

    @tool(timeout_s=0.05)
    def pay() -> None:
        """Send, and lose the reply."""
        ran.append(1)
        if how == "raises":
            raise ConnectionError("reply lost")
        over.wait(PATIENCE_S)

    executor = ToolExecutor([pay])
    first = run(executor, call("pay", idempotency_key="k"))
    second = run(executor, call("pay", idempotency_key="k"))
    over.set()
    assert first.failure.outcome == second.failure.outcome == "unknown"
    assert kind_of(first) == kind_of(second)
    assert len(ran) == 1


def test_a_cancelled_call_of_unknown_outcome_is_recorded():
    """A repeat with the caller's key runs nothing, also where the first caller went away."""
    ran = []

    @tool
    async def pay() -> None:
        """Send, and wait for the reply."""
        ran.append(1)
        sent.set()
        await asyncio.sleep(PATIENCE_S)

    async def main():
        executor = ToolExecutor([pay])
        task = asyncio.create_task(executor.aexecute(call("pay", idempotency_key="k")))
        await sent.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await asyncio.wait_for(executor.aexecute(call("pay", idempotency_key="k")), 1)

    sent = asyncio.Event()
    result = asyncio.run(main())
    assert not result.success
    assert result.failure.outcome == "unknown"
    assert len(ran) == 1


@both_ways
def test_a_call_that_raised_to_the_caller_is_recorded_too(run):
    ran = []

    @tool
    def pay() -> None:
        """Send, then end the run."""
        ran.append(1)
        raise PromptEvaluationError("over")

    executor = ToolExecutor([pay])
    with pytest.raises(PromptEvaluationError):
        run(executor, call("pay", idempotency_key="k"))
    result = run(executor, call("pay", idempotency_key="k"))
    assert result.failure.outcome == "unknown"
    assert len(ran) == 1


# --- at the same time ---


@each_case("is_async", [False, True], ids=["sync", "async"])
@each_case("is_declared", [False, True], ids=["caller's key", "declared"])
def test_calls_with_one_key_at_the_same_time_run_once(is_async, is_declared):
    ran = []

    @tool(idempotency=["order"] if is_declared else ())
    def pay(order: str) -> int:
        """Pay, slowly."""
        ran.append(order)
        time.sleep(0.05)
        return len(ran)

    executor = ToolExecutor([pay])
    calls = [call("pay", order="1", idempotency_key=None if is_declared else "k") for _ in range(4)]
    results = asyncio.run(executor.aexecute_all(calls)) if is_async else executor.execute_all(calls)
    assert [result.value for result in results] == [1, 1, 1, 1]
    assert ran == ["1"]


def test_calls_with_one_key_from_many_threads_run_once():
    pay, paid = paying()
    executor, barrier, values = ToolExecutor([pay]), threading.Barrier(6), []

    def work():
        barrier.wait(PATIENCE_S)
        values.append(executor.execute(call("pay", order="1", idempotency_key="k")).value)

    in_threads([work] * 6)
    assert values == [1] * 6
    assert len(paid) == 1


def test_a_repeat_waits_for_the_first_call_only_for_its_time_limit():
    """A call waits for its key as long as its tool may take, and says that it was not run."""
    began, over = threading.Event(), threading.Event()

    @tool(timeout_s=PATIENCE_S)
    def pay() -> None:
        """Hang."""
        began.set()
        over.wait(PATIENCE_S)

    executor = ToolExecutor([pay])
    thread = threading.Thread(target=executor.execute, args=(call("pay", idempotency_key="k"),))
    thread.start()
    assert began.wait(PATIENCE_S)
    refused = executor.execute(call("pay", idempotency_key="k"), deadline=Deadline.after(0.05))
    over.set()
    thread.join(PATIENCE_S)
    assert kind_of(refused) in ("rate", "deadline")
    assert "was not run" in refused.message
    assert refused.failure.outcome == "nothing_happened"


def test_calls_with_different_keys_do_not_wait_for_one_another():
    barrier = threading.Barrier(2, timeout=PATIENCE_S)

    @tool
    def pay(order: str) -> str:
        """Meet the other."""
        barrier.wait()
        return order

    executor = ToolExecutor([pay])
    calls = [call("pay", order=order, idempotency_key=order) for order in "ab"]
    assert [result.value for result in executor.execute_all(calls)] == ["a", "b"]


def test_the_queue_of_a_key_is_removed_when_nobody_waits():
    """Nothing grows with the number of keys but the bounded memory."""
    pay, _ = paying(effect="idempotent")
    executor = ToolExecutor([pay])
    executor.execute_all([call("pay", order=str(n), idempotency_key=str(n)) for n in range(50)])
    assert executor._setup.memory.queues == {}  # noqa: SLF001 -- that nothing is left is the point


# --- cache ---


@both_ways
def test_a_cached_result_expires_after_cache_s(run):
    ran = []

    @tool(effect="read", cache_s=10)
    def look(key: str) -> int:
        """Look it up."""
        ran.append(key)
        return len(ran)

    executor, now = ToolExecutor([look]), [0.0]
    executor._setup.memory._clock = lambda: now[0]  # noqa: SLF001 -- a clock that is turned by hand
    values = []
    for moment in (0.0, 9.9, 10.1, 20.0, 20.2):
        now[0] = moment
        values.append(run(executor, call("look", key="a")).value)
    assert values == [1, 1, 2, 2, 3]


@both_ways
def test_results_are_cached_per_caller(run):
    ran = []

    @tool(effect="read", cache_s=60)
    def look(context: ToolContext) -> str:
        """See who asks."""
        ran.append(1)
        return context.principal.id

    executor = ToolExecutor([look], session=Session())
    for name in ("alice", "bob", "alice"):
        assert run(executor, call("look"), principal=Principal(id=name)).value == name
    assert len(ran) == 2


@both_ways
def test_a_cached_value_is_copied_for_each_caller(run):
    """Threats, *aliasing of mutable values*."""

    @tool(effect="read", cache_s=60)
    def look() -> dict[str, list[int]]:
        """Give back something that can be changed."""
        return {"items": [1]}

    executor = ToolExecutor([look])
    run(executor, call("look")).value["items"].append(2)
    again = run(executor, call("look"))
    assert again.value == {"items": [1]}
    assert again.render() == '{"items":[1]}'


@both_ways
def test_a_value_that_cannot_be_copied_is_recorded_all_the_same(run):
    ran = []

    @tool
    def pay() -> object:
        """Give back something that only is once."""
        ran.append(1)
        return threading.Lock()

    executor = ToolExecutor([pay.replace(name="pay")])
    for _ in range(2):
        run(executor, call("pay", idempotency_key="k"))
    assert len(ran) == 1


def test_memory_drops_the_oldest_result():
    memory = ResultMemory(most=2)
    for key in "abc":
        memory.put(key, ToolResult(value=key), "", None)
    assert [memory.get(key) and memory.get(key).result.value for key in "abc"] == [None, "b", "c"]


def test_memory_drops_the_least_recently_used_result():
    memory = ResultMemory(most=2)
    memory.put("a", ToolResult(value="a"), "", None)
    memory.put("b", ToolResult(value="b"), "", None)
    memory.get("a")
    memory.put("c", ToolResult(value="c"), "", None)
    assert memory.get("b") is None
    assert memory.get("a").result.value == "a"
