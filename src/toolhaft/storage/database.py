"""Opens a database by its URL, reads rows, changes them in transactions and applies migrations."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import local
from time import monotonic
from typing import Final, Self, TypeVar, cast

from toolhaft.errors import StorageError
from toolhaft.storage.address import Dialect, parse_address
from toolhaft.storage.engine import Connection, ConnectionPool, DatabaseEngine
from toolhaft.storage.sql import Row, SqlValue, check_values, split_statements

ResultT = TypeVar("ResultT")

WAIT_S: Final = 5.0
"""How long a call waits for other users of the database before it gives up."""
_TABLE: Final = "toolhaft_migrations"
_OWN_PACKAGE: Final = "storage"
_OWN_STEPS: Final = (
    "CREATE TABLE toolhaft_revision (number BIGINT NOT NULL); INSERT INTO toolhaft_revision VALUES (0)",
)
_CREATE: Final = f"""
    CREATE TABLE IF NOT EXISTS {_TABLE} (
        room TEXT NOT NULL, step BIGINT NOT NULL, applied_at TEXT NOT NULL, PRIMARY KEY (room, step)
    )
"""
_APPLIED: Final = "SELECT room, MAX(step) FROM toolhaft_migrations GROUP BY room"
_INSERT: Final = "INSERT INTO toolhaft_migrations (room, step, applied_at) VALUES (?, ?, ?)"


def open_database(url: str, *, wait_s: float = WAIT_S) -> Database:
    """Open the database at a URL; a missing SQLite file is created, with its folder.

    Args:
        url: "sqlite:///absolute/path.db", "sqlite://" (in memory until closed), or
            "postgresql://user:password@host:5432/name" (needs `toolhaft[postgres]`).
        wait_s: how long a call waits for other users before it raises StorageBusyError.

    Raises:
        ImportError: if psycopg is missing; the message names what to install.
        StorageError: if the URL is invalid, or the database cannot be opened; never contains a password.
    """
    address = parse_address(url)
    if address.dialect == "sqlite":
        from toolhaft.storage.sqlite import SqliteEngine  # noqa: PLC0415 -- only if used

        return Database(SqliteEngine(address, wait_s=wait_s), wait_s=wait_s)
    from toolhaft.storage.postgresql import PostgresEngine  # noqa: PLC0415 -- psycopg may be missing

    return Database(PostgresEngine(address, wait_s=wait_s), wait_s=wait_s)


class Database:
    """A database of either kind, safe to use from many threads; `open_database` creates one.

    Both kinds run the same SQL: `?` marks parameters; columns are BIGINT for integers and booleans, DOUBLE
    PRECISION for floats, TEXT for everything else, and `TEXT COLLATE "binary"` where the order matters.
    """

    def __init__(self, engine: DatabaseEngine, *, wait_s: float = WAIT_S) -> None:
        self._engine = engine
        self._wait_s = wait_s
        self._thread_state = local()

    @property
    def dialect(self) -> Dialect:
        """Which kind of database it is."""
        return self._engine.dialect

    @property
    def display_name(self) -> str:
        """The address for messages, without a password."""
        return self._engine.display_name

    def __repr__(self) -> str:
        return f"Database({self.display_name})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, sql: str, parameters: Sequence[SqlValue] = ()) -> list[Row]:
        """Run a query and return its rows; repeated once if the connection was lost.

        Raises:
            StorageBusyError: if others used the database for too long.
            StorageError: if the query fails, or this thread has an open transaction: query in that one.
        """
        self._check_alone()
        values = check_values(parameters)
        pool = self._engine.readers
        connection, rows = self._retry_if_lost(pool, lambda connection: connection.run(sql, values)[0])
        pool.release(connection)
        return rows

    @contextmanager
    def transaction(self) -> Generator[Transaction]:
        """A block whose changes are committed together when it ends, and rolled back if it raises.

        Raises:
            StorageBusyError: if others used the database for too long.
            StorageFullError: if the disk is full.
            StorageError: for any other failure, with `is_outcome_unknown` if it may have been committed.
        """
        self._check_alone()
        pool = self._engine.writers
        ends = monotonic() + self._wait_s
        connection, _ = self._retry_if_lost(pool, lambda connection: connection.begin(ends - monotonic()))
        transaction = Transaction(connection)
        self._thread_state.is_writing = True
        try:
            yield transaction
            transaction.check()
            connection.commit()
        finally:
            self._thread_state.is_writing = False
            transaction.end()
            _return_connection(pool, connection)

    def migrate(self, package: str, steps: Sequence[str]) -> None:
        """Apply the migrations of a package that are missing, each once and in order.

        A step is one or more SQL statements. Never change a released step; append another one.

        Args:
            package: the name of the package that owns the tables.
            steps: all migrations of that package, oldest first.

        Raises:
            StorageError: if the tables are from a newer version, or a step fails.
        """
        wanted = {_OWN_PACKAGE: _OWN_STEPS, package: tuple(steps)}
        if self.read(self._engine.find_table, [_TABLE]) and not self._missing(self.read, wanted):
            return  # without a write transaction, for which others would have to wait
        with self.transaction() as transaction:
            for statement in (*self._engine.preparation, _CREATE):
                transaction.execute(statement)
            for name, number, step in self._missing(transaction.execute, wanted):
                for statement in split_statements(step):
                    transaction.execute(statement)
                transaction.execute(_INSERT, (name, number, datetime.now(UTC).isoformat()))

    def _missing(
        self, run: Callable[[str], list[Row]], wanted: Mapping[str, Sequence[str]]
    ) -> list[tuple[str, int, str]]:
        """The steps that are not applied yet, as package, number and SQL.

        Raises:
            StorageError: if the tables are from a newer version.
        """
        applied = dict(cast("list[tuple[str, int]]", run(_APPLIED)))
        for name, steps in wanted.items():
            if applied.get(name, 0) > len(steps):
                raise StorageError(
                    f"the database {self.display_name} is from a newer version of toolhaft: its package "
                    f"{name!r} is at step {applied[name]}, this version has {len(steps)}; upgrade toolhaft, "
                    "or use another database"
                )
        return [
            (name, number, step)
            for name, steps in wanted.items()
            for number, step in enumerate(steps, 1)
            if number > applied.get(name, 0)
        ]

    def revision(self) -> int:
        """A number that `Transaction.advance` increments; cheap to read."""
        return _number(self.read("SELECT number FROM toolhaft_revision"))

    def close(self) -> None:
        """Close idle connections now, and those in use when they are released."""
        self._engine.readers.close()
        self._engine.writers.close()

    def _check_alone(self) -> None:
        # another connection would not see the open changes, and SQLite would deadlock with itself
        if getattr(self._thread_state, "is_writing", False):
            raise StorageError("this thread has a transaction open: use its execute(), or end it first")

    def _retry_if_lost(
        self, pool: ConnectionPool[Connection], action: Callable[[Connection], ResultT]
    ) -> tuple[Connection, ResultT]:
        """Run on a connection and return both; a connection that broke while idle is replaced once."""
        connection = pool.acquire(self._wait_s)
        try:
            return connection, action(connection)
        except BaseException as error:
            was_lost = connection.is_lost and isinstance(error, StorageError)
            _return_connection(pool, connection)
            if not was_lost:
                raise
        pool.discard_idle()
        connection = pool.acquire(self._wait_s)
        try:
            return connection, action(connection)
        except BaseException:
            _return_connection(pool, connection)
            raise


class Transaction:
    """An open transaction; other writers wait until it ends."""

    def __init__(self, connection: Connection) -> None:
        self._connection: Connection | None = connection
        self.changed: int = 0
        """How many rows the last INSERT, UPDATE or DELETE changed."""
        self._has_failed = False

    def execute(self, sql: str, parameters: Sequence[SqlValue] = ()) -> list[Row]:
        """Run one statement and return its rows; `?` marks each parameter.

        Raises:
            StorageError: if the statement fails; leave the block then, which rolls everything back.
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
        """Increment and return the revision, by which readers see that their caches are stale."""
        self.execute("UPDATE toolhaft_revision SET number = number + 1")
        return _number(self.execute("SELECT number FROM toolhaft_revision"))

    def check(self) -> None:
        """Refuse to commit after a failed statement: PostgreSQL would roll back without an error.

        Raises:
            StorageError: if a statement failed and the block continued.
        """
        if self._has_failed:
            raise StorageError(
                "a statement of this transaction failed, so all of it was rolled back; repeat it"
            )

    def end(self) -> None:
        """Refuse further statements."""
        self._connection = None


def _return_connection(pool: ConnectionPool[Connection], connection: Connection) -> None:
    connection.roll_back()
    if connection.is_clean:
        pool.release(connection)
    else:
        pool.discard(connection)


def _number(rows: list[Row]) -> int:
    return cast("int", rows[0][0])
