"""Applies numbered SQL migrations, and keeps a table of those applied."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, TypeAlias, cast

from toolhaft.errors import StorageError
from toolhaft.storage.sql import Row, SqlValue, split_statements

RunSql: TypeAlias = Callable[[str, Sequence[SqlValue]], list[Row]]
"""Runs one statement in the current transaction."""

TABLE: Final = "toolhaft_migrations"
OWN_PACKAGE: Final = "storage"
OWN_STEPS: Final = (
    "CREATE TABLE toolhaft_revision (number BIGINT NOT NULL); INSERT INTO toolhaft_revision VALUES (0)",
)
_CREATE: Final = f"""
    CREATE TABLE IF NOT EXISTS {TABLE} (
        room TEXT NOT NULL, step BIGINT NOT NULL, applied_at TEXT NOT NULL, PRIMARY KEY (room, step)
    )
"""


def read_versions(run: RunSql) -> dict[str, int]:
    """How many steps of each package are applied."""
    rows = run("SELECT room, MAX(step) FROM toolhaft_migrations GROUP BY room", ())
    return {cast("str", package): cast("int", step) for package, step in rows}


def check_version(package: str, version: int, steps: Sequence[str], display_name: str) -> None:
    """Refuse tables of a newer version.

    Raises:
        StorageError: if more steps are applied than are listed.
    """
    if version > len(steps):
        raise StorageError(
            f"the database {display_name} is from a newer version of toolhaft: its package {package!r} "
            f"is at step {version}, this version has {len(steps)}; upgrade toolhaft, or use another database"
        )


def apply_missing(
    run: RunSql, wanted: Mapping[str, Sequence[str]], preparation: Sequence[str], display_name: str
) -> None:
    """Apply every missing step; call it in a transaction. Safe to repeat.

    Raises:
        StorageError: if the tables are from a newer version, or a step fails.
    """
    for statement in (*preparation, _CREATE):
        run(statement, ())
    versions = read_versions(run)
    for package, steps in wanted.items():
        version = versions.get(package, 0)
        check_version(package, version, steps, display_name)
        for number, step in enumerate(steps[version:], version + 1):
            for statement in split_statements(step):
                run(statement, ())
            values = (package, number, datetime.now(UTC).isoformat())
            run("INSERT INTO toolhaft_migrations (room, step, applied_at) VALUES (?, ?, ?)", values)
