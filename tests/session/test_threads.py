"""Several threads on one session: no update is lost, and nothing lands after the end.

`TOOLHAFT_LONG=1` makes these run a hundred times longer.
"""

import os
import random
import sys
import threading
from dataclasses import dataclass, replace

import pytest

from toolhaft.errors import CallEndedError
from toolhaft.session import Session, keep_latest, reducer, upsert_by
from toolhaft.session.persistent_vector import PersistentVector

ROUNDS = 100 if os.environ.get("TOOLHAFT_LONG") else 1
THREADS = 4


@dataclass(frozen=True)
class Item:
    id: int
    by: int


@dataclass(frozen=True)
class Mark:
    by: int
    number: int


@dataclass(frozen=True)
class Add:
    amount: int


@dataclass(frozen=True)
class Total:
    amount: int = 0

    @reducer(on=Add)
    def add(self, event):
        return replace(self, amount=self.amount + event.amount)


@pytest.fixture(autouse=True)
def _switch_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def run(*jobs):
    """All jobs at once; the first failure of any is the test's."""
    failures = []
    start = threading.Barrier(len(jobs))

    def guarded(job):
        start.wait()
        try:
            job()
        except BaseException as error:  # noqa: BLE001 -- to be raised by the test itself
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for failure in failures:
        raise failure


def prepared():
    session = Session()
    session[Total].register()
    session[Total].seed(Total())
    session[Item].register(upsert_by("id"))
    session[Item].seed(Item(number, -1) for number in range(40))
    session[Mark].register(keep_latest(1_000_000), log=True)
    return session


def test_concurrent_updates_are_not_lost():
    calls = 1_000 * ROUNDS
    session = prepared()
    heard = []
    lock = threading.Lock()

    def hear(event):
        with lock:
            heard.append(event)

    session.dispatcher.subscribe(Add, hear)
    committed = [0] * THREADS

    def worker(me):
        chance = random.Random(me)  # noqa: S311 -- no secret
        for number in range(calls):
            if chance.random() < 0.2:
                session.dispatch(Add(1))
                committed[me] += 1
                continue
            fork = session.fork()
            fork[Mark].append(Mark(me, number))
            fork.dispatch(Add(1))
            inner = fork.fork()
            inner.dispatch(Add(1))
            inner[Item].append(Item(chance.randrange(60), me))
            inner.commit() if chance.random() < 0.8 else inner.discard()
            if chance.random() < 0.7:
                committed[me] += fork[Total].latest().amount - committed_before(fork, inner)
                fork.commit()
            else:
                fork.discard()

    def committed_before(fork, inner):
        # what the fork started from: its own event, and the inner one's where that was committed
        own = 1 + (inner[Total].latest().amount == fork[Total].latest().amount)
        return fork[Total].latest().amount - own

    run(*[lambda me=me: worker(me) for me in range(THREADS)])
    assert session[Total].all() == (Total(sum(committed)),)
    assert len(heard) == sum(committed)
    ids = [item.id for item in session[Item]]
    assert len(ids) == len(set(ids)), "an upsert never adds a second item with a key"
    marks = session[Mark].all()
    assert len(marks) == len(set(marks))
    for me in range(THREADS):
        numbers = [mark.number for mark in marks if mark.by == me]
        assert numbers == sorted(numbers), "a thread's log is in its order"


def test_concurrent_write_is_committed_or_raises():
    for number in range(150 * ROUNDS):
        session = prepared()
        fork = session.fork()
        landed = []

        def write(fork=fork, landed=landed):
            try:
                for place in range(1_000):
                    fork[Mark].append(Mark(0, place))
                    landed.append(place)
            except CallEndedError:
                pass

        run(write, fork.commit if number % 2 else fork.discard)
        assert [mark.number for mark in session[Mark]] == landed


def test_index_built_by_several_threads_misses_no_key():
    for _ in range(30 * ROUNDS):
        base = PersistentVector.of(Item(number, 0) for number in range(200))
        results = {}

        def upsert(me, base=base, results=results):
            vector = base
            for number in range(1_000 + me, 1_020 + me):
                vector = vector.upsert(Item(number, me), "id").upsert(Item(number, me + 1), "id")
            results[me] = vector

        run(*[lambda me=me: upsert(me) for me in range(THREADS)])
        for me, vector in results.items():
            assert [item.id for item in vector] == [*range(200), *range(1_000 + me, 1_020 + me)]


def test_subscriptions_may_change_during_notifications():
    session = Session()
    heard = []

    def subscribe():
        for _ in range(200 * ROUNDS):
            session.dispatcher.subscribe(Add, heard.append)()

    def dispatch():
        for _ in range(200 * ROUNDS):
            session.dispatch(Add(1))

    run(subscribe, subscribe, dispatch, dispatch)
    before = len(heard)
    session.dispatch(Add(1))
    assert len(heard) == before
    assert not session.dispatcher.has_listener(Add)
    assert len(session[Add]) == 400 * ROUNDS + 1


def test_reducers_run_under_the_lock_after_too_many_lost_races():
    """Somebody else is always faster, until nobody else can be."""
    session = prepared()
    runs, others = [], []

    def overtaken(view, event):
        runs.append(event)
        others.append(threading.Thread(target=session[Item].append, args=(Item(len(runs), 9),)))
        others[-1].start()
        if len(runs) <= 8:
            others[-1].join()
        return Total(view.latest().amount + 1)

    session[Total].register(str, overtaken)
    session.dispatch("go")
    assert len(runs) == 9
    fork = session.fork()
    runs.clear()
    fork.dispatch("go")
    session.dispatch(Add(1))
    runs.clear()
    fork.commit()
    assert len(runs) == 9
    for other in others:
        other.join()
    assert session[Total].latest() == Total(3)
    assert {item.id for item in session[Item]} == set(range(40))
