"""A session that is pickled, such as for another process."""

import pickle
from dataclasses import dataclass, replace

import pytest

from toolhaft.session import Append, Session, keep_latest, reducer, upsert_by


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


def test_pickled_session_keeps_state_and_reducers():
    session = prepared()
    arrived = sent(session)
    assert arrived.id == "s1"
    assert state(arrived) == state(session)
    assert arrived[Audit].is_log
    arrived.dispatch(AddStep("there"))
    assert (arrived[Plan].latest(), session[Plan].latest()) == (Plan(("there",)), Plan())
    assert sent(session.fork())[int].all() == tuple(range(50))


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
