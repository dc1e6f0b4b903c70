"""PostgreSQL under faults: killed, restarted, hanging, cut off during a commit, locked, full."""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from time import sleep

import psycopg
import pytest

from tests.cases import in_case
from tests.postgres import PASSWORD, PostgresServer, shared_server
from tests.storage.proxy import Proxy
from toolhaft.errors import StorageBusyError, StorageError, StorageFullError
from toolhaft.storage import open_database
from toolhaft.storage.postgresql import TimedConnection

pytestmark = pytest.mark.external

TABLE = ["CREATE TABLE words (word TEXT NOT NULL)"]


@pytest.fixture(scope="module")
def module_database():
    """A database of this module alone: the lock of writers is one per database."""
    return shared_server().create_database()


@pytest.fixture
def url(module_database):
    return shared_server().create_schema(module_database)


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


def test_restart_between_two_calls_is_transparent(own_server):
    with open_database(own_server.create_schema()) as database:
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
        add(database, "b")  # on another connection, which was lost too
        assert words(database) == ["a", "b"]


def test_stopped_server_is_reported_and_used_again_after_a_restart(own_server):
    url = own_server.create_schema()
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


def test_hanging_server_times_out(own_server, monkeypatch):
    monkeypatch.setattr(TimedConnection, "response_timeout_s", 0.3)
    with open_database(f"{own_server.create_schema()}&connect_timeout=2", wait_s=0.3) as database:
        database.migrate("test", TABLE)
        add(database, "a")
        assert words(database) == ["a"]
        own_server.pause()
        with ThreadPoolExecutor() as pool:
            for waiting in (pool.submit(words, database), pool.submit(add, database, "b")):
                with pytest.raises(StorageError, match="does not answer"):
                    waiting.result()
        own_server.resume()
        add(database, "c")
        assert words(database) == ["a", "c"]


def test_kill_inside_a_transaction_rolls_it_back(own_server):
    def die():
        with database.transaction() as transaction:
            transaction.execute("INSERT INTO words VALUES ('a')")
            own_server.kill()
            own_server.start()
            transaction.execute("INSERT INTO words VALUES ('b')")

    with open_database(own_server.create_schema()) as database:
        database.migrate("test", TABLE)
        with pytest.raises(StorageError, match="does not answer"):
            die()
        assert words(database) == []


def test_unanswered_commit_is_found_committed(url):
    with Proxy(shared_server().port) as proxy, open_database(proxy.url(url)) as database:
        database.migrate("test", TABLE)
        proxy.cut = "after"
        add(database, "a")
        proxy.cut = None
        assert words(database) == ["a"]


def test_commit_that_never_arrived_is_found_aborted(url):
    with Proxy(shared_server().port) as proxy, open_database(proxy.url(url)) as database:
        database.migrate("test", TABLE)
        proxy.cut = "before"
        with pytest.raises(StorageError, match="does not answer") as caught:
            add(database, "a")
        assert not caught.value.is_outcome_unknown
        proxy.cut = None
        assert words(database) == []


@pytest.mark.parametrize(("cut", "kept"), [("before", []), ("after", ["a"])])
def test_commit_with_unknown_outcome_is_reported(url, cut, kept):
    with Proxy(shared_server().port) as proxy, open_database(proxy.url(url), wait_s=0.3) as database:
        database.migrate("test", TABLE)
        proxy.cut = cut
        proxy.is_open = False
        with pytest.raises(StorageError, match="saved completely or not at all; read it before") as caught:
            add(database, "a", "a")
        assert caught.value.is_outcome_unknown
    with open_database(url) as database:
        assert words(database) == kept * 2


def test_held_lock_is_busy_after_the_time_limit(database, url):
    with psycopg.connect(url) as other:
        other.execute("SELECT pg_advisory_lock(x'746F6F6C68616674'::bigint)")
        with pytest.raises(StorageBusyError, match=r"in use by others.*lock timeout"):
            add(database, "a")
        assert words(database) == []
    add(database, "a")


def test_lock_released_in_time_is_acquired(url):
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


def test_locked_table_is_busy_after_the_time_limit(database, url):
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE words")
        with pytest.raises(StorageBusyError, match="in use by others"):
            add(database, "a")
    add(database, "a")
    assert words(database) == ["a"]


def test_sqlstate_codes_are_translated(database):
    cases = [
        ("53100", StorageFullError, "no disk space.*free some space"),
        ("25006", StorageError, "read-only"),
        ("XX001", StorageError, "damaged.*backup"),
        ("53300", StorageBusyError, "try again"),
        ("40001", StorageBusyError, "try again"),
        ("57P01", StorageError, "does not answer"),
    ]
    for code, kind, said in cases:
        with in_case(code, kind, said):
            with pytest.raises(kind, match=said), database.transaction() as transaction:
                transaction.execute(
                    f"DO $$ BEGIN RAISE EXCEPTION 'its words' USING ERRCODE = '{code}'; END $$"
                )
            add(database, "a")


def test_refused_commit_is_rolled_back(database):
    database.migrate("late", ["CREATE TABLE late (word TEXT UNIQUE DEFERRABLE INITIALLY DEFERRED)"])
    with pytest.raises(StorageError, match="refused") as caught, database.transaction() as transaction:
        transaction.execute("INSERT INTO late VALUES ('a'), ('a')")
    assert not caught.value.is_outcome_unknown
    assert database.read("SELECT * FROM late") == []
    add(database, "a")


def test_statement_that_kills_its_connection_is_repeated_once(database):
    with pytest.raises(StorageError, match="does not answer"):
        database.read("SELECT pg_terminate_backend(pg_backend_pid())")
    assert words(database) == []


def test_server_that_shuts_down_is_busy(own_server):
    with psycopg.connect(own_server.url("postgres")):  # keeps it up for now
        own_server.retire()
        with pytest.raises(StorageBusyError, match=r"starting or stopping.*try again"):
            _open_until_refused(own_server.url("postgres"))
    own_server.wait()


def _open_until_refused(url):
    # the signal takes a moment to arrive
    while True:
        open_database(url, wait_s=0.2).close()


def test_too_many_clients_is_busy(own_server):
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


def test_login_errors_do_not_contain_the_password():
    server = shared_server()
    wrong = f"postgresql://toolhaft:not-this@127.0.0.1:{server.port}/postgres"
    for tried in (wrong, server.url("no_such_database")):
        with pytest.raises(
            StorageError, match=r"refuses the login.*check user, password and database name"
        ) as caught:
            open_database(tried)
        told = f"{caught.value!r} {caught.value.__cause__!r}"
        assert "not-this" not in told
        assert PASSWORD not in told
        assert "toolhaft:" not in str(caught.value)


def test_read_only_default_of_a_database_is_overridden():
    url = shared_server().create_database()
    with psycopg.connect(url, autocommit=True) as other:
        name = other.info.dbname
        other.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with open_database(url) as database:
        database.migrate("test", TABLE)  # a write says that it is one
        assert words(database) == []


def test_binary_order_ignores_the_locale_of_the_server(database):
    database.migrate("order", ['CREATE TABLE ordered (word TEXT COLLATE "binary")'])
    found = database.read(
        "SELECT collcollate FROM pg_collation JOIN pg_attribute ON pg_collation.oid = attcollation "
        "WHERE attrelid = CAST(? AS regclass) AND attname = 'word'",
        ["ordered"],
    )
    assert found == [("C",)]


def test_threads_share_a_few_connections():
    url = shared_server().create_database()
    with open_database(url) as database:
        database.migrate("test", TABLE)
        threads = [Thread(target=words, args=[database]) for _ in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with psycopg.connect(url) as other:
            (number,) = other.execute(
                "SELECT COUNT(*) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            ).fetchone()
    assert number <= 8


def test_missing_psycopg_error_names_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "toolhaft.storage.postgresql")
    with pytest.raises(ImportError, match=r"pip install 'toolhaft\[postgres\]'"):
        open_database("postgresql://localhost/name")
