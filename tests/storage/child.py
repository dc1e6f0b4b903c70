"""A second process that uses a database: `python -m tests.storage.child ACTION URL ...`, driven line by line."""

import json
import sqlite3
import subprocess
import sys
from itertools import count
from pathlib import Path

from toolhaft.errors import ToolhaftError
from toolhaft.storage import open_database

ROOT = Path(__file__).parents[2]
PLATFORM = "http://127.0.0.1:8420"


def document(id, description="Does something useful", more=""):
    """A small tool, as its author writes it."""
    return f'id: "{id}"\nname: "My Tool"\ndescription: "{description}"  # kept\n{more}'


class Child:
    """The process, seen from the test."""

    def __init__(self, *arguments, **options):
        command = [sys.executable, "-m", "tests.storage.child", *map(str, arguments)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options
        )

    def ask(self, value=None):
        """Say one line, and hear one."""
        self.say(value)
        return self.hear()

    def say(self, value=None):
        self.process.stdin.write(json.dumps(value) + "\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def tell(value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def told(ask):
    try:
        return {"ok": ask()}
    except ToolhaftError as error:
        return {"error": type(error).__name__, "message": str(error)}


def __getattr__(name):
    if name == "OPERATOR":
        from toolhaft.catalog.published import PlatformUser  # noqa: PLC0415 -- slow, and few children publish

        return PlatformUser(owner="op", is_operator=True)
    raise AttributeError(name)


def _shelf(database):
    from toolhaft.catalog.published_store import PublishedStore  # noqa: PLC0415 -- slow, and few children publish

    return PublishedStore(database, url=PLATFORM), __getattr__("OPERATOR")


def put(url):
    """Publish each document that is said."""
    with open_database(url) as database:
        shelf, operator = _shelf(database)
        tell("ready")
        for line in sys.stdin:
            text, base = json.loads(line)
            tell(told(lambda text=text, base=base: shelf.put(text, operator, base=base).updated_at))


def loop(url, prefix):
    """Publish without end, and tell each that is there."""
    with open_database(url) as database:
        shelf, operator = _shelf(database)
        tell("ready")
        for number in count():
            shelf.put(document(f"{prefix}{number}"), operator, base=None)
            tell(f"{prefix}{number}")
            shelf.put(document("shared", f"written by {prefix}{number}"), operator, base=...)


def hold(path):
    """Keep the write lock of a file until a line comes."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    tell("ready")
    sys.stdin.readline()
    connection.close()


def migrate(url):
    """Make the tables when a line comes."""
    tell("ready")
    sys.stdin.readline()
    steps = [f"CREATE TABLE step_{number} (word TEXT)" for number in range(5)]

    def ask():
        with open_database(url) as database:
            database.migrate("test", steps)

    tell(told(ask))


def fill(path, size_bytes):
    """Publish until the disk has no room left."""
    import resource  # noqa: PLC0415 -- where there is such a thing

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(size_bytes), before[1]))
    with open_database(f"sqlite://{path}") as database:
        shelf, operator = _shelf(database)
        for number in count():
            answer = told(
                lambda number=number: shelf.put(document(f"t{number}", "x" * 900), operator, base=None).id
            )
            tell(answer)
            if "error" in answer:
                tell(told(lambda: len(shelf.list(operator))))
                break
    resource.setrlimit(resource.RLIMIT_FSIZE, before)  # for what is measured of this process


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
