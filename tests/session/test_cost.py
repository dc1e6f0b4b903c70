"""What a transaction costs does not grow with the state; counted, so that it holds on any machine.

Keeps the issue's *How fast*: at most 1.3 times as much on 100,000 items as on ten, rollback likewise.
"""

import gc
import sys
import weakref
from dataclasses import dataclass
from functools import cache

import pytest

from toolhaft.session import Append, Extend, Session, Upsert, keep_latest, upsert_by
from toolhaft.session.persistent_vector import KeyIndex, PersistentVector


@dataclass(frozen=True)
class Item:
    id: int
    text: str = ""


def calls_in(work):
    """How many functions, Python's and C's, a piece of work calls."""
    total = 0

    def count(frame, event, argument):
        nonlocal total
        total += event in ("call", "c_call")

    gc.disable()  # a collection calls the finalizers of other tests' objects
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return total


@cache
def prepared(size):
    """A session with that many items, for all tests: each changes two of them at most."""
    session = Session()
    session[Item].register(upsert_by("id"))
    session[Item].seed(Item(number) for number in range(size))
    return session


def transaction(session, end):
    number = len(session[Item])

    def work():
        fork = session.fork()
        fork[Item].latest()
        fork[Item].append(Item(number))
        fork[Item].append(Item(number // 2, "new"))
        getattr(fork, end)()

    return work


@pytest.mark.parametrize("end", ["commit", "discard"])
def test_cost_of_a_transaction_does_not_grow_with_the_items(end):
    costs = []
    for size in (10, 100_000):
        session = prepared(size)
        transaction(session, "discard")()  # the first one makes the index
        costs.append(calls_in(transaction(session, end)))
    few, many = costs
    assert many <= 1.25 * few


def test_unused_fork_costs_a_few_calls():
    session = prepared(100_000)
    assert calls_in(lambda: session.fork().commit()) <= 15
    assert calls_in(lambda: session.fork().discard()) <= 15


def test_index_built_by_a_discarded_fork_is_reused():
    session = Session()
    session[Item].seed(Item(number) for number in range(2_000))
    session[Item].register(str, lambda view, event: [Append(Item(-1)), Upsert(Item(7, event), "id")])

    def work():
        fork = session.fork()
        fork.dispatch("x")
        fork.discard()

    assert calls_in(work) > 2_000
    assert calls_in(work) < 200


def test_discarded_forks_do_not_add_cost():
    """Each leaves a key in the index that no state has; now and then that is swept out, for all at once."""
    session = prepared(300)
    transaction(session, "discard")()
    total = 0
    for number in range(1_000):
        fork = session.fork()
        total += calls_in(lambda fork=fork, number=number: fork[Item].append(Item(10_000 + number)))
        fork.discard()
    assert total < 1_000 * 60


def test_index_does_not_grow_with_discarded_versions():
    vector = PersistentVector.of(Item(number) for number in range(10)).upsert(Item(0), "id")
    (index,) = vector.indexes
    for number in range(1_000):
        vector.append(Item(1_000 + number))
    assert index.is_efficient(11)


def test_cost_of_a_bounded_log_does_not_grow_with_its_age():
    session = Session()
    session[Item].register(keep_latest(500), log=True)

    def work():
        for number in range(2_000):
            session[Item].append(Item(number))

    work()
    assert calls_in(work) < 2_000 * 25


def test_ended_fork_keeps_only_its_visible_items_alive():
    session = prepared(3)
    old = Item(1, "a large one")
    session[Item].append(old)
    fork = session.fork()
    fork[Item].append(Item(1, "small"))
    fork.commit()
    gone = weakref.ref(old)
    del old
    gc.collect()
    assert gone() is None
    assert fork[Item].all()[1] == Item(1, "small")


def test_index_with_repeated_keys_finds_the_newest_item():
    index = KeyIndex("text", [Item(number) for number in range(5)], 0)
    assert list(index.positions("")) == [4, 3, 2, 1, 0]
    session = Session()
    session[Item].register(str, lambda view, event: Extend(Item(number) for number in range(3)))
    session.dispatch("go")
    session[Item].register(upsert_by("text"))
    session[Item].append(Item(9))
    assert [item.id for item in session[Item]] == [0, 1, 9]
