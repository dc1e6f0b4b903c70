"""Forks: what is kept, what is dropped, and what happens to a view whose call is over.

Keeps the issue's *Transactions*: success commits, every failure discards, and afterwards nothing lands.
"""

import threading
from dataclasses import dataclass, replace
from functools import partial

import pytest

from tests.cases import in_case
from toolhaft.errors import CallEndedError, ReadOnlyError, SessionError
from toolhaft.session import (
    Append,
    Session,
    Upsert,
    append_all,
    keep_latest,
    reducer,
    replace_latest,
    upsert_by,
)

ENDED = "the call that this session view belongs to has ended; nothing was changed"


@dataclass(frozen=True)
class Note:
    text: str


@dataclass(frozen=True)
class Audit:
    text: str


@dataclass(frozen=True)
class AddStep:
    title: str


@dataclass(frozen=True)
class Plan:
    steps: tuple[str, ...] = ()

    @reducer(on=AddStep)
    def add_step(self, event):
        return replace(self, steps=(*self.steps, event.title))


def planned():
    session = Session()
    session[Plan].register()
    session[Plan].seed(Plan())
    session[Audit].register(keep_latest(100), log=True)
    return session


@pytest.fixture
def session():
    return planned()


WRITES = {
    "append": lambda fork: fork[Note].append(Note("late")),
    "seed": lambda fork: fork[Note].seed([]),
    "clear": lambda fork: fork[Note].clear(),
    "dispatch": lambda fork: fork.dispatch(AddStep("late")),
    "dispatcher": lambda fork: fork.dispatcher.dispatch(AddStep("late")),
    "register": lambda fork: fork[Note].register(append_all),
    "restore": lambda fork: fork.restore({"toolhaft_session": 1, "slices": []}),
    "log": lambda fork: fork[Audit].append(Audit("late")),
}


def test_fork_is_isolated_from_other_forks(session):
    fork, other = session.fork(), session.fork()
    fork[Note].append(Note("mine"))
    session[Note].append(Note("theirs"))
    assert fork[Note].all() == (Note("mine"),)
    assert session[Note].all() == (Note("theirs"),)
    assert other[Note].all() == ()


def test_commit_applies_every_change_to_the_parent(session):
    fork = session.fork()
    fork.dispatch(AddStep("one"))
    fork[Note].append(Note("a"))
    fork[Audit].append(Audit("a"))
    assert session[Plan].latest() == Plan()
    fork.commit()
    assert (session[Plan].latest(), session[Note].all(), session[Audit].all()) == (
        Plan(("one",)),
        (Note("a"),),
        (Audit("a"),),
    )


def test_discard_drops_state_and_keeps_logs(session):
    """Issue: state slices that roll back and log slices that do not."""
    fork = session.fork()
    fork.dispatch(AddStep("one"))
    fork[Note].append(Note("a"))
    fork[Audit].append(Audit("tried"))
    fork.dispatch(Audit("failed"))
    fork.discard()
    assert (session[Plan].latest(), session[Note].all()) == (Plan(), ())
    assert session[Audit].all() == (Audit("tried"), Audit("failed"))


def test_discard_keeps_logs_that_others_wrote_to_meanwhile(session):
    fork = session.fork()
    fork[Audit].append(Audit("mine"))
    session[Audit].append(Audit("theirs"))
    fork.discard()
    assert session[Audit].all() == (Audit("theirs"), Audit("mine"))


def test_discard_keeps_only_the_log_part_of_an_event(session):
    session[Audit].register(AddStep, lambda view, event: Append(Audit(event.title)))
    heard = []
    session.dispatcher.subscribe(AddStep, heard.append)
    fork = session.fork()
    inner = fork.fork()
    inner.dispatch(AddStep("one"))
    inner.discard()
    fork.commit()
    assert (session[Plan].latest(), session[Audit].all()) == (Plan(), (Audit("one"),))
    assert heard == [], "the step was not added, so nobody is told that it was"


def test_failing_log_reducer_does_not_stop_a_rollback(session, caplog):
    def fragile(view, event):
        if view.latest() == Audit("broken"):
            raise ZeroDivisionError
        return Append(Audit(event.text))

    session[Audit].register(Note, fragile)
    fork = session.fork()
    fork.dispatch(Note("mine"))
    fork[Audit].append(Audit("also mine"))
    session[Audit].append(Audit("broken"))
    fork.discard()
    assert session[Audit].all() == (Audit("broken"), Audit("also mine"))
    assert "a log could not keep the dispatch of Note" in caplog.text


def test_key_function_that_fails_for_the_parent_does_not_stop_a_rollback(session):
    session[object].append("no text")
    session[object].append(Note("a"))
    session[object].register(Note, lambda view, event: Upsert(event, "text"))
    fork = session.fork()
    fork[object].clear(lambda item: item == "no text")
    fork.dispatch(Note("a"))
    fork.discard()
    assert session[object].all() == ("no text", Note("a"))


@pytest.mark.parametrize("end", ["commit", "discard"])
def test_writes_to_an_ended_fork_raise_and_change_nothing(end):
    """Issue: a thread that outlived its timeout and writes later gets an error and changes nothing."""
    for name, write in WRITES.items():
        with in_case(name):
            session = planned()
            fork = session.fork()
            fork[Note].append(Note("a"))
            getattr(fork, end)()
            before = session.snapshot(include_logs=True)
            with pytest.raises(CallEndedError, match=ENDED):
                write(fork)
            assert session.snapshot(include_logs=True) == before
            assert fork[Note].all() == (Note("a"),), "reading goes on"


def test_second_discard_does_nothing_and_second_commit_raises(session):
    fork = session.fork()
    fork[Note].append(Note("a"))
    fork.commit()
    fork.discard()
    assert session[Note].all() == (Note("a"),)
    with pytest.raises(CallEndedError):
        fork.commit()
    dropped = session.fork()
    dropped.discard()
    dropped.discard()
    with pytest.raises(CallEndedError):
        dropped.commit()


@pytest.mark.parametrize("end", ["commit", "discard"])
def test_root_session_cannot_be_committed_or_discarded(session, end):
    with pytest.raises(SessionError, match=rf"{end}: this session is not a fork.*Fix: "):
        getattr(session, end)()


def test_lost_race_replays_writes_on_the_newest_state(session):
    """Commit compares and swaps, and replays the fork's events where it lost a race."""
    first, second = session.fork(), session.fork()
    first.dispatch(AddStep("one"))
    second.dispatch(AddStep("two"))
    second[Note].append(Note("b"))
    first[Note].append(Note("a"))
    first.commit()
    second.commit()
    assert session[Plan].latest() == Plan(("one", "two"))
    assert session[Note].all() == (Note("a"), Note("b"))


def test_replay_runs_only_reducers_of_changed_slices(session):
    runs = []
    session[int].register(str, lambda view, event: runs.append("int") or Append(1))
    fork = session.fork()
    fork.dispatch("go")
    fork.dispatch(AddStep("one"))
    session.dispatch(AddStep("zero"))
    fork.commit()
    assert session[Plan].latest() == Plan(("zero", "one"))
    assert runs == ["int"]


def test_every_kind_of_write_is_replayed(session):
    fork = session.fork()
    fork[Note].seed([Note("a"), Note("b"), Note("c")])
    fork[Note].clear(lambda note: note.text == "b")
    fork[int].register(upsert_by("real"))
    fork[int].append(1)
    fork[int].append(1)
    session[Note].append(Note("gone"))
    session[int].append(7)
    fork.commit()
    assert session[Note].all() == (Note("a"), Note("c"))
    assert session[int].all() == (7, 1)


def test_reducer_error_during_replay_cancels_the_commit(session):
    fork = session.fork()
    fork[Note].append(Note("a"))
    fork.dispatch(AddStep("one"))
    fork[Audit].append(Audit("tried"))
    session[Plan].clear()
    with pytest.raises(SessionError, match="changes the latest Plan, and there is none"):
        fork.commit()
    assert (session[Note].all(), session[Audit].all()) == ((), ())
    fork.discard()
    assert (session[Note].all(), session[Audit].all()) == ((), (Audit("tried"),))


def test_also_runs_before_the_committed_state_is_visible(session):
    seen = []
    fork = session.fork()
    fork[Note].append(Note("a"))
    fork.commit(lambda: seen.append(session[Note].all()))
    assert seen == [()]
    assert session[Note].all() == (Note("a"),)


@pytest.mark.parametrize("is_touched", [True, False])
def test_error_in_also_cancels_the_commit(session, is_touched):
    def fail():
        raise OSError("disk full")

    heard = []
    session.dispatcher.subscribe(Note, heard.append)
    fork = session.fork()
    if is_touched:
        fork.dispatch(Note("a"))
    with pytest.raises(OSError, match="disk full"):
        fork.commit(fail)
    assert (session[Note].all(), heard) == ((), [])
    fork[Note].append(Note("b"))
    fork.commit(also=lambda: None)
    assert session[Note].latest() == Note("b")


def test_also_may_not_write_to_the_committing_sessions():
    for name, write in {**WRITES, "commit": Session.commit, "discard": Session.discard}.items():
        with in_case(name):
            session = planned()
            fork = session.fork()
            fork[Note].append(Note("a"))
            for view in (session, fork) if name in WRITES else (fork,):
                with pytest.raises(SessionError, match="this session is committing a fork"):
                    fork.commit(partial(write, view))
            fork.commit()
            assert session[Note].all() == (Note("a"),)


def test_also_may_not_commit_another_fork_to_the_same_parent(session):
    fork, other = session.fork(), session.fork()
    for view in (fork, other):
        view[Note].append(Note("a"))
    with pytest.raises(SessionError, match="this session is committing a fork"):
        fork.commit(other.commit)
    assert session[Note].all() == ()
    fork.commit()
    other.commit()
    assert session[Note].all() == (Note("a"), Note("a"))


def test_also_may_commit_to_another_session(session):
    other = Session()
    beside, fork = other.fork(), session.fork()
    beside[Note].append(Note("b"))
    fork[Note].append(Note("a"))
    fork.commit(beside.commit)
    assert (session[Note].all(), other[Note].all()) == ((Note("a"),), (Note("b"),))


def test_nested_fork_commits_to_its_parent_fork(session):
    """A nested call forks the fork."""
    outer = session.fork()
    outer.dispatch(AddStep("one"))
    inner = outer.fork()
    inner.dispatch(AddStep("two"))
    assert outer[Plan].latest() == Plan(("one",))
    inner.commit()
    assert outer[Plan].latest() == Plan(("one", "two"))
    assert session[Plan].latest() == Plan()
    session.dispatch(AddStep("zero"))
    outer.commit()
    assert session[Plan].latest() == Plan(("zero", "one", "two"))


def test_later_writes_do_not_appear_in_an_earlier_nested_fork(session):
    outer = session.fork()
    outer[Note].append(Note("a"))
    inner = outer.fork()
    outer[Note].append(Note("b"))
    assert inner[Note].all() == (Note("a"),)


def test_discarding_the_outer_fork_drops_nested_commits(session):
    outer = session.fork()
    inner = outer.fork()
    inner[Note].append(Note("a"))
    inner[Audit].append(Audit("a"))
    inner.commit()
    outer.discard()
    assert (session[Note].all(), session[Audit].all()) == ((), (Audit("a"),))


def test_fork_of_an_ended_parent_cannot_commit(session):
    outer = session.fork()
    inner, other = outer.fork(), outer.fork()
    for fork in (inner, other):
        fork[Note].append(Note("a"))
        fork[Audit].append(Audit("a"))
    outer.discard()
    with pytest.raises(CallEndedError, match=ENDED):
        inner.commit()
    inner.discard()
    other.discard()
    late = outer.fork()
    with pytest.raises(CallEndedError, match=ENDED):
        late[Note].append(Note("late"))
    assert (session[Note].all(), session[Audit].all()) == ((), ())


def test_read_only_fork_accepts_only_writes_to_logs():
    told = "this call may only read: its tool declares effect='read'"
    for name in WRITES.keys() - {"log"}:
        with in_case(name):
            session, write = planned(), WRITES[name]
            fork = session.fork(read_only=True)
            for view in (fork, fork.fork()):
                with pytest.raises(ReadOnlyError, match=told):
                    write(view)
                view[Audit].append(Audit("read"))
            with pytest.raises(ReadOnlyError, match="ask first"):
                write(session.fork(read_only=True, read_only_reason="ask first"))
            fork.commit()
            assert (session[Plan].latest(), session[Note].all()) == (Plan(), ())
            assert session[Audit].all() == (Audit("read"),)


def test_subscribers_receive_the_events_of_a_fork_at_commit_in_order(session):
    heard = []
    outer = session.fork()
    outer.dispatcher.subscribe(object, heard.append)
    outer.dispatch(Note("a"))
    inner = outer.fork()
    inner.dispatch(Note("b"))
    inner.dispatch(Audit("c"))
    inner.commit()
    outer.dispatch(AddStep("d"))
    assert heard == []
    outer.commit()
    assert heard == [Note("a"), Note("b"), Audit("c"), AddStep("d")]


def test_discarded_fork_notifies_only_log_events(session):
    heard = []
    session.dispatcher.subscribe(object, heard.append)
    fork = session.fork()
    fork.dispatch(Note("a"))
    fork.dispatch(Audit("b"))
    fork.discard()
    assert heard == [Audit("b")]


def test_reducers_registered_in_a_fork_are_committed_or_dropped_with_it(session):
    changes = []
    session.dispatcher.on_change(lambda: changes.append(1))
    dropped, kept = session.fork(), session.fork()
    for fork in (dropped, kept):
        fork[Note].register(replace_latest)
        fork[Note].append(Note("a"))
        fork[Note].append(Note("b"))
        assert fork[Note].all() == (Note("b"),)
    dropped.discard()
    assert (session.has_listener(Note), changes) == (False, [])
    kept.commit()
    assert (session.has_listener(Note), changes) == (True, [1])
    session[Note].append(Note("c"))
    assert session[Note].all() == (Note("c"),)


def test_log_registered_in_a_fork_survives_discard_with_its_items(session):
    fork = session.fork()
    fork[Note].register(log=True)
    fork[Note].append(Note("tried"))
    fork.discard()
    assert session[Note].is_log
    assert session[Note].all() == (Note("tried"),)


def test_a_slice_can_stop_being_a_log(session):
    session[Audit].register(log=False)
    fork = session.fork()
    fork[Audit].append(Audit("a"))
    fork.discard()
    assert (session[Audit].is_log, session[Audit].all()) == (False, ())


def test_write_in_progress_at_the_end_raises_and_does_not_block_it(session):
    """Issue: the fork is revoked under its write lock, so that nothing lands after the rollback."""
    entered, go_on = threading.Event(), threading.Event()
    outcomes = []

    def slow(view, event):
        entered.set()
        go_on.wait(10)
        return Append(1)

    def handler():
        try:
            fork.dispatch("go")
        except CallEndedError as error:
            outcomes.append(str(error))

    session[int].register(str, slow)
    fork = session.fork()
    thread = threading.Thread(target=handler)
    thread.start()
    assert entered.wait(10)
    fork.discard()
    go_on.set()
    thread.join(10)
    assert outcomes == [ENDED]
    assert (fork[int].all(), session[int].all()) == ((), ())


def test_write_from_a_finalizer_during_a_write_is_not_lost(session):
    class Dying:
        def __del__(self):
            session[Note].append(Note("last words"))

    dying = [Dying()]

    class Key:
        def __hash__(self):
            dying.clear()  # as the garbage collector may at any time
            return 1

    session[Note].register(upsert_by("text"))
    session[Note].append(Note("a"))
    session[Note].append(Note(Key()))
    texts = [note.text for note in session[Note]]
    assert texts[:2] == ["a", "last words"]
    assert len(texts) == 3
