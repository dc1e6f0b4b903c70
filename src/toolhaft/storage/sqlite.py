"""SQLite, in a file or in memory, set up so that committed changes survive a crash."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Final, cast
from urllib.parse import quote

from toolhaft.errors import StorageBusyError, StorageError, StorageFullError
from toolhaft.storage.address import DatabaseAddress
from toolhaft.storage.engine import Connection, ConnectionPool, DatabaseEngine
from toolhaft.storage.sql import Row, SqlValue

_READERS: Final = 8
_PAUSE_S: Final = 0.02
_LEAST_FREE_BYTES: Final = 65_536
"""With less free space, SQLite cannot create its temporary files either."""


class SqliteEngine(DatabaseEngine):
    """A SQLite database with several readers and one writer, which do not wait for each other."""

    dialect = "sqlite"
    find_table = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?"

    def __init__(self, address: DatabaseAddress, *, wait_s: float) -> None:
        self.display_name = address.display_name
        self._path = address.target
        self._wait_s = wait_s
        if self._path:
            _create_file(self._path)
        make = partial(ConnectionPool[Connection], close=_close, display_name=self.display_name)
        self.writers = make(open=partial(self._open, is_reader=False), size=1)
        # a database in memory belongs to one connection
        self.readers = (
            make(open=partial(self._open, is_reader=True), size=_READERS) if self._path else self.writers
        )
        self.writers.release(self.writers.acquire(wait_s))  # fails now if the file cannot be opened

    def _open(self, *, is_reader: bool) -> Connection:
        try:
            return SqliteConnection(
                self._path, display_name=self.display_name, wait_s=self._wait_s, is_reader=is_reader
            )
        except sqlite3.Error as error:
            raise translate(error, self.display_name, self._path) from error


class SqliteConnection:
    """One connection; only one thread may use it at a time."""

    def __init__(self, path: str, *, display_name: str, wait_s: float, is_reader: bool) -> None:
        self._path = path
        self._display_name = display_name
        self._wait_ms = _milliseconds(wait_s)
        self.is_lost = False
        self._identity = _file_identity(path)
        # rw, not rwc: a file that was removed meanwhile must not be recreated empty
        address = f"file://{quote(path)}?mode=rw" if path else ":memory:"
        self.raw = sqlite3.connect(
            address, uri=bool(path), timeout=wait_s, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare(wait_s, is_reader=is_reader)
        except BaseException:
            self.raw.close()
            raise

    def _prepare(self, wait_s: float, *, is_reader: bool) -> None:
        ends = monotonic() + wait_s
        while self._path and not self._use_write_ahead_log():
            # SQLite calls no busy handler while two connections switch to the write-ahead log
            if monotonic() >= ends:
                raise StorageBusyError(
                    f"the database {self._display_name} was locked by another process "
                    f"for {wait_s:g} s; try again"
                )
            sleep(_PAUSE_S)
        for setting in ("synchronous = FULL", "foreign_keys = ON", "trusted_schema = OFF"):
            self.raw.execute(f"PRAGMA {setting}")
        if is_reader:
            self.raw.execute("PRAGMA query_only = ON")

    def _use_write_ahead_log(self) -> bool:
        """Switch to the write-ahead log, so that readers do not wait for the writer; False: try again."""
        try:
            if self.raw.execute("PRAGMA journal_mode").fetchone() == ("wal",):
                return True
            # a file system without shared memory keeps the rollback journal, which is as safe
            self.raw.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if isinstance(translate(error, self._display_name, self._path), StorageBusyError):
                return False
            raise
        return True

    @property
    def is_clean(self) -> bool:
        """True if the connection can be used again."""
        return not self.is_lost and not self.raw.in_transaction

    def run(self, sql: str, values: Sequence[SqlValue]) -> tuple[list[Row], int]:
        """Run one statement; returns its rows and the number of rows that it changed."""
        if not self.raw.in_transaction:
            self._check_identity()
        try:
            cursor = self.raw.execute(sql, values)
            return cast("list[Row]", cursor.fetchall()), max(cursor.rowcount, 0)
        except sqlite3.Error as error:
            raise translate(error, self._display_name, self._path) from error

    def begin(self, wait_s: float) -> None:
        """Start a transaction that is the only one to write."""
        self._check_identity()
        try:
            if _milliseconds(wait_s) != self._wait_ms:
                self._wait_ms = _milliseconds(wait_s)
                self.raw.execute(f"PRAGMA busy_timeout = {self._wait_ms}")
            self.raw.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise translate(error, self._display_name, self._path) from error

    def commit(self) -> None:
        """Commit; the changes are on disk when this returns."""
        try:
            self.raw.execute("COMMIT")
        except sqlite3.Error as error:
            failure = translate(error, self._display_name, self._path)
            # everything may have been written before the disk reported the error
            failure.is_outcome_unknown = failure.is_outcome_unknown or _is_io_error(error)
            raise failure from error

    def roll_back(self) -> None:
        """Roll back an open transaction."""
        with suppress(sqlite3.Error):  # `is_clean` shows it
            if self.raw.in_transaction:
                self.raw.execute("ROLLBACK")

    def _check_identity(self) -> None:
        """Refuse to use a file that was removed or replaced: what is written there would be lost."""
        if self._path and _file_identity(self._path) != self._identity:
            self.is_lost = True
            raise StorageError(
                f"the database file {self._display_name} was removed or replaced; open it again"
            )


def _close(connection: Connection) -> None:
    with suppress(sqlite3.Error):  # nothing to be done; committed changes are on the disk
        cast("SqliteConnection", connection).raw.close()


def _create_file(path: str) -> None:
    """Create the file if it is missing, readable by its owner only: it contains private tools."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise _cannot_create(error, path) from error


def _file_identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path) if path else None  # noqa: PTH116 -- on the path of every read
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found else None


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))


def translate(error: sqlite3.Error, display_name: str, path: str) -> StorageError:
    """The StorageError for an error of SQLite; `path` is empty for a database in memory."""
    code = getattr(error, "sqlite_errorcode", 0)
    match code & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StorageBusyError(
                f"the database {display_name} is locked by another process; try again, or find out which one"
            )
        case sqlite3.SQLITE_FULL:
            return _full(display_name)
        case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CANTOPEN if path and _is_full(path):
            return _full(display_name)
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return StorageError(
                f"the database {display_name} is damaged or not a database: {error}; restore a backup, "
                "or move it away (with its -wal file) to start with an empty one"
            )
        case sqlite3.SQLITE_READONLY:
            return StorageError(
                f"the database {display_name} is read-only; allow this user to write the file and its folder"
            )
        case sqlite3.SQLITE_CANTOPEN:
            return StorageError(
                f"the database {display_name} cannot be opened; "
                "check that this user may read and write the file and its folder"
            )
        case sqlite3.SQLITE_IOERR:
            return StorageError(f"the disk under the database {display_name} fails: {error}; check the disk")
        case _:
            return StorageError(f"the database {display_name} refused: {error}")


def _is_io_error(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_IOERR


def _cannot_create(error: OSError, path: str) -> StorageError:
    """The error for a file or folder that cannot be created."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _full(path)
    reason = error.strerror or type(error).__name__
    return StorageError(
        f"the database file {path} cannot be created: {reason}; check the path and its permissions"
    )


def _full(display_name: str) -> StorageFullError:
    return StorageFullError(
        f"no disk space for the database {display_name}: nothing was changed; free some space, then try again"
    )


def _is_full(path: str) -> bool:
    try:
        disk = os.statvfs(Path(path).parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _LEAST_FREE_BYTES
