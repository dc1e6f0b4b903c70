"""Limits: time of a tool, an overall deadline, budgets, rates, calls at once, circuits, repeats.

Keeps issue 3 (*Time*; *Effects and attempts*: a circuit breaker, a guard against the same call made over and
over, rate and concurrency caps a tool), DESIGN (step `limit`) and seed 003 (*Deadline check*).
"""

import asyncio
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from tests.execute.calls import both_ways, call, each_way, hear, kind_of
from toolhaft import Budget, BudgetTracker, Deadline, Principal, Session, ToolContext, ToolExecutor, tool
from toolhaft.errors import BudgetExceededError, DefinitionError
from toolhaft.execute.ledger import CircuitBreaker, Circuits
from toolhaft.execute.steps.rate import Bucket

PATIENCE_S = 5.0


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tool
def left(context: ToolContext) -> float:
    """Seconds that this call has."""
    return context.deadline.remaining()


class FakeClock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


# --- the time of a tool ---


def test_a_call_has_ten_seconds_where_nobody_says_otherwise():
    """Issue 3, *Time*: default 10 s a call; seed 004: default 10s, configurable per tool."""
    assert add.timeout_s == 10.0
    assert 9.5 < ToolExecutor([left]).execute(call("left")).value <= 10.0


@each_way
def test_a_tool_says_how_long_it_may_take(run):
    assert run(ToolExecutor([left.replace(timeout_s=2)]), call("left")).value <= 2.0


@both_ways
@pytest.mark.parametrize("is_async", [False, True], ids=["thread", "loop"])
def test_a_handler_is_stopped_at_its_limit(run, is_async):
    """Seed 004: on timeout return ToolTimeoutError; the answer comes at the limit, not when the handler ends."""
    over = threading.Event()

    @tool(timeout_s=0.05, name="slow")
    def slow() -> None:
        """Take too long."""
        over.wait(PATIENCE_S)

    @tool(timeout_s=0.05, name="slow")
    async def aslow() -> None:
        """Take too long."""
        await asyncio.sleep(PATIENCE_S)

    began = time.monotonic()
    result = run(ToolExecutor([aslow if is_async else slow]), call("slow"))
    took = time.monotonic() - began
    over.set()
    assert kind_of(result) == "timeout"
    assert 0.05 <= took < 2


@both_ways
@pytest.mark.parametrize("kind", ["inline", "async"])
def test_a_handler_that_cannot_be_stopped_is_reported_afterwards(run, kind):
    """DESIGN, *isolation*: `inline` ... an overrun is reported afterwards."""

    @tool(timeout_s=0.02, isolation="inline", name="slow")
    def slow() -> int:
        """Block the caller."""
        time.sleep(0.04)
        return 1

    @tool(timeout_s=0.02, name="slow")
    async def aslow() -> int:
        """Block the loop."""
        time.sleep(0.04)  # noqa: ASYNC251 -- a handler that blocks is the point
        return 1

    executor = ToolExecutor([slow if kind == "inline" else aslow])
    result = run(executor, call("slow"))
    assert kind_of(result) == "timeout"
    assert result.value is None
    assert executor.stats.overruns + executor.stats.abandoned_tasks == 1


@both_ways
def test_an_async_handler_is_cancelled_and_may_clean_up(run):
    """Issue 3, *Time*: async handlers are cancelled."""
    cleaned = []

    @tool(timeout_s=0.05)
    async def slow() -> None:
        """Clean up after itself."""
        try:
            await asyncio.sleep(PATIENCE_S)
        finally:
            await asyncio.sleep(0)
            cleaned.append(1)

    executor = ToolExecutor([slow])
    assert kind_of(run(executor, call("slow"))) == "timeout"
    assert cleaned == [1]
    assert executor.stats.abandoned == 0


@both_ways
def test_a_handler_that_swallows_its_cancellation_is_abandoned_and_counted(run):
    """Issue 3, *Time*: one that swallows its cancellation is abandoned and counted."""

    @tool(timeout_s=0.05)
    async def stubborn() -> None:
        """Never listen."""
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(PATIENCE_S)

    executor = ToolExecutor([stubborn])
    began = time.monotonic()
    assert kind_of(run(executor, call("stubborn"))) == "timeout"
    assert time.monotonic() - began < 2
    assert executor.stats.abandoned_tasks == 1


@both_ways
def test_a_thread_that_outlives_its_call_is_counted_while_it_is_stuck(run):
    """Issue 3, *Time*: thread handlers are cut off and counted (`executor.stats`)."""
    over, ended = threading.Event(), threading.Event()

    @tool(timeout_s=0.05)
    def stuck() -> None:
        """Outlive the call."""
        over.wait(PATIENCE_S)
        ended.set()

    executor = ToolExecutor([stuck], max_threads=2)
    assert kind_of(run(executor, call("stuck"))) == "timeout"
    assert executor.stats.abandoned_threads == 1
    assert executor.stats.stuck_threads == 1
    over.set()
    assert ended.wait(PATIENCE_S)
    wait_until(lambda: executor.stats.stuck_threads == 0)
    assert executor.stats.to_dict()["abandoned_threads"] == 1
    assert "abandoned_threads=1" in repr(executor.stats)
    executor.close()


def wait_until(is_so):
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.002)


def test_a_late_value_is_not_a_result():
    """Threats, *timeouts*: thread: cut off, late results discarded."""
    over = threading.Event()

    @tool(timeout_s=0.05, effect="read", cache_s=60)
    def slow() -> str:
        """Answer too late."""
        over.wait(PATIENCE_S)
        return "late"

    executor = ToolExecutor([slow])
    events = hear(executor)
    assert kind_of(executor.execute(call("slow"))) == "timeout"
    over.set()
    assert kind_of(executor.execute(call("slow"))) is None
    assert [event.success for event in events] == [False, True]


# --- deadlines ---


def test_a_deadline_is_a_moment_or_a_span():
    """DESIGN: `Deadline.after(seconds)`, `Deadline(expires_at=...)`, `remaining()`."""
    for deadline in (
        Deadline.after(5),
        Deadline(expires_at=time.time() + 5),
        Deadline(expires_at=datetime.now(UTC) + timedelta(seconds=5)),
    ):
        assert 4.9 < deadline.remaining() <= 5.0
        assert not deadline.has_passed
    for deadline in (Deadline.after(0), Deadline.after(-5), Deadline(expires_at=0)):
        assert deadline.remaining() == 0.0
        assert deadline.has_passed
    assert repr(Deadline.after(-1)) == "<Deadline in 0.000 s>"


@pytest.mark.parametrize("moment", [datetime(2030, 1, 1), "2030-01-01", None, True, float("nan")], ids=repr)  # noqa: DTZ001 -- without a zone is the point
def test_a_moment_that_is_none_is_refused(moment):
    with pytest.raises(TypeError, match="expires_at"):
        Deadline(expires_at=moment)


@pytest.mark.parametrize("span", ["5", None, True, float("nan")], ids=repr)
def test_a_span_that_is_none_is_refused(span):
    with pytest.raises(TypeError, match="seconds"):
        Deadline.after(span)


def test_a_child_can_only_shorten_a_deadline():
    """Issue 3, *Time*: a child can only shorten it."""
    parent = Deadline.after(1)
    assert parent.within(60) is parent
    assert parent.within(0.5).remaining() <= 0.5
    assert parent.within(-1).has_passed


@each_way
@pytest.mark.parametrize("whose", ["executor", "call"])
def test_nothing_is_begun_after_the_deadline(run, whose):
    """Seed 003.3: Deadline check - refuse if elapsed."""
    ran = []

    @tool
    def act() -> None:
        """Note that it ran."""
        ran.append(1)

    passed = Deadline.after(0)
    executor = ToolExecutor([act], deadline=passed if whose == "executor" else None)
    bounds = {"deadline": passed} if whose == "call" else {}
    result = run(executor, call("act"), **bounds)
    assert kind_of(result) == "deadline"
    assert result.failure.outcome == "nothing_happened"
    assert ran == []


@both_ways
@pytest.mark.parametrize("is_async", [False, True], ids=["thread", "loop"])
def test_what_runs_is_stopped_at_the_deadline(run, is_async):
    """Issue 3, *Time*: an overall Deadline, enforced during the call."""
    over = threading.Event()

    @tool(name="slow")
    def slow() -> None:
        """Take too long."""
        over.wait(PATIENCE_S)

    @tool(name="slow")
    async def aslow() -> None:
        """Take too long."""
        await asyncio.sleep(PATIENCE_S)

    began = time.monotonic()
    result = run(ToolExecutor([aslow if is_async else slow]), call("slow"), deadline=Deadline.after(0.05))
    over.set()
    assert kind_of(result) == "deadline"
    assert "the deadline passed while slow ran" in result.message
    assert "Outcome unknown: check before repeating." in result.message
    assert time.monotonic() - began < 2


@both_ways
def test_a_coroutine_that_a_plain_function_gave_back_is_stopped_too(run):
    @tool
    def later() -> None:
        """Give back a coroutine."""
        return asyncio.sleep(PATIENCE_S)

    began = time.monotonic()
    executor = ToolExecutor([later, later.replace(name="shorter", timeout_s=0.05)])
    assert kind_of(run(executor, call("later"), deadline=Deadline.after(0.05))) == "deadline"
    assert kind_of(run(executor, call("shorter"))) == "timeout"
    assert time.monotonic() - began < 2


@both_ways
def test_the_earlier_of_executor_and_call_holds(run):
    executor = ToolExecutor([left], deadline=Deadline.after(2))
    assert run(executor, call("left")).value <= 2
    assert run(executor, call("left"), deadline=Deadline.after(1)).value <= 1
    assert run(executor, call("left"), deadline=Deadline.after(60)).value <= 2


@pytest.mark.parametrize(
    "outer_name", ["with_context", "without_context", "a_with_context", "a_without_context"]
)
@both_ways
def test_a_nested_call_is_bounded_by_the_call_around_it(run, outer_name):
    """Issue 3, *Time*: a child can only shorten it, whatever it asks for."""

    @tool(timeout_s=60)
    def with_context(context: ToolContext) -> float:
        """Ask a nested call how long it has."""
        return executor.execute(call("left"), deadline=Deadline.after(50)).value

    @tool(timeout_s=60)
    def without_context() -> float:
        """Ask a nested call how long it has."""
        return executor.execute(call("left"), deadline=Deadline.after(50)).value

    @tool(timeout_s=60)
    async def a_with_context(context: ToolContext) -> float:
        """Ask a nested call how long it has."""
        return (await executor.aexecute(call("left"), deadline=Deadline.after(50))).value

    @tool(timeout_s=60)
    async def a_without_context() -> float:
        """Ask a nested call how long it has."""
        return (await executor.aexecute(call("left"), deadline=Deadline.after(50))).value

    tools = [with_context, without_context, a_with_context, a_without_context]
    executor = ToolExecutor([*tools, left.replace(timeout_s=60)])
    assert run(executor, call(outer_name), deadline=Deadline.after(2)).value <= 2


def test_a_nested_call_has_no_more_time_than_the_tool_around_it():
    @tool(timeout_s=1)
    def outer() -> float:
        """Ask a nested call how long it has."""
        return executor.execute(call("left")).value

    executor = ToolExecutor([outer, left.replace(timeout_s=60)])
    assert executor.execute(call("outer")).value <= 1


@pytest.mark.parametrize("ended_by", ["timeout", "cancellation"])
def test_nothing_is_begun_by_a_handler_whose_call_is_over(ended_by):
    """Issue 3, *Transactions*: nothing lands after the end; a thread that outlived its call begins no other."""
    over, done, ran, kinds = threading.Event(), threading.Event(), [], []

    @tool
    def act() -> None:
        """Note that it ran."""
        ran.append(1)

    @tool(timeout_s=0.05 if ended_by == "timeout" else 10)
    def outer() -> None:
        """Call another tool after the end."""
        began.set()
        over.wait(PATIENCE_S)
        kinds.append(kind_of(executor.execute(call("act"))))
        done.set()

    began = threading.Event()
    executor = ToolExecutor([act, outer])

    async def main():
        task = asyncio.create_task(executor.aexecute(call("outer")))
        await asyncio.to_thread(began.wait, PATIENCE_S)
        if ended_by == "cancellation":
            task.cancel()
        await asyncio.wait([task])

    asyncio.run(main())
    over.set()
    assert done.wait(PATIENCE_S)
    assert ran == []
    assert kinds in (["deadline"], ["cancelled"])


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_call_that_waits_for_its_turn_is_refused_at_the_deadline(is_async):
    began, over = threading.Event(), threading.Event()

    @tool(effect="reversible")
    def hold(n: int, context: ToolContext) -> int:
        """Hold the others up."""
        began.set()
        over.wait(PATIENCE_S)
        return n

    executor = ToolExecutor([hold])
    thread = threading.Thread(target=executor.execute, args=(call("hold", n=1),))
    thread.start()
    assert began.wait(PATIENCE_S)
    bounds = {"deadline": Deadline.after(0.05)}
    if is_async:
        result = asyncio.run(executor.aexecute(call("hold", n=2), **bounds))
    else:
        result = executor.execute(call("hold", n=2), **bounds)
    over.set()
    thread.join(PATIENCE_S)
    assert kind_of(result) == "deadline"
    assert "not run" in result.message
    assert result.failure.outcome == "nothing_happened"


# --- budgets ---


@each_way
def test_calls_are_counted_until_none_is_left(run):
    """Issue 3, *Time*: Budget / BudgetTracker (tokens, calls, wall time)."""
    executor = ToolExecutor([add], budget=Budget(max_calls=2))
    assert [kind_of(run(executor, call("add", a=1))) for _ in range(3)] == [None, None, "budget"]
    assert executor.budget_tracker.calls == 2


def test_calls_of_one_turn_are_counted_one_by_one():
    executor = ToolExecutor([add], budget=Budget(max_calls=2))
    kinds = [kind_of(result) for result in executor.execute_all([call("add", a=n) for n in range(4)])]
    assert sorted(kinds, key=str) == [None, None, "budget", "budget"]


@both_ways
def test_tokens_that_the_host_counts_end_the_run(run):
    tracker = BudgetTracker(Budget(max_tokens=100))
    executor = ToolExecutor([add], budget=tracker)
    assert executor.budget_tracker is tracker
    assert run(executor, call("add", a=1)).success
    tracker.add(tokens=100)
    refused = run(executor, call("add", a=1))
    assert kind_of(refused) == "budget"
    assert refused.message == (
        "the budget of tokens is used up: 100 of 100: add was not run. Give your answer with what you have."
    )


@both_ways
def test_a_handler_can_spend_and_check_the_budget(run):
    """Seed 003, ToolContext: `budget_tracker`."""

    @tool
    def spend(tokens: int, context: ToolContext) -> int:
        """Spend tokens."""
        context.session[str].append("spent")
        context.budget_tracker.add(tokens=tokens)
        context.budget_tracker.check()
        return context.budget_tracker.tokens

    executor = ToolExecutor([spend], session=Session(), budget=Budget(max_tokens=10))
    assert run(executor, call("spend", tokens=5)).value == 5
    assert kind_of(run(executor, call("spend", tokens=5))) == "budget"
    assert executor.session[str].all() == ("spent",)


@both_ways
def test_wall_time_stops_what_runs_and_is_told_as_budget(run):
    """DESIGN: `budget` | the limit of that name; issue 3: every failure path discards ... budget."""
    over = threading.Event()

    @tool
    def slow(context: ToolContext) -> None:
        """Take too long."""
        context.session[str].append("lost")
        over.wait(PATIENCE_S)

    executor = ToolExecutor([slow], session=Session(), budget=Budget(max_wall_s=0.05))
    result = run(executor, call("slow"))
    over.set()
    assert kind_of(result) == "budget"
    assert "wall time" in result.message
    assert executor.session[str].all() == ()
    refused = run(executor, call("slow"))
    assert kind_of(refused) == "budget"
    assert "not run" in refused.message


@pytest.mark.parametrize(
    ("budget", "dimension"),
    [(Budget(max_tokens=0), "tokens"), (Budget(max_calls=0), "calls"), (Budget(max_wall_s=0), "wall time")],
)
def test_check_names_the_dimension(budget, dimension):
    """Issue 3, *Time*: `check()` names the dimension."""
    with pytest.raises(BudgetExceededError, match=f"the budget of {dimension} is used up"):
        BudgetTracker(budget).check()


def test_a_budget_that_leaves_all_open_refuses_nothing():
    tracker = BudgetTracker()
    tracker.add(tokens=10**9, calls=10**9)
    tracker.check()
    assert tracker.remaining_s() is None


def test_nested_calls_spend_the_same_budget():
    @tool
    def outer() -> str:
        """Call others."""
        return ",".join(str(kind_of(executor.execute(call("add", a=1)))) for _ in range(3))

    executor = ToolExecutor([outer, add], budget=Budget(max_calls=3))
    assert executor.execute(call("outer")).value == "None,None,budget"


def test_many_threads_never_spend_more_than_there_is():
    tracker = BudgetTracker(Budget(max_calls=50))
    executor = ToolExecutor([add], budget=tracker)
    kinds, lock = [], threading.Lock()

    def work():
        for _ in range(25):
            kind = kind_of(executor.execute(call("add", a=1)))
            with lock:
                kinds.append(kind)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert kinds.count(None) == 50
    assert tracker.calls == 50


# --- rates ---


def test_a_rate_lets_so_many_pass_and_fills_up_evenly():
    """DESIGN, *The nouns*: `rate`."""
    clock = FakeClock()
    bucket = Bucket("2/min", clock)
    assert [bucket.take(), bucket.take()] == [0.0, 0.0]
    assert bucket.take() == pytest.approx(30.0)
    clock.now += 29
    assert bucket.take() == pytest.approx(1.0)
    clock.now += 1
    assert bucket.take() == 0.0
    clock.now += 3600
    assert [bucket.take() for _ in range(3)] == [0.0, 0.0, pytest.approx(30.0)]


@pytest.mark.parametrize(("rate", "wait_s"), [("1/s", 1), ("1/min", 60), ("1/h", 3600), ("1/day", 86400)])
def test_rates_have_units(rate, wait_s):
    bucket = Bucket(rate, FakeClock())
    assert (bucket.take(), bucket.take()) == (0.0, wait_s)


@each_way
def test_a_call_above_the_rate_is_refused_with_the_time_to_wait(run):
    ran = []

    @tool(rate="2/h")
    def act() -> None:
        """Note that it ran."""
        ran.append(1)

    executor = ToolExecutor([act, add])
    results = [run(executor, call("act")) for _ in range(3)]
    assert [kind_of(result) for result in results] == [None, None, "rate"]
    assert "act may be called at most 2/h and was not run. Try again in" in results[2].message
    assert run(executor, call("add", a=1)).success
    assert len(ran) == 2


@pytest.mark.parametrize("keyed", [False, True])
def test_a_rate_is_one_for_all_calls_of_a_tool(keyed):
    """Also those with a key of their own, and after the chain was made anew."""

    @tool(rate="2/h")
    def act(n: int) -> int:
        """Act."""
        return n

    executor = ToolExecutor([act])
    assert executor.execute(call("act", n=1)).success
    hear(executor)
    assert executor.execute(call("act", n=2, idempotency_key="k" if keyed else None)).success
    assert kind_of(executor.execute(call("act", n=3), principal=Principal(id="a"))) == "rate"


@pytest.mark.parametrize("rate", ["fast", "0/s", "1/week", "-1/s", 5, "1.5/s", ""])
def test_a_rate_that_makes_no_sense_is_refused(rate):
    @tool(rate=rate)
    def act() -> None:
        """Act."""

    with pytest.raises(DefinitionError, match="rate"):
        ToolExecutor([act])


# --- calls at once ---


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("kind", ["thread", "loop"])
def test_no_more_than_max_parallel_run_at_once(is_async, most, kind):
    """DESIGN, *The nouns*: `max_parallel`."""
    inside, peak, lock = [0], [0], threading.Lock()

    def enter():
        with lock:
            inside[0] += 1
            peak[0] = max(peak[0], inside[0])

    def leave():
        with lock:
            inside[0] -= 1

    @tool(max_parallel=most, effect="read", name="act")
    def act(n: int) -> int:
        """Stay a while."""
        enter()
        time.sleep(0.01)
        leave()
        return n

    @tool(max_parallel=most, effect="read", name="act")
    async def aact(n: int) -> int:
        """Stay a while."""
        enter()
        await asyncio.sleep(0.01)
        leave()
        return n

    executor = ToolExecutor([act if kind == "thread" else aact])
    calls = [call("act", n=n, idempotency_key=str(n) if n % 2 else None) for n in range(8)]
    results = asyncio.run(executor.aexecute_all(calls)) if is_async else executor.execute_all(calls)
    assert [result.value for result in results] == list(range(8))
    assert peak == [most]


def test_max_parallel_holds_when_the_chain_is_made_anew():
    """Issue 3: rate and concurrency caps *a tool*, not a chain."""
    barrier_broken = threading.Barrier(2)

    @tool(max_parallel=1, timeout_s=0.3)
    def meet() -> str:
        """Find out whether another one is inside."""
        try:
            barrier_broken.wait(0.1)
        except threading.BrokenBarrierError:
            return "alone"
        return "met"

    executor = ToolExecutor([meet])
    values = []
    thread = threading.Thread(target=lambda: values.append(executor.execute(call("meet")).value))
    thread.start()
    hear(executor)
    values.append(executor.execute(call("meet"), principal=Principal(id="a")).value)
    thread.join(PATIENCE_S)
    assert "met" not in values


def test_a_call_that_finds_no_place_in_time_is_refused():
    began, over = threading.Event(), threading.Event()

    @tool(max_parallel=1)
    def hold() -> None:
        """Stay."""
        began.set()
        over.wait(PATIENCE_S)

    executor = ToolExecutor([hold])
    thread = threading.Thread(target=executor.execute, args=(call("hold"),))
    thread.start()
    assert began.wait(PATIENCE_S)
    refused = executor.execute(call("hold"), deadline=Deadline.after(0.05))
    over.set()
    thread.join(PATIENCE_S)
    assert kind_of(refused) in ("rate", "deadline")
    assert "not run" in refused.message
    assert refused.failure.outcome == "nothing_happened"


# --- circuits ---


def breaking(clock, **breaker):
    """An executor whose one tool fails when told to, with a clock that is turned by hand."""

    @tool(max_attempts=99)
    def flaky(ok: bool = False) -> str:
        """Fail."""
        if not ok:
            raise ConnectionError("no line")
        return "up"

    executor = ToolExecutor([flaky, add], breaker=CircuitBreaker(**breaker))
    executor._setup.circuits._clock = clock  # noqa: SLF001 -- a clock that is turned by hand
    return executor


def kinds(executor, *oks):
    return [kind_of(executor.execute(call("flaky", ok=ok))) for ok in oks]


def test_a_tool_that_keeps_failing_is_left_alone_for_a_while():
    """DESIGN: `circuit_open` | too many failures lately."""
    clock = FakeClock()
    executor = breaking(clock, failures=3, window_s=60, cooldown_s=30)
    assert kinds(executor, False, False, False, True) == ["failed"] * 3 + ["circuit_open"]
    refused = executor.execute(call("flaky"))
    assert "flaky failed 3 times in a row and is not run for now" in refused.message
    assert "Try again in 30 s" in refused.message
    assert executor.execute(call("add", a=1)).success


def test_after_the_pause_one_call_may_try_and_closes_the_circuit():
    clock = FakeClock()
    executor = breaking(clock, failures=2, cooldown_s=30)
    kinds(executor, False, False)
    clock.now += 31
    assert kinds(executor, True, True, False) == [None, None, "failed"]


def test_a_try_that_fails_opens_the_circuit_again():
    clock = FakeClock()
    executor = breaking(clock, failures=2, cooldown_s=30)
    kinds(executor, False, False)
    clock.now += 31
    assert kinds(executor, False, True) == ["failed", "circuit_open"]
    clock.now += 31
    assert kinds(executor, True, True) == [None, None]


def test_only_one_call_tries_at_a_time():
    clock = FakeClock()
    circuits = Circuits(CircuitBreaker(failures=1, cooldown_s=30), clock)
    circuits.failed("flaky")
    clock.now += 31
    assert circuits.refusal("flaky") is None
    assert circuits.refusal("flaky") is not None
    circuits.succeeded("flaky")
    assert circuits.refusal("flaky") is None


def test_failures_far_apart_do_not_add_up():
    clock = FakeClock()
    executor = breaking(clock, failures=2, window_s=60)
    for _ in range(4):
        assert kinds(executor, False) == ["failed"]
        clock.now += 61


def test_a_success_between_failures_closes_the_count():
    executor = breaking(FakeClock(), failures=2)
    assert kinds(executor, False, True, False, True, False) == ["failed", None, "failed", None, "failed"]


def test_bad_arguments_do_not_open_a_circuit():
    """The model's mistakes are counted as attempts; a circuit is about the tool."""
    executor = breaking(FakeClock(), failures=2)
    for _ in range(4):
        assert kind_of(executor.execute(call("flaky", ok=5))) == "invalid_arguments"
    assert kinds(executor, True) == [None]


def test_a_circuit_is_open_for_every_caller():
    executor = breaking(FakeClock(), failures=2)
    for name in ("alice", "bob"):
        executor.execute(call("flaky"), principal=Principal(id=name))
    assert (
        kind_of(executor.execute(call("flaky", ok=True), principal=Principal(id="carol"))) == "circuit_open"
    )


def test_a_new_run_does_not_close_a_circuit():
    executor = breaking(FakeClock(), failures=2)
    kinds(executor, False, False)
    executor.new_run()
    assert kinds(executor, True) == ["circuit_open"]


# --- the same call over and over ---


@both_ways
def test_the_same_call_made_over_and_over_is_stopped(run):
    """Issue 3: a guard against the same call made over and over."""
    executor = ToolExecutor([add], max_repeats=2)
    for _ in range(2):
        assert run(executor, call("add", a=1)).success
    refused = run(executor, call("add", b=1, a=1))
    assert kind_of(refused) == "circuit_open"
    assert "the same call of add was made 2 times in a row and is not run again" in refused.message
    assert run(executor, call("add", a=2)).success
    assert run(executor, call("add", a=1)).success


@both_ways
def test_a_new_run_may_make_the_same_call_again(run):
    executor = ToolExecutor([add], max_repeats=1)
    assert [kind_of(run(executor, call("add", a=1))) for _ in range(2)] == [None, "circuit_open"]
    executor.new_run()
    assert run(executor, call("add", a=1)).success


def test_repeats_are_not_counted_where_nobody_asked():
    executor = ToolExecutor([add])
    assert all(executor.execute(call("add", a=1)).success for _ in range(50))
