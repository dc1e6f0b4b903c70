"""What is waited for, and for how long: reads that hang, requests that are cut short."""

import asyncio
import time

import pytest

from tests.serve.kit import SHOUT, platform
from toolhaft.errors import StorageBusyError
from toolhaft.serve.storage_threads import WorkerThreads, read_in_thread


def test_a_read_that_hangs_is_given_up(monkeypatch):
    monkeypatch.setattr("toolhaft.serve.storage_threads._READ_TIMEOUT_S", 0.05)
    with pytest.raises(StorageBusyError, match=r"within 0\.05 s"):
        asyncio.run(read_in_thread(time.sleep, 0.2))


def test_slow_work_that_hangs_is_given_up_where_it_has_a_limit():
    threads = WorkerThreads(1, "test", timeout_s=0.05)
    with pytest.raises(StorageBusyError, match=r"within 0\.05 s"):
        asyncio.run(threads.run(time.sleep, 0.2))
    threads.close()


def test_a_request_that_is_cut_short_when_the_platform_stops_is_told(monkeypatch):
    monkeypatch.setattr("toolhaft.serve.documents.ToolPages.read", lambda *_: time.sleep(0.3))

    async def stop(near):
        asked = asyncio.ensure_future(near.aask("GET", "/v3/tools"))
        await asyncio.sleep(0.1)
        near.app.cancel_calls()
        asked.cancel()
        return await asked

    with platform() as near:
        answer = asyncio.run(stop(near))
        assert answer.status == 503
        assert answer.is_problem
        assert answer.headers["retry-after"] == "5"


def test_a_request_that_is_cancelled_otherwise_is_over(monkeypatch):
    monkeypatch.setattr("toolhaft.serve.documents.ToolPages.read", lambda *_: time.sleep(0.3))

    async def cancel(near):
        asked = asyncio.ensure_future(near.aask("GET", "/v3/tools"))
        await asyncio.sleep(0.1)
        asked.cancel()
        await asked

    with platform() as near, pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel(near))


def test_whatever_wants_to_end_the_program_ends_its_call_alone(monkeypatch):
    async def leave(self, call):
        raise SystemExit(3)

    with platform() as near:
        near.put("shout", SHOUT)
        monkeypatch.setattr("toolhaft.serve.runners.ToolRunner.run", leave)
        answer = near.run("shout", {"text": "a"})
        assert (answer.status, answer.json["kind"]) == (424, "failed")
        assert answer.is_problem
