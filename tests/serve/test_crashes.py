"""A killed server keeps its catalog, and storage failures are reported."""

import asyncio
import os
import sqlite3
import threading
import time
from contextlib import suppress
from functools import partial

import pytest

from tests.serve.kit import SHOUT, plain_tool, platform, serving, wait_for
from toolhaft.errors import StorageError
from toolhaft.storage import open_database

pytestmark = pytest.mark.external


def _keep_putting(server, done, ends):
    """Publish versions of a tool until the server is gone; what was acknowledged is noted."""
    number = 0
    while time.monotonic() < ends:
        number += 1
        text = plain_tool("busy").replace("Does what", f"Version {number} of what")
        try:
            answer = server.put("busy", text, If_Match="*") if number > 1 else server.put("busy", text)
        except OSError:
            return
        if answer.status in (200, 201):
            done.append((number, answer.headers["etag"]))


@pytest.mark.parametrize("after_s", [0.15, 0.4, 0.6] if os.environ.get("TOOLHAFT_LONG") else [0.15])
def test_published_tools_survive_a_killed_server(tmp_path, after_s):
    url = f"sqlite://{tmp_path}/platform.db"
    done = []
    with serving(database_url=url, built_in="none") as server:
        server.put("shout", SHOUT)
        thread = threading.Thread(target=_keep_putting, args=[server, done, time.monotonic() + 60])
        thread.start()
        while len(done) < 2:
            time.sleep(0.01)
        time.sleep(after_s)
        server.kill()
        thread.join()
    with platform(url, built_in="none") as near:
        listed = near.ask("GET", "/v3/tools").json["tools"]
        assert [tool["id"] for tool in listed] == ["busy", "shout"]
        busy = near.ask("GET", "/v3/tools/busy")
        version = int(busy.json["description"].split()[1])
        # what was acknowledged is kept; what was under way is there whole, or not at all
        assert version in (done[-1][0], done[-1][0] + 1)
        assert version > done[-1][0] or busy.headers["etag"] == done[-1][1]
        assert near.put("busy", plain_tool("busy"), if_match=busy.headers["etag"]).status == 200


def test_kill_during_a_call_keeps_the_catalog_and_rolls_back_files(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    files = tmp_path / "files"
    options = {"database_url": url, "allow_run": ["python"], "files": str(files)}
    mark = tmp_path / "mark"
    with serving(**options) as server:
        run = 'run: {python: "tests.serve.served_tools:write_then_nap"}\n'
        server.put("write", plain_tool("write", run=run, more="effect: reversible\ntimeout_s: 60\n"))
        thread = threading.Thread(target=_ignore, args=[partial(server.run, "write", {"text": str(mark)})])
        thread.start()
        assert wait_for(mark)
        server.kill()
        thread.join()
    with platform(url, allow_run=["python"], files=str(files)) as near:
        private = near.ask("GET", "/v3/tools", query=b"share=private").json["tools"]
        assert [tool["id"] for tool in private] == ["write"]
        assert near.run("read_file", {"path": "note.txt"}).status == 424
        assert near.run("write_file", {"path": "note.txt", "content": "anew"}).status == 200


def _ignore(call):
    with suppress(OSError):
        call()


@pytest.fixture
def impatient(monkeypatch):
    """A database that does not wait long for others."""
    monkeypatch.setattr("toolhaft.serve.app.open_database", partial(open_database, wait_s=0.2))


@pytest.mark.usefixtures("impatient")
def test_locked_database_returns_503_and_loses_nothing(tmp_path):
    file = tmp_path / "platform.db"
    with platform(f"sqlite://{file}", allow_run=["python"]) as near:
        first = near.put("shout", SHOUT)
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        busy = near.put("shout", first.body.decode().replace("Say", "Cry"))
        assert busy.status == 503
        assert busy.is_problem
        assert int(busy.headers["retry-after"]) >= 1
        assert str(tmp_path) not in busy.body.decode()
        assert near.ask("DELETE", "/v3/tools/shout").status == 503
        # who only reads or runs does not wait for who writes
        assert near.run("shout", {"text": "a"}).status == 200
        assert near.ask("GET", "/v3/tools/shout", accept="application/yaml").body == first.body
        other.execute("ROLLBACK")
        other.close()
        assert near.put("shout", first.body.decode().replace("Say", "Cry")).status == 200


def test_full_disk_returns_503_and_loses_nothing(tmp_path):
    file = tmp_path / "platform.db"
    with platform(f"sqlite://{file}", built_in="none") as near:
        first = near.put("shout", SHOUT)
        database = near.app._database  # noqa: SLF001 -- its only writer is made to have no room
        with database.transaction() as transaction:
            pages = transaction.execute("PRAGMA page_count")[0][0]
            transaction.execute(f"PRAGMA max_page_count = {pages}")
        answer = near.put("large", plain_tool("large").replace("A text", "A text " * 6000))
        assert answer.status == 503
        assert answer.is_problem
        assert "full" in answer.json["detail"]
        assert str(tmp_path) not in answer.body.decode()
        assert [tool["id"] for tool in near.ask("GET", "/v3/tools").json["tools"]] == ["shout"]
        assert near.ask("GET", "/v3/tools/shout", accept="application/yaml").body == first.body


@pytest.mark.usefixtures("impatient")
def test_unreachable_database_returns_503_on_every_route(tmp_path):
    file = tmp_path / "platform.db"
    with platform(f"sqlite://{file}", built_in="none") as near:
        near.put("shout", SHOUT)
        os.rename(file, tmp_path / "elsewhere.db")  # noqa: PTH104 -- behind its back
        answers = [
            near.ask("GET", "/healthz"),
            near.ask("GET", "/v3/tools"),
            near.put("shout", SHOUT),
            near.run("shout", {"text": "a"}),
            near.ask("GET", "/openapi.json"),
        ]
    assert [answer.status for answer in answers] == [503] * 5
    assert all(answer.is_problem for answer in answers)


def test_change_with_unknown_outcome_is_reported(monkeypatch):
    def cut_off(*_, **__):
        error = StorageError("lost at db.internal")
        error.is_outcome_unknown = True
        raise error

    with platform() as near:
        monkeypatch.setattr("toolhaft.catalog.published_store.PublishedStore.put", cut_off)
        answer = near.put("shout", SHOUT)
    assert answer.status == 503
    assert "not at all" in answer.json["detail"]
    assert "GET the tool" in answer.json["fix"]
    assert "db.internal" not in answer.body.decode()


def test_disconnect_does_not_interrupt_a_change():
    with platform() as near:

        async def leave():
            task = asyncio.ensure_future(
                near.aask("PUT", "/v3/tools/shout", SHOUT, content_type="application/yaml")
            )
            await asyncio.sleep(0.002)
            task.cancel()
            with suppress(asyncio.CancelledError):  # it may be published already
                await task

        asyncio.run(leave())
        # it may land now, later or never; whichever is second hears of the other
        assert near.put("shout", SHOUT).status in (201, 409)
        assert near.ask("GET", "/v3/tools/shout").json["endpoint"].endswith("/v3/tool/shout")
        assert "shout" in [one["id"] for one in near.ask("GET", "/v3/tools").json["tools"]]
