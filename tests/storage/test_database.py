"""`Database` behaves the same on SQLite, in a file and in memory, and on PostgreSQL."""

import subprocess
import sys
from threading import Barrier, Event, Thread

import pytest

from tests.cases import in_case
from tests.postgres import KINDS, new_url
from toolhaft.errors import StorageBusyError, StorageError
from toolhaft.storage import open_database

STEPS = [
    'CREATE TABLE words (word TEXT COLLATE "binary" NOT NULL PRIMARY KEY, number BIGINT, share DOUBLE PRECISION)'
]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.external), "memory"])
def url(request, tmp_path):
    return "sqlite://" if request.param == "memory" else new_url(request.param, tmp_path)


@pytest.fixture
def database(url):
    with open_database(url, wait_s=1.0) as database:
        database.migrate("test", STEPS)
        yield database


def add(database, *words):
    with database.transaction() as transaction:
        for word in words:
            transaction.execute("INSERT INTO words (word) VALUES (?)", [word])


def words(database):
    return [word for (word,) in database.read("SELECT word FROM words ORDER BY word")]


def test_dialect_and_display_name_have_no_password(database, url):
    assert database.dialect == ("postgresql" if url.startswith("postgresql") else "sqlite")
    assert "toolhaft:" not in repr(database)


def test_values_survive_a_round_trip(database):
    row = ("naïve 🙂 'quoted' ?%s", -(2**63), 0.1)
    with database.transaction() as transaction:
        assert transaction.execute("INSERT INTO words (word, number, share) VALUES (?, ?, ?)", row) == []
        transaction.execute("INSERT INTO words (word, number) VALUES (?, ?)", ["yes", True])
    assert database.read("SELECT word, number, share FROM words WHERE word <> ?", ["yes"]) == [row]
    assert database.read("SELECT number, share FROM words WHERE word = ?", ["yes"]) == [(1, None)]


def test_percent_signs_and_quoted_question_marks_are_not_placeholders(database):
    add(database, "a?", "b%")
    assert database.read("SELECT word FROM words WHERE word LIKE '%?' AND word <> ?", ["b%"]) == [("a?",)]


def test_binary_text_is_ordered_by_bytes(database):
    add(database, "b", "a", "B", "_", "-", "é", "a-b", "a_b", "ab")
    assert words(database) == ["-", "B", "_", "a", "a-b", "a_b", "ab", "b", "é"]


def test_transaction_sees_and_counts_its_own_changes(database):
    add(database, "a", "b")
    with database.transaction() as transaction:
        transaction.execute("UPDATE words SET number = 1")
        assert transaction.changed == 2
        transaction.execute("DELETE FROM words WHERE word = ?", ["c"])
        assert transaction.changed == 0
        assert transaction.execute("SELECT number FROM words WHERE word = 'a'") == [(1,)]


def test_exception_rolls_back_the_whole_transaction(database):
    def fail():
        with database.transaction() as transaction:
            transaction.execute("INSERT INTO words (word) VALUES ('a')")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert words(database) == []
    add(database, "b")
    assert words(database) == ["b"]


def test_suppressed_statement_error_rolls_back_everything(database):
    def go_on():
        with database.transaction() as transaction:
            transaction.execute("INSERT INTO words (word) VALUES ('a')")
            with pytest.raises(StorageError):
                transaction.execute("INSERT INTO words (word) VALUES ('a')")

    with pytest.raises(StorageError, match="all of it was rolled back"):
        go_on()
    assert words(database) == []


def test_wrong_sql_is_a_storage_error_and_breaks_nothing(database):
    cases = ["SELECT nonsense FROM words", "SELEC", "SELECT ?", "SELECT * FROM nowhere"]
    for sql in cases:
        with in_case(sql):
            with pytest.raises(StorageError, match="refused"):
                database.read(sql)
            with pytest.raises(StorageError, match="refused"), database.transaction() as transaction:
                transaction.execute(sql)
            assert words(database) == []


def test_extra_parameter_is_reported(database):
    with pytest.raises(StorageError, match="refused"):
        database.read("SELECT word FROM words WHERE word = ?", ["a", "b"])


def test_read_during_an_own_transaction_is_refused(database):
    with database.transaction() as transaction:
        with pytest.raises(StorageError, match="use its execute"):
            database.read("SELECT 1")
        with pytest.raises(StorageError, match="use its execute"), database.transaction():
            pass
        transaction.execute("INSERT INTO words (word) VALUES ('a')")
    assert words(database) == ["a"]


def test_ended_transaction_refuses_statements(database):
    with database.transaction() as transaction:
        pass
    with pytest.raises(StorageError, match="has ended"):
        transaction.execute("SELECT 1")


def test_closed_database_is_reported(database):
    database.close()
    with pytest.raises(StorageError, match="closed"):
        database.read("SELECT 1")
    with pytest.raises(StorageError, match="closed"), database.transaction():
        pass
    database.close()


def test_closing_during_a_transaction_does_not_lose_it(url):
    database = open_database(url)
    database.migrate("test", STEPS)
    with database.transaction() as transaction:
        database.close()
        transaction.execute("INSERT INTO words (word) VALUES ('a')")
    if url != "sqlite://":
        with open_database(url) as again:
            assert words(again) == ["a"]


def test_committed_rows_are_there_after_reopening(url):
    if url == "sqlite://":
        with open_database(url) as first, open_database(url) as second:
            first.migrate("test", STEPS)
            with pytest.raises(StorageError):
                second.read("SELECT 1 FROM words")  # memory is shared with nobody
        return
    with open_database(url) as first:
        first.migrate("test", STEPS)
        add(first, "a")
    with open_database(url) as second:
        assert words(second) == ["a"]


def test_concurrent_increments_are_not_lost(database):
    def count():
        start.wait()
        for _ in range(10):
            with database.transaction() as transaction:
                (number,) = transaction.execute("SELECT number FROM words")[0]
                transaction.execute("UPDATE words SET number = ?", [number + 1])
            database.read("SELECT number FROM words")

    with database.transaction() as transaction:
        transaction.execute("INSERT INTO words (word, number) VALUES ('n', 0)")
    start = Barrier(16)
    threads = [Thread(target=count) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert database.read("SELECT number FROM words") == [(160,)]


def test_waiting_too_long_for_another_thread_is_busy(url):
    with open_database(url, wait_s=0.1) as database:
        inside, leave = Event(), Event()

        def hold():
            with database.transaction():
                inside.set()
                leave.wait(10)

        holder = Thread(target=hold)
        holder.start()
        inside.wait(10)
        with pytest.raises(StorageBusyError, match="try again"), database.transaction():
            pass
        leave.set()
        holder.join()
        with database.transaction():
            pass


@pytest.mark.external
def test_readers_do_not_wait_for_a_writer(tmp_path):
    for kind in KINDS:
        with open_database(new_url(kind, tmp_path), wait_s=1.0) as database:
            database.migrate("test", STEPS)
            found = []
            with database.transaction() as transaction:
                transaction.execute("INSERT INTO words (word) VALUES ('a')")
                reader = Thread(target=lambda found=found, database=database: found.append(words(database)))
                reader.start()
                reader.join()
            assert found == [[]]
            assert words(database) == ["a"]


def test_revision_grows_with_advance(database):
    before = database.revision()
    with database.transaction() as transaction:
        assert transaction.advance() == before + 1
        assert transaction.advance() == before + 2
    assert database.revision() == before + 2
    with pytest.raises(StorageError), database.transaction() as transaction:
        transaction.execute(f"SELECT nonsense{transaction.advance()}")
    assert database.revision() == before + 2


def test_importing_storage_loads_no_database_driver():
    code = "import sys, toolhaft.storage; print({'sqlite3', 'psycopg', 'asyncio', 'pydantic'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_sqlite_readers_cannot_write(tmp_path):
    with open_database(f"sqlite://{tmp_path}/a.db") as database:
        database.migrate("test", STEPS)
        with pytest.raises(StorageError, match="read-only"):
            database.read("DELETE FROM words")
