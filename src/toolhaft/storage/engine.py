"""The interface between `Database` and the two database engines, and the pool of their connections."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from threading import Condition
from time import monotonic
from typing import Generic, Protocol, TypeVar

from toolhaft.errors import StorageBusyError, StorageError
from toolhaft.storage.address import Dialect
from toolhaft.storage.sql import Row, SqlValue

ConnectionT = TypeVar("ConnectionT")


class Connection(Protocol):
    """One connection to a database. Every error that it raises is a StorageError."""

    @property
    def is_lost(self) -> bool:
        """True if the connection broke: the last statement may be repeated on another one."""
        ...

    @property
    def is_clean(self) -> bool:
        """True if the connection can be used again: it is not lost and has no open transaction."""
        ...

    def run(self, sql: str, values: Sequence[SqlValue]) -> tuple[list[Row], int]:
        """Run one statement; returns its rows and the number of rows that it changed."""
        ...

    def begin(self, wait_s: float) -> None:
        """Start a transaction that is the only one to write."""
        ...

    def commit(self) -> None:
        """Commit; on an error nothing was changed, unless the error has `is_outcome_unknown`."""
        ...

    def roll_back(self) -> None:
        """Roll back an open transaction; never raises, check `is_clean` afterwards."""
        ...


class DatabaseEngine:
    """One kind of database, opened at one address."""

    dialect: Dialect
    display_name: str
    """The address for messages, without a password."""
    find_table: str
    """SQL with one parameter that returns a row if a table of that name exists."""
    preparation: Sequence[str] = ()
    """Statements to run before the first table is created; safe to repeat."""
    readers: ConnectionPool[Connection]
    """Connections for single statements."""
    writers: ConnectionPool[Connection]
    """Connections for transactions."""


class ConnectionPool(Generic[ConnectionT]):
    """A bounded number of connections that threads share; the one released last is reused first.

    Args:
        open: opens a connection.
        close: closes one; must not raise.
        size: the largest number of connections, in use or idle.
        display_name: the address of the database, for messages.
    """

    def __init__(
        self,
        *,
        open: Callable[[], ConnectionT],  # noqa: A002 -- it opens one
        close: Callable[[ConnectionT], None],
        size: int,
        display_name: str,
    ) -> None:
        self._open = open
        self._close = close
        self._size = size
        self._display_name = display_name
        self._reset()

    def _reset(self) -> None:
        self._idle: list[ConnectionT] = []
        self._count = 0
        self._is_closed = False
        self._free = Condition()
        self._process = os.getpid()

    def acquire(self, wait_s: float) -> ConnectionT:
        """A connection that no other thread uses.

        Raises:
            StorageBusyError: if none became free in time.
            StorageError: if the pool is closed, or no connection can be opened.
        """
        if os.getpid() != self._process:
            # after a fork these connections belong to the parent process: even closing them is unsafe
            self._inherited = self._idle
            self._reset()
        ends = 0.0
        with self._free:
            while not self._idle and self._count >= self._size and not self._is_closed:
                now = monotonic()
                ends = ends or now + wait_s
                if now >= ends:
                    raise StorageBusyError(
                        f"the database {self._display_name} was busy for {wait_s:g} s: other threads "
                        "of this process use all its connections; try again"
                    )
                self._free.wait(ends - now)
            if self._is_closed:
                raise StorageError(f"the database {self._display_name} is closed; open it again")
            if self._idle:
                return self._idle.pop()
            self._count += 1
        try:
            return self._open()
        except BaseException:
            self._uncount()
            raise

    def release(self, connection: ConnectionT) -> None:
        """Let other threads use the connection."""
        with self._free:
            if not self._is_closed:
                self._idle.append(connection)
                self._free.notify()
                return
        self.discard(connection)

    def discard(self, connection: ConnectionT) -> None:
        """Close a connection that cannot be used again."""
        self._close(connection)
        self._uncount()

    def discard_idle(self) -> None:
        """Close all idle connections: when one was cut off, the others usually were too."""
        with self._free:
            idle, self._idle = self._idle, []
        for connection in idle:
            self.discard(connection)

    def close(self) -> None:
        """Close idle connections now, and those in use when they are released."""
        if os.getpid() != self._process:
            return
        with self._free:
            self._is_closed = True
            self._free.notify_all()
        self.discard_idle()

    def __del__(self) -> None:
        # a database that is dropped without `close`: Python 3.13 warns of unclosed connections
        self.close()

    def _uncount(self) -> None:
        with self._free:
            self._count -= 1
            self._free.notify()
