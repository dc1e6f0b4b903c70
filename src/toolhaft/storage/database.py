"""A database: rows read, rows changed in transactions, tables brought up to date.

Does not know which kind of database it is, nor what the rows mean.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from threading import local
from time import monotonic
from typing import Final, Self, TypeVar, cast

from toolhaft.errors import StorageError
from toolhaft.storage.address import Dialect
from toolhaft.storage.engine import Connection, Engine
from toolhaft.storage.migrations import (
    OWN_ROOM,
    OWN_STEPS,
    TABLE,
    bring_up_to_date,
    check_version,
    read_versions,
)
from toolhaft.storage.pool import Pool
from toolhaft.storage.sql import Row, Value, check_values

ResultT = TypeVar("ResultT")

WAIT_S: Final = 5.0
"""How long a database may be held by others before a call gives up."""


class Transaction:
    """What is done together or not at all; other writers wait until it ends."""

    def __init__(self, connection: Connection) -> None:
        self._connection: Connection | None = connection
        self.changed: int = 0
        """How many rows the last INSERT, UPDATE or DELETE changed."""
        self._has_failed = False

    def execute(self, sql: str, parameters: Sequence[Value] = ()) -> list[Row]:
        """The rows of one statement, none where it gives none; `?` stands for each parameter.

        Raises:
            StorageError: where the statement fails; leave the block then, which undoes it all.
        """
        if self._connection is None:
            raise StorageError("the transaction has ended; open another with database.transaction()")
        try:
            rows, self.changed = self._connection.run(sql, check_values(parameters))
        except StorageError:
            self._has_failed = True
            raise
        return rows

    def advance(self) -> int:
        """Count the revision on, which tells readers that what they keep is old; gives the new one."""
        self.execute("UPDATE toolhaft_revision SET number = number + 1")
        return _number(self.execute("SELECT number FROM toolhaft_revision"))

    def check(self) -> None:
        """Refuse to keep a part: after a failed statement PostgreSQL would drop the rest without a word.

        Raises:
            StorageError: where a statement failed, and the block went on.
        """
        if self._has_failed:
            raise StorageError("a statement of this transaction failed, so all of it was undone; do it again")

    def end(self) -> None:
        """Nothing can be executed any more."""
        self._connection = None


class Database:
    """A database of either kind, used by any number of threads; `open_database` makes one.

    One SQL text serves both kinds: `?` for parameters, BIGINT for whole numbers and for booleans, DOUBLE
    PRECISION for others, TEXT for all else, and `TEXT COLLATE "binary"` where the order counts.
    """

    def __init__(self, engine: Engine, *, wait_s: float = WAIT_S) -> None:
        self._engine = engine
        self._wait_s = wait_s
        self._mine = local()

    @property
    def dialect(self) -> Dialect:
        """The kind of database."""
        return self._engine.dialect

    @property
    def shown(self) -> str:
        """Where the database is, without a password."""
        return self._engine.shown

    def __repr__(self) -> str:
        return f"Database({self.shown})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, sql: str, parameters: Sequence[Value] = ()) -> list[Row]:
        """The rows that a query finds; it is asked again where a connection was lost.

        Raises:
            StorageBusyError: where somebody else held the database for too long.
            StorageError: where it cannot be read, or a transaction of this thread is open: read in that.
        """
        self._check_alone()
        values = check_values(parameters)
        pool = self._engine.readers
        connection, rows = self._again_if_lost(pool, lambda connection: connection.run(sql, values)[0])
        pool.give_back(connection)
        return rows

    @contextmanager
    def transaction(self) -> Generator[Transaction]:
        """A block whose changes are kept together when it ends, and undone when it raises.

        Raises:
            StorageBusyError: where somebody else held the database for too long.
            StorageFullError: where there is no room for the changes.
            StorageError: for any other trouble, with `is_outcome_unknown` where nobody can tell how it ended.
        """
        self._check_alone()
        pool = self._engine.writers
        ends = monotonic() + self._wait_s
        connection, _ = self._again_if_lost(pool, lambda connection: connection.begin(ends - monotonic()))
        transaction = Transaction(connection)
        self._mine.is_writing = True
        try:
            yield transaction
            transaction.check()
            connection.commit()
        finally:
            self._mine.is_writing = False
            transaction.end()
            _let_go(pool, connection)

    def migrate(self, room: str, steps: Sequence[str]) -> None:
        """Bring the tables of a room up to date: the steps not yet taken, each once, in their order.

        A step is SQL, several statements or one; once released it is never changed, only followed by others.

        Raises:
            StorageError: where the tables were made by a newer version, or cannot be made.
        """
        wanted = {OWN_ROOM: OWN_STEPS, room: tuple(steps)}
        if self.read(self._engine.find_table, [TABLE]):
            versions = read_versions(self.read)
            for name, listed in wanted.items():
                check_version(name, versions.get(name, 0), listed, self.shown)
            if all(versions.get(name, 0) == len(listed) for name, listed in wanted.items()):
                return  # nothing to do, so nobody else is made to wait
        with self.transaction() as transaction:
            bring_up_to_date(transaction.execute, wanted, self._engine.preparation, self.shown)

    def revision(self) -> int:
        """A number that grows with every change that is counted (`Transaction.advance`); one small read."""
        return _number(self.read("SELECT number FROM toolhaft_revision"))

    def close(self) -> None:
        """End the connections; those in use when they come back."""
        self._engine.readers.close()
        self._engine.writers.close()

    def _check_alone(self) -> None:
        # another connection would not see what is open here, and the only one would wait for itself
        if getattr(self._mine, "is_writing", False):
            raise StorageError("this thread has a transaction open: use its execute(), or end it first")

    def _again_if_lost(
        self, pool: Pool[Connection], ask: Callable[[Connection], ResultT]
    ) -> tuple[Connection, ResultT]:
        """What a connection answers, and the connection; one that was cut off while idle is replaced once."""
        connection = pool.take(self._wait_s)
        try:
            return connection, ask(connection)
        except BaseException as error:
            was_lost = connection.is_lost and isinstance(error, StorageError)
            _let_go(pool, connection)
            if not was_lost:
                raise
        pool.drop_idle()
        connection = pool.take(self._wait_s)
        try:
            return connection, ask(connection)
        except BaseException:
            _let_go(pool, connection)
            raise


def _let_go(pool: Pool[Connection], connection: Connection) -> None:
    connection.roll_back()
    if connection.is_clean:
        pool.give_back(connection)
    else:
        pool.drop(connection)


def _number(rows: list[Row]) -> int:
    return cast("int", rows[0][0])
