"""Budgets: tokens, calls and wall time, counted by any number of threads."""

import threading

import pytest

from tests.cases import each_case
from tests.execute.calls import both_ways, call, each_way, in_threads, kind_of
from toolhaft import Budget, BudgetTracker, Deadline, Session, ToolContext, ToolExecutor, tool
from toolhaft.errors import BudgetExceededError

PATIENCE_S = 30.0


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@each_way
def test_calls_are_counted_until_none_is_left(run):
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
def test_the_wall_time_budget_stops_a_running_handler(run):
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


@each_case(
    ("budget", "dimension"),
    [(Budget(max_tokens=0), "tokens"), (Budget(max_calls=0), "calls"), (Budget(max_wall_s=0), "wall time")],
)
def test_check_names_the_dimension(budget, dimension):
    with pytest.raises(BudgetExceededError, match=f"the budget of {dimension} is used up"):
        BudgetTracker(budget).check()


def test_a_budget_without_limits_refuses_nothing():
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


def test_many_threads_never_exceed_the_budget():
    tracker = BudgetTracker(Budget(max_calls=50))
    executor = ToolExecutor([add], budget=tracker)
    kinds, lock = [], threading.Lock()

    def work():
        for _ in range(25):
            kind = kind_of(executor.execute(call("add", a=1)))
            with lock:
                kinds.append(kind)

    in_threads([work] * 4)
    assert kinds.count(None) == 50
    assert tracker.calls == 50


def test_a_call_that_something_else_refuses_is_not_counted():
    """What never ran has used nothing up."""

    @tool(max_attempts=1)
    def fail() -> None:
        """Fail."""
        raise ValueError("no")

    executor = ToolExecutor([fail, add], budget=Budget(max_calls=2))
    kinds = [kind_of(executor.execute(call("fail"))) for _ in range(3)]
    kinds.append(kind_of(executor.execute(call("add", a=1), deadline=Deadline.after(0))))
    kinds.append(kind_of(executor.execute(call("add", a=1))))
    assert kinds == ["failed", "attempts", "attempts", "deadline", None]
    assert executor.budget_tracker.calls == 2
