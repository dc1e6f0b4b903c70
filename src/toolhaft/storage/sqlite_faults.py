"""Says in words what SQLite says in numbers, and what to do about it.

Knows the codes of SQLite and of the system; opens nothing.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path
from typing import Final

from toolhaft.errors import StorageBusyError, StorageError, StorageFullError

_LEAST_FREE_BYTES: Final = 65_536
"""With less than that there is no room for the files beside a database either."""


def translate(error: sqlite3.Error, shown: str, path: str) -> StorageError:
    """The error of ours that stands for one of SQLite's; `path` is empty for a database in memory."""
    code = getattr(error, "sqlite_errorcode", 0)
    match code & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StorageBusyError(
                f"the database {shown} is locked by others; try again, or find who holds it open"
            )
        case sqlite3.SQLITE_FULL:
            return _full(shown)
        case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CANTOPEN if path and _is_full(path):
            return _full(shown)
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return StorageError(
                f"the database {shown} is damaged, or is no database: {error}; put a backup in its "
                "place, or move it (with its -wal file) aside to begin with an empty one"
            )
        case sqlite3.SQLITE_READONLY:
            return StorageError(
                f"the database {shown} is read-only; allow this user to write the file and its folder"
            )
        case sqlite3.SQLITE_CANTOPEN:
            return StorageError(
                f"the database {shown} cannot be opened; check that this user may read and write the file "
                "and its folder"
            )
        case sqlite3.SQLITE_IOERR:
            return StorageError(f"the disk under the database {shown} fails: {error}; check the disk")
        case _:
            return StorageError(f"the database {shown} refused: {error}")


def file_trouble(error: OSError, path: str) -> StorageError:
    """The error for a file or a folder that cannot be made."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _full(path)
    reason = error.strerror or type(error).__name__
    return StorageError(f"the database file {path} cannot be made: {reason}; check the path and its rights")


def _full(shown: str) -> StorageFullError:
    return StorageFullError(
        f"there is no room for the database {shown}: nothing was changed; free some space, then try again"
    )


def _is_full(path: str) -> bool:
    try:
        facts = os.statvfs(Path(path).parent)
    except OSError:
        return False
    return facts.f_bavail * facts.f_frsize < _LEAST_FREE_BYTES
