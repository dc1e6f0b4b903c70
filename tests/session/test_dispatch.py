"""Events: their slices, their subscribers, and callbacks for changed subscriptions."""

import gc
import logging
import weakref
from dataclasses import dataclass

import pytest

from toolhaft.errors import SessionError
from toolhaft.session import Append, Session, append_all, replace_latest


@dataclass(frozen=True)
class Happened:
    what: str = ""


@dataclass(frozen=True)
class Failed(Happened):
    pass


def test_event_without_a_reducer_is_appended_to_its_slice():
    """Issue: a type with no reducer is appended to its own slice."""
    session = Session()
    session.dispatch(Happened("a"))
    session.dispatcher.dispatch(Failed("b"))
    assert (session[Happened].all(), session[Failed].all()) == ((Happened("a"),), (Failed("b"),))


def test_subscribers_are_called_after_the_state_changed():
    session = Session()
    seen = []
    session.dispatcher.subscribe(Happened, lambda event: seen.append((event, session[Happened].latest())))
    session.dispatch(Happened("a"))
    assert seen == [(Happened("a"), Happened("a"))]


def test_append_does_not_notify_subscribers():
    session = Session()
    heard = []
    session.dispatcher.subscribe(Happened, heard.append)
    session[Happened].append(Happened("a"))
    assert heard == []


def test_subscribers_of_a_base_type_receive_derived_events_in_order():
    session = Session()
    heard = []
    session.dispatcher.subscribe(Failed, lambda event: heard.append("failed"))
    session.dispatcher.subscribe(object, lambda event: heard.append("object"))
    session.dispatcher.subscribe(Happened, lambda event: heard.append("happened"))
    session.dispatch(Happened())
    assert heard == ["object", "happened"]
    session.dispatch(Failed())
    assert heard[2:] == ["failed", "object", "happened"]


def test_subscription_ends_by_its_returned_function_or_unsubscribe():
    session = Session()
    heard = []
    undo = session.dispatcher.subscribe(Happened, heard.append)
    session.dispatcher.subscribe(Happened, heard.append)
    session.dispatch(Happened("a"))
    assert len(heard) == 2, "each subscription counts"
    undo()
    undo()
    session.dispatch(Happened("b"))
    assert len(heard) == 3
    assert session.dispatcher.unsubscribe(Happened, heard.append)
    assert not session.dispatcher.unsubscribe(Happened, heard.append)
    assert not session.dispatcher.unsubscribe(object, heard.append)
    session.dispatch(Happened("c"))
    assert len(heard) == 3


def test_failing_subscriber_is_logged_and_changes_no_outcome(caplog):
    """A subscriber that raises is isolated, reported, and changes no outcome."""

    def fail(event):
        raise ZeroDivisionError

    session = Session()
    heard = []
    session.dispatcher.subscribe(Happened, fail)
    session.dispatcher.subscribe(Happened, heard.append)
    with caplog.at_level(logging.ERROR, logger="toolhaft"):
        session.dispatch(Happened("a"))
    assert heard == [Happened("a")]
    assert session[Happened].all() == (Happened("a"),)
    (record,) = caplog.records
    assert record.name == "toolhaft"
    assert record.exc_info[0] is ZeroDivisionError
    assert "fail" in record.getMessage()
    assert "Happened" in record.getMessage()


def test_system_exit_of_a_subscriber_propagates():
    def stop(event):
        raise KeyboardInterrupt

    session = Session()
    session.dispatcher.subscribe(Happened, stop)
    with pytest.raises(KeyboardInterrupt):
        session.dispatch(Happened("a"))


def test_subscriber_may_dispatch_and_write():
    session = Session()
    heard = []

    def answer(event):
        heard.append(event)
        if event.what < "d":
            session.dispatch(Happened(chr(ord(event.what) + 1)))
            session[str].append(event.what)

    session.dispatcher.subscribe(Happened, answer)
    session.dispatch(Happened("a"))
    assert heard == [Happened(what) for what in "abcd"]
    assert session[Happened].all() == tuple(heard)
    assert session[str].all() == ("c", "b", "a")


def test_subscribing_during_notification_does_not_repeat_the_event():
    session = Session()
    heard = []
    session.dispatcher.subscribe(Happened, lambda event: session.dispatcher.subscribe(Happened, heard.append))
    session.dispatch(Happened("a"))
    assert heard == []


async def wait(event):
    return None


@pytest.mark.parametrize(
    ("event_type", "subscriber", "message"),
    [
        ("Happened", print, "is not an event type"),
        (Happened, 3, r"3 cannot receive Happened\. Fix: give a plain function"),
        (Happened, wait, "cannot receive Happened"),
    ],
)
def test_invalid_subscription_is_refused_with_a_fix(event_type, subscriber, message):
    with pytest.raises(SessionError, match=message):
        Session().dispatcher.subscribe(event_type, subscriber)


def test_subscription_is_not_a_reducer():
    session = Session()
    session.dispatcher.subscribe(Failed, lambda _: None)
    assert (session.has_listener(Failed), session.reduces(Failed)) == (True, False)
    session[Failed].register(append_all)
    assert session.reduces(Failed)


def test_hears_reports_whether_there_is_a_subscriber():
    session = Session()
    assert not session.dispatcher.has_listener(Failed)
    assert not session.has_listener(Failed)
    undo = session.dispatcher.subscribe(Happened, print)
    assert session.dispatcher.has_listener(Failed)
    assert session.has_listener(Failed)
    assert not session.dispatcher.has_listener(object)
    undo()
    assert not session.has_listener(Failed)


def test_hears_includes_registered_and_reduced_types():
    session = Session()
    session[Happened].register(append_all)
    session[int].register(str, lambda view, event: Append(1))
    assert session.has_listener(Happened)
    assert session.has_listener(Failed)
    assert session.has_listener(str)
    assert session.has_listener(int)
    assert not session.has_listener(float)
    assert not session.dispatcher.has_listener(Happened)


def test_on_change_is_called_for_subscriptions_and_registrations():
    session = Session()
    calls = []
    undo = session.dispatcher.on_change(lambda: calls.append("change"))
    stop = session.dispatcher.subscribe(Happened, print)
    assert len(calls) == 1
    session[int].register(replace_latest)
    assert len(calls) == 2
    stop()
    assert len(calls) == 3
    session.dispatch(1)
    session[int].append(2)
    assert len(calls) == 3
    undo()
    session[int].register(append_all)
    assert len(calls) == 3


class Executor:
    def __init__(self, session):
        self.changes = 0
        session.dispatcher.on_change(self.compose)

    def compose(self):
        self.changes += 1


def test_bound_callback_is_held_weakly():
    session = Session()
    executor = Executor(session)
    session[int].register(append_all)
    assert executor.changes == 1
    gone = weakref.ref(executor)
    del executor
    gc.collect()
    assert gone() is None
    session[int].register(append_all)


def test_failing_callback_is_logged_and_others_are_called(caplog):
    session = Session()
    calls = []
    session.dispatcher.on_change(lambda: 1 / 0)
    session.dispatcher.on_change(lambda: calls.append(1))
    session[int].register(append_all)
    assert calls == [1]
    assert "failed on a change" in caplog.text


def test_mutable_event_is_stored_as_a_copy():
    """Threats: aliasing of mutable values."""
    session = Session()
    event = {"a": 1}
    heard = []
    session.dispatcher.subscribe(dict, heard.append)
    session.dispatch(event)
    event["a"] = 2
    heard[0]["a"] = 3
    assert session[dict].latest() == {"a": 1}


def test_a_reducer_cannot_change_the_event_that_others_see():
    def spoil(view, event):
        event["a"] = "spoilt"

    session = Session()
    session[str].register(dict, spoil)
    session[int].register(dict, lambda view, event: Append(event["a"]))
    heard = []
    session.dispatcher.subscribe(dict, heard.append)
    fork = session.fork()
    fork.dispatch({"a": 1})
    fork.commit()
    assert session[int].all() == (1,)
    assert heard == [{"a": 1}]


@pytest.mark.parametrize("given", [Happened, None])
def test_class_or_none_is_not_an_event(given):
    session = Session()
    with pytest.raises(SessionError, match=r"is not an event\. Fix: dispatch"):
        session.dispatch(given)
    assert session.snapshot() == Session().snapshot()
