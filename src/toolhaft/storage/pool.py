"""Lends connections: the last one given back first, never more than a number of them.

Does not know what a connection is.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Condition
from time import monotonic
from typing import Generic, TypeVar

from toolhaft.errors import StorageBusyError, StorageError

ConnectionT = TypeVar("ConnectionT")


class Pool(Generic[ConnectionT]):
    """Connections that threads take in turns.

    Args:
        open: makes a connection.
        close: ends one; may not raise.
        size: at most so many are out or idle at a time.
        shown: the database, for messages.
    """

    def __init__(
        self,
        *,
        open: Callable[[], ConnectionT],  # noqa: A002 -- it opens one
        close: Callable[[ConnectionT], None],
        size: int,
        shown: str,
    ) -> None:
        self._open = open
        self._close = close
        self._size = size
        self._shown = shown
        self._start()

    def _start(self) -> None:
        self._idle: list[ConnectionT] = []
        self._made = 0
        self._is_closed = False
        self._free = Condition()
        self._process = os.getpid()

    def take(self, wait_s: float) -> ConnectionT:
        """A connection that nobody else has.

        Raises:
            StorageBusyError: where none came free in time.
            StorageError: where the pool is closed, or none can be opened.
        """
        if os.getpid() != self._process:
            # a child of fork: these connections are its parent's, and not even closing them is safe
            self._left_behind = self._idle
            self._start()
        ends = 0.0
        with self._free:
            while not self._idle and self._made >= self._size and not self._is_closed:
                now = monotonic()
                ends = ends or now + wait_s
                if now >= ends:
                    raise StorageBusyError(
                        f"the database {self._shown} was busy for {wait_s:g} s: others of this process "
                        "use all its connections; try again"
                    )
                self._free.wait(ends - now)
            if self._is_closed:
                raise StorageError(f"the database {self._shown} is closed; open it again")
            if self._idle:
                return self._idle.pop()
            self._made += 1
        try:
            return self._open()
        except BaseException:
            self._forget()
            raise

    def give_back(self, connection: ConnectionT) -> None:
        """Lend it to the next."""
        with self._free:
            if not self._is_closed:
                self._idle.append(connection)
                self._free.notify()
                return
        self.drop(connection)

    def drop(self, connection: ConnectionT) -> None:
        """End a connection that is of no more use."""
        self._close(connection)
        self._forget()

    def drop_idle(self) -> None:
        """End all that are not in use: where one was cut off, the others mostly were too."""
        with self._free:
            idle, self._idle = self._idle, []
        for connection in idle:
            self.drop(connection)

    def close(self) -> None:
        """End all; those in use when they come back."""
        if os.getpid() != self._process:
            return
        with self._free:
            self._is_closed = True
            self._free.notify_all()
        self.drop_idle()

    def _forget(self) -> None:
        with self._free:
            self._made -= 1
            self._free.notify()
