"""SQLite and PostgreSQL behind one interface, with migrations."""

from toolhaft.errors import StorageBusyError, StorageError, StorageFullError
from toolhaft.storage.database import Database, Transaction, open_database
from toolhaft.storage.sql import Row, SqlValue, is_storable

__all__ = [
    "Database",
    "Row",
    "SqlValue",
    "StorageBusyError",
    "StorageError",
    "StorageFullError",
    "Transaction",
    "is_storable",
    "open_database",
]
