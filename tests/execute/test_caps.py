"""Caps of a tool: its rate, its calls at once, its circuit, and the same call over and over."""

import asyncio
import threading
import time

import pytest

from tests.cases import each_case
from tests.execute.calls import both_ways, call, each_way, hear, kind_of
from toolhaft import Budget, BudgetTracker, Deadline, Principal, ToolExecutor, tool
from toolhaft.errors import BudgetExceededError, DefinitionError, PromptEvaluationError
from toolhaft.execute.attempts import CircuitBreaker, Circuits
from toolhaft.execute.throttling import TokenBucket

PATIENCE_S = 30.0


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


class FakeClock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


# --- rates ---


def test_a_token_bucket_allows_its_number_at_once_and_refills_evenly():
    clock = FakeClock()
    bucket = TokenBucket("2/min", clock)
    assert [bucket.take(), bucket.take()] == [0.0, 0.0]
    assert bucket.take() == pytest.approx(30.0)
    clock.now += 29
    assert bucket.take() == pytest.approx(1.0)
    clock.now += 1
    assert bucket.take() == 0.0
    clock.now += 3600
    assert [bucket.take() for _ in range(3)] == [0.0, 0.0, pytest.approx(30.0)]


@each_case(("rate", "wait_s"), [("1/s", 1), ("1/min", 60), ("1/h", 3600), ("1/day", 86400)])
def test_rates_have_units(rate, wait_s):
    bucket = TokenBucket(rate, FakeClock())
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


@each_case("keyed", [False, True])
def test_all_callers_share_the_rate_of_a_tool(keyed):
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


@each_case("rate", ["fast", "0/s", "1/week", "-1/s", 5, "1.5/s", ""])
def test_an_invalid_rate_is_refused(rate):
    @tool(rate=rate)
    def act() -> None:
        """Act."""

    with pytest.raises(DefinitionError, match="rate"):
        ToolExecutor([act])


# --- calls at once ---


@each_case("is_async", [False, True], ids=["sync", "async"])
@each_case("most", [1, 2])
@each_case("kind", ["thread", "loop"])
def test_no_more_than_max_parallel_run_at_once(is_async, most, kind):
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
        time.sleep(0.004)
        leave()
        return n

    @tool(max_parallel=most, effect="read", name="act")
    async def aact(n: int) -> int:
        """Stay a while."""
        enter()
        await asyncio.sleep(0.004)
        leave()
        return n

    executor = ToolExecutor([act if kind == "thread" else aact])
    calls = [call("act", n=n, idempotency_key=str(n) if n % 2 else None) for n in range(8)]
    results = asyncio.run(executor.aexecute_all(calls)) if is_async else executor.execute_all(calls)
    assert [result.value for result in results] == list(range(8))
    assert peak == [most]


def test_max_parallel_still_counts_after_the_chain_is_composed_again():
    """Rate and concurrency caps *a tool*, not a chain."""
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


def test_a_call_that_waits_too_long_for_max_parallel_is_refused():
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
    executor._setup.limits.circuits._clock = clock  # noqa: SLF001 -- a clock that is turned by hand
    return executor


def kinds(executor, *oks):
    return [kind_of(executor.execute(call("flaky", ok=ok))) for ok in oks]


def test_repeated_failures_open_the_circuit():
    clock = FakeClock()
    executor = breaking(clock, failures=3, window_s=60, cooldown_s=30)
    assert kinds(executor, False, False, False, True) == ["failed"] * 3 + ["circuit_open"]
    refused = executor.execute(call("flaky"))
    assert "flaky failed 3 times in a row and is not run for now" in refused.message
    assert "Try again in 30 s" in refused.message
    assert executor.execute(call("add", a=1)).success


def test_a_successful_trial_call_after_the_cooldown_closes_the_circuit():
    clock = FakeClock()
    executor = breaking(clock, failures=2, cooldown_s=30)
    kinds(executor, False, False)
    clock.now += 31
    assert kinds(executor, True, True, False) == [None, None, "failed"]


def test_a_cancelled_trial_call_allows_another():
    clock = FakeClock()
    mode = ["fail"]

    @tool(max_attempts=99)
    async def flaky() -> str:
        """Fail, hang or work."""
        if mode[0] == "fail":
            raise ConnectionError("no line")
        if mode[0] == "hang":
            await asyncio.sleep(PATIENCE_S)
        return "up"

    executor = ToolExecutor([flaky], breaker=CircuitBreaker(failures=1, cooldown_s=30))
    executor._setup.limits.circuits._clock = clock  # noqa: SLF001 -- a clock that is turned by hand

    async def run():
        await executor.aexecute(call("flaky"))
        clock.now += 31
        mode[0] = "hang"
        trial = asyncio.ensure_future(executor.aexecute(call("flaky")))
        await asyncio.sleep(0.01)
        trial.cancel()
        await asyncio.wait([trial])
        mode[0] = "work"
        return await executor.aexecute(call("flaky"))

    assert asyncio.run(run()).value == "up"


@each_case("is_async", [True, False])
def test_a_trial_call_that_raises_to_the_caller_allows_another(is_async):
    clock = FakeClock()
    modes = iter([ConnectionError("no line"), PromptEvaluationError("over")])

    def act():
        error = next(modes, None)
        if error is not None:
            raise error
        return "up"

    async def act_later():
        return act()

    made = tool(
        act_later if is_async else act,
        name="act",
        description="Act.",
        max_attempts=99,
        isolation=None if is_async else "inline",
    )
    executor = ToolExecutor([made], breaker=CircuitBreaker(failures=1, cooldown_s=30))
    executor._setup.limits.circuits._clock = clock  # noqa: SLF001 -- a clock that is turned by hand
    assert kind_of(executor.execute(call("act"))) == "failed"
    clock.now += 31
    with pytest.raises(PromptEvaluationError):
        executor.execute(call("act"))
    assert executor.execute(call("act")).value == "up"


class SlowBudget(BudgetTracker):
    """One that another call takes the last of, between the look and the taking."""

    is_used_up = True

    def take_call(self):
        if self.is_used_up:
            raise BudgetExceededError("1 call was allowed")


def test_a_trial_call_that_the_budget_refuses_allows_another():
    clock = FakeClock()
    budget = SlowBudget(Budget(max_calls=1))
    tools = breaking(clock).tools.values()
    bounded = ToolExecutor(tools, breaker=CircuitBreaker(failures=1, cooldown_s=30), budget=budget)
    bounded._setup.limits.circuits._clock = clock  # noqa: SLF001 -- a clock that is turned by hand
    bounded._setup.limits.circuits.failed("flaky")  # noqa: SLF001 -- the circuit alone
    clock.now += 31
    assert kind_of(bounded.execute(call("flaky", ok=True))) == "budget"
    budget.is_used_up = False
    assert bounded.execute(call("flaky", ok=True)).success


def test_a_failed_trial_call_opens_the_circuit_again():
    clock = FakeClock()
    executor = breaking(clock, failures=2, cooldown_s=30)
    kinds(executor, False, False)
    clock.now += 31
    assert kinds(executor, False, True) == ["failed", "circuit_open"]
    clock.now += 31
    assert kinds(executor, True, True) == [None, None]


def test_there_is_only_one_trial_call_at_a_time():
    clock = FakeClock()
    circuits = Circuits(CircuitBreaker(failures=1, cooldown_s=30), clock)
    circuits.failed("flaky")
    clock.now += 31
    assert circuits.admit("flaky") == clock.now + 30
    assert kind_of(circuits.admit("flaky")) == "circuit_open"
    circuits.succeeded("flaky")
    assert circuits.admit("flaky") == 0.0


def test_failures_far_apart_do_not_add_up():
    clock = FakeClock()
    executor = breaking(clock, failures=2, window_s=60)
    for _ in range(4):
        assert kinds(executor, False) == ["failed"]
        clock.now += 61


def test_a_success_resets_the_failure_count_of_the_circuit():
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


@each_case("fields", [{"failures": 0}, {"window_s": -1}, {"cooldown_s": -1}, {"window_s": float("nan")}])
def test_an_invalid_breaker_is_refused(fields):
    with pytest.raises(ValueError, match="CircuitBreaker needs"):
        CircuitBreaker(**fields)


# --- the same call over and over ---


@both_ways
def test_max_repeats_refuses_the_same_call_made_too_often(run):
    """A guard against the same call made over and over."""
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


def test_repeats_are_counted_per_caller():
    executor = ToolExecutor([add], max_repeats=1)
    for name in ("alice", "bob"):
        assert executor.execute(call("add", a=1), principal=Principal(id=name)).success
    assert kind_of(executor.execute(call("add", a=1), principal=Principal(id="bob"))) == "circuit_open"


def test_without_max_repeats_the_same_call_is_not_limited():
    executor = ToolExecutor([add])
    assert all(executor.execute(call("add", a=1)).success for _ in range(50))
