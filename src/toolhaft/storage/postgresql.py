"""PostgreSQL, by psycopg.

Knows connections that come and go, and how a commit that was cut off ended; does not know what is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from time import monotonic, sleep
from typing import Any, Final, Literal, cast

from toolhaft.errors import StorageError
from toolhaft.storage.address import Address, not_an_address
from toolhaft.storage.engine import Connection
from toolhaft.storage.pool import Pool
from toolhaft.storage.sql import Row, Value, number_places

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.pq import TransactionStatus

    from toolhaft.storage.postgresql_faults import is_starting, translate, unknown_outcome
    from toolhaft.storage.postgresql_line import Line
except ImportError as error:
    raise ImportError("PostgreSQL needs psycopg: pip install 'toolhaft[postgres]'") from error

_CONNECTIONS: Final = 4
_PAUSE_S: Final = 0.05
_LOCK: Final = 0x746F6F6C68616674
"""One lock for all who write here: "toolhaft" in ASCII."""
_DEFAULTS: Final = {
    "application_name": "toolhaft",
    # a host that is gone without a word is noticed
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}


class PostgresEngine:
    """A PostgreSQL database: a few connections, each replaced when it is lost."""

    dialect: Literal["postgresql"] = "postgresql"
    find_table = "SELECT 1 WHERE to_regclass(?) IS NOT NULL"
    # so that one SQL text says for both databases that text is ordered by its bytes
    preparation = ('CREATE COLLATION IF NOT EXISTS "binary" FROM "C"',)

    def __init__(self, address: Address, *, wait_s: float) -> None:
        self.shown = address.shown
        self._wait_s = wait_s
        self._options = _read_options(address)
        make = partial(Pool[Connection], open=self.open, close=_close, size=_CONNECTIONS, shown=self.shown)
        self.readers = make()
        self.writers = make()
        self.readers.give_back(self.readers.take(wait_s))

    def open(self) -> PostgresConnection:
        """A new connection; a server that is just starting is waited for."""
        ends = monotonic() + self._wait_s
        while True:
            try:
                raw = Line.connect(**self._options)
            except psycopg.Error as error:
                if not is_starting(error) or monotonic() >= ends:
                    raise translate(error, self.shown) from error
                sleep(_PAUSE_S)
            else:
                return PostgresConnection(raw, self)

    def find_outcome(self, transaction: str) -> str | None:
        """How a transaction ended: "committed", "aborted", or None where nobody can tell."""
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
    """One connection, which any one thread at a time may use."""

    def __init__(self, raw: psycopg.Connection[Row], engine: PostgresEngine) -> None:
        self.raw = raw
        self._engine = engine
        self._transaction = ""

    @property
    def is_lost(self) -> bool:
        """True if it was cut off."""
        return self.raw.closed

    @property
    def is_clean(self) -> bool:
        """True if the next may use it."""
        return self.raw.info.transaction_status == TransactionStatus.IDLE

    def run(self, sql: str, values: Sequence[Value]) -> tuple[list[Row], int]:
        """The rows of one statement, and how many it changed."""
        try:
            cursor = self.raw.execute(cast("Any", number_places(sql)), values or None)
            rows = cursor.fetchall() if cursor.description is not None else []
        except psycopg.Error as error:
            raise translate(error, self._engine.shown) from error
        return rows, max(cursor.rowcount, 0)

    def begin(self, wait_s: float) -> None:
        """Start a transaction that has all writing to itself, as with SQLite: so it waits only here."""
        self.run("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", ())
        self.run(f"SET LOCAL lock_timeout = {max(1, round(wait_s * 1000))}", ())
        rows, _ = self.run("SELECT pg_current_xact_id()::text, pg_advisory_xact_lock(?)", [_LOCK])
        self._transaction = cast("str", rows[0][0])

    def commit(self) -> None:
        """Make it last; where the answer does not come, ask on another connection how it ended."""
        try:
            self.raw.execute("COMMIT")
        except psycopg.Error as error:
            if not self.is_lost:
                raise translate(error, self._engine.shown) from error
            outcome = self._engine.find_outcome(self._transaction)
            if outcome == "committed":
                return
            if outcome == "aborted":
                raise translate(error, self._engine.shown) from error
            raise unknown_outcome(self._engine.shown) from error

    def roll_back(self) -> None:
        """Undo it, if there is anything to undo."""
        with suppress(psycopg.Error):  # `is_clean` tells
            if not self.is_lost and not self.is_clean:
                self.raw.execute("ROLLBACK")


def _read_options(address: Address) -> dict[str, Any]:
    try:
        given = conninfo_to_dict(address.target)
    except psycopg.Error:
        # its message may quote what it took for a host or a port, which may be half a password
        raise not_an_address() from None
    fixed = {
        "autocommit": True,
        "client_encoding": "utf-8",
        "cursor_factory": psycopg.RawCursor,  # takes $1, as the server does
        "prepare_threshold": None,  # a pooler between us and the server would not know them
    }
    return {"connect_timeout": 5, **_DEFAULTS, **given, **fixed}


def _close(connection: Connection) -> None:
    with suppress(psycopg.Error):
        cast("PostgresConnection", connection).raw.close()
