"""Deadlines, budgets and the policy of repeats, by themselves."""

import time
from datetime import UTC, datetime, timedelta
from math import inf

import pytest

from tests.cases import each_case
from toolhaft import Budget, BudgetTracker, Deadline, RetryPolicy
from toolhaft.core.limits import earlier
from toolhaft.errors import BudgetExceededError


def test_a_deadline_is_a_moment_or_a_span():
    moment = datetime.now(UTC) + timedelta(seconds=60)
    by_moment, by_epoch = Deadline(expires_at=moment), Deadline(expires_at=moment.timestamp())
    assert by_moment == by_epoch
    assert hash(by_moment) == hash(by_epoch)
    assert 30 < by_moment.remaining() <= 60
    assert 30 < Deadline.after(60).remaining() <= 60
    assert repr(Deadline(expires_at=0)) == "<Deadline in 0.000 s>"


def test_a_deadline_that_has_passed_leaves_nothing():
    passed = Deadline(expires_at=time.time() - 5)
    assert (passed.remaining(), passed.has_passed) == (0.0, True)
    for passed in (Deadline.after(0), Deadline.after(-5), Deadline(expires_at=0)):
        assert (passed.remaining(), passed.has_passed) == (0.0, True)
    assert not Deadline.after(60).has_passed


@each_case("moment", [datetime(2030, 1, 1), "2030-01-01", None, True, float("nan")])  # noqa: DTZ001 -- the point
def test_an_invalid_expires_at_is_refused(moment):
    with pytest.raises(TypeError, match="expires_at"):
        Deadline(expires_at=moment)


@each_case("seconds", ["5", None, True, float("nan")])
def test_an_invalid_number_of_seconds_is_refused(seconds):
    with pytest.raises(TypeError, match="a deadline is a number of seconds away"):
        Deadline.after(seconds)


def test_a_child_can_only_shorten_a_deadline():
    parent = Deadline.after(10)
    assert parent.within(60) is parent
    assert parent.within(1).remaining() <= 1
    assert parent.within(-1).has_passed


def test_the_earlier_of_two_deadlines_counts():
    soon, late = Deadline.after(1), Deadline.after(9)
    assert earlier(soon, late) is earlier(late, soon) is earlier(soon, None) is earlier(None, soon) is soon
    assert earlier(None, None) is None


@each_case(
    ("budget", "use", "words"),
    [
        (Budget(max_tokens=10), {"tokens": 10}, "budget of tokens is used up: 10 of 10"),
        (Budget(max_calls=2), {"calls": 2}, "budget of calls is used up: 2 of 2"),
        (Budget(max_wall_s=0), {}, "budget of wall time is used up"),
    ],
)
def test_a_budget_names_the_dimension_that_is_used_up(budget, use, words):
    tracker = BudgetTracker(budget)
    tracker.add(**use)
    with pytest.raises(BudgetExceededError, match=words):
        tracker.check()
    with pytest.raises(BudgetExceededError, match=words):
        tracker.take_call()


def test_a_budget_without_limits_is_never_used_up():
    tracker = BudgetTracker()
    tracker.add(tokens=10**9, calls=10**9)
    tracker.check()
    assert tracker.remaining_s() is None
    assert BudgetTracker(Budget(max_wall_s=60)).remaining_s() > 59


@each_case(
    ("given", "error"),
    [
        ({"max_calls": "x"}, TypeError),
        ({"max_calls": -1}, ValueError),
        ({"max_tokens": True}, TypeError),
        ({"max_wall_s": float("nan")}, ValueError),
    ],
)
def test_an_invalid_budget_is_refused(given, error):
    with pytest.raises(error, match=next(iter(given))):
        Budget(**given)


def test_backoff_grows_up_to_its_maximum_and_has_jitter():
    policy = RetryPolicy(backoff_s=1, factor=2, max_backoff_s=3, jitter=0)
    assert [policy.wait_s(tried) for tried in (1, 2, 3, 4)] == [1, 2, 3, 3]
    waits = {RetryPolicy(backoff_s=1, jitter=0.5).wait_s(1) for _ in range(20)}
    assert len(waits) > 1
    assert all(0.5 <= wait <= 1 for wait in waits)


def test_retry_after_sets_the_wait_or_prevents_the_retry():
    error = ConnectionError()
    error.retry_after = 2
    assert RetryPolicy().wait_s(1, error) == 2
    error.retry_after = 10**6
    assert RetryPolicy(max_backoff_s=5).wait_s(1, error) == inf
    error.retry_after = "soon"
    assert RetryPolicy(backoff_s=1, jitter=0).wait_s(1, error) == 1


@each_case("retry_on", [ValueError, (ValueError, KeyError), lambda error: isinstance(error, ValueError)])
def test_retry_on_takes_types_or_a_function(retry_on):
    policy = RetryPolicy(retry_on=retry_on)
    assert policy.covers(ValueError())
    assert not policy.covers(OSError())


@each_case(
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
def test_an_invalid_retry_policy_is_refused(given, error):
    with pytest.raises(error):
        RetryPolicy(**given)
