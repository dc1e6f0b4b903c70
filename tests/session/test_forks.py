"""Forks: what is kept, what is dropped, and what happens to a view whose call is over.

Keeps the issue's *Transactions*: success commits, every failure discards, and afterwards nothing lands.
"""

import threading
from dataclasses import dataclass, replace

import pytest

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


@pytest.fixture
def session():
    session = Session()
    session[Plan].register()
    session[Plan].seed(Plan())
    session[Audit].register(keep_latest(100), log=True)
    return session


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


def test_a_fork_shows_its_own_writes_and_nobody_elses(session):
    fork, other = session.fork(), session.fork()
    fork[Note].append(Note("mine"))
    session[Note].append(Note("theirs"))
    assert fork[Note].all() == (Note("mine"),)
    assert session[Note].all() == (Note("theirs"),)
    assert other[Note].all() == ()


def test_commit_gives_every_change_to_the_parent(session):
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


def test_a_log_is_kept_also_where_others_wrote_to_it_meanwhile(session):
    fork = session.fork()
    fork[Audit].append(Audit("mine"))
    session[Audit].append(Audit("theirs"))
    fork.discard()
    assert session[Audit].all() == (Audit("theirs"), Audit("mine"))


def test_of_an_event_for_a_plan_and_a_log_only_the_log_is_kept(session):
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


def test_a_log_reducer_that_raises_does_not_stop_a_rollback(session, caplog):
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


def test_a_key_that_only_the_fork_could_tell_does_not_stop_a_rollback(session):
    session[object].append("no text")
    session[object].append(Note("a"))
    session[object].register(Note, lambda view, event: Upsert(event, "text"))
    fork = session.fork()
    fork[object].clear(lambda item: item == "no text")
    fork.dispatch(Note("a"))
    fork.discard()
    assert session[object].all() == ("no text", Note("a"))


@pytest.mark.parametrize("end", ["commit", "discard"])
@pytest.mark.parametrize("write", WRITES)
def test_after_the_end_every_write_raises_and_changes_nothing(session, end, write):
    """Issue: a thread that outlived its timeout and writes later gets an error and changes nothing."""
    fork = session.fork()
    fork[Note].append(Note("a"))
    getattr(fork, end)()
    before = session.snapshot(include_logs=True)
    with pytest.raises(CallEndedError, match=ENDED):
        WRITES[write](fork)
    assert session.snapshot(include_logs=True) == before
    assert fork[Note].all() == (Note("a"),), "reading goes on"


def test_the_end_can_be_said_twice_by_discard_and_once_by_commit(session):
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
def test_only_a_fork_is_committed_or_discarded(session, end):
    with pytest.raises(SessionError, match=rf"{end}: this session is no fork.*Fix: "):
        getattr(session, end)()


def test_a_race_that_is_lost_is_run_again_on_the_newest_state(session):
    """DESIGN: commit compares and swaps, and replays the fork's events where it lost a race."""
    first, second = session.fork(), session.fork()
    first.dispatch(AddStep("one"))
    second.dispatch(AddStep("two"))
    second[Note].append(Note("b"))
    first[Note].append(Note("a"))
    first.commit()
    second.commit()
    assert session[Plan].latest() == Plan(("one", "two"))
    assert session[Note].all() == (Note("a"), Note("b"))


def test_reducers_run_again_only_for_slices_that_changed(session):
    runs = []
    session[int].register(str, lambda view, event: runs.append("int") or Append(1))
    fork = session.fork()
    fork.dispatch("go")
    fork.dispatch(AddStep("one"))
    session.dispatch(AddStep("zero"))
    fork.commit()
    assert session[Plan].latest() == Plan(("zero", "one"))
    assert runs == ["int"]


def test_every_kind_of_write_is_run_again(session):
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


def test_a_reducer_that_raises_when_run_again_undoes_the_commit(session):
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


def test_what_comes_along_with_a_commit_runs_before_anybody_sees_the_state(session):
    seen = []
    fork = session.fork()
    fork[Note].append(Note("a"))
    fork.commit(lambda: seen.append(session[Note].all()))
    assert seen == [()]
    assert session[Note].all() == (Note("a"),)


@pytest.mark.parametrize("is_touched", [True, False])
def test_where_what_comes_along_raises_nothing_is_changed(session, is_touched):
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


@pytest.mark.parametrize("write", [*WRITES, "commit", "discard"])
def test_what_comes_along_may_not_write_to_what_is_being_committed(session, write):
    fork = session.fork()
    fork[Note].append(Note("a"))
    inside = WRITES.get(write) or (lambda view: getattr(view, write)())
    for view in (session, fork) if write in WRITES else (fork,):
        with pytest.raises(SessionError, match="taking over the changes of a fork"):
            fork.commit(lambda view=view: inside(view))
    fork.commit()
    assert session[Note].all() == (Note("a"),)


def test_what_comes_along_may_not_commit_another_fork_to_the_same_parent(session):
    fork, other = session.fork(), session.fork()
    for view in (fork, other):
        view[Note].append(Note("a"))
    with pytest.raises(SessionError, match="taking over the changes of a fork"):
        fork.commit(other.commit)
    assert session[Note].all() == ()
    fork.commit()
    other.commit()
    assert session[Note].all() == (Note("a"), Note("a"))


def test_what_comes_along_may_commit_to_another_session(session):
    other = Session()
    beside, fork = other.fork(), session.fork()
    beside[Note].append(Note("b"))
    fork[Note].append(Note("a"))
    fork.commit(beside.commit)
    assert (session[Note].all(), other[Note].all()) == ((Note("a"),), (Note("b"),))


def test_a_fork_of_a_fork_commits_to_the_fork(session):
    """DESIGN: a nested call forks the fork."""
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


def test_a_later_write_of_a_fork_does_not_show_in_a_fork_that_was_made_before(session):
    outer = session.fork()
    outer[Note].append(Note("a"))
    inner = outer.fork()
    outer[Note].append(Note("b"))
    assert inner[Note].all() == (Note("a"),)


def test_a_discarded_outer_fork_takes_what_was_committed_to_it_along(session):
    outer = session.fork()
    inner = outer.fork()
    inner[Note].append(Note("a"))
    inner[Audit].append(Audit("a"))
    inner.commit()
    outer.discard()
    assert (session[Note].all(), session[Audit].all()) == ((), (Audit("a"),))


def test_a_fork_whose_parent_has_ended_lands_nowhere(session):
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


@pytest.mark.parametrize("write", [name for name in WRITES if name != "log"])
def test_a_read_only_fork_refuses_every_write_but_to_logs(session, write):
    """DESIGN, effect `read`: its fork is read-only."""
    fork = session.fork(read_only=True)
    for view in (fork, fork.fork()):
        with pytest.raises(ReadOnlyError, match="this call may only read: its tool declares effect='read'"):
            WRITES[write](view)
        view[Audit].append(Audit("read"))
    with pytest.raises(ReadOnlyError, match="ask first"):
        WRITES[write](session.fork(read_only=True, read_only_reason="ask first"))
    fork.commit()
    assert (session[Plan].latest(), session[Note].all()) == (Plan(), ())
    assert session[Audit].all() == (Audit("read"),)


def test_subscribers_hear_the_events_of_a_fork_in_order_when_they_become_true(session):
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


def test_of_a_discarded_fork_only_log_events_are_heard(session):
    heard = []
    session.dispatcher.subscribe(object, heard.append)
    fork = session.fork()
    fork.dispatch(Note("a"))
    fork.dispatch(Audit("b"))
    fork.discard()
    assert heard == [Audit("b")]


def test_reducers_registered_through_a_fork_come_and_go_with_it(session):
    changes = []
    session.dispatcher.on_change(lambda: changes.append(1))
    dropped, kept = session.fork(), session.fork()
    for fork in (dropped, kept):
        fork[Note].register(replace_latest)
        fork[Note].append(Note("a"))
        fork[Note].append(Note("b"))
        assert fork[Note].all() == (Note("b"),)
    dropped.discard()
    assert (session.hears(Note), changes) == (False, [])
    kept.commit()
    assert (session.hears(Note), changes) == (True, [1])
    session[Note].append(Note("c"))
    assert session[Note].all() == (Note("c"),)


def test_a_log_registered_through_a_fork_is_kept_with_what_is_in_it(session):
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


def test_a_write_that_is_under_way_at_the_end_raises_and_the_end_does_not_wait_for_it(session):
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


def test_a_finalizer_that_writes_in_the_middle_of_a_write_loses_nothing(session):
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
