"""Deadlines, budgets and the policy of repeats, by themselves."""

import time
from datetime import UTC, datetime, timedelta
from math import inf

import pytest

from toolhaft import Budget, BudgetTracker, Deadline, RetryPolicy
from toolhaft.core.limits import earlier
from toolhaft.errors import BudgetExceededError


def test_a_deadline_is_a_moment_or_a_span():
    """DESIGN: `Deadline.after(seconds)`, `Deadline(expires_at=...)`, `remaining()`."""
    moment = datetime.now(UTC) + timedelta(seconds=60)
    by_moment, by_epoch = Deadline(expires_at=moment), Deadline(expires_at=moment.timestamp())
    assert by_moment == by_epoch
    assert hash(by_moment) == hash(by_epoch)
    assert 59 < by_moment.remaining() <= 60
    assert 59 < Deadline.after(60).remaining() <= 60
    assert repr(Deadline(expires_at=0)) == "<Deadline in 0.000 s>"


def test_a_deadline_that_has_passed_leaves_nothing():
    passed = Deadline(expires_at=time.time() - 5)
    assert (passed.remaining(), passed.has_passed) == (0.0, True)
    assert not Deadline.after(60).has_passed


@pytest.mark.parametrize("moment", [datetime(2030, 1, 1), "soon", True, float("nan")])  # noqa: DTZ001 -- the point
def test_a_moment_that_is_none_is_refused(moment):
    with pytest.raises(TypeError, match="expires_at"):
        Deadline(expires_at=moment)


@pytest.mark.parametrize("seconds", ["5", None, True, float("nan")])
def test_a_span_that_is_none_is_refused(seconds):
    with pytest.raises(TypeError, match="a deadline is a number of seconds away"):
        Deadline.after(seconds)


def test_a_child_can_only_shorten_a_deadline():
    """Issue 3: a child can only shorten it."""
    parent = Deadline.after(10)
    assert parent.within(60) is parent
    assert parent.within(1).remaining() <= 1


def test_the_earlier_of_two_deadlines_counts():
    soon, late = Deadline.after(1), Deadline.after(9)
    assert earlier(soon, late) is earlier(late, soon) is earlier(soon, None) is earlier(None, soon) is soon
    assert earlier(None, None) is None


@pytest.mark.parametrize(
    ("budget", "use", "words"),
    [
        (Budget(max_tokens=10), {"tokens": 10}, "budget of tokens is used up: 10 of 10"),
        (Budget(max_calls=2), {"calls": 2}, "budget of calls is used up: 2 of 2"),
        (Budget(max_wall_s=0), {}, "budget of wall time is used up"),
    ],
)
def test_a_budget_names_the_dimension_that_is_used_up(budget, use, words):
    """Issue 3: `check()` names the dimension."""
    tracker = BudgetTracker(budget)
    tracker.add(**use)
    with pytest.raises(BudgetExceededError, match=words):
        tracker.check()
    with pytest.raises(BudgetExceededError, match=words):
        tracker.take_call()


def test_a_budget_that_is_open_is_never_used_up():
    tracker = BudgetTracker()
    tracker.add(tokens=10**9, calls=10**9)
    tracker.check()
    assert tracker.remaining_s() is None
    assert BudgetTracker(Budget(max_wall_s=60)).remaining_s() > 59


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"max_calls": "x"}, TypeError),
        ({"max_calls": -1}, ValueError),
        ({"max_tokens": True}, TypeError),
        ({"max_wall_s": float("nan")}, ValueError),
    ],
)
def test_a_budget_that_makes_no_sense_is_refused(given, error):
    with pytest.raises(error, match=next(iter(given))):
        Budget(**given)


def test_waits_grow_up_to_a_longest_and_vary():
    policy = RetryPolicy(backoff_s=1, factor=2, max_backoff_s=3, jitter=0)
    assert [policy.wait_s(tried) for tried in (1, 2, 3, 4)] == [1, 2, 3, 3]
    waits = {RetryPolicy(backoff_s=1, jitter=0.5).wait_s(1) for _ in range(20)}
    assert len(waits) > 1
    assert all(0.5 <= wait <= 1 for wait in waits)


def test_an_error_that_says_when_to_come_back_is_obeyed_or_not_repeated_at_all():
    error = ConnectionError()
    error.retry_after = 2
    assert RetryPolicy().wait_s(1, error) == 2
    error.retry_after = 10**6
    assert RetryPolicy(max_backoff_s=5).wait_s(1, error) == inf
    error.retry_after = "soon"
    assert RetryPolicy(backoff_s=1, jitter=0).wait_s(1, error) == 1


@pytest.mark.parametrize(
    "retry_on", [ValueError, (ValueError, KeyError), lambda error: isinstance(error, ValueError)]
)
def test_what_is_worth_a_repeat_is_said_by_types_or_a_function(retry_on):
    policy = RetryPolicy(retry_on=retry_on)
    assert policy.covers(ValueError())
    assert not policy.covers(OSError())


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"max_attempts": 0}, ValueError),
        ({"backoff_s": -1}, ValueError),
        ({"factor": 0.5}, ValueError),
        ({"jitter": 2}, ValueError),
        ({"max_backoff_s": -1}, ValueError),
        ({"retry_on": [ValueError]}, TypeError),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(given, error):
    with pytest.raises(error):
        RetryPolicy(**given)
