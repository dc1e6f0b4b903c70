"""Tests of PostgreSQL under faults: killed and back, cut off while committing, held, full, strange."""

import sys
from threading import Thread
from time import sleep

import psycopg
import pytest

from tests.postgres import PASSWORD, PostgresServer, shared_server
from tests.storage.proxy import Proxy
from toolhaft.errors import StorageBusyError, StorageError, StorageFullError
from toolhaft.storage import open_database
from toolhaft.storage.postgresql import TimedConnection

pytestmark = pytest.mark.external

TABLE = ["CREATE TABLE words (word TEXT NOT NULL)"]


@pytest.fixture
def url():
    return shared_server().create_database()


@pytest.fixture
def database(url):
    with open_database(url, wait_s=0.5) as database:
        database.migrate("test", TABLE)
        yield database


def add(database, *words):
    with database.transaction() as transaction:
        for word in words:
            transaction.execute("INSERT INTO words VALUES (?)", [word])


def words(database):
    return [word for (word,) in database.read("SELECT word FROM words ORDER BY word")]


@pytest.fixture(scope="module")
def mortal_server():
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture
def own_server(mortal_server):
    """A server that a test may kill; it runs again for the next one."""
    yield mortal_server
    if not mortal_server.is_running:
        mortal_server.start()


def test_a_server_killed_and_started_between_two_calls_is_not_noticed(own_server):
    with open_database(own_server.create_database()) as database:
        database.migrate("test", TABLE)
        add(database, "a")
        readers = [Thread(target=words, args=[database]) for _ in range(4)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        own_server.kill()
        own_server.start()
        assert words(database) == ["a"]
        own_server.kill()
        own_server.start()
        add(database, "b")
        assert words(database) == ["a", "b"]


def test_a_server_that_is_gone_is_told_at_once_and_found_again_when_it_is_back(own_server):
    url = own_server.create_database()
    with open_database(url) as database:
        database.migrate("test", TABLE)
        own_server.kill()
        with pytest.raises(StorageError, match="does not answer") as caught:
            words(database)
        with pytest.raises(StorageError, match="does not answer"):
            add(database, "a")
        with pytest.raises(StorageError, match="does not answer"):
            open_database(url)
        assert not caught.value.is_outcome_unknown
        own_server.start()
        add(database, "a")
        assert words(database) == ["a"]


def test_a_server_that_stands_still_is_given_up(own_server, monkeypatch):
    monkeypatch.setattr(TimedConnection, "response_timeout_s", 0.3)
    with open_database(f"{own_server.create_database()}?connect_timeout=2", wait_s=0.3) as database:
        database.migrate("test", TABLE)
        add(database, "a")
        assert words(database) == ["a"]
        own_server.pause()
        with pytest.raises(StorageError, match="does not answer"):
            words(database)
        with pytest.raises(StorageError, match="does not answer"):
            add(database, "b")
        own_server.resume()
        add(database, "c")
        assert words(database) == ["a", "c"]


def test_a_server_killed_inside_a_transaction_keeps_nothing_of_it(own_server):
    def die():
        with database.transaction() as transaction:
            transaction.execute("INSERT INTO words VALUES ('a')")
            own_server.kill()
            own_server.start()
            transaction.execute("INSERT INTO words VALUES ('b')")

    with open_database(own_server.create_database()) as database:
        database.migrate("test", TABLE)
        with pytest.raises(StorageError, match="does not answer"):
            die()
        assert words(database) == []


def test_a_commit_that_was_done_but_not_answered_is_found_to_be_done(url):
    with Proxy(shared_server().port) as proxy, open_database(proxy.url(url)) as database:
        database.migrate("test", TABLE)
        proxy.cut = "after"
        add(database, "a")
        proxy.cut = None
        assert words(database) == ["a"]


def test_a_commit_that_never_arrived_is_found_to_be_undone(url):
    with Proxy(shared_server().port) as proxy, open_database(proxy.url(url)) as database:
        database.migrate("test", TABLE)
        proxy.cut = "before"
        with pytest.raises(StorageError, match="does not answer") as caught:
            add(database, "a")
        assert not caught.value.is_outcome_unknown
        proxy.cut = None
        assert words(database) == []


@pytest.mark.parametrize(("cut", "kept"), [("before", []), ("after", ["a"])])
def test_a_commit_of_which_nobody_can_tell_says_so(url, cut, kept):
    with Proxy(shared_server().port) as proxy, open_database(proxy.url(url), wait_s=0.3) as database:
        database.migrate("test", TABLE)
        proxy.cut = cut
        proxy.is_open = False
        with pytest.raises(StorageError, match="saved completely or not at all; read it before") as caught:
            add(database, "a", "a")
        assert caught.value.is_outcome_unknown
    with open_database(url) as database:
        assert words(database) == kept * 2


def test_a_lock_that_another_holds_is_busy_in_bounded_time(database, url):
    with psycopg.connect(url) as other:
        other.execute("SELECT pg_advisory_lock(x'746F6F6C68616674'::bigint)")
        with pytest.raises(StorageBusyError, match=r"in use by others.*lock timeout"):
            add(database, "a")
        assert words(database) == []
    add(database, "a")


def test_a_lock_that_is_released_in_time_is_waited_for(url):
    with open_database(url, wait_s=60) as patient, psycopg.connect(url, autocommit=True) as other:
        patient.migrate("test", TABLE)
        other.execute("SELECT pg_advisory_lock(x'746F6F6C68616674'::bigint)")
        writer = Thread(target=add, args=[patient, "a"])
        writer.start()
        waits = """SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
            WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()"""
        while other.execute(waits).fetchone() == (0,):
            sleep(0.01)
        other.execute("SELECT pg_advisory_unlock_all()")
        writer.join(60)
        assert words(patient) == ["a"]


def test_a_table_that_another_holds_is_busy_in_bounded_time(database, url):
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE words")
        with pytest.raises(StorageBusyError, match="in use by others"):
            add(database, "a")
    add(database, "a")
    assert words(database) == ["a"]


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        ("53100", StorageFullError, "no disk space.*free some space"),
        ("25006", StorageError, "read-only"),
        ("XX001", StorageError, "damaged.*backup"),
        ("53300", StorageBusyError, "try again"),
        ("40001", StorageBusyError, "try again"),
        ("57P01", StorageError, "does not answer"),
    ],
)
def test_what_the_server_says_by_a_code_is_told_in_words(database, code, kind, said):
    with pytest.raises(kind, match=said), database.transaction() as transaction:
        transaction.execute(f"DO $$ BEGIN RAISE EXCEPTION 'its words' USING ERRCODE = '{code}'; END $$")
    add(database, "a")


def test_a_commit_that_the_server_refuses_is_undone(database):
    database.migrate("late", ["CREATE TABLE late (word TEXT UNIQUE DEFERRABLE INITIALLY DEFERRED)"])
    with pytest.raises(StorageError, match="refused") as caught, database.transaction() as transaction:
        transaction.execute("INSERT INTO late VALUES ('a'), ('a')")
    assert not caught.value.is_outcome_unknown
    assert database.read("SELECT * FROM late") == []
    add(database, "a")


def test_a_statement_that_ends_its_connection_is_not_asked_for_ever(database):
    with pytest.raises(StorageError, match="does not answer"):
        database.read("SELECT pg_terminate_backend(pg_backend_pid())")
    assert words(database) == []


def test_a_server_that_is_going_down_is_busy_in_bounded_time(own_server):
    with psycopg.connect(own_server.url("postgres")):  # keeps it up for now
        own_server.retire()
        with pytest.raises(StorageBusyError, match=r"starting or stopping.*try again"):
            _open_until_refused(own_server.url("postgres"))
    own_server.wait()


def _open_until_refused(url):
    # the signal takes a moment to arrive
    while True:
        open_database(url, wait_s=0.2).close()


def test_more_clients_than_the_server_takes_is_busy(own_server):
    lines = []
    try:
        with pytest.raises(psycopg.OperationalError, match="too many clients"):
            _connect_on(own_server.url("postgres"), lines)
        with pytest.raises(StorageBusyError, match="try again"):
            open_database(own_server.url("postgres"), wait_s=0.2)
    finally:
        for line in lines:
            line.close()


def _connect_on(url, lines):
    for _ in range(100):
        lines.append(psycopg.connect(url))


def test_a_wrong_password_and_a_missing_database_are_told_without_the_password(url):
    server = shared_server()
    wrong = f"postgresql://toolhaft:not-this@127.0.0.1:{server.port}/postgres"
    for tried in (wrong, f"{url}_gone"):
        with pytest.raises(
            StorageError, match=r"refuses the login.*check user, password and database name"
        ) as caught:
            open_database(tried)
        told = f"{caught.value!r} {caught.value.__cause__!r}"
        assert "not-this" not in told
        assert PASSWORD not in told
        assert "toolhaft:" not in str(caught.value)


def test_a_database_that_is_only_read_from_says_so(url):
    with psycopg.connect(url, autocommit=True) as other:
        name = other.info.dbname
        other.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with open_database(url) as database:
        database.migrate("test", TABLE)  # a write says that it is one
        assert words(database) == []


def test_text_in_binary_order_is_that_of_the_bytes_whatever_the_language_of_the_server(database):
    database.migrate("order", ['CREATE TABLE ordered (word TEXT COLLATE "binary")'])
    found = database.read(
        "SELECT collcollate FROM pg_collation JOIN pg_attribute ON pg_collation.oid = attcollation "
        "WHERE attrelid = CAST(? AS regclass) AND attname = 'word'",
        ["ordered"],
    )
    assert found == [("C",)]


def test_many_threads_share_a_few_connections(database, url):
    threads = [Thread(target=words, args=[database]) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with psycopg.connect(url) as other:
        (number,) = other.execute(
            "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchone()
    assert number <= 8


def test_without_psycopg_the_command_to_install_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "toolhaft.storage.postgresql")
    with pytest.raises(ImportError, match=r"pip install 'toolhaft\[postgres\]'"):
        open_database("postgresql://localhost/name")
