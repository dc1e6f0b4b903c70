"""Migrations are applied once, completely or not at all, also by concurrent processes."""

import pytest

from tests.postgres import new_url
from tests.storage.child import Child
from toolhaft.errors import StorageError
from toolhaft.storage import open_database

FIRST = "CREATE TABLE words (word TEXT NOT NULL); INSERT INTO words VALUES ('a;b')"
SECOND = "INSERT INTO words VALUES ('c')"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.external)])
def url(request, tmp_path):
    return new_url(request.param, tmp_path)


@pytest.fixture
def database(url):
    with open_database(url, wait_s=2.0) as database:
        yield database


def words(database):
    return sorted(word for (word,) in database.read("SELECT word FROM words"))


def test_each_migration_is_applied_once(database):
    database.migrate("test", [FIRST])
    database.migrate("test", [FIRST])
    assert words(database) == ["a;b"]
    database.migrate("test", [FIRST, SECOND])
    database.migrate("test", [FIRST, SECOND])
    assert words(database) == ["a;b", "c"]


def test_packages_have_separate_versions(database):
    database.migrate("one", [FIRST])
    database.migrate("two", ["CREATE TABLE other (word TEXT)"])
    assert database.read("SELECT room, step FROM toolhaft_migrations ORDER BY room, step") == [
        ("one", 1),
        ("storage", 1),
        ("two", 1),
    ]


def test_failing_migration_rolls_back_all_new_steps(database):
    with pytest.raises(StorageError, match="refused"):
        database.migrate("test", [FIRST, SECOND, "CREATE TABLE good (word TEXT); NONSENSE"])
    database.migrate("test", [FIRST])
    assert words(database) == ["a;b"]


@pytest.mark.parametrize("older", [[FIRST], []])
def test_tables_of_a_newer_version_are_refused_unchanged(database, older):
    database.migrate("test", [FIRST, SECOND])
    with pytest.raises(StorageError, match=f"newer version.*'test' is at step 2.*has {len(older)}.*upgrade"):
        database.migrate("test", older)
    assert words(database) == ["a;b", "c"]


def test_storage_schema_of_a_newer_version_is_refused(database):
    database.migrate("test", [FIRST])
    with database.transaction() as transaction:
        transaction.execute("INSERT INTO toolhaft_migrations VALUES ('storage', 2, 'now')")
    with pytest.raises(StorageError, match="newer version"):
        database.migrate("another", [SECOND])


def test_current_tables_need_no_write_transaction(url, database):
    database.migrate("test", [FIRST])
    with database.transaction(), open_database(url, wait_s=0.1) as second:
        second.migrate("test", [FIRST])


@pytest.mark.external
def test_concurrent_migrations_of_two_processes_succeed(url):
    with Child("migrate", url) as one, Child("migrate", url) as other:
        assert (one.hear(), other.hear()) == ("ready", "ready")
        one.say()
        other.say()
        assert (one.hear(), other.hear()) == ({"ok": None}, {"ok": None})
    with open_database(url) as database:
        assert database.read("SELECT COUNT(*) FROM toolhaft_migrations WHERE room = 'test'") == [(5,)]
