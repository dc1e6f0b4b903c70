"""Brings tables up to date, step by step.

Knows numbered SQL and the table that keeps count of it; connections and transactions are its caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, TypeAlias, cast

from toolhaft.errors import StorageError
from toolhaft.storage.sql import Row, Value, split_statements

Run: TypeAlias = Callable[[str, Sequence[Value]], list[Row]]

TABLE: Final = "toolhaft_migrations"
OWN_ROOM: Final = "storage"
OWN_STEPS: Final = (
    "CREATE TABLE toolhaft_revision (number BIGINT NOT NULL); INSERT INTO toolhaft_revision VALUES (0)",
)
_CREATE: Final = f"""
    CREATE TABLE IF NOT EXISTS {TABLE} (
        room TEXT NOT NULL, step BIGINT NOT NULL, applied_at TEXT NOT NULL, PRIMARY KEY (room, step)
    )
"""


def read_versions(run: Run) -> dict[str, int]:
    """How many steps each room has taken."""
    rows = run("SELECT room, MAX(step) FROM toolhaft_migrations GROUP BY room", ())
    return {cast("str", room): cast("int", step) for room, step in rows}


def check_version(room: str, version: int, steps: Sequence[str], shown: str) -> None:
    """Refuse tables that know more than this program.

    Raises:
        StorageError: where they have taken steps that are not listed.
    """
    if version > len(steps):
        raise StorageError(
            f"the database {shown} is from a newer version of toolhaft: its room {room!r} is at step "
            f"{version}, this version knows {len(steps)}; upgrade toolhaft, or use another database"
        )


def bring_up_to_date(
    run: Run, wanted: Mapping[str, Sequence[str]], preparation: Sequence[str], shown: str
) -> None:
    """Take every step that is missing; to be called in a transaction, and safe to call again.

    Raises:
        StorageError: where the tables are from a newer version, or a step fails.
    """
    for statement in (*preparation, _CREATE):
        run(statement, ())
    versions = read_versions(run)
    for room, steps in wanted.items():
        version = versions.get(room, 0)
        check_version(room, version, steps, shown)
        for number, step in enumerate(steps[version:], version + 1):
            for statement in split_statements(step):
                run(statement, ())
            values = (room, number, datetime.now(UTC).isoformat())
            run("INSERT INTO toolhaft_migrations (room, step, applied_at) VALUES (?, ?, ?)", values)
