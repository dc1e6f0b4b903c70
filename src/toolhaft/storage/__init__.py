"""Where rows are kept: SQLite and PostgreSQL, and their migrations."""

from toolhaft.errors import StorageBusyError, StorageError, StorageFullError
from toolhaft.storage.database import Database, Transaction
from toolhaft.storage.opening import open_database
from toolhaft.storage.sql import Row, Value, is_storable

__all__ = [
    "Database",
    "Row",
    "StorageBusyError",
    "StorageError",
    "StorageFullError",
    "Transaction",
    "Value",
    "is_storable",
    "open_database",
]
