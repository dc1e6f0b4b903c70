"""A session in another process, and its writes on the way back."""

import pickle
from dataclasses import dataclass, replace

import pytest

from toolhaft.errors import ReadOnlyError, SessionError
from toolhaft.session import Append, Session, append_all, keep_latest, reducer, upsert_by


@dataclass(frozen=True)
class AddStep:
    title: str


@dataclass(frozen=True)
class Audit:
    text: str


@dataclass(frozen=True)
class Plan:
    steps: tuple[str, ...] = ()

    @reducer(on=AddStep)
    def add_step(self, event):
        return replace(self, steps=(*self.steps, event.title))


def is_odd(number):
    return number % 2


@reducer(on=AddStep)
def audit_step(view, event):
    return Append(Audit(event.title))


def prepared():
    session = Session(id="s1")
    session[Plan].register()
    session[Plan].seed(Plan())
    session[Audit].register(keep_latest(9), log=True)
    session[Audit].register(audit_step)
    session[int].register(upsert_by("real"))
    session[int].seed(range(50))
    session[tuple].seed(iter([(1, 2)]))
    return session


def sent(thing):
    return pickle.loads(pickle.dumps(thing))  # noqa: S301 -- our own bytes


KINDS = (Plan, Audit, int, str, tuple, list)


def state(session):
    return {kind: session[kind].all() for kind in KINDS}


def work(fork):
    fork.dispatch(AddStep("one"))
    fork[int].append(3)
    fork[int].clear(is_odd)
    fork[str].register(append_all, log=True)
    fork[str].append("a")
    fork[tuple].seed(iter([(3, 4), (5,)]))
    fork[list].seed(iter([[1]]))
    inner = fork.fork()
    inner.dispatch(AddStep("dropped"))
    inner.discard()


def test_pickled_session_keeps_state_and_reducers():
    session = prepared()
    arrived = sent(session)
    assert arrived.id == "s1"
    assert state(arrived) == state(session)
    assert arrived[Audit].is_log
    arrived.dispatch(AddStep("there"))
    assert (arrived[Plan].latest(), session[Plan].latest()) == (Plan(("there",)), Plan())
    assert sent(session.fork())[int].all() == tuple(range(50))


def test_redo_applies_changes_with_local_reducers():
    session = prepared()
    there = sent(session).fork()
    work(there)
    changes = sent(there.changes())
    session.dispatch(AddStep("zero"))
    fork = session.fork()
    heard = []
    session.dispatcher.subscribe(AddStep, heard.append)
    fork.redo(changes)
    assert session[Plan].latest() == Plan(("zero",))
    fork.commit()
    assert session[Plan].latest() == Plan(("zero", "one"))
    assert session[Audit].all() == (Audit("zero"), Audit("one"), Audit("dropped"))
    assert session[int].all() == tuple(range(0, 50, 2))
    assert (session[str].all(), session[str].is_log) == (("a",), True)
    assert (session[tuple].all(), session[list].all()) == (((3, 4), (5,)), ([1],))
    assert heard == [AddStep("one")]


def test_redo_is_atomic():
    session = prepared()
    before = state(session)
    with pytest.raises(SessionError, match="holds items of type int"):
        session.redo([("append", int, 99), ("append", int, "text")])
    with pytest.raises(ReadOnlyError):
        session.fork(read_only=True).redo([("append", int, 99)])
    assert state(session) == before
    session.redo([])
    assert session.changes() == ()


def test_session_with_a_lambda_reducer_cannot_be_pickled():
    session = Session()
    session[int].register(str, lambda view, event: Append(1))
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(session)


def test_repeated_registrations_are_pickled_once():
    session = prepared()
    for _ in range(3):
        session[Plan].register()
        session[Audit].register(audit_step)
    arrived = sent(session)
    arrived.dispatch(AddStep("one"))
    assert (arrived[Plan].latest(), arrived[Audit].all()) == (Plan(("one",)), (Audit("one"),))
