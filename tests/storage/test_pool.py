"""The connection pool: reuse, waiting, closing."""

import os
from itertools import count
from threading import Thread

import pytest

from toolhaft.errors import StorageBusyError, StorageError
from toolhaft.storage.engine import ConnectionPool


class Lines:
    """Numbers for connections, and which of them were closed."""

    def __init__(self):
        self.closed = []
        self._numbers = count(1)
        self.pool = ConnectionPool(open=self.open, close=self.closed.append, size=2, display_name="here")
        self.is_broken = False

    def open(self):
        if self.is_broken:
            raise StorageError("no line")
        return next(self._numbers)


@pytest.fixture
def lines():
    return Lines()


def test_last_released_connection_is_reused_first(lines):
    one, two = lines.pool.acquire(1), lines.pool.acquire(1)
    lines.pool.release(one)
    lines.pool.release(two)
    assert (lines.pool.acquire(1), lines.pool.acquire(1)) == (two, one)


def test_acquire_raises_busy_after_its_time_limit(lines):
    lines.pool.acquire(1)
    lines.pool.acquire(1)
    with pytest.raises(StorageBusyError, match=r"here was busy for 0\.05 s.*try again"):
        lines.pool.acquire(0.05)


def test_waiting_thread_gets_the_next_released_connection(lines):
    one, _ = lines.pool.acquire(1), lines.pool.acquire(1)
    got = []
    waiter = Thread(target=lambda: got.append(lines.pool.acquire(10)))
    waiter.start()
    lines.pool.release(one)
    waiter.join()
    assert got == [one]


def test_discarded_connection_frees_its_slot(lines):
    one, _ = lines.pool.acquire(1), lines.pool.acquire(1)
    lines.pool.discard(one)
    assert lines.pool.acquire(1) == 3
    assert lines.closed == [one]


def test_failed_open_frees_its_slot(lines):
    lines.is_broken = True
    for _ in range(5):
        with pytest.raises(StorageError, match="no line"):
            lines.pool.acquire(0.05)
    lines.is_broken = False
    assert lines.pool.acquire(0.05) == 1


def test_close_ends_idle_connections_now_and_used_ones_on_release(lines):
    one, two = lines.pool.acquire(1), lines.pool.acquire(1)
    lines.pool.release(one)
    lines.pool.close()
    assert lines.closed == [one]
    lines.pool.release(two)
    assert lines.closed == [one, two]
    with pytest.raises(StorageError, match="closed"):
        lines.pool.acquire(1)


def test_close_wakes_waiting_threads(lines):
    def wait():
        try:
            lines.pool.acquire(30)
        except StorageError as error:
            told.append(str(error))

    lines.pool.acquire(1)
    lines.pool.acquire(1)
    told = []
    waiter = Thread(target=wait)
    waiter.start()
    lines.pool.close()
    waiter.join(10)
    assert told == ["the database here is closed; open it again"]


def test_forked_process_does_not_touch_connections_of_its_parent(lines, monkeypatch):
    one = lines.pool.acquire(1)
    lines.pool.release(one)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    lines.pool.close()
    assert lines.closed == []
    assert lines.pool.acquire(1) == 2
