"""PostgreSQL through psycopg, with connections that are replaced when they are lost."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import suppress
from functools import partial
from time import monotonic, sleep
from typing import Any, Final, TypeVar, cast

from toolhaft.errors import StorageBusyError, StorageError, StorageFullError, StorageUnreachableError
from toolhaft.storage.address import DatabaseAddress, unreadable_url
from toolhaft.storage.engine import Connection, ConnectionPool, DatabaseEngine
from toolhaft.storage.sql import Row, SqlValue, number_placeholders

try:
    import psycopg
    from psycopg.abc import PQGen
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.pq import TransactionStatus
except ImportError as error:
    raise ImportError("PostgreSQL needs psycopg: pip install 'toolhaft[postgres]'") from error

RV = TypeVar("RV")
StateT = TypeVar("StateT")
ReadyT = TypeVar("ReadyT")

RESPONSE_TIMEOUT_S: Final = 30.0
"""A frozen server keeps its connections open, so only a timeout shows that it does not respond."""

_CONNECTIONS: Final = 4
_PAUSE_S: Final = 0.05
_TICK_S: Final = 0.1
_LOCK: Final = 0x746F6F6C68616674
"""The advisory lock of all writers: "toolhaft" in ASCII."""
_DEFAULTS: Final = {
    "application_name": "toolhaft",
    # detects a host that disappeared silently
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
_BUSY: Final = frozenset(("55P03", "57014", "40001", "40P01", "53300"))
"""Lock not available, statement cancelled, serialisation failure, deadlock, too many connections."""
_STARTING: Final = "57P03"
_TOO_MANY: Final = "too many c"
"""Begins "too many clients" and "too many connections": while connecting, the error has no code."""
_FULL: Final = frozenset(("53100", "53000", "53200", "53400"))
_READ_ONLY: Final = "25006"
_DAMAGED: Final = frozenset(("XX001", "XX002"))
_PROTOCOL: Final = "08P01"
"""A protocol violation, but also too many parameters, after which the connection is still usable."""
_DENIED: Final = frozenset(("28", "3D"))
_LOGIN_REFUSED: Final = " FATAL: "
"""The server is running but refused the login."""
_MAX_MESSAGE: Final = 300


class PostgresEngine(DatabaseEngine):
    """A PostgreSQL database with a few connections."""

    dialect = "postgresql"
    find_table = "SELECT 1 WHERE to_regclass(?) IS NOT NULL"
    # so that the same SQL orders text by its bytes in both databases
    preparation = ('CREATE COLLATION IF NOT EXISTS "binary" FROM "C"',)

    def __init__(self, address: DatabaseAddress, *, wait_s: float) -> None:
        self.display_name = address.display_name
        self._wait_s = wait_s
        self._options = _read_options(address)
        make = partial(
            ConnectionPool[Connection],
            open=self.open,
            close=_close,
            size=_CONNECTIONS,
            display_name=self.display_name,
        )
        self.readers = make()
        self.writers = make()
        self.readers.release(self.readers.acquire(wait_s))  # fails now if there is no server

    def open(self) -> PostgresConnection:
        """Open a connection; waits for a server that is starting."""
        ends = monotonic() + self._wait_s
        while True:
            try:
                raw = TimedConnection.connect(**self._options)
            except psycopg.Error as error:
                if not is_starting(error) or monotonic() >= ends:
                    raise translate(error, self.display_name) from error
                sleep(_PAUSE_S)
            else:
                return PostgresConnection(raw, self)

    def find_outcome(self, transaction: str) -> str | None:
        """How a transaction ended: "committed", "aborted", or None if that cannot be found out."""
        ends = monotonic() + self._wait_s
        while monotonic() < ends:
            with suppress(StorageError):
                connection = self.open()
                try:
                    rows, _ = connection.run("SELECT pg_xact_status(CAST(? AS xid8))", [transaction])
                finally:
                    _close(connection)
                if rows[0][0] != "in progress":
                    return cast("str | None", rows[0][0])
            sleep(_PAUSE_S)
        return None


class PostgresConnection:
    """One connection; only one thread may use it at a time."""

    def __init__(self, raw: psycopg.Connection[Row], engine: PostgresEngine) -> None:
        self.raw = raw
        self._engine = engine
        self._transaction = ""

    @property
    def is_lost(self) -> bool:
        """True if the connection broke."""
        return self.raw.closed

    @property
    def is_clean(self) -> bool:
        """True if the connection can be used again."""
        return self.raw.info.transaction_status == TransactionStatus.IDLE

    def run(self, sql: str, values: Sequence[SqlValue]) -> tuple[list[Row], int]:
        """Run one statement; returns its rows and the number of rows that it changed."""
        try:
            cursor = self.raw.execute(cast("Any", number_placeholders(sql)), values or None)
            rows = cursor.fetchall() if cursor.description is not None else []
        except psycopg.Error as error:
            raise translate(error, self._engine.display_name) from error
        return rows, max(cursor.rowcount, 0)

    def begin(self, wait_s: float) -> None:
        """Start a transaction; waits until it is the only one to write, as in SQLite."""
        self.run("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", ())
        self.run(f"SET LOCAL lock_timeout = {max(1, round(wait_s * 1000))}", ())
        rows, _ = self.run("SELECT pg_current_xact_id()::text, pg_advisory_xact_lock(?)", [_LOCK])
        self._transaction = cast("str", rows[0][0])

    def commit(self) -> None:
        """Commit; if the connection breaks, another connection looks up how the transaction ended."""
        try:
            self.raw.execute("COMMIT")
        except psycopg.Error as error:
            if not self.is_lost:
                raise translate(error, self._engine.display_name) from error
            outcome = self._engine.find_outcome(self._transaction)
            if outcome == "committed":
                return
            if outcome == "aborted":
                raise translate(error, self._engine.display_name) from error
            raise _unknown_outcome(self._engine.display_name) from error

    def roll_back(self) -> None:
        """Roll back an open transaction."""
        with suppress(psycopg.Error):  # `is_clean` shows it
            if not self.is_lost and not self.is_clean:
                self.raw.execute("ROLLBACK")


class TimedConnection(psycopg.Connection[Row]):
    """A psycopg connection that is closed if the server does not respond; psycopg itself waits forever.

    psycopg waits in a generator that it resumes every tenth of a second; the limit is checked there.
    """

    response_timeout_s: float = RESPONSE_TIMEOUT_S

    def wait(self, gen: PQGen[RV], interval: float = _TICK_S, timeout: float | None = None) -> RV:
        """Wait for the response of the server.

        Raises:
            psycopg.OperationalError: if there is none in time; the connection is closed then.
        """
        wait_s = self.response_timeout_s if timeout is None else min(timeout, self.response_timeout_s)
        return super().wait(self._until(gen, monotonic() + wait_s), interval)

    def _until(self, gen: Generator[StateT, ReadyT, RV], ends: float) -> Generator[StateT, ReadyT, RV]:
        try:
            state = next(gen)
            while True:
                ready = yield state
                if not ready and monotonic() > ends:
                    self.close()
                    raise psycopg.OperationalError(f"there was no response for {self.response_timeout_s:g} s")
                state = gen.send(ready)
        except StopIteration as done:
            return done.value


def _read_options(address: DatabaseAddress) -> dict[str, Any]:
    try:
        given = conninfo_to_dict(address.target)
    except psycopg.Error:
        # its message may quote part of the password as a host or port
        raise unreadable_url() from None
    fixed = {
        "autocommit": True,
        "client_encoding": "utf-8",
        "cursor_factory": psycopg.RawCursor,  # takes $1, as the server does
        "prepare_threshold": None,  # no prepared statements: a connection pooler would not know them
    }
    return {"connect_timeout": 5, **_DEFAULTS, **given, **fixed}


def _close(connection: Connection) -> None:
    with suppress(psycopg.Error):
        cast("PostgresConnection", connection).raw.close()


def translate(error: psycopg.Error, display_name: str) -> StorageError:
    """The StorageError for an error of psycopg."""
    code = _sqlstate(error)
    text = " ".join(str(error).split())[:_MAX_MESSAGE]
    if is_starting(error):
        return StorageBusyError(f"the database {display_name} is starting or stopping: {text}; try again")
    if code in _BUSY or (not code and _TOO_MANY in text):
        return StorageBusyError(f"the database {display_name} is in use by others: {text}; try again")
    if code in _FULL:
        return StorageFullError(
            f"no disk space for the database {display_name}: {text}; nothing was changed; free some space"
        )
    if code == _READ_ONLY:
        return StorageError(
            f"the database {display_name} is read-only; use the primary server, or allow writes"
        )
    if code in _DAMAGED:
        return StorageError(f"the database {display_name} is damaged: {text}; restore a backup")
    if code[:2] in _DENIED or (not code and _LOGIN_REFUSED in text):
        return StorageError(
            f"the database {display_name} refuses the login: {text}; check user, password and database name"
        )
    if _is_connection_error(error, code):
        return StorageUnreachableError(
            f"the database {display_name} does not answer: {text}; check that it is running and reachable"
        )
    return StorageError(f"the database {display_name} refused: {text}")


def is_starting(error: psycopg.Error) -> bool:
    """True if the server is starting or stopping."""
    # while connecting, psycopg passes on the message of the server without its code
    return _sqlstate(error) == _STARTING or "the database system is" in str(error)


def _sqlstate(error: psycopg.Error) -> str:
    """The SQLSTATE of an error; empty if it did not come from the server."""
    return error.sqlstate or ""


def _is_connection_error(error: psycopg.Error, code: str) -> bool:
    if not code:
        return isinstance(error, psycopg.OperationalError)
    return code[:2] in ("08", "57") and code != _PROTOCOL


def _unknown_outcome(display_name: str) -> StorageError:
    """The error for a commit whose outcome is unknown."""
    error = StorageError(
        f"the connection to the database {display_name} was lost during a commit, and the outcome cannot be "
        "looked up: the change was saved completely or not at all; read it before you repeat it"
    )
    error.is_outcome_unknown = True
    return error
