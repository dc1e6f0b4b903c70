"""SQLite: a file, or memory.

Knows how to open one so that what was committed lasts; does not know what is in it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Final, Literal, cast
from urllib.parse import quote

from toolhaft.errors import StorageBusyError, StorageError
from toolhaft.storage.address import Address
from toolhaft.storage.engine import Connection
from toolhaft.storage.pool import Pool
from toolhaft.storage.sql import Row, Value
from toolhaft.storage.sqlite_faults import file_trouble, translate

_READERS: Final = 8
_PAUSE_S: Final = 0.02


class SqliteEngine:
    """A SQLite database: several readers and one writer at a time, which do not wait for each other."""

    dialect: Literal["sqlite"] = "sqlite"
    find_table = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?"
    preparation: tuple[str, ...] = ()

    def __init__(self, address: Address, *, wait_s: float) -> None:
        self.shown = address.shown
        self._path = address.target
        self._wait_s = wait_s
        if self._path:
            _make_file(self._path)
        make = partial(Pool[Connection], close=_close, shown=self.shown)
        self.writers = make(open=partial(self._open, is_reader=False), size=1)
        # memory belongs to the one connection that has it
        self.readers = (
            make(open=partial(self._open, is_reader=True), size=_READERS) if self._path else self.writers
        )
        self.writers.give_back(self.writers.take(wait_s))

    def _open(self, *, is_reader: bool) -> Connection:
        try:
            return SqliteConnection(self._path, shown=self.shown, wait_s=self._wait_s, is_reader=is_reader)
        except sqlite3.Error as error:
            raise translate(error, self.shown, self._path) from error


class SqliteConnection:
    """One connection, which any one thread at a time may use."""

    def __init__(self, path: str, *, shown: str, wait_s: float, is_reader: bool) -> None:
        self._path = path
        self._shown = shown
        self._wait_ms = _milliseconds(wait_s)
        self.is_lost = False
        self._place = _place(path)
        # rw, not rwc: a file that was removed meanwhile is not made again as an empty one
        place = f"file://{quote(path)}?mode=rw" if path else ":memory:"
        self.raw = sqlite3.connect(
            place, uri=bool(path), timeout=wait_s, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare(wait_s, is_reader=is_reader)
        except BaseException:
            self.raw.close()
            raise

    def _prepare(self, wait_s: float, *, is_reader: bool) -> None:
        ends = monotonic() + wait_s
        while self._path and not self._use_log():
            # the busy handler is not asked where two switch to the log at once
            if monotonic() >= ends:
                raise StorageBusyError(
                    f"the database {self._shown} was locked by others for {wait_s:g} s; try again"
                )
            sleep(_PAUSE_S)
        for setting in ("synchronous = FULL", "foreign_keys = ON", "trusted_schema = OFF"):
            self.raw.execute(f"PRAGMA {setting}")
        if is_reader:
            self.raw.execute("PRAGMA query_only = ON")

    def _use_log(self) -> bool:
        """Write ahead, so that readers and the writer do not wait for each other; False: try again."""
        try:
            if self.raw.execute("PRAGMA journal_mode").fetchone() == ("wal",):
                return True
            # a file system without shared memory keeps the other journal, which is as safe
            self.raw.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if isinstance(translate(error, self._shown, self._path), StorageBusyError):
                return False
            raise
        return True

    @property
    def is_clean(self) -> bool:
        """True if the next may use it."""
        return not self.is_lost and not self.raw.in_transaction

    def run(self, sql: str, values: Sequence[Value]) -> tuple[list[Row], int]:
        """The rows of one statement, and how many it changed."""
        if not self.raw.in_transaction:
            self._check_place()
        try:
            cursor = self.raw.execute(sql, values)
            return cast("list[Row]", cursor.fetchall()), max(cursor.rowcount, 0)
        except sqlite3.Error as error:
            raise translate(error, self._shown, self._path) from error

    def begin(self, wait_s: float) -> None:
        """Start a transaction that has all writing to itself."""
        self._check_place()
        try:
            if _milliseconds(wait_s) != self._wait_ms:
                self._wait_ms = _milliseconds(wait_s)
                self.raw.execute(f"PRAGMA busy_timeout = {self._wait_ms}")
            self.raw.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise translate(error, self._shown, self._path) from error

    def commit(self) -> None:
        """Make it last: it is on the disk when this returns."""
        try:
            self.raw.execute("COMMIT")
        except sqlite3.Error as error:
            told = translate(error, self._shown, self._path)
            # all may have been written and only the last word of the disk be missing
            told.is_outcome_unknown = told.is_outcome_unknown or _is_disk_trouble(error)
            raise told from error

    def roll_back(self) -> None:
        """Undo it, if there is anything to undo."""
        with suppress(sqlite3.Error):  # `is_clean` tells
            if self.raw.in_transaction:
                self.raw.execute("ROLLBACK")

    def _check_place(self) -> None:
        """Nothing is written to a file that was removed or replaced: nobody would find it again."""
        if self._path and _place(self._path) != self._place:
            self.is_lost = True
            raise StorageError(f"the database file {self._shown} was removed or replaced; open it again")


def _is_disk_trouble(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_IOERR


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))


def _place(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path) if path else None  # noqa: PTH116 -- on the path of every read
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found else None


def _make_file(path: str) -> None:
    """Make the file where there is none, for its owner's eyes only: it holds private tools."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise file_trouble(error, path) from error


def _close(connection: Connection) -> None:
    with suppress(sqlite3.Error):  # there is nobody to tell, and what was committed is on the disk
        cast("SqliteConnection", connection).raw.close()
