"""A connection of psycopg that does not wait for ever.

Knows how psycopg waits for a server: by a generator that is asked again every tenth of a second.
"""

from __future__ import annotations

from collections.abc import Generator
from time import monotonic
from typing import Final, TypeVar

import psycopg
from psycopg.abc import PQGen

from toolhaft.storage.sql import Row

RV = TypeVar("RV")
StateT = TypeVar("StateT")
ReadyT = TypeVar("ReadyT")

ANSWER_S: Final = 30.0
"""A server that is stopped keeps its connections open: nothing but time tells that it is gone."""

_TICK_S: Final = 0.1


class Line(psycopg.Connection[Row]):
    """A connection that is given up when its server does not answer."""

    answer_s: float = ANSWER_S

    def wait(self, gen: PQGen[RV], interval: float = _TICK_S, timeout: float | None = None) -> RV:
        """What the server answers.

        Raises:
            psycopg.OperationalError: where it does not in time; the connection is closed then.
        """
        wait_s = self.answer_s if timeout is None else min(timeout, self.answer_s)
        return super().wait(self._until(gen, monotonic() + wait_s), interval)

    def _until(self, gen: Generator[StateT, ReadyT, RV], ends: float) -> Generator[StateT, ReadyT, RV]:
        try:
            state = next(gen)
            while True:
                ready = yield state
                if not ready and monotonic() > ends:
                    self.close()
                    raise psycopg.OperationalError(f"there was no answer for {self.answer_s:g} s")
                state = gen.send(ready)
        except StopIteration as done:
            return done.value
