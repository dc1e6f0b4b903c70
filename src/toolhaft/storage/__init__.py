"""SQLite and PostgreSQL behind one interface, with migrations."""

from toolhaft.errors import StorageBusyError, StorageError, StorageFullError
from toolhaft.storage.database import Database, Transaction, open_database
from toolhaft.storage.sql import Row, SqlValue, is_storable

Value = SqlValue  # the name in earlier versions

__all__ = [
    "Database",
    "Row",
    "SqlValue",
    "StorageBusyError",
    "StorageError",
    "StorageFullError",
    "Transaction",
    "Value",
    "is_storable",
    "open_database",
]
