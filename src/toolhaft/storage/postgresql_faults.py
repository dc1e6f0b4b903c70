"""Says in words what PostgreSQL says in codes, and what to do about it.

Knows SQLSTATE codes; a message never holds more of an address than it is given to show.
"""

from __future__ import annotations

from typing import Final

import psycopg

from toolhaft.errors import StorageBusyError, StorageError, StorageFullError, StorageUnreachableError

_BUSY: Final = frozenset(("55P03", "57014", "40001", "40P01", "53300"))
"""Lock not available, statement cancelled, serialisation failure, deadlock, too many connections."""
_STARTING: Final = "57P03"
_TOO_MANY: Final = "too many c"
"""Clients, or connections for a role or a database: those who connect are told without a code."""
_FULL: Final = frozenset(("53100", "53000", "53200", "53400"))
_READ_ONLY: Final = "25006"
_DAMAGED: Final = frozenset(("XX001", "XX002"))
_PROTOCOL: Final = "08P01"
"""What the server says to a statement with too many parameters, although nothing is wrong with the line."""
_DENIED: Final = frozenset(("28", "3D"))
_NO_ENTRY: Final = " FATAL: "
"""A server that is there and does not let one in."""
_LONGEST: Final = 300


def unknown_outcome(shown: str) -> StorageError:
    """The error for a commit of which nobody can tell how it ended."""
    told = StorageError(
        f"the connection to the database {shown} was lost while committing, and it cannot be asked how that "
        "ended: the change is there whole or not at all; read it before you do it again"
    )
    told.is_outcome_unknown = True
    return told


def code_of(error: psycopg.Error) -> str:
    """The SQLSTATE of an error, empty where the server did not speak."""
    return error.sqlstate or ""


def is_starting(error: psycopg.Error) -> bool:
    """True if the server will soon be there."""
    # when connecting, psycopg gives the words of the server without its code
    return code_of(error) == _STARTING or "the database system is" in str(error)


def translate(error: psycopg.Error, shown: str) -> StorageError:
    """The error of ours that stands for one of psycopg's."""
    code = code_of(error)
    said = " ".join(str(error).split())[:_LONGEST]
    if is_starting(error):
        return StorageBusyError(f"the database {shown} is just starting or stopping: {said}; try again")
    if code in _BUSY or (not code and _TOO_MANY in said):
        return StorageBusyError(f"the database {shown} is held by others: {said}; try again")
    if code in _FULL:
        return StorageFullError(
            f"there is no room for the database {shown}: {said}; nothing was changed; free some space"
        )
    if code == _READ_ONLY:
        return StorageError(f"the database {shown} is read-only; use the primary server, or allow writing")
    if code in _DAMAGED:
        return StorageError(f"the database {shown} is damaged: {said}; restore a backup")
    if code[:2] in _DENIED or (not code and _NO_ENTRY in said):
        return StorageError(f"the database {shown} lets nobody in: {said}; check user, password and name")
    if _is_cut_off(error, code):
        return StorageUnreachableError(
            f"the database {shown} does not answer: {said}; check that it runs and can be reached"
        )
    return StorageError(f"the database {shown} refused: {said}")


def _is_cut_off(error: psycopg.Error, code: str) -> bool:
    if not code:
        return isinstance(error, psycopg.OperationalError)
    return code[:2] in ("08", "57") and code != _PROTOCOL
