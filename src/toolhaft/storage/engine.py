"""What a database must be able to do: the seam between one code path and two kinds of database.

Knows neither of the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from toolhaft.storage.address import Dialect
from toolhaft.storage.pool import Pool
from toolhaft.storage.sql import Row, Value


class Connection(Protocol):
    """One line to a database. All that it raises is a StorageError."""

    @property
    def is_lost(self) -> bool:
        """True if it was cut off: what was asked last may be asked again on another."""
        ...

    @property
    def is_clean(self) -> bool:
        """True if the next may use it: not lost, and in no transaction."""
        ...

    def run(self, sql: str, values: Sequence[Value]) -> tuple[list[Row], int]:
        """The rows of one statement, and how many it changed."""
        ...

    def begin(self, wait_s: float) -> None:
        """Start a transaction that has all writing to itself."""
        ...

    def commit(self) -> None:
        """Make it last; what fails here changed nothing, unless the error says otherwise."""
        ...

    def roll_back(self) -> None:
        """Undo it, if there is anything to undo; never raises, `is_clean` tells whether it could."""
        ...


class Engine(Protocol):
    """A kind of database, opened at one place."""

    @property
    def dialect(self) -> Dialect:
        """Which kind."""
        ...

    @property
    def shown(self) -> str:
        """Where it is, without a password."""
        ...

    @property
    def find_table(self) -> str:
        """SQL with one parameter that gives a row if there is a table of that name."""
        ...

    @property
    def preparation(self) -> Sequence[str]:
        """What it needs before the first table, done again without harm."""
        ...

    @property
    def readers(self) -> Pool[Connection]:
        """Lends connections for single statements."""
        ...

    @property
    def writers(self) -> Pool[Connection]:
        """Lends connections for transactions."""
        ...
