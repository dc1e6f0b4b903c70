"""What every call is told of: one ToolInvoked each, with what a log needs, whatever happens."""

from dataclasses import dataclass

from tests.cases import each_case
from tests.execute.calls import both_ways, call, each_way, hear
from tests.execute.defined_tools import aadd, add, fail
from toolhaft import (
    Session,
    ToolCall,
    ToolContext,
    ToolExecutor,
    ToolInvoked,
    reducer,
    tool,
)
from toolhaft.execute.steps import watch


@each_way
def test_every_call_has_one_event(run):
    executor = ToolExecutor([add, aadd, fail])
    events = hear(executor)
    run(executor, call("add", id="1", a=1))
    run(executor, call("fail", id="2"))
    run(executor, call("ad", id="3"))
    run(executor, call("aadd", id="4", b=1))
    assert [(event.call_id, event.tool, event.success, event.kind) for event in events] == [
        ("1", "add", True, None),
        ("2", "fail", False, "failed"),
        ("3", "ad", False, "unknown_tool"),
        ("4", "aadd", False, "invalid_arguments"),
    ]


def test_an_event_holds_what_a_log_needs():
    executor = ToolExecutor([add.replace(version="2", effect="read")])
    events = hear(executor)
    executor.execute(call("add", id="c1", a=1, b=2))
    (event,) = events
    assert event.version == "2"
    assert event.arguments == '{"a":1,"b":2}'
    assert (event.effect, event.outcome, event.attempt, event.is_replay) == ("read", "done", 1, False)
    assert event.duration_s >= 0
    assert event.started_at > 1e9
    assert event.event_id
    assert event.run_id
    assert event.session_id == executor.session.id
    assert event.parent_id is None


def test_event_ids_differ_and_runs_are_told_apart():
    executor = ToolExecutor([add])
    events = hear(executor)
    executor.execute(call("add", a=1))
    executor.execute(call("add", a=1))
    executor.new_run()
    executor.execute(call("add", a=1))
    assert len({event.event_id for event in events}) == 3
    assert [event.run_id == events[0].run_id for event in events] == [True, True, False]


@both_ways
@each_case("outer_name", ["with_context", "without_context"])
def test_the_event_of_a_nested_call_names_the_call_around_it(run, outer_name):
    """`ToolInvoked.parent_id`: the event of the call from whose handler this one was made."""

    @tool
    def with_context(a: int, context: ToolContext) -> int:
        """Add, nested."""
        return executor.execute(call("add", a=a)).value

    @tool
    def without_context(a: int) -> int:
        """Add, nested."""
        return executor.execute(call("add", a=a)).value

    executor = ToolExecutor([with_context, without_context, add])
    events = hear(executor)
    assert run(executor, call(outer_name, a=1)).value == 2
    inner, around = events
    assert (inner.tool, inner.parent_id) == ("add", around.event_id)
    assert around.parent_id is None


def test_a_subscriber_that_raises_changes_no_outcome(caplog):
    """A subscriber that raises is isolated, reported, and changes no outcome."""
    executor = ToolExecutor([add])
    heard = hear(executor)

    def broken(event):
        raise RuntimeError("subscriber is broken")

    executor.session.dispatcher.subscribe(ToolInvoked, broken)
    assert executor.execute(call("add", a=1)).value == 2
    assert len(heard) == 1
    assert "subscriber is broken" in caplog.text


def test_a_reducer_of_calls_that_raises_changes_no_outcome(caplog):
    """A call never raises; it returns a result."""

    @dataclass(frozen=True)
    class Count:
        n: int

    @reducer(on=ToolInvoked)
    def broken(state, event):
        raise RuntimeError("reducer is broken")

    session = Session()
    session[Count].register(broken)
    assert ToolExecutor([add], session=session).execute(call("add", a=1)).value == 2
    assert "reducer is broken" in caplog.text


def test_a_late_subscriber_gets_later_calls():
    """A chain is composed again when a subscriber changes."""
    executor = ToolExecutor([add])
    executor.execute(call("add", a=1))
    events = hear(executor)
    executor.execute(call("add", a=2))
    assert [event.arguments for event in events] == ['{"a":2,"b":1}']


def test_a_session_keeps_its_newest_calls_only(monkeypatch):
    """docs/watching.md: a session that is given to an executor keeps the newest 1,000."""
    assert watch.MOST_LOGGED == 1000
    monkeypatch.setattr(watch, "MOST_LOGGED", 5)
    session = Session()
    executor = ToolExecutor([add], session=session)
    for n in range(8):
        executor.execute(ToolCall(id=str(n), name="add", arguments={"a": n, "b": 0}))
    assert [event.call_id for event in session[ToolInvoked]] == ["3", "4", "5", "6", "7"]
