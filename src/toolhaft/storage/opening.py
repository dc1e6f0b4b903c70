"""Opens a database by its URL.

Knows which file speaks to which kind of database, and loads only that one.
"""

from __future__ import annotations

from toolhaft.storage.address import read_address
from toolhaft.storage.database import WAIT_S, Database


def open_database(url: str, *, wait_s: float = WAIT_S) -> Database:
    """The database at a URL; a SQLite file that is not there is made, its folder too.

    Args:
        url: "sqlite:///absolute/path.db", "sqlite://" (in memory, gone when closed), or
            "postgresql://user:password@host:5432/name" (needs `toolhaft[postgres]`).
        wait_s: how long others may hold the database before a call raises StorageBusyError.

    Raises:
        ImportError: without psycopg, naming what to install.
        StorageError: where the URL makes no sense, or no database is to be had; no password is ever shown.
    """
    address = read_address(url)
    if address.dialect == "sqlite":
        from toolhaft.storage.sqlite import SqliteEngine  # noqa: PLC0415 -- sqlite3, for those who open one

        return Database(SqliteEngine(address, wait_s=wait_s), wait_s=wait_s)
    from toolhaft.storage.postgresql import PostgresEngine  # noqa: PLC0415 -- psycopg may be missing

    return Database(PostgresEngine(address, wait_s=wait_s), wait_s=wait_s)
