"""Storage reads that hang, and requests that are cancelled."""

import asyncio
from threading import Event

import pytest

from tests.serve.kit import SHOUT, platform
from toolhaft.errors import StorageBusyError
from toolhaft.serve.storage_threads import WorkerThreads, read_in_thread


class Hanging:
    """A function that begins, and ends when it is told to."""

    def __init__(self):
        self._begun = Event()
        self._end = Event()

    def __call__(self, *_):
        self._begun.set()
        self._end.wait(60)

    async def has_begun(self):
        await asyncio.to_thread(self._begun.wait, 60)

    def end(self):
        self._end.set()


@pytest.fixture
def hanging():
    hanging = Hanging()
    yield hanging
    hanging.end()


async def _ending(hanging, waiting):
    try:
        return await waiting
    finally:
        hanging.end()  # otherwise the loop would wait for its thread


def test_hanging_storage_read_times_out(monkeypatch, hanging):
    monkeypatch.setattr("toolhaft.serve.storage_threads._READ_TIMEOUT_S", 0.01)
    with pytest.raises(StorageBusyError, match=r"within 0\.01 s"):
        asyncio.run(_ending(hanging, read_in_thread(hanging)))


def test_hanging_work_times_out_if_it_has_a_limit(hanging):
    threads = WorkerThreads(1, "test", timeout_s=0.01)
    with pytest.raises(StorageBusyError, match=r"within 0\.01 s"):
        asyncio.run(threads.run(hanging))
    threads.close()


def test_request_cancelled_by_shutdown_gets_a_503(monkeypatch, hanging):
    monkeypatch.setattr("toolhaft.serve.documents.ToolPages.read", hanging)

    async def stop(near):
        asked = asyncio.ensure_future(near.aask("GET", "/v3/tools"))
        await hanging.has_begun()
        near.app.cancel_calls()
        asked.cancel()
        return await asked

    with platform() as near:
        answer = asyncio.run(stop(near))
        assert answer.status == 503
        assert answer.is_problem
        assert answer.headers["retry-after"] == "5"


def test_request_cancelled_by_others_raises_cancelled_error(monkeypatch, hanging):
    monkeypatch.setattr("toolhaft.serve.documents.ToolPages.read", hanging)

    async def cancel(near):
        asked = asyncio.ensure_future(near.aask("GET", "/v3/tools"))
        await hanging.has_begun()
        asked.cancel()
        await asked

    with platform() as near, pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel(near))


def test_exit_exceptions_of_a_tool_fail_only_its_call(monkeypatch):
    async def leave(self, call):
        raise SystemExit(3)

    with platform() as near:
        near.put("shout", SHOUT)
        monkeypatch.setattr("toolhaft.serve.runners.ToolRunner.run", leave)
        answer = near.run("shout", {"text": "a"})
        assert (answer.status, answer.json["kind"]) == (424, "failed")
        assert answer.is_problem
