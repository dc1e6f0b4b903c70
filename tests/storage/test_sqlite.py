"""SQLite under faults: locked, full, read-only, damaged, removed, forked."""

import errno
import gc
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

import pytest

from tests.cases import in_case
from tests.storage.child import OPERATOR, PLATFORM, Child, document
from toolhaft.catalog.published_store import PublishedStore
from toolhaft.errors import StorageBusyError, StorageError, StorageFullError
from toolhaft.storage import open_database
from toolhaft.storage.sqlite import SqliteConnection, _cannot_create, translate

pytestmark = pytest.mark.external

TABLE = ["CREATE TABLE words (word TEXT NOT NULL)"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "platform.db"


@pytest.fixture
def database(path):
    with open_database(f"sqlite://{path}", wait_s=0.3) as database:
        database.migrate("test", TABLE)
        yield database


def add(database, word):
    with database.transaction() as transaction:
        transaction.execute("INSERT INTO words VALUES (?)", [word])


def words(database):
    return [word for (word,) in database.read("SELECT word FROM words ORDER BY word")]


def test_file_is_private_and_synchronous(database, path):
    assert path.stat().st_mode & 0o777 == 0o600
    assert database.read("PRAGMA journal_mode") == [("wal",)]
    with database.transaction() as transaction:
        assert transaction.execute("PRAGMA synchronous") == [(2,)]
        assert transaction.execute("PRAGMA foreign_keys") == [(1,)]


def test_database_locked_by_another_process_is_busy(database, path):
    with Child("hold", path) as holder:
        assert holder.hear() == "ready"
        with pytest.raises(StorageBusyError, match="locked by another process; try again"):
            add(database, "a")
        assert words(database) == []  # readers do not wait
        holder.say()
        holder.process.wait()
    add(database, "a")
    assert words(database) == ["a"]


def test_lock_released_in_time_is_acquired(path, monkeypatch):
    begun, begin = Event(), SqliteConnection.begin

    def note(connection, wait_s):
        begun.set()
        begin(connection, wait_s)

    with open_database(f"sqlite://{path}", wait_s=60) as patient:
        patient.migrate("test", TABLE)
        with Child("hold", path) as holder:
            assert holder.hear() == "ready"
            monkeypatch.setattr(SqliteConnection, "begin", note)
            writer = Thread(target=add, args=[patient, "a"])
            writer.start()
            assert begun.wait(30)
            holder.say()
            writer.join(60)
        assert words(patient) == ["a"]


def test_file_locked_while_it_is_opened_is_busy(tmp_path):
    path = tmp_path / "new.db"
    with Child("hold", path) as holder:
        assert holder.hear() == "ready"
        with pytest.raises(StorageBusyError, match="locked"):
            open_database(f"sqlite://{path}", wait_s=0.2)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of one megabyte where this user may mount one; else None."""
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    is_mounted = subprocess.run(command, check=False, capture_output=True).returncode == 0
    yield place, is_mounted
    if is_mounted:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_full_disk_loses_nothing_and_recovers(small_disk):
    place, is_mounted = small_disk
    ballast = place / "ballast"
    with open_database(f"sqlite://{place}/platform.db") as database:
        shelf = PublishedStore(database, url=PLATFORM)
        if is_mounted:
            ballast.write_bytes(bytes(500_000))
        else:
            _limit_pages(database, 40)
        kept = []
        with pytest.raises(StorageFullError, match=r"no disk space.*free some space"):
            _publish_on(shelf, kept)
        assert kept
        assert sorted(tool.id for tool in shelf.list(OPERATOR)) == sorted(kept)
        assert database.read("PRAGMA integrity_check") == [("ok",)]
        ballast.unlink(missing_ok=True)
        if not is_mounted:
            _limit_pages(database, 4000)
        shelf.put(document("after"), OPERATOR, base=None)
        assert len(shelf.list(OPERATOR)) == len(kept) + 1


def _publish_on(shelf, kept):
    for number in range(2000):
        kept.append(shelf.put(document(f"t{number}", "x" * 900), OPERATOR, base=None).id)


def _limit_pages(database, pages):
    with database.transaction() as transaction:
        transaction.execute(f"PRAGMA max_page_count = {pages}")


def test_disk_write_error_loses_nothing(path):
    with Child("fill", path, 200_000) as child:
        answers = []
        while (answer := child.hear()) is not None:
            answers.append(answer)
    *kept, refused, number = answers
    assert kept
    assert refused["error"] in ("StorageError", "StorageFullError")
    assert "disk" in refused["message"]
    assert number == {"ok": len(kept)}
    with open_database(f"sqlite://{path}") as database:
        found = PublishedStore(database, url=PLATFORM).list(OPERATOR)
        assert sorted(tool.id for tool in found) == sorted(answer["ok"] for answer in kept)
        assert database.read("PRAGMA integrity_check") == [("ok",)]


READ_ONLY = """
import os, sys
from toolhaft.errors import StorageError
from toolhaft.storage import open_database, sqlite  # before the change of user, who may not read these
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    with open_database(f"sqlite://{sys.argv[1]}", wait_s=0.3) as database:
        with database.transaction() as transaction:
            transaction.execute("INSERT INTO words VALUES ('a')")
except StorageError as error:
    print(error)
"""


@pytest.mark.parametrize(("file_mode", "folder_mode"), [(0o444, 0o555), (0o444, 0o777), (0o000, 0o555)])
def test_read_only_file_is_reported(file_mode, folder_mode):
    # not below the folders of pytest, which another user may not enter
    with TemporaryDirectory() as folder:
        path = Path(folder) / "platform.db"
        with open_database(f"sqlite://{path}") as database:
            database.migrate("test", TABLE)
        path.chmod(file_mode)
        path.parent.chmod(folder_mode)
        command = [sys.executable, "-c", READ_ONLY, path]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        path.parent.chmod(0o755)
    assert "read-only" in done.stdout or "cannot be" in done.stdout
    assert str(path) in done.stdout


def test_folder_that_cannot_be_created_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"cannot be created.*check the path"):
        open_database(f"sqlite://{tmp_path}/file/platform.db")
    with pytest.raises(StorageError, match=r"cannot be created: Is a directory|cannot be opened"):
        open_database(f"sqlite://{tmp_path}")


def test_file_that_is_not_a_database_is_named_and_unchanged(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database " * 100)
    with pytest.raises(StorageError, match=r"damaged or not a database.*backup") as caught:
        open_database(f"sqlite://{path}")
    assert str(path) in str(caught.value)
    assert path.read_text() == "not a database " * 100


def test_damaged_file_is_a_storage_error(path):
    with open_database(f"sqlite://{path}") as database:
        database.migrate("test", TABLE)
        with database.transaction() as transaction:
            for number in range(2000):
                transaction.execute("INSERT INTO words VALUES (?)", [f"{number:090}"])
    whole = path.read_bytes()
    for start in range(4096, len(whole), 12_288):
        path.write_bytes(whole[:start] + os.urandom(8192) + whole[start + 8192 :])
        try:
            with open_database(f"sqlite://{path}") as database:
                database.migrate("test", TABLE)
                database.read("SELECT COUNT(*), MAX(word) FROM words")
                add(database, "b")
        except StorageError as error:
            assert "damaged" in str(error)  # noqa: PT017 -- damage where nobody looks is not met
            break
    else:
        pytest.fail("no damage was met")


def test_truncated_file_is_a_storage_error(path):
    with open_database(f"sqlite://{path}") as database:
        database.migrate("test", TABLE)
        for number in range(100):
            add(database, f"{number:0900}")
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)
    with pytest.raises(StorageError, match="damaged"), open_database(f"sqlite://{path}") as database:
        database.read("SELECT MAX(word) FROM words")


def test_removed_file_is_not_written(database, path):
    add(database, "a")
    path.unlink()
    with pytest.raises(StorageError):
        add(database, "b")
    with pytest.raises(StorageError):
        words(database)
    assert not path.exists()


def test_replaced_file_is_opened_automatically(database, path, tmp_path):
    add(database, "old")
    with open_database(f"sqlite://{tmp_path}/backup.db") as backup:
        backup.migrate("test", TABLE)
        add(backup, "restored")
    path.with_name("platform.db-wal").unlink()
    path.with_name("platform.db-shm").unlink()
    (tmp_path / "backup.db").rename(path)
    assert words(database) == ["restored"]
    add(database, "new")
    assert words(database) == ["new", "restored"]


def test_sqlite_error_codes_are_translated(path):
    cases = [
        (sqlite3.SQLITE_BUSY_SNAPSHOT, StorageBusyError, "locked by another process"),
        (sqlite3.SQLITE_LOCKED, StorageBusyError, "locked by another process"),
        (sqlite3.SQLITE_IOERR_WRITE, StorageError, "disk under the database"),
        (sqlite3.SQLITE_CANTOPEN, StorageError, "cannot be opened.*read and write"),
        (sqlite3.SQLITE_READONLY_DIRECTORY, StorageError, "read-only"),
        (sqlite3.SQLITE_CORRUPT_INDEX, StorageError, "damaged"),
        (sqlite3.SQLITE_CONSTRAINT, StorageError, "refused: its words"),
    ]
    for code, kind, said in cases:
        with in_case(code, kind, said):
            error = sqlite3.OperationalError("its words")
            error.sqlite_errorcode = code
            told = translate(error, str(path), str(path))
            assert type(told) is kind
            assert re.search(said, str(told))
            assert str(path) in str(told)


@pytest.mark.parametrize("code", [sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_CANTOPEN])
def test_full_disk_is_recognised_for_every_error_code(small_disk, code):
    place, is_mounted = small_disk
    error = sqlite3.OperationalError("its words")
    error.sqlite_errorcode = code
    if is_mounted:
        with pytest.raises(OSError, match="No space"):
            (place / "ballast").write_bytes(bytes(2_000_000))
    told = translate(error, "display_name", f"{place}/a.db")
    assert isinstance(told, StorageFullError) is is_mounted
    assert isinstance(_cannot_create(OSError(errno.EDQUOT, "Quota"), "display_name"), StorageFullError)


def test_forked_child_opens_new_connections(database, path):
    add(database, "a")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            add(database, "b")
            code = 0 if words(database) == ["a", "b"] else 2
            database.close()
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    add(database, "c")
    assert words(database) == ["a", "b", "c"]
    assert database.read("PRAGMA integrity_check") == [("ok",)]


def test_garbage_collected_database_closes_its_connections(path):
    database = open_database(f"sqlite://{path}")
    database.migrate("test", TABLE)
    assert words(database) == []
    pools = (database._engine.readers, database._engine.writers)  # noqa: SLF001 -- shows nowhere else
    raw = [connection.raw for pool in pools for connection in pool._idle]  # noqa: SLF001 -- the same
    assert len(raw) == 2
    del database, pools
    gc.collect()
    for connection in raw:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


def test_database_with_a_rollback_journal_is_switched_to_wal(tmp_path):
    path = tmp_path / "a.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE mine (a)")
    connection.close()
    with open_database(f"sqlite://{path}") as database:
        assert database.read("PRAGMA journal_mode") == [("wal",)]
        assert database.read("SELECT * FROM mine") == []
